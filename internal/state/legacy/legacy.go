// Package legacy is the tracker of Greenlight's older format, whose only state is a handwritten
// STATE.md: a slice is a row of its table. A change edits the cells of the row and the lines of
// the Current section, and stores in .greenlight/runs/legacy.json what the table has no column
// for. Anything with no place in either is rejected.
//
// Package slice owns the parsing and editing of STATE.md, GRAPH.json, project-state.json and
// the ids. It also owns the migration to slice files, which gets the legacy project's contents
// from here.
package legacy

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/roadmap"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// File names relative to the root.
const (
	stateFile = statedir.Name + "/STATE.md"
	sideFile  = statedir.Name + "/" + slice.LegacyFile
)

// A Store is the state of one legacy project.
type Store struct {
	Dir *slice.Dir

	root string
}

var _ tracker.Tracker = (*Store)(nil)

// Open returns the Store of the project at root, an absolute path. It reads nothing yet.
func Open(root string) *Store { return &Store{Dir: slice.NewDir(root), root: root} }

// Traits implements tracker.Tracker.
func (s *Store) Traits() tracker.Traits {
	return tracker.Traits{Format: slice.Legacy, Managed: true, Completes: true,
		Exclusive: "this project keeps its state in a single STATE.md, which parallel agents would overwrite for each other: " +
			"run gl migrate, or gl slice --sequential"}
}

// Prompt returns the slash command that works on a slice.
func (s *Store) Prompt(id string) string { return slice.Prompt(id) }

// Watch returns the directory of STATE.md.
func (s *Store) Watch() []string { return []string{statedir.Path(s.root)} }

// Line implements tracker.Tracker.
func (s *Store) Line(compact bool) tracker.Line { return s.Dir.Line(compact) }

// Decide appends project-wide decisions to DECISIONS.md and returns their numbers.
func (s *Store) Decide(ctx context.Context, at time.Time,
	texts ...string) (ids []string, err error) {
	return s.Dir.Decide(ctx, at, texts...)
}

// Refresh implements tracker.Tracker. STATE.md is handwritten, so there is nothing to do.
func (s *Store) Refresh(context.Context) error { return nil }

// Roadmap implements tracker.Tracker.
func (s *Store) Roadmap() (*roadmap.Roadmap, error) { return roadmap.Own(s.root) }

// Check implements tracker.Tracker.
func (s *Store) Check() []tracker.Complaint {
	c, err := s.Load()
	if err != nil {
		return nil // reported on loading
	}
	var all []tracker.Complaint
	if s.Dir.State().Table {
		help := "gl migrate --dry-run, then gl migrate"
		if s.Dir.NoneLive() != nil {
			help = ""
		}
		all = append(all, tracker.Complaint{Check: "format", Severity: tracker.Note, Help: help,
			Warning: plan.Warning{Path: stateFile,
				Message: "all state is in this one file, which sessions can't share safely"}})
	}
	return append(all, s.Dir.Complaints(c)...)
}

// Repair implements tracker.Tracker.
func (s *Store) Repair(ctx context.Context) ([]string, error) {
	return s.Dir.ClearUp(func() error { return s.locked(ctx, func() error { return nil }) })
}

// Load reads everything: the union of rows and graph entries.
func (s *Store) Load() (*tracker.Contents, error) {
	rows, warnings, err := s.rows()
	if err != nil {
		return nil, err
	}
	c, err := s.Dir.Contents(rows, warnings)
	if err == nil {
		if p, err := s.ReadProject(); err == nil {
			c.Blockers = p.Blockers()
		}
	}
	if err == nil && len(c.Items) == 0 && !s.Dir.State().Table {
		// A project without slices would look as if everything were done.
		return nil, s.unreadable()
	}
	return c, err
}

// ReadProject returns the information about the project as a whole: project-state.json,
// supplemented by STATE.md.
func (s *Store) ReadProject() (*slice.ProjectState, error) {
	p, err := s.Dir.ReadProject()
	if err != nil {
		return nil, err
	}
	return p, p.TakeNotes(s.Dir.State().Text)
}

// unreadable returns why nothing is known about the project.
func (s *Store) unreadable() error {
	if err := s.Dir.State().Err; err != nil {
		return fmt.Errorf("%s can't be read: %w", stateFile, err)
	}
	return fmt.Errorf("%s can't be read: %w. Add one, or move the file away and run gl init",
		stateFile, slice.ErrNoTable)
}

