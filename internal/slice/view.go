package slice

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"greenlight/internal/agent"
	"greenlight/internal/durable"
	"greenlight/internal/plan"
	"greenlight/internal/sliceid"
	"greenlight/internal/text/textline"
	"greenlight/internal/tracker"
	"greenlight/internal/uniq"
)

// A view is one look at a project. It is used with d.mu held.
type view struct {
	d        *Dir
	stems    []string
	files    []*sliceFile // of the stems; nil: read has each when it is needed
	read     func(stem string) *sliceFile
	graph    graphFile
	ix       *index
	paused   map[string]bool
	blockers []string
	rows     func() *stateRows // of STATE.md; read when they are needed
	warnings []plan.Warning
	memory   *memory // nil unless somebody follows
}

// Load reads everything: the union of slice files and graph entries. What is wrong with single files is in the
// warnings; the error is for a project without slice files, or whose directory can't be read.
func (s *Store) Load() (*tracker.Contents, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.lookAtAll()
	if err != nil {
		return nil, err
	}
	v.warnTwins()
	return v.contents(), nil
}

// contents joins all that the view has.
func (v *view) contents() *tracker.Contents {
	v.warnGraph()
	c := &tracker.Contents{Blockers: v.blockers}
	if v.graph.err != nil {
		c.Unsure = fmt.Sprintf("%s can't be read: %v", stateRel("GRAPH.json"), bareError(v.graph.err))
	}
	a := v.assemble()
	if c.Items, c.At = a.items, v.ix.at; a.unknown {
		v.evidence(c)
	}
	c.Warnings = v.warnings
	return c
}

// look finds out what there is, without reading the slice files.
func (s *Store) look() (*view, error) {
	return s.lookWith(func(v *view) { v.read = s.readFile })
}

// lookAtAll also reads the slice files.
func (s *Store) lookAtAll() (*view, error) {
	if !s.recalled {
		go s.keptFiles() // decoded while the files are listed
	}
	v, err := s.lookWith(func(v *view) { v.files = s.recallFiles(v.stems) })
	if err == nil {
		v.memory = s.memory
		v.dropVanished()
	}
	return v, err
}

func (s *Store) lookWith(read func(*view)) (*view, error) {
	if err := s.here(); err != nil {
		return nil, err
	}
	return s.Dir.look(func(v *view) (err error) {
		if v.stems, v.warnings, err = s.list(); err == nil {
			read(v)
		}
		return err
	})
}

// lookAtRows is the view of a project whose slices are rows of STATE.md.
func (d *Dir) lookAtRows(rows []RowSlice, warnings []plan.Warning) (*view, error) {
	return d.look(func(v *view) error {
		v.warnings = slices.Clone(warnings)
		last := make(map[string]*sliceFile, len(rows))
		for _, r := range rows {
			last[r.ID] = fromRowSlice(r)
		}
		v.stems = slices.Sorted(maps.Keys(last))
		v.files = make([]*sliceFile, len(v.stems))
		for i, stem := range v.stems {
			v.files[i] = last[stem]
		}
		return nil
	})
}

// look reads the graph, which of a big project is megabytes, while list finds the slices.
func (d *Dir) look(list func(*view) error) (*view, error) {
	graph := make(chan graphFile, 1)
	go func() { graph <- d.readGraph() }()
	v := &view{d: d, rows: sync.OnceValue(d.readRows)}
	err := list(v)
	if v.graph = <-graph; err != nil {
		return nil, err
	}
	if v.ix = d.joined; !v.ix.is(v.stems, v.graph.graph) {
		v.ix = newIndex(v.stems, v.graph.graph)
		d.joined = v.ix
	}
	project := d.readProject()
	if project.err != nil {
		v.warn(stateRel("project-state.json"), "ignored: %v", bareError(project.err))
	}
	v.blockers = project.blockers
	v.paused = map[string]bool{}
	for _, id := range project.paused {
		v.paused[v.ix.canonical(id)] = true
	}
	return v, nil
}

