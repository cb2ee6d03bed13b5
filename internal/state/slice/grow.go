package slice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/base/uniq"
	"greenlight/internal/core/depgraph"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/tracker"
)

// ErrCycle is returned for a change that would create a dependency cycle.
var ErrCycle = errors.New("that would be a cycle")

// A NewSlice is a slice to add to a project. All its texts are single lines, except What.
type NewSlice struct {
	ID        string // "" for the next free S-{n}
	Name      string
	Milestone string   // "" for none
	Deps      []string // as typed by a person
	Contracts []string
	Why, What string

	// Avoid lists ids that must not be assigned, because traces of an earlier slice still use
	// them.
	Avoid []string
}

// An AddedSlice is the result of Store.Add.
type AddedSlice struct {
	ID    string
	Deps  []string // in the project's spelling
	File  string   // relative to the root: the slice's file, or the STATE.md that contains its row
	Graph bool     // GRAPH.json has an entry for it
	Notes []string // dependencies that were spelled differently, one per line
	Lost  []string // fields this project has no place for: "milestone", "contracts", "what", "why"
}

// clean joins each text into one line; What keeps its lines.
func (n *NewSlice) clean() error {
	if n.Name = textline.Join(n.Name); n.Name == "" {
		return errors.New("a slice needs a name")
	}
	n.Why, n.Milestone = textline.Join(n.Why), textline.Join(n.Milestone)
	what := strings.Split(strings.TrimSpace(n.What), "\n")
	for i, line := range what {
		text := strings.TrimLeft(line, " ")
		what[i] = strings.TrimRight(line[:len(line)-len(text)]+textline.Join(text), " ")
	}
	n.What = strings.Join(what, "\n")
	return nil
}

// Add adds a slice: its entry in GRAPH.json, if the project has one, its file, then STATE.md,
// all under one lock. A kill in between leaves a slice that exists only in the graph, which is
// valid. Add rejects an id that is taken, an unknown dependency (tracker.ErrNotFound), a cycle
// (ErrCycle), and any change to an unreadable GRAPH.json.
func (s *Store) Add(ctx context.Context, n NewSlice) (added *AddedSlice, err error) {
	if err := n.clean(); err != nil {
		return nil, err
	}
	err = s.locked(ctx, func() error {
		s.Dir.mu.Lock()
		v, err := s.files.lookAtAll()
		if err == nil {
			added, err = v.admit(&n)
		}
		s.Dir.mu.Unlock()
		if err != nil {
			return err
		}
		added.File = sliceRel(n.ID + ".md")
		e := n.graphEntry(added.Deps)
		if added.Graph, err = s.Dir.addToGraph(e); err != nil {
			return err
		}
		if err := s.addFile(v, &n, e); err != nil {
			return err
		}
		return s.page.refreshView()
	})
	return added, err
}

// AddToGraph writes the entry of a slice that passed Admit, under the caller's lock. It returns
// false if the project has no GRAPH.json.
func (d *Dir) AddToGraph(n *NewSlice, deps []string) (added bool, err error) {
	return d.addToGraph(n.graphEntry(deps))
}

// graphEntry returns the graph entry of a new slice.
func (n *NewSlice) graphEntry(deps []string) entry {
	e := entry{id: n.ID, name: n.Name, description: n.What, why: n.Why, deps: deps, hasDeps: true,
		contracts: n.Contracts}
	e.give("milestone", n.Milestone, nil)
	return e
}

// addToGraph writes the entry. It returns false if the project has no GRAPH.json: creating one
// with a single entry would put the new slice before all others.
func (d *Dir) addToGraph(e entry) (added bool, err error) {
	err = d.Rewrite("GRAPH.json", func(old []byte) ([]byte, error) {
		if added = old != nil; !added {
			return nil, nil
		}
		next, err := insertEntry(old, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stateRel("GRAPH.json"), err)
		}
		return next, nil
	})
	return added && err == nil, err
}

// addFile creates the slice's file. The view predates the slice.
func (s *Store) addFile(v *view, n *NewSlice, e entry) error {
	grown := *v.graph.graph
	grown.entries = append(append([]entry(nil), grown.entries...), e)
	v.ix = newIndex(v.stems, &grown)
	t := &tx{s: s, view: v}
	return s.Dir.retry("slices/"+n.ID+".md", func() error {
		return t.try(n.ID, true, func(*File) error { return nil })
	})
}

// admit assigns the slice its id and checks that it may be added. The caller holds s.mu.
func (v *view) admit(n *NewSlice) (*AddedSlice, error) {
	if v.graph.err != nil {
		return nil, fmt.Errorf("%s can't be read: %w; gl doctor says more", stateRel("GRAPH.json"),
			bareError(v.graph.err))
	}
	a := &AddedSlice{}
	if n.ID == "" {
		n.ID = v.nextID(n.Avoid)
	}
	a.ID = n.ID
	if err := v.free(n.ID); err != nil {
		return nil, err
	}
	var deps uniq.List
	for _, d := range n.Deps {
		match, note, err := v.dependency(d)
		if err != nil {
			return nil, err
		}
		if note != "" {
			a.Notes = append(a.Notes, note)
		}
		deps.Add(match)
	}
	a.Deps = deps.Items()
	return a, v.noCycle(a)
}