// rows returns the slices of the table, with their entries in the side file.
func (s *Store) rows() (rows []slice.RowSlice, warnings []plan.Warning, err error) {
	if err := s.here(); err != nil {
		return nil, nil, err
	}
	warn := func(path, format string, a ...any) {
		warnings = append(warnings, plan.Warning{Path: path, Message: fmt.Sprintf(format, a...)})
	}
	state := s.Dir.State()
	switch {
	case state.Err != nil:
		warn(stateFile, "can't be read: %v", state.Err)
	case !state.Table:
		warn(stateFile, "%v", slice.ErrNoTable)
	}
	_, entries, err := s.readSide()
	if err != nil {
		warn(sideFile, "ignored: %v; claims of this project are not known", err)
	}
	current := slice.ReadStateMD([]byte(state.Text)).Current()
	for _, r := range state.Rows {
		known := join(r, current, entries[r.ID])
		if known.Changed.Before(state.Changed) {
			known.Changed = state.Changed
		}
		rows = append(rows, known)
	}
	return rows, warnings, nil
}

// join combines a slice's row, the Current section if it names the slice, and its entry.
func join(r slice.Row, c slice.Current, e entry) slice.RowSlice {
	side := slice.Side{"step": slice.StepOf(r.Status)}
	maps.Copy(side, e.side)
	if step := c.Step(); step != "" && c.Names(r.ID) {
		side["step"] = step
	}
	return slice.RowSlice{Row: r, Side: side, Changed: e.changed}
}

// here returns an error unless the project is still a legacy one.
func (s *Store) here() error {
	format, err := slice.Detect(s.root)
	if err == nil && format != slice.Legacy {
		err = fmt.Errorf("%s has slice files now: run the command again", s.root)
	}
	return err
}

// locked runs f under the project's lock.
func (s *Store) locked(ctx context.Context, f func() error) error {
	return s.holding(ctx, func(statedir.Held) error { return f() })
}

// holding is locked for an f that passes the lock on.
func (s *Store) holding(ctx context.Context, f func(statedir.Held) error) error {
	if err := s.here(); err != nil {
		return err
	}
	return s.Dir.Locked(ctx, func(held statedir.Held) error {
		if err := s.here(); err != nil { // it was migrated while we waited
			return err
		}
		return f(held)
	})
}

// Do runs f with the project's lock held.
func (s *Store) Do(ctx context.Context, f func(tracker.Tx) error) error {
	return s.holding(ctx, func(held statedir.Held) error { return f(&tx{s: s, held: held}) })
}

// A tx is one holding of the lock.
type tx struct {
	s    *Store
	held statedir.Held
	seen tracker.Seen
}

// Held implements tracker.Tx.
func (t *tx) Held() statedir.Held { return t.held }

// Load implements tracker.Tx.
func (t *tx) Load() (*tracker.Contents, error) {
	c, err := t.s.Load()
	if err == nil {
		t.seen.All(c.Items)
	}
	return c, err
}

// Item implements tracker.Tx.
func (t *tx) Item(id string) (plan.Item, error) {
	it, err := t.s.item(id)
	if err == nil {
		t.seen.One(it.ID, it.Session)
	}
	return it, err
}

func (s *Store) item(id string) (plan.Item, error) {
	rows, _, err := s.rows()
	if err != nil {
		return plan.Item{}, err
	}
	return s.Dir.Item(rows, id)
}

// Claim implements tracker.Tx.
func (t *tx) Claim(id, token string) error {
	it, err := t.s.item(id)
	if err != nil {
		return err
	}
	if err := t.s.edit(it, func(f *slice.File) error {
		return f.Claim(token, t.s.Dir.Now())
	}); err != nil {
		return err
	}
	t.seen.One(it.ID, token)
	return nil
}

var _ tracker.Lander = (*tx)(nil)

// Settle implements tracker.Tx.
func (t *tx) Settle(id string, e tracker.Effect, before tracker.Before) (plan.Mark, error) {
	return t.underClaim(id, func(f *slice.File) error { return f.Settle(e, before) })
}

// Enqueue implements tracker.Lander.
func (t *tx) Enqueue(id string) (plan.Mark, error) {
	return t.underClaim(id, (*slice.File).Enqueue)
}

// Land implements tracker.Lander.
func (t *tx) Land(id string, l tracker.Landed) (plan.Mark, error) {
	return t.underClaim(id, func(f *slice.File) error { return f.Land(id, l) })
}

// CountFailing implements tracker.Lander.
func (t *tx) CountFailing(id string, n int) error {
	_, err := t.underClaim(id, func(f *slice.File) error { return f.CountFailing(n) })
	return err
}

// Ask implements tracker.Lander.
func (t *tx) Ask(id, reason string) (plan.Mark, error) {
	return t.underClaim(id, func(f *slice.File) error { return f.Ask(reason) })
}

// Undo implements tracker.Lander.
func (t *tx) Undo(id, why string) error {
	it, err := t.s.item(id)
	if err != nil {
		return err
	}
	return t.s.edit(it, func(f *slice.File) error { return f.Undo(why, t.s.Dir.Now()) })
}