// dropVanished forgets the files that were listed but gone when they were to be read.
func (v *view) dropVanished() {
	if !slices.Contains(v.files, nil) {
		return
	}
	var stems []string
	var files []*sliceFile
	for i, f := range v.files {
		if f != nil {
			stems, files = append(stems, v.stems[i]), append(files, f)
		}
	}
	v.stems, v.files = stems, files
	v.ix = newIndex(stems, v.graph.graph)
}

func (v *view) warn(path, format string, args ...any) {
	v.warnings = append(v.warnings, plan.Warning{Path: path, Message: fmt.Sprintf(format, args...)})
}

// bareError leaves out the path, which stands in front of it already.
func bareError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (v *view) warnGraph() {
	if v.graph.err != nil {
		v.warn(stateRel("GRAPH.json"), "can't be read: %v; the slices' own deps are used", bareError(v.graph.err))
	}
	for _, w := range v.graph.warnings {
		v.warn(stateRel("GRAPH.json"), "%s", w)
	}
}

// warnTwins names slice files whose names read the same.
func (v *view) warnTwins() {
	if v.ix.twins == nil {
		v.ix.twins = twins(v.stems)
	}
	for i, others := range v.ix.twins {
		if others != "" {
			v.warn(sliceRel(v.stems[i]+".md"), "reads the same as %s: they are different slices", others)
		}
	}
}

// twins are, by the place of each stem, the later ones that read the same.
func twins(stems []string) []string {
	first := make(map[string]int, len(stems))
	twins := make([]string, len(stems))
	for i, stem := range stems {
		key := sliceid.Key(stem)
		if at, ok := first[key]; !ok {
			first[key] = i
		} else if twins[at] == "" {
			twins[at] = stem
		} else {
			twins[at] += ", " + stem
		}
	}
	return twins
}

// file returns what is kept of the file of the slice at place i in the index or, for one without, of its row; nil for neither.
func (v *view) file(i int, id string) *sliceFile {
	stem := none
	if i >= 0 {
		stem = v.ix.stem[i]
	}
	switch {
	case v.files == nil && stem != none:
		if f := v.read(id); f != nil {
			return f
		}
	case v.files != nil && stem >= 0:
		return v.files[stem]
	}
	ids := []string{id}
	if e := v.ix.entryAt(i); e != nil {
		ids = append(ids, e.id)
	}
	for _, id := range ids {
		// The row of another slice says nothing of this one: gl wrote it, and what gl writes must not become its own evidence.
		if r, ok := v.row(id); ok && (r.ID == id || !v.ix.known(r.ID)) {
			return fromRow(r)
		}
	}
	return nil
}

// fileOf is what is kept of the file of that name.
func (v *view) fileOf(stem string) *sliceFile {
	if i, ok := slices.BinarySearch(v.stems, stem); ok && v.files != nil {
		return v.files[i]
	}
	return nil
}

// item puts one slice together from all its sources.
func (v *view) item(id string) plan.Item {
	if i, ok := v.ix.at[id]; ok {
		return v.itemAt(i, id)
	}
	return v.itemAt(none, id)
}

// itemAt is item of the slice at place i in the index; none for an id that is no slice.
func (v *view) itemAt(i int, id string) plan.Item {
	it := plan.Item{ID: id, Wave: plan.None, Priority: plan.None, Position: plan.None, Paused: v.paused[id]}
	e, f := v.ix.entryAt(i), v.file(i, id)
	if e != nil {
		it.Position, it.Wave, it.Priority, it.Milestone = i, e.wave, e.priority, e.milestone
	}
	if f == nil {
		f = &sliceFile{status: "pending", step: "none", wave: plan.None, priority: plan.None, row: true}
	}
	if !f.row {
		it.File = sliceRel(id + ".md")
		v.warnFile(&it, f)
	}
	it.Name = nameOf(id, e, f)
	it.Corrupt, it.Changed = f.corrupt, f.changed
	it.Deps = v.deps(id, e, f)
	if f.corrupt != "" {
		return it
	}
	f.fill(&it)
	if len(it.Files) == 0 && e != nil {
		it.Files = e.files
	}
	if f.milestone != "" {
		it.Milestone = f.milestone
	}
	if f.wave != plan.None {
		it.Wave = f.wave
	}
	if f.priority != plan.None {
		it.Priority = f.priority
	}
	return it
}

