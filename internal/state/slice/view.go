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

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/base/uniq"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/tracker"
)

// A view is one look at a project. Its user holds d.mu.
type view struct {
	d        *Dir
	stems    []string
	files    []*sliceFile // by stem; nil if read reads each file when needed
	read     func(stem string) *sliceFile
	graph    graphFile
	ix       *index
	paused   map[string]bool
	blockers []string
	rows     func() *stateRows // of STATE.md, read when needed
	warnings []plan.Warning
	memory   *memory // nil without a follower
}

// Load reads everything: the union of slice files and graph entries. Problems with single files
// become warnings; the error is for a project without slice files, or an unreadable directory.
func (s *Store) Load() (*tracker.Contents, error) {
	s.Dir.mu.Lock()
	defer s.Dir.mu.Unlock()
	v, err := s.files.lookAtAll()
	if err != nil {
		return nil, err
	}
	v.warnTwins()
	return v.contents(), nil
}

// contents joins everything in the view.
func (v *view) contents() *tracker.Contents {
	v.warnGraph()
	c := &tracker.Contents{Blockers: v.blockers}
	if v.graph.err != nil {
		c.Unsure = fmt.Sprintf("%s can't be read: %v", stateRel("GRAPH.json"),
			bareError(v.graph.err))
	}
	a := v.assemble()
	if c.Items, c.At = a.items, v.ix.at; a.unknown {
		v.evidence(c)
	}
	c.Warnings = v.warnings
	return c
}

// look lists the slices without reading their files.
func (s *sliceFiles) look() (*view, error) {
	return s.lookWith(func(v *view) { v.read = s.readFile })
}

// lookAtAll is look that also reads the slice files.
func (s *sliceFiles) lookAtAll() (*view, error) {
	v, err := s.lookWith(func(v *view) { v.files = s.recallFiles(v.stems) })
	if err == nil {
		v.memory = s.memory
		v.dropVanished()
	}
	return v, err
}

func (s *sliceFiles) lookWith(read func(*view)) (*view, error) {
	if err := here(s.dir.root); err != nil {
		return nil, err
	}
	return s.dir.look(func(v *view) (err error) {
		if v.stems, v.warnings, err = s.list(); err == nil {
			read(v)
		}
		return err
	})
}

// lookAtRows returns the view of a project whose slices are rows of STATE.md.
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

// look reads the graph, megabytes in a big project, while list finds the slices.
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

// dropVanished drops files that were listed but gone when read.
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

// bareError strips the path from an error whose message already has it.
func bareError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (v *view) warnGraph() {
	if v.graph.err != nil {
		v.warn(stateRel("GRAPH.json"), "can't be read: %v; the slices' own deps are used",
			bareError(v.graph.err))
	}
	for _, w := range v.graph.warnings {
		v.warn(stateRel("GRAPH.json"), "%s", w)
	}
}

// warnTwins warns about slice files whose names read the same.
func (v *view) warnTwins() {
	if v.ix.twins == nil {
		v.ix.twins = twins(v.stems)
	}
	for i, others := range v.ix.twins {
		if others != "" {
			v.warn(sliceRel(v.stems[i]+".md"),
				"reads the same as %s: they are different slices", others)
		}
	}
}

// twins returns, by index of each stem, the later stems that read the same.
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

// file returns the file of the slice at index i or, if it has none, its row; nil for neither.
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
		// Another slice's row is no evidence for this one: gl wrote it, and gl's own output
		// must not become evidence.
		if r, ok := v.row(id); ok && (r.ID == id || !v.ix.known(r.ID)) {
			return fromRow(r)
		}
	}
	return nil
}

// fileOf returns the file with that stem.
func (v *view) fileOf(stem string) *sliceFile {
	if i, ok := slices.BinarySearch(v.stems, stem); ok && v.files != nil {
		return v.files[i]
	}
	return nil
}

// item joins one slice from all its sources.
func (v *view) item(id string) plan.Item {
	var it plan.Item
	if i, ok := v.ix.at[id]; ok {
		v.join(&it, i, id)
	} else {
		v.join(&it, none, id)
	}
	return it
}

// join is item for the slice at index i; i is none for an id that isn't a slice.
func (v *view) join(it *plan.Item, i int, id string) {
	*it = plan.Item{ID: id, Wave: plan.None, Priority: plan.None, Position: plan.None,
		Paused: v.paused[id]}
	e, f := v.ix.entryAt(i), v.file(i, id)
	if e != nil {
		it.Position = i
		e.fill(it)
	}
	if f == nil {
		f = fromRow(Row{Status: "pending"})
	}
	if !f.row {
		it.File = sliceRel(id + ".md")
		v.warnFile(it, f)
	}
	it.Name = nameOf(id, e, f)
	it.Corrupt, it.Changed = f.item.Corrupt, f.item.Changed
	it.Deps = v.deps(id, e, f)
	if it.Corrupt == "" {
		f.fill(it)
	}
}

