package slice

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"greenlight/internal/plan"
)

// A legacyEdit is one change of a legacy slice on its way into the files.
type legacyEdit struct {
	id       string
	old      *sliceFile
	got      map[string]string // what the keys are after the edit
	deps     []string
	setDeps  bool
	decision []string
}

// tryLegacy reads, edits and writes a slice of a legacy project once. The two files are written one after the other: the
// token of a claim is there before the status that it explains and goes after it, so that a kill between the two leaves
// no slice in work by nobody.
func (t *tx) tryLegacy(id string, f func(*File) error) error {
	l, err := t.s.readLegacy()
	if err != nil {
		return err
	}
	mark, text := "", string(l.state)
	if strings.HasPrefix(text, bom) {
		mark, text = bom, text[len(bom):]
	}
	text, r, err := t.withRow(text, id)
	if err != nil {
		return err
	}
	e, err := editRow(r, parseCurrent(text), l.entries[r.id], f)
	if err != nil {
		return err
	}
	now := t.s.Now()
	next, err := e.intoText(text, r, now)
	if err != nil {
		return err
	}
	side, err := l.withEntry(r.id, e.entry(), now)
	if err != nil {
		return err
	}
	writes := []fileWrite{{"STATE.md", l.state, []byte(mark + next)}, {legacyFile, l.side, side}}
	if e.got["session"] != "" {
		writes[0], writes[1] = writes[1], writes[0]
	}
	return t.s.replaceAll(writes)
}

// withRow finds the row of a slice. A slice that is only in the graph gets one.
func (t *tx) withRow(text, id string) (string, row, error) {
	if r, ok := rowOf(text, id); ok {
		return text, r, nil
	}
	t.s.mu.Lock()
	v, id, err := t.look(id)
	var it plan.Item
	if err == nil {
		it = v.item(id)
	}
	t.s.mu.Unlock()
	if err != nil {
		return "", row{}, err
	}
	if r, ok := rowOf(text, id); ok {
		return text, r, nil
	}
	text, err = addRow(text, NewRow{ID: id, Name: it.Name, Deps: it.Deps})
	r, _ := rowOf(text, id)
	return text, r, err
}

func rowOf(text, id string) (row, bool) {
	rows, _ := parseRows(text)
	for _, r := range rows {
		if r.id == id {
			return r, true
		}
	}
	return row{}, false
}

// editRow runs f on the slice and finds out what it changed. What a legacy project has no place for is refused.
func editRow(r row, c currentLines, entry legacyEntry, f func(*File) error) (*legacyEdit, error) {
	e := &legacyEdit{id: r.id, old: legacySlice(r, c, entry), got: map[string]string{}}
	file, err := e.old.asFile()
	if err != nil {
		return nil, err
	}
	deps, body := file.List("deps"), file.Rest
	before := e.old.values()
	if err := f(file); err != nil {
		return nil, err
	}
	for _, key := range file.Keys() {
		if _, ok := before[key]; !ok {
			return nil, e.noPlace(key)
		}
	}
	for _, key := range rowKeys {
		e.got[key], _ = file.Get(key)
	}
	if e.got["id"] != e.id {
		return nil, fmt.Errorf("%s: the id can't be changed", e.id)
	}
	e.deps = file.List("deps")
	e.setDeps = !equal(deps, e.deps)
	e.decision, err = e.decisions(body, file.Rest)
	return e, err
}

func (e *legacyEdit) noPlace(what string) error {
	return fmt.Errorf("%s: %s of a legacy project has no place for %q: run gl migrate", e.id, stateRel("STATE.md"), what)
}

// decisions returns the lines that were added to the Decisions section, which is the last of the body.
func (e *legacyEdit) decisions(before, after string) ([]string, error) {
	added, ok := strings.CutPrefix(after, strings.TrimRight(before, "\n"))
	if !ok {
		return nil, e.noPlace("body")
	}
	var lines []string
	for line := range strings.Lines(added) {
		line = strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(line, "- ")
		switch {
		case line == "":
		case isItem:
			lines = append(lines, fmt.Sprintf("%s (%s)", item, e.id))
		default:
			return nil, e.noPlace(strings.TrimLeft(line, "# "))
		}
	}
	return lines, nil
}