// fill has the item say what its file says of itself.
func (f *sliceFile) fill(it *plan.Item) {
	it.Status, it.Step, it.Session = f.status, f.step, f.session
	it.Started, it.Updated, it.WaitingFor, it.Wraps, it.Files = f.started, f.updated, f.waiting, f.wraps, f.files
	it.Tests, it.SecurityTests, it.Failing, it.Verified = f.tests, f.security, f.failing, f.verified
	it.NewTests, it.Counted = f.newTests, f.counted
	it.Agent, it.Model, it.WaitKind = f.agent, f.model, plan.WaitKind(f.waitKind)
	checkBuilder(it, "agent", &it.Agent)
	checkBuilder(it, "model", &it.Model)
}

// Own is what the slice of exactly that id says of itself, false where it has no file that could say it. What the graph knows better isn't in
// it: dependencies, and maybe the name; nor what other files say of the slice. It costs the same in a project of any size.
func (s *Store) Own(id string) (plan.Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ownItem(id)
}

// ownItem is Own. The caller holds s.mu.
func (s *Store) ownItem(id string) (plan.Item, bool) {
	if !s.hasFile(id) {
		return plan.Item{}, false
	}
	f := s.readFile(id)
	if f == nil || f.row {
		return plan.Item{}, false
	}
	it := plan.Item{ID: id, Name: nameOf(id, nil, f), File: sliceRel(id + ".md"), Corrupt: f.corrupt, Changed: f.changed,
		Wave: plan.None, Priority: plan.None, Position: plan.None}
	if f.corrupt == "" {
		f.fill(&it)
	}
	return it, true
}

// hasFile says whether there is a slice of exactly that id, by the file itself: that one is meant, whatever others read the same.
func (s *Store) hasFile(id string) bool {
	if sliceid.Valid(id) != nil || strings.EqualFold(id, "readme") {
		return false
	}
	info, err := durable.Stat(s.slicePath(id))
	return err == nil && info.Mode().IsRegular()
}

// checkBuilder has an item wait whose agent or model can't be one: it isn't built by another one instead.
func checkBuilder(it *plan.Item, key string, name *string) {
	if *name == "" || agent.IsModel(*name) {
		return
	}
	it.WaitingFor = cmp.Or(it.WaitingFor, fmt.Sprintf("a valid name in its front matter: %s: %.40q", key, *name))
	it.Next = []string{"gl state set " + it.ID + " " + key + "=NAME"}
	*name = ""
}

// StepOf is the step of a slice of that status without a file, and the one that its file begins with.
func StepOf(status string) string {
	if plan.Classify(status) == plan.Done {
		return "complete"
	}
	return "none"
}

func (v *view) warnFile(it *plan.Item, f *sliceFile) {
	if f.corrupt != "" {
		v.warn(it.File, "%s", f.corrupt)
	}
	for _, w := range f.warnings {
		v.warn(it.File, "%s", w)
	}
	if f.id != "" && f.id != it.ID {
		v.warn(it.File, "says id %s; the file's name counts", f.id)
	}
}

