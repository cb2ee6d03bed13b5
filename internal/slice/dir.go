package slice

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/plan"
	"greenlight/internal/statcache"
	"greenlight/internal/statedir"
	"greenlight/internal/tracker"
)

// tries is how often a write is tried against somebody who writes without the lock.
const tries = 3

// A Dir is a project's .greenlight as slice files and legacy tables share it: the lock with its housekeeping, GRAPH.json,
// project-state.json and the text of STATE.md. It remembers what it has read and reads only what has changed since;
// several goroutines may use it, and any number of Dirs, in any number of processes, one project.
type Dir struct {
	// Now is the clock of the timestamps that are written.
	Now func() time.Time

	root    string
	program string // for which the index file is; "": nobody reads or writes one
	worth   int    // how many files must have been read for it to be written anew
	many    int    // how many files there must be for a log of their changes

	mu      sync.Mutex // guards what follows; never held while waiting for the project's lock
	swept   bool
	graph   *cached[graphFile]
	noGraph graph            // where there is none
	joined  *index           // the last one
	index   func() keptIndex // what the index file had when it was first needed
	state   *cached[stateFile]
	backup  *cached[stateFile]
	project *cached[projectState]
	suite   *cached[*plan.Suite]
	config  *cached[string]
}

// NewDir is the directory of the project at root, an absolute path. It reads nothing yet.
func NewDir(root string) *Dir {
	d := &Dir{Now: time.Now, root: root, program: statcache.Program(), worth: statcache.Worth(worthKeeping), many: statcache.Worth(logFrom)}
	d.index = sync.OnceValue(d.readIndex)
	return d
}

func (d *Dir) path(name string) string { return statedir.Path(d.root, name) }

func stateRel(name string) string { return statedir.Name + "/" + name }

// Locked runs f under the project's lock, having done the housekeeping that is due.
func (d *Dir) Locked(ctx context.Context, f func() error) error {
	return d.locked(ctx, func() error { return nil }, f)
}

// locked is Locked with more housekeeping.
func (d *Dir) locked(ctx context.Context, more, f func() error) error {
	return statedir.Locked(ctx, d.root, func() error {
		if err := d.housekeep(more); err != nil {
			return err
		}
		return f()
	})
}

// housekeep removes, once, the temporary files of writers that died, and writes the .gitignore. Those among the slice files are found, and
// removed, by who lists them: see Store.sweepSlices.
func (d *Dir) housekeep(more func() error) error {
	d.mu.Lock()
	done := d.swept
	d.swept = true
	d.mu.Unlock()
	if done {
		return nil
	}
	// A temporary file that stays is only untidy: no reason to refuse the work.
	for _, dir := range []string{"", "runs"} {
		_ = durable.Sweep(d.path(dir), time.Now())
	}
	d.sweepStages()
	if err := more(); err != nil {
		return err
	}
	return statedir.WriteIgnore(d.root)
}

// retry tries a change of a file against those who write it without the lock.
func (d *Dir) retry(name string, f func() error) error {
	for range tries {
		if err := f(); !errors.Is(err, durable.ErrChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", stateRel(name), tracker.ErrChanged)
}

// Rewrite is one read-modify-write of a file of the project, under the caller's lock. f is given nil where there is no
// file yet, and returns nil to leave it as it is. f may run up to three times, each time on what somebody else has just
// written; then the error is tracker.ErrChanged.
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

// Contents is what the project holds whose slices are those rows: they are joined with GRAPH.json.
func (d *Dir) Contents(rows []RowSlice, warnings []plan.Warning) (*tracker.Contents, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.lookAtRows(rows, warnings)
	if err != nil {
		return nil, err
	}
	return v.contents(), nil
}

// Contracts are the ids of the contracts that GRAPH.json names for a slice.
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

// Item is one slice of a project whose slices are those rows. The error is tracker.ErrNotFound for an unknown id.
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

// Admit gives a new slice its id and checks that it may be added to a project whose slices are those rows.
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

// A StateText is STATE.md as it was read.
type StateText struct {
	There   bool
	Text    string // without a byte order mark
	Rows    []Row
	Table   bool // there is a slice table, maybe without rows
	Changed time.Time
	Err     error // it can't be read
}

// State reads STATE.md, unless it is as it was.
func (d *Dir) State() StateText {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.readState(&d.state, "STATE.md")
	rows, table := f.rows()
	return StateText{There: f.there, Text: f.body, Rows: rows, Table: table, Changed: d.state.stamp.Changed(), Err: bareError(f.err)}
}
