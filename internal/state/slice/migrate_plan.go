package slice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/conflict"
	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/sliceid"
)

// A migration is everything that Migrate is going to write.
type migration struct {
	state   []byte // STATE.md as read
	files   []stagedFile
	journal redo
}

// A stagedFile is the name and content of a slice file.
type stagedFile struct {
	name string
	data []byte
}

// planMigration reads the legacy project and prepares the migration, writing nothing.
func (g *migrator) planMigration(read func() (*Source, error)) (*migration, error) {
	if err := g.dir.NoneLive(); err != nil {
		return nil, err
	}
	src, err := read()
	if err != nil {
		return nil, err
	}
	if _, err := g.dir.ReadProject(); err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(string(src.State), textline.BOM)
	rows, err := strictRows(text)
	if err != nil {
		return nil, err
	}
	m := &migration{state: src.State}
	j := &m.journal
	j.StateText = string(src.State)
	j.Project, j.Notes = readNotes(text), decisionsIn(text)
	if err := m.addFiles(g, text, rows, src.Rows); err != nil {
		return nil, err
	}
	j.Slices = len(rows)
	j.Backup = stateRel(g.freeBackup(string(src.State)))
	j.Files = append(j.Files, stateRel(projectFile), stateRel("STATE.md"), j.Backup)
	missing, err := g.missingDecisions(j.Notes)
	if err != nil {
		return nil, err
	}
	if j.Decisions = len(missing); j.Decisions > 0 {
		j.Files = append(j.Files, stateRel("DECISIONS.md"))
	}
	return m, nil
}

// NoneLive returns an error while attempts are running: their agents know the legacy format and
// would keep writing it.
func (d *Dir) NoneLive() error {
	dir := d.path("runs/live")
	list, err := durable.ReadDir(dir)
	if err != nil && !missing(err) {
		return fmt.Errorf("look for running attempts: %w", err)
	}
	var live []string
	for _, e := range list {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && name != "" && name[0] != '.' {
			live = append(live, name)
		}
	}
	if len(live) > 0 {
		return fmt.Errorf("attempts are under way: %s: wait for them, or run gl stop --all",
			strings.Join(live, ", "))
	}
	return nil
}

// freeBackup returns the name that saveAs would use.
func (g *migrator) freeBackup(text string) string {
	for n := 0; ; n++ {
		name := "STATE.md.backup"
		if n > 0 {
			name = fmt.Sprintf("%s.%d", name, n)
		}
		have, err := durable.ReadFile(g.dir.path(name))
		if missing(err) || err == nil && string(have) == text {
			return name
		}
	}
}

// strictRows reads the slice table for migration: a row that can't be read, which other readers
// skip, is an error that names the line.
func strictRows(text string) ([]Row, error) {
	path := stateRel("STATE.md")
	if line, _ := conflict.Find(text); line > 0 {
		return nil, fmt.Errorf("%s line %d: merge conflict", path, line)
	}
	lines, found := tableLines(text)
	if !found {
		return nil, fmt.Errorf("%s has %w", path, ErrNoTable)
	}
	var rows []Row
	seen := map[string]int{}
	for _, l := range lines {
		n := 1 + strings.Count(text[:l.at], "\n")
		if separator(l.text) || strings.Trim(l.text, "| \t") == "" {
			continue
		}
		r, err := strictRow(l)
		if err != nil {
			return nil, fmt.Errorf("%s line %d: %w: correct the line, then run gl migrate again",
				path, n, err)
		}
		// two such files would collide on a case-insensitive file system
		key := strings.ToLower(r.ID)
		if first := seen[key]; first > 0 {
			return nil, fmt.Errorf("%s line %d: %s already exists, in line %d: remove one, then run gl migrate again", path, n, r.ID, first)
		}
		seen[key] = n
		rows = append(rows, r)
	}
	return rows, nil
}

func strictRow(l rowLine) (Row, error) {
	have := cells(l.text)
	if len(have) > l.cols.n {
		return Row{}, fmt.Errorf("the row has %d cells and the table %d columns: a bar in a text is written \\|", len(have), l.cols.n)
	}
	if len(have) <= l.cols.id || len(have) <= l.cols.status {
		return Row{}, fmt.Errorf("the row has no cell for its id or its status")
	}
	if err := sliceid.Valid(bare(have[l.cols.id])); err != nil {
		return Row{}, err
	}
	r, _ := l.cols.row(have)
	r.at, r.cols = l.at, l.cols
	for _, d := range r.Deps {
		if err := sliceid.Valid(d); err != nil {
			return Row{}, fmt.Errorf("the dependencies of %s can't be read: %w", r.ID, err)
		}
	}
	return r, nil
}

// addFiles adds the slice files and their list.
func (m *migration) addFiles(g *migrator, text string, rows []Row, slices []RowSlice) error {
	g.dir.mu.Lock()
	defer g.dir.mu.Unlock()
	v, err := g.dir.lookAtRows(slices, nil)
	if err != nil {
		return err
	}
	if v.graph.err != nil {
		return fmt.Errorf("%s can't be read: %w; gl doctor says more", stateRel("GRAPH.json"),
			bareError(v.graph.err))
	}
	mile := g.milestones(text)
	now := formatTime(g.dir.Now())
	ids := map[string]bool{}
	for _, r := range rows {
		ids[sliceid.Key(r.ID)] = true
	}
	for _, r := range rows {
		m.warnRow(text, r, ids, v)
		f, err := v.migrated(r, v.fileOf(r.ID), mile, now)
		if err != nil {
			return fmt.Errorf("%s line %d: %w", stateRel("STATE.md"),
				1+strings.Count(text[:r.at], "\n"), err)
		}
		m.files = append(m.files, stagedFile{r.ID + ".md", f.Bytes()})
		m.journal.Files = append(m.journal.Files, sliceRel(r.ID+".md"))
	}
	return nil
}