// deps returns the slice's dependencies: the graph's where its entry has a list, else the file's own, else the edges. The caller
// doesn't change them.
func (v *view) deps(id string, e *entry, f *sliceFile) []string {
	path := stateRel("GRAPH.json")
	switch {
	case e != nil && e.hasDeps:
		list, self := v.ix.deps(id, e.deps)
		if self {
			v.warn(path, "%s depends on itself; ignored", id)
		}
		if !f.row && f.corrupt == "" && f.hasDeps && !slices.Equal(f.deps, e.deps) {
			if own, _ := v.ix.deps(id, f.deps); !sameSet(list, own) {
				v.warn(sliceRel(id+".md"), "deps (%s) differ from GRAPH.json (%s); the graph counts", orNone(own), orNone(list))
			}
		}
		return list
	case len(f.deps) > 0:
		list, self := v.ix.deps(id, f.deps)
		if self && !f.row {
			v.warn(sliceRel(id+".md"), "%s depends on itself; ignored", id)
		}
		return list
	}
	list, self := v.ix.deps(id, v.ix.edges[id])
	if self {
		v.warn(path, "%s depends on itself; ignored", id)
	}
	return list
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func sameSet(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	in := uniq.Of(b)
	for _, x := range a {
		if !in.Has(x) {
			return false
		}
	}
	return true
}

// nameOf gives what people call the slice.
func nameOf(id string, e *entry, f *sliceFile) string {
	if name := textline.Join(f.name); name != "" {
		return name
	}
	heading := textline.Join(f.heading)
	if !f.row {
		if name := textline.Join(withoutID(f.heading, id)); name != "" {
			return name
		}
		heading = ""
	}
	if e != nil {
		if name := textline.Join(e.name); name != "" {
			return name
		}
	}
	return cmp.Or(heading, id)
}

// withoutID cuts the id and what divides it from the name off a heading.
func withoutID(title, id string) string {
	end := strings.IndexFunc(title, func(r rune) bool { return r > 127 || !alnum(byte(r)) && !strings.ContainsRune("._-", r) })
	if end < 0 {
		end = len(title)
	}
	word := strings.TrimRight(title[:end], "._-")
	if word == "" || word != id && sliceid.Key(word) != sliceid.Key(id) {
		return title
	}
	rest := strings.TrimLeft(title[len(word):], " \t")
	for _, mark := range [...]string{":", "—", "–", "-"} {
		if name, ok := strings.CutPrefix(rest, mark); ok {
			return strings.TrimLeft(name, " \t")
		}
	}
	if rest == "" {
		return ""
	}
	return title
}

// row finds the row of a slice in STATE.md, else in its backup: the same id, else the only one that reads the same.
func (v *view) row(id string) (Row, bool) {
	rows := v.rows()
	if r, ok := rows.of[id]; ok {
		return r, true
	}
	if same := rows.ids[sliceid.Key(id)]; len(same) == 1 {
		return rows.of[same[0]], true
	}
	return Row{}, false
}

// stateRows are the rows of STATE.md and, of ids that it doesn't have, those of the backup.
type stateRows struct {
	of  map[string]Row
	ids map[string][]string // by how they read
}

func (d *Dir) readRows() *stateRows {
	all := &stateRows{map[string]Row{}, map[string][]string{}}
	current, backup := d.readState(&d.state, "STATE.md"), d.readState(&d.backup, "STATE.md.backup")
	add := func(r Row) {
		key := sliceid.Key(r.ID)
		all.of[r.ID] = r
		all.ids[key] = append(all.ids[key], r.ID)
	}
	rows, _ := current.rows()
	for _, r := range rows {
		add(r)
	}
	rows, _ = backup.rows()
	for _, r := range rows {
		if len(all.ids[sliceid.Key(r.ID)]) == 0 {
			add(r)
		}
	}
	return all
}

// evidence fills in what the rows say of ids that are no slices any more, and gives the dependencies their spelling.
func (v *view) evidence(c *tracker.Contents) {
	c.Evidence = map[string]string{}
	for id, r := range v.rows().of {
		if !v.ix.known(v.ix.canonical(id)) {
			c.Evidence[id] = r.Status
		}
	}
	for _, it := range c.Items {
		own := false // until then the list is the file's, which others have, too
		for k, d := range it.Deps {
			if v.ix.known(d) {
				continue
			}
			if r, ok := v.row(d); ok && r.ID != d && !v.ix.known(v.ix.canonical(r.ID)) {
				if !own {
					it.Deps, own = slices.Clone(it.Deps), true
				}
				it.Deps[k] = r.ID
			}
		}
	}
}
