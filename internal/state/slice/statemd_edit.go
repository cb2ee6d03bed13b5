package slice

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/state/sliceid"
)

// A StateMD is the text of a handwritten STATE.md. Edits keep every byte outside the change.
type StateMD struct{ mark, text string }

// ReadStateMD accepts any text.
func ReadStateMD(data []byte) StateMD {
	if text, ok := strings.CutPrefix(string(data), textline.BOM); ok {
		return StateMD{textline.BOM, text}
	}
	return StateMD{"", string(data)}
}

// Bytes returns the text, with its byte order mark if it has one.
func (m StateMD) Bytes() []byte { return []byte(m.mark + m.text) }

// Rows returns the rows of the slice tables in the Slices section, or else of any table with
// columns for an id and a status. If an id has two rows, the first counts.
func (m StateMD) Rows() []Row {
	rows, _ := parseRows(m.text)
	return rows
}

// Row returns the row of a slice by its exact id.
func (m StateMD) Row(id string) (Row, bool) {
	for _, r := range m.Rows() {
		if r.ID == id {
			return r, true
		}
	}
	return Row{}, false
}

// A RowChange describes how a slice changes in STATE.md.
type RowChange struct {
	ID        string
	Cells     map[string]string // new texts by key: name, status, tests, security_tests
	Deps      *[]string         // nil for no change
	Decisions []string          // lines to add to the Decisions section

	// The fields below update the lines of the Current section that exist. Day and Activity are
	// written only along with another change.
	Begun         bool // work on the slice begins; the section now names it
	Name          string
	Step          string
	StepChanged   bool
	Day, Activity string
}

// A NoPlaceError is returned if the table has no column for a value, or the file no section.
type NoPlaceError struct{ ID, What string }

func (e *NoPlaceError) Error() string {
	return fmt.Sprintf("%s: %s of a legacy project has no place for %q: run gl migrate", e.ID,
		stateRel("STATE.md"), e.What)
}

// With returns the text with the change made. It checks that the result reads as intended, with
// this row changed and all others the same, and returns an error otherwise.
func (m StateMD) With(c RowChange) (StateMD, error) {
	r, ok := m.Row(c.ID)
	if !ok {
		return m, sliceid.NotFound(c.ID, nil)
	}
	set, err := c.cells(r)
	if err != nil {
		return m, err
	}
	changes := c.current(m.Current(), len(set) > 0)
	if len(set) > 0 {
		line := strings.TrimRight(textline.Chomp(textline.First(m.text[r.at:])), " \t")
		changes = append(changes, textChange{r.at, r.at + len(line), setCells(line, set)})
	}
	next := apply(m.text, changes)
	if err := c.check(m.text, next); err != nil {
		return m, err
	}
	if len(c.Decisions) > 0 {
		next = noteInSection(next, "Decisions", c.Decisions, []string{"Blockers", "Session"})
		if err := c.check(m.text, next); err != nil {
			return m, err
		}
	}
	return StateMD{m.mark, next}, nil
}

// cells returns the new texts of the row's cells, by column.
func (c RowChange) cells(r Row) (map[int]string, error) {
	set := map[int]string{}
	for key, at := range map[string]int{
		"name": r.cols.name, "status": r.cols.status, "tests": r.cols.tests,
		"security_tests": r.cols.security,
	} {
		text, ok := c.Cells[key]
		switch {
		case !ok:
			continue
		case at < 0:
			return nil, &NoPlaceError{c.ID, key}
		}
		set[at] = text
	}
	if c.Deps == nil {
		return set, nil
	}
	if r.cols.deps < 0 {
		return nil, &NoPlaceError{c.ID, "deps"}
	}
	set[r.cols.deps] = strings.Join(*c.Deps, ", ")
	if len(*c.Deps) == 0 {
		set[r.cols.deps] = "none"
	}
	return set, nil
}