// free returns an error if the id is taken in any spelling.
func (v *view) free(id string) error {
	if err := sliceid.Valid(id); err != nil {
		return err
	}
	if v.ix.known(id) {
		return fmt.Errorf("%s already exists: gl state show %s", id, id)
	}
	for _, have := range v.ix.ids {
		if sliceid.Key(have) == sliceid.Key(id) {
			return fmt.Errorf("%s reads the same as %s, which already exists", id, have)
		}
	}
	if rows := v.rows().ids[sliceid.Key(id)]; len(rows) > 0 {
		return fmt.Errorf("%s has a row %s, of a slice that was: choose another id",
			stateRel("STATE.md"), rows[0])
	}
	return nil
}

// dependency resolves a dependency typed by a person to a slice or a row of STATE.md.
func (v *view) dependency(id string) (match, note string, err error) {
	match, note, err = sliceid.Resolve(id, v.ix.ids)
	if errors.Is(err, tracker.ErrNotFound) {
		if r, ok := v.row(id); ok {
			return r.ID, "", nil
		}
	}
	return match, note, err
}

// noCycle rejects a slice that would close a cycle: others may already depend on its id, which
// was unknown so far.
func (v *view) noCycle(a *AddedSlice) error {
	deps := func(id string) []string {
		if !v.ix.known(id) {
			return nil
		}
		list := slices.Clone(v.item(id).Deps)
		for i, d := range list {
			if sliceid.Key(d) == sliceid.Key(a.ID) {
				list[i] = a.ID
			}
		}
		return list
	}
	for _, d := range a.Deps {
		if path := depgraph.Path(d, a.ID, deps); path != nil {
			return fmt.Errorf("%w: %s -> %s", ErrCycle, a.ID, strings.Join(path, " -> "))
		}
	}
	return nil
}

// nextID returns the id after the highest S-{n} mentioned anywhere in the project, with as many
// digits as the others. It doesn't fill gaps: a removed slice may still be mentioned elsewhere.
func (v *view) nextID(avoid []string) string {
	highest, width := 0, 1
	note := func(id string) {
		if normal := sliceid.Key(id); len(normal) > 1 && normal[0] == 's' && digit(normal[1]) {
			digits, _ := number(normal, 1)
			if n, err := strconv.Atoi(digits); err == nil && len(digits) < 9 {
				highest = max(highest, n)
			}
		}
		if digits := leadingDigits(id); len(digits) > 1 && digits[0] == '0' {
			width = max(width, len(digits))
		}
	}
	for _, id := range v.ix.ids {
		note(id)
		for _, d := range v.item(id).Deps {
			note(d)
		}
	}
	for id := range v.rows().of {
		note(id)
	}
	for _, id := range avoid {
		note(id)
	}
	return fmt.Sprintf("S-%0*d", width, highest+1)
}

// leadingDigits returns the digits of S-07 or s7, including zeros; "" for other ids.
func leadingDigits(id string) string {
	if id == "" || id[0] != 'S' && id[0] != 's' {
		return ""
	}
	rest := strings.TrimLeft(id[1:], "-_")
	return rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
}

// Create makes the state of a new project in root/.greenlight, which must not have any: one
// file per slice of the graph, project-state.json and STATE.md. graph is the content of
// GRAPH.json, validated by CheckGraph.
func Create(ctx context.Context, root string, graph []byte) (*Store, error) {
	s := Open(root)
	if err := durable.MkdirAll(s.Dir.path("slices"), 0o755); err != nil {
		return nil, err
	}
	if err := durable.Replace(s.Dir.path("GRAPH.json"), nil, graph); err != nil {
		return nil, err
	}
	if err := durable.Replace(s.Dir.path(projectFile), nil, []byte(emptyProject)); err != nil {
		return nil, err
	}
	return s, s.locked(ctx, func() error {
		if err := s.files.makeFiles(); err != nil {
			return err
		}
		return s.page.refreshView()
	})
}

// makeFiles creates the file of every slice that exists only in the graph.
func (s *sliceFiles) makeFiles() error {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	v, err := s.look()
	if err != nil {
		return err
	}
	now := s.dir.Now().UTC().Format(time.RFC3339)
	for _, id := range v.ix.ids {
		if v.ix.hasFile(id) {
			continue
		}
		f, err := v.newFile(id, now)
		if err != nil {
			return err
		}
		if err := durable.Replace(s.slicePath(id), nil, f.Bytes()); err != nil {
			return fmt.Errorf("write %s: %w", sliceRel(id+".md"), bareError(err))
		}
	}
	return nil
}