// warnRow records oddities in a row that don't prevent the migration.
func (m *migration) warnRow(text string, r Row, ids map[string]bool, v *view) {
	warn := func(format string, args ...any) {
		n := 1 + strings.Count(text[:r.at], "\n")
		m.journal.Warnings = append(m.journal.Warnings,
			fmt.Sprintf("%s line %d: ", stateRel("STATE.md"), n)+fmt.Sprintf(format, args...))
	}
	switch plan.Classify(r.Status) {
	case plan.Unknown:
		warn("%s has the status %q, which gl doesn't know; kept", r.ID, r.Status)
	case plan.Active:
		warn("%s is %s: who works on it has to go on in %s", r.ID, r.Status, sliceRel(r.ID+".md"))
	}
	have := cells(textline.Chomp(textline.First(text[r.at:])))
	for _, at := range []int{r.cols.tests, r.cols.security} {
		if at >= 0 && at < len(have) && count(have[at]) == 0 &&
			strings.ContainsAny(have[at], "123456789") {
			warn("%s: %q is not a number of tests; using 0", r.ID, have[at])
		}
	}
	for _, d := range r.Deps {
		if !ids[sliceid.Key(d)] && !v.ix.known(v.ix.canonical(d)) {
			warn("%s depends on %s, which is not a slice", r.ID, d)
		}
	}
}

// migrated returns the slice file for a row.
func (v *view) migrated(r Row, old *sliceFile, mile milestones, now string) (*File, error) {
	it := v.item(v.ix.canonical(r.ID))
	it.ID, it.Name = r.ID, r.Name
	if it.Name == "" {
		it.Name = r.ID
	}
	if it.Milestone == "" {
		it.Milestone = mile.of(r.ID)
	}
	if r.cols.deps >= 0 {
		it.Deps = r.Deps
	}
	it.Deps = slices.DeleteFunc(slices.Clone(it.Deps), func(d string) bool {
		return sliceid.Valid(d) != nil
	})
	f, err := ParseFile([]byte(template))
	if err != nil {
		return nil, err
	}
	for _, set := range [][2]string{
		{"id", r.ID}, {"status", migratedStatus(r.Status)},
		{"step", migratedStep(old.item.Step, r.Status)},
		{"milestone", textline.Join(it.Milestone)}, {"started", textline.Join(old.item.Started)},
		{"updated", now},
		{"tests", strconv.Itoa(r.Tests)}, {"security_tests", strconv.Itoa(r.Security)},
		{"session", textline.Join(old.item.Session)},
	} {
		if err := f.Set(set[0], set[1]); err != nil {
			return nil, err
		}
	}
	if err := f.SetList("deps", it.Deps); err != nil {
		return nil, err
	}
	if old.item.WaitingFor != "" {
		if err := f.SetAll([][2]string{{"waiting_for", textline.Join(old.item.WaitingFor)},
			{"waiting_kind", textline.Join(string(old.item.WaitKind))}}); err != nil {
			return nil, err
		}
	}
	f.Rest += v.body(it)
	if _, err := ParseFile(f.Bytes()); err != nil {
		return nil, fmt.Errorf("%s would be no slice file: %w", r.ID, err)
	}
	return f, nil
}

// migratedStatus translates a status word of older tables.
func migratedStatus(status string) string {
	switch strings.ToLower(strings.TrimSpace(status)) {
	case "done", "completed":
		return "complete"
	case "in-progress", "in progress":
		return "in_progress"
	case "":
		return "pending"
	}
	return status
}

func migratedStep(step, status string) string {
	switch strings.ToLower(step) {
	case "done", "complete", "completed":
		return "complete"
	case "pending", "":
		return StepOf(status)
	}
	return textline.Join(step)
}

// milestones provides the milestone of slices that have none in GRAPH.json.
type milestones struct {
	state   string            // the Milestone line of STATE.md
	roadmap map[string]string // by sliceid.Key
}

func (m milestones) of(id string) string {
	switch name := m.roadmap[sliceid.Key(id)]; {
	case m.state != "":
		return m.state
	case name != "":
		return name
	}
	return "unassigned"
}

func (g *migrator) milestones(text string) milestones {
	m := milestones{roadmap: map[string]string{}}
	for l := range markdown.Lines(text) {
		if at := labeled(l.Text, "milestone"); at >= 0 && !l.Code && m.state == "" {
			m.state = textline.Join(l.Text[at:])
		}
	}
	roadmap, err := durable.ReadFile(g.dir.path("ROADMAP.md"))
	if err != nil {
		return m // the roadmap is a hint, not a source of truth
	}
	for _, section := range splitSections(string(roadmap)) {
		name := milestoneName(section.title)
		for _, word := range strings.FieldsFunc(section.text, func(r rune) bool {
			return r > 127 || !alnum(byte(r)) && !strings.ContainsRune("._-", r)
		}) {
			if key := sliceid.Key(strings.Trim(word, "._-")); name != "" && m.roadmap[key] == "" {
				m.roadmap[key] = name
			}
		}
	}
	return m
}

// milestoneName strips the label and the mark from a roadmap heading: "Milestone: api
// [complete]" becomes "api".
func milestoneName(title string) string {
	title, _, _ = strings.Cut(title, " [")
	if at := labeled(title, "milestone"); at >= 0 {
		title = title[at:]
	}
	return textline.Join(title)
}