// current returns the changes to the Current section; row reports whether the slice's row
// changes.
func (c RowChange) current(is Current, row bool) []textChange {
	var changes []textChange
	put := func(at stretch, text string) {
		if at.from >= 0 && at.text != text {
			changes = append(changes, textChange{at.from, at.to(), text})
		}
	}
	named := is.Names(c.ID)
	if c.Begun && !named {
		name := c.Name
		if name != "" {
			name = dash(is.slice.text) + name
		}
		put(is.slice, c.ID+name)
	}
	if c.Begun && !named && is.slice.from >= 0 || named && c.StepChanged {
		put(is.step, c.Step)
	}
	if row || len(changes) > 0 {
		put(is.activity, c.Day+dash(is.activity.text)+c.ID+" "+c.Activity)
	}
	return changes
}

// check checks that the table reads as intended.
func (c RowChange) check(before, after string) error {
	old, _ := parseRows(before)
	now, _ := parseRows(after)
	bad := errors.New(c.ID + ": the change can't be written into the table of " +
		stateRel("STATE.md") + ": run gl migrate")
	if len(old) != len(now) {
		return bad
	}
	for i, r := range now {
		want := old[i]
		if r.ID == c.ID {
			want = c.of(want)
		}
		if r.ID != want.ID || r.Name != want.Name || r.Status != want.Status ||
			r.Tests != want.Tests ||
			r.Security != want.Security || !equal(r.Deps, want.Deps) {
			return bad
		}
	}
	return nil
}

// of returns r with the change applied.
func (c RowChange) of(r Row) Row {
	for key, text := range c.Cells {
		switch key {
		case "name":
			r.Name = text
		case "status":
			r.Status = text
		case "tests":
			r.Tests = count(text)
		case "security_tests":
			r.Security = count(text)
		}
	}
	if c.Deps != nil {
		r.Deps = *c.Deps
	}
	return r
}

// A Current is the parsed lines of the Current section, which show the work in progress.
type Current struct {
	slice, step, activity stretch // the texts after the labels
}

// Current parses the Current section; of two lines with the same label, the first counts.
func (m StateMD) Current() Current { return parseCurrent(m.text) }

// Step returns the text of the Step line, "" for none.
func (c Current) Step() string { return c.step.text }

// Names reports whether the Slice line names the slice.
func (c Current) Names(id string) bool {
	word := c.id()
	return word != "" && sliceid.Key(word) == sliceid.Key(id)
}

// A textChange replaces a stretch of a text.
type textChange struct {
	from, to int
	text     string
}

// apply makes all the changes, which must not overlap.
func apply(text string, changes []textChange) string {
	return string(splice([]byte(text), changes))
}

// splice is apply for bytes.
func splice(text []byte, changes []textChange) []byte {
	sort.SliceStable(changes, func(i, j int) bool { return changes[i].from < changes[j].from })
	grown := 0
	for _, c := range changes {
		grown += len(c.text) - (c.to - c.from)
	}
	next := make([]byte, 0, len(text)+grown)
	pos := 0
	for _, c := range changes {
		next = append(append(next, text[pos:c.from]...), c.text...)
		pos = c.to
	}
	return append(next, text[pos:]...)
}

// A stretch is a part of a text and its offset. from is -1 for none.
type stretch struct {
	from int
	text string
}

func (s stretch) to() int { return s.from + len(s.text) }

func parseCurrent(text string) Current {
	none := stretch{from: -1}
	c := Current{none, none, none}
	section := sectionOf(text, "Current")
	if section.from < 0 {
		return c
	}
	for l := range markdown.Lines(section.text) {
		if l.Code {
			continue
		}
		for label, where := range map[string]*stretch{"slice": &c.slice, "step": &c.step,
			"last activity": &c.activity} {
			if from := labeled(l.Text, label); from >= 0 && where.from < 0 {
				*where = stretch{section.from + l.Start + from,
					strings.TrimRight(l.Text[from:], " \t\r")}
			}
		}
	}
	return c
}

// sectionOf returns the first section with that title, including its heading.
func sectionOf(text, title string) stretch {
	pos := 0
	for _, s := range splitSections(text) {
		if strings.EqualFold(s.title, title) {
			return stretch{pos, s.text}
		}
		pos += len(s.text)
	}
	return stretch{from: -1}
}