// fill copies the file's values to the item. Where the file has none, those of the graph stay.
func (f *sliceFile) fill(it *plan.Item) {
	for i := range fields {
		if v := fields[i].value; v != nil {
			v.take(it, &f.item)
		}
	}
	checkBuilder(it, "agent", &it.Agent)
	checkBuilder(it, "model", &it.Model)
}

// Own returns the slice with exactly that id as its own file describes it, and false if it has
// no readable file. The result lacks what the graph knows better (dependencies, maybe the name)
// and what other files say about the slice. The cost doesn't depend on the size of the project.
func (s *Store) Own(id string) (plan.Item, bool) {
	s.Dir.mu.Lock()
	defer s.Dir.mu.Unlock()
	return s.files.ownItem(id)
}

// ownItem is Own. The caller holds s.mu.
func (s *sliceFiles) ownItem(id string) (plan.Item, bool) {
	if !s.hasFile(id) {
		return plan.Item{}, false
	}
	f := s.readFile(id)
	if f == nil || f.row {
		return plan.Item{}, false
	}
	it := plan.Item{ID: id, Name: nameOf(id, nil, f), File: sliceRel(id + ".md"),
		Corrupt: f.item.Corrupt, Changed: f.item.Changed, Wave: plan.None, Priority: plan.None,
		Position: plan.None}
	if it.Corrupt == "" {
		f.fill(&it)
	}
	return it, true
}

// hasFile reports whether a slice with exactly that id has a file. An exact match wins over ids
// that read the same.
func (s *sliceFiles) hasFile(id string) bool {
	if sliceid.Valid(id) != nil || strings.EqualFold(id, "readme") {
		return false
	}
	info, err := durable.Stat(s.slicePath(id))
	return err == nil && info.Mode().IsRegular()
}

// checkBuilder makes an item wait if its agent or model isn't a valid name: another one must
// not build it instead.
func checkBuilder(it *plan.Item, key string, name *string) {
	if *name == "" || agent.IsModel(*name) {
		return
	}
	it.WaitingFor = cmp.Or(it.WaitingFor,
		fmt.Sprintf("a valid name in its front matter: %s: %.40q", key, *name))
	it.Next = []string{"gl state set " + it.ID + " " + key + "=NAME"}
	*name = ""
}

// StepOf returns the step of a slice that has that status and no file, and the step its new
// file gets.
func StepOf(status string) string {
	if plan.Classify(status) == plan.Done {
		return "complete"
	}
	return "none"
}

func (v *view) warnFile(it *plan.Item, f *sliceFile) {
	if f.item.Corrupt != "" {
		v.warn(it.File, "%s", f.item.Corrupt)
	}
	for _, w := range f.warnings {
		v.warn(it.File, "%s", w)
	}
	if f.id != "" && f.id != it.ID {
		v.warn(it.File, "says id %s; the file's name counts", f.id)
	}
}

// deps returns the slice's dependencies: the graph's if its entry has a list, else the file's,
// else those from the edges. The caller must not change them.
func (v *view) deps(id string, e *entry, f *sliceFile) []string {
	path := stateRel("GRAPH.json")
	switch {
	case e != nil && e.hasDeps:
		list, self := v.ix.deps(id, e.deps)
		if self {
			v.warn(path, "%s depends on itself; ignored", id)
		}
		if !f.row && f.item.Corrupt == "" && f.hasDeps && !slices.Equal(f.deps, e.deps) {
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

// nameOf returns the slice's name for people.
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

// withoutID cuts the id and its separator from the start of a heading.
func withoutID(title, id string) string {
	end := strings.IndexFunc(title, func(r rune) bool {
		return r > 127 || !alnum(byte(r)) && !strings.ContainsRune("._-", r)
	})
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

// row finds the row of a slice in STATE.md, else in its backup: by the same id, else the only
// one that reads the same.
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

// stateRows are the rows of STATE.md and, for ids it lacks, of the backup.
type stateRows struct {
	of  map[string]Row
	ids map[string][]string // by normalized id
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

// evidence records the rows of ids that are no longer slices, and normalizes the spelling of
// dependencies.
func (v *view) evidence(c *tracker.Contents) {
	c.Evidence = map[string]string{}
	for id, r := range v.rows().of {
		if !v.ix.known(v.ix.canonical(id)) {
			c.Evidence[id] = r.Status
		}
	}
	for _, it := range c.Items {
		own := false // until copied, the list is shared with the file
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