// entry is what the side file is to say of the slice.
func (e *legacyEdit) entry() legacyEntry {
	entry := legacyEntry{Session: e.got["session"], Step: e.got["step"], Started: e.got["started"], WaitingFor: e.got["waiting_for"]}
	if entry.Step == stepOf(e.got["status"]) {
		entry.Step = ""
	}
	return entry
}

// intoText writes the change into STATE.md: the cells of the row, the lines of the Current section, decisions.
func (e *legacyEdit) intoText(text string, r row, now time.Time) (string, error) {
	set, err := e.cells(r)
	if err != nil {
		return "", err
	}
	line := chomp(nextLine(text[r.at:]))
	line = strings.TrimRight(line, " \t")
	changes := e.current(text, len(set) > 0, now)
	if len(set) > 0 {
		changes = append(changes, textChange{r.at, r.at + len(line), setCells(line, set)})
	}
	next := apply(text, changes)
	if err := e.check(text, next); err != nil {
		return "", err
	}
	if len(e.decision) > 0 {
		next = noteInSection(next, "Decisions", e.decision, []string{"Blockers", "Session"})
		return next, e.check(text, next)
	}
	return next, nil
}

// cells returns the new texts of the row's cells, by column.
func (e *legacyEdit) cells(r row) (map[int]string, error) {
	set := map[int]string{}
	before := e.old.values()
	for key, at := range map[string]int{
		"name": r.cols.name, "status": r.cols.status, "tests": r.cols.tests, "security_tests": r.cols.security,
	} {
		value := e.got[key]
		switch {
		case value == oneLine(before[key]):
			continue
		case at < 0:
			return nil, e.noPlace(key)
		case value == "" && (key == "tests" || key == "security_tests"):
			value = "0"
		}
		set[at] = value
	}
	if e.setDeps {
		if r.cols.deps < 0 {
			return nil, e.noPlace("deps")
		}
		set[r.cols.deps] = strings.Join(e.deps, ", ")
		if len(e.deps) == 0 {
			set[r.cols.deps] = "none"
		}
	}
	return set, nil
}

// current returns the changes of the Current section's lines, of those that it has. A slice that somebody begins to work
// on is the current one from then on.
func (e *legacyEdit) current(text string, row bool, now time.Time) []textChange {
	c := parseCurrent(text)
	named := c.names(e.id)
	begun := plan.Classify(e.got["status"]) == plan.Active && plan.Classify(e.old.status) != plan.Active
	var changes []textChange
	put := func(s stretch, value string) {
		if s.from >= 0 && s.text != value {
			changes = append(changes, textChange{s.from, s.to(), value})
		}
	}
	if begun && !named {
		name := e.got["name"]
		if name != "" {
			name = dash(c.slice.text) + name
		}
		put(c.slice, e.id+name)
	}
	if begun && !named && c.slice.from >= 0 || named && e.got["step"] != oneLine(e.old.step) {
		put(c.step, e.got["step"])
	}
	if row || len(changes) > 0 {
		put(c.activity, now.UTC().Format(time.DateOnly)+dash(c.activity.text)+e.id+" "+e.activity())
	}
	return changes
}

// activity says in a word what the slice is now.
func (e *legacyEdit) activity() string {
	switch step, status := e.got["step"], e.got["status"]; {
	case plan.Classify(status) == plan.Active && !plan.IsStep(status) && plan.StepReached(step):
		return step
	case status == "":
		return "pending"
	default:
		return status
	}
}

// check makes sure that the table reads as it should: this row as it was meant, all others as they were.
func (e *legacyEdit) check(before, after string) error {
	old, _ := parseRows(before)
	now, _ := parseRows(after)
	if len(old) != len(now) {
		return e.unwritable()
	}
	for i, r := range now {
		want := old[i]
		if r.id == e.id {
			want.name, want.status = e.got["name"], e.got["status"]
			want.tests, want.security, want.deps = count(e.got["tests"]), count(e.got["security_tests"]), e.deps
			if want.cols.deps < 0 {
				want.deps = nil
			}
		}
		if r.id != want.id || r.name != want.name || r.status != want.status || r.tests != want.tests ||
			r.security != want.security || !equal(r.deps, want.deps) {
			return e.unwritable()
		}
	}
	return nil
}

func (e *legacyEdit) unwritable() error {
	return errors.New(e.id + ": the change can't be written into the table of " + stateRel("STATE.md") + ": run gl migrate")
}