// labeled returns the offset of the value in a `Label: value` line, -1 for any other line. The
// label may be emphasized and the line a list item.
func labeled(line, label string) int {
	rest := strings.TrimLeft(line, " \t*_-")
	if len(rest) < len(label) || !strings.EqualFold(rest[:len(label)], label) {
		return -1
	}
	rest = strings.TrimLeft(rest[len(label):], "*_ ")
	if !strings.HasPrefix(rest, ":") {
		return -1
	}
	rest = strings.TrimLeft(rest[1:], "*_ \t")
	return len(line) - len(rest)
}

// id returns the id in the Slice line, "" for none.
func (c Current) id() string {
	word, _, _ := strings.Cut(c.slice.text, " ")
	word = strings.Trim(word, "*_`:,")
	if sliceid.Valid(word) != nil {
		return ""
	}
	return word
}

// dash returns the separator already used in a line, or a dash.
func dash(text string) string {
	for _, mark := range []string{" -- ", " – ", " - ", ": "} {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return " — "
}

// setCells changes cells of a table line and keeps every byte around them. It adds cells that a
// short line lacks.
func setCells(line string, set map[int]string) string {
	var b strings.Builder
	have, pos, last := markdown.CellSpans(line), 0, -1
	for i := range set {
		last = max(last, i)
	}
	for i, s := range have {
		if text, ok := set[i]; ok {
			b.WriteString(line[pos:s[0]] + fill(line[s[0]:s[1]], text))
			pos = s[1]
		}
	}
	b.WriteString(line[pos:])
	if n := len(have); n <= last && n > 0 && have[n-1][1] == len(line) {
		b.WriteString(" |")
	}
	for i := len(have); i <= last; i++ {
		b.WriteString(fill("", set[i]) + "|")
	}
	return b.String()
}

// fill puts a text into a cell, with the padding of the old text, and as wide if that was
// padded to a column.
func fill(old, text string) string {
	text = cell(text)
	inner := strings.Trim(old, " \t")
	if inner == "" {
		return padTo(" "+text+" ", old)
	}
	at := strings.Index(old, inner)
	before, after := old[:at], old[at+len(inner):]
	if len(after) > 1 {
		return padTo(before+text+" ", old)
	}
	return before + text + after
}

// padTo appends blanks until the text is as wide as old.
func padTo(text, old string) string {
	if n := utf8.RuneCountInString(old) - utf8.RuneCountInString(text); n > 0 {
		return text + strings.Repeat(" ", n)
	}
	return text
}

// noteInSection adds list items at the end of a section, skipping those it has. A missing
// section is created before the first of the others, or at the end.
func noteInSection(text, name string, items, others []string) string {
	s := sectionOf(text, name)
	eol := textline.End(textline.First(text))
	if s.from < 0 {
		return addSection(text, name, items, others, eol)
	}
	have := map[string]bool{}
	for line := range strings.Lines(s.text) {
		have[strings.Trim(line, " \t\r\n")] = true
	}
	body := strings.TrimRight(s.text, " \t\r\n")
	at := s.from + len(body)
	heading := textline.Chomp(textline.First(s.text))
	content := strings.Trim(strings.TrimPrefix(body, heading), " \t\r\n")
	add := ""
	for _, item := range items {
		if !have["- "+item] {
			add += eol + "- " + item
		}
	}
	switch {
	case add == "":
		return text
	case content == "":
		return text[:at] + eol + add + text[at:]
	case isNone(strings.Trim(content, " \t")): // a word for "none"
		return text[:at-len(content)] + strings.TrimPrefix(add, eol) + text[at:]
	}
	return text[:at] + add + text[at:]
}

func addSection(text, name string, items, others []string, eol string) string {
	block := "## " + name + eol + eol
	for _, item := range items {
		block += "- " + item + eol
	}
	for _, other := range others {
		if s := sectionOf(text, other); s.from >= 0 {
			return text[:s.from] + block + eol + text[s.from:]
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	return text + eol + block
}