// underClaim changes the slice if its claim is the one the caller has seen, and returns the
// resulting mark.
func (t *tx) underClaim(id string, change func(*slice.File) error) (plan.Mark, error) {
	it, err := t.s.item(id)
	if err != nil {
		return plan.Mark{}, err
	}
	err = t.s.edit(it, func(f *slice.File) error {
		if session, _ := f.Get("session"); t.seen.Lost(it.ID, session) {
			return nil
		}
		return change(f)
	})
	if err != nil {
		return plan.Mark{}, err
	}
	it, err = t.Item(it.ID) // the step may be in three places
	return plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}, err
}

// PutBack implements tracker.Tx.
func (t *tx) PutBack(id string, was plan.Mark, over bool) error {
	it, err := t.s.item(id)
	if err != nil {
		return err
	}
	return t.s.edit(it, func(f *slice.File) error { return f.PutBack(was, over) })
}

// Own returns nothing: all slices are in one file.
func (s *Store) Own(string) (plan.Item, bool) { return plan.Item{}, false }

// Read returns the information about one slice as a slice file. The error is
// tracker.ErrNotFound if it has no row.
func (s *Store) Read(id string) (*slice.File, error) {
	if err := sliceid.Valid(id); err != nil {
		return nil, err
	}
	l, err := s.readBoth()
	if err != nil {
		return nil, err
	}
	r, ok := l.state.Row(id)
	if !ok {
		return nil, fmt.Errorf("%w: %q has no row in %s", tracker.ErrNotFound, id, stateFile)
	}
	known := join(r, l.state.Current(), l.entries[id])
	known.Contracts = s.Dir.Contracts(id)
	return known.File()
}

// Edit changes one slice by f, which gets it as a slice file, under the lock. A slice that
// exists only in GRAPH.json gets a row. If other writers interfere, f runs up to three times,
// each time on the latest content; then the error is tracker.ErrChanged.
func (s *Store) Edit(ctx context.Context, id string, f func(*slice.File) error) error {
	return s.holding(ctx, func(held statedir.Held) error {
		it, err := s.item(id)
		if err != nil {
			return err
		}
		return s.edit(it, func(file *slice.File) error {
			file.Held = held
			return f(file)
		})
	})
}

// Add adds a slice: its row, then its entry in GRAPH.json, if the project has one. It checks
// before any write that the table can take a row. Add rejects an id that is taken, an unknown
// dependency (tracker.ErrNotFound), a cycle (slice.ErrCycle), and any change to an unreadable
// GRAPH.json.
func (s *Store) Add(ctx context.Context, n slice.NewSlice) (added *slice.AddedSlice, err error) {
	err = s.locked(ctx, func() error {
		rows, _, err := s.rows()
		if err != nil {
			return err
		}
		if added, err = s.Dir.Admit(rows, &n); err != nil {
			return err
		}
		added.File = stateFile
		if err := s.addRow(slice.NewRow{ID: n.ID, Name: n.Name, Deps: added.Deps}); err != nil {
			return err
		}
		added.Graph, err = s.Dir.AddToGraph(&n, added.Deps)
		added.Lost = homeless(&n, added.Graph)
		return err
	})
	return added, err
}

// addRow adds a row, under the lock.
func (s *Store) addRow(r slice.NewRow) error {
	return s.Dir.Rewrite("STATE.md", func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, fmt.Errorf("read %s: %w", stateFile, fs.ErrNotExist)
		}
		m, err := slice.ReadStateMD(old).WithRow(r)
		return m.Bytes(), err
	})
}

// homeless returns the fields that neither a row nor, if it has an entry, the graph has a place
// for.
func homeless(n *slice.NewSlice, graph bool) []string {
	var lost []string
	for _, f := range []struct {
		key     string
		given   bool
		inGraph bool
	}{
		{"milestone", n.Milestone != "", true}, {"contracts", len(n.Contracts) > 0, true},
		{"what", n.What != "", true}, {"why", n.Why != "", false},
	} {
		if f.given && !(f.inGraph && graph) {
			lost = append(lost, f.key)
		}
	}
	return lost
}

// EditProject changes project-state.json by f, under the lock. It creates a missing file even
// if f changes nothing.
func (s *Store) EditProject(ctx context.Context, f func(*slice.ProjectState) error) error {
	return s.locked(ctx, func() error { return s.Dir.RewriteProject(f) })
}

// Migrate converts the project to slice files; see slice.Store.MigrateFrom.
func (s *Store) Migrate(ctx context.Context, dryRun bool) (*slice.Migration, error) {
	files := slice.Open(s.root)
	files.Dir.Now = s.Dir.Now
	return files.MigrateFrom(ctx, s.source, dryRun)
}

// source returns what is to be migrated.
func (s *Store) source() (*slice.Source, error) {
	l, err := s.readBoth()
	if err != nil {
		return nil, err
	}
	src := &slice.Source{State: l.state.Bytes()}
	current := l.state.Current()
	for _, r := range l.state.Rows() {
		src.Rows = append(src.Rows, join(r, current, l.entries[r.ID]))
	}
	return src, nil
}
