package slice

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/statcache"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// tries is the number of attempts at a write that races with writers that take no lock.
const tries = 3

// A Dir is a project's .greenlight directory, as shared by slice files and legacy tables: the
// lock and its housekeeping, GRAPH.json, project-state.json and the text of STATE.md. It caches
// what it reads and rereads only files that have changed. A Dir is safe for concurrent use by
// several goroutines, and any number of Dirs in any number of processes may use one project.
type Dir struct {
	// Now is the clock for timestamps.
	Now func() time.Time

	root    string
	program string // program that runs/shown belongs to; "" disables that file
	worth   int    // slices from which runs/shown is written
	many    int    // files needed to use a log of their changes

	mu      sync.Mutex // guards the fields below; never held while waiting for the project's lock
	swept   bool
	graph   *cached[graphFile]
	noGraph graph  // used if there is no GRAPH.json
	joined  *index // the latest
	state   *cached[stateFile]
	backup  *cached[stateFile]
	project *cached[projectState]
	suite   *cached[*plan.Suite]
	config  *cached[configFile]
}

// NewDir returns the Dir of the project at root, an absolute path. It reads nothing yet.
func NewDir(root string) *Dir {
	return &Dir{Now: time.Now, root: root, program: statcache.Program(),
		worth: showFrom, many: logFrom}
}

func (d *Dir) path(name string) string { return statedir.Path(d.root, name) }

func stateRel(name string) string { return statedir.Name + "/" + name }

// Locked runs f under the project's lock, after any housekeeping that is due.
func (d *Dir) Locked(ctx context.Context, f func(statedir.Held) error) error {
	return d.locked(ctx, func() error { return nil }, f)
}

// locked is Locked with additional housekeeping.
func (d *Dir) locked(ctx context.Context, more func() error, f func(statedir.Held) error) error {
	return statedir.Locked(ctx, d.root, func(held statedir.Held) error {
		if err := d.housekeep(more); err != nil {
			return err
		}
		return f(held)
	})
}

// housekeep removes the temporary files of dead writers, once, and writes the .gitignore.
// Temporary files among the slice files are removed after listing them: see Store.sweepSlices.
func (d *Dir) housekeep(more func() error) error {
	d.mu.Lock()
	done := d.swept
	d.swept = true
	d.mu.Unlock()
	if done {
		return nil
	}
	// A leftover temporary file is harmless, so errors don't stop the work.
	for _, dir := range []string{"", "runs"} {
		_ = durable.Sweep(d.path(dir), time.Now())
	}
	d.sweepStages()
	if err := more(); err != nil {
		return err
	}
	return statedir.WriteIgnore(d.root)
}

// retry runs a change of a file again when a writer without the lock gets in between.
func (d *Dir) retry(name string, f func() error) error {
	for range tries {
		if err := f(); !errors.Is(err, durable.ErrChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", stateRel(name), tracker.ErrChanged)
}

// Rewrite makes one read-modify-write of a file of the project, under the caller's lock. f gets
// nil if the file doesn't exist, and returns nil to leave it unchanged. If other writers
// interfere, f runs up to three times, each time on the latest content; then the error is
// tracker.ErrChanged.
func (d *Dir) Rewrite(name string, f func(old []byte) ([]byte, error)) error {
	return d.retry(name, func() error {
		old, err := durable.ReadFile(d.path(name))
		switch {
		case missing(err):
			old = nil
		case err != nil:
			return fmt.Errorf("read %s: %w", stateRel(name), bareError(err))
		case old == nil:
			old = []byte{}
		}
		next, err := f(old)
		if err != nil || next == nil {
			return err
		}
		err = durable.Replace(d.path(name), old, next)
		if err != nil && !errors.Is(err, durable.ErrChanged) {
			return fmt.Errorf("write %s: %w", stateRel(name), bareError(err))
		}
		return err
	})
}

// Contents returns the contents of a project whose slices are rows, joined with GRAPH.json.
func (d *Dir) Contents(rows []RowSlice, warnings []plan.Warning) (*tracker.Contents, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.lookAtRows(rows, warnings)
	if err != nil {
		return nil, err
	}
	return v.contents(), nil
}

// Contracts returns the ids of the contracts that GRAPH.json lists for a slice.
func (d *Dir) Contracts(id string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.readGraph().graph.entries {
		if e.id == id {
			return e.contracts
		}
	}
	return nil
}

// Item returns one slice of a project whose slices are rows. The error is tracker.ErrNotFound
// for an unknown id.
func (d *Dir) Item(rows []RowSlice, id string) (plan.Item, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.lookAtRows(rows, nil)
	if err != nil {
		return plan.Item{}, err
	}
	if id, err = v.ix.resolve(id); err != nil {
		return plan.Item{}, err
	}
	return v.item(id), nil
}

// Admit assigns an id to a new slice and checks that it may be added to a project whose slices
// are rows.
func (d *Dir) Admit(rows []RowSlice, n *NewSlice) (*AddedSlice, error) {
	if err := n.clean(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.lookAtRows(rows, nil)
	if err != nil {
		return nil, err
	}
	return v.admit(n)
}

// A StateText is STATE.md as read.
type StateText struct {
	There   bool
	Text    string // without a byte order mark
	Rows    []Row
	Table   bool // there is a slice table, maybe without rows
	Changed time.Time
	Err     error // the error from reading it
}

// State returns STATE.md, reading it only if it has changed.
func (d *Dir) State() StateText {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.readState(&d.state, "STATE.md")
	rows, table := f.rows()
	return StateText{There: f.there, Text: f.body, Rows: rows, Table: table,
		Changed: d.state.stamp.Changed(), Err: bareError(f.err)}
}
