package slice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/plan"
	"greenlight/internal/statedir"
	"greenlight/internal/tracker"
)

// tries is how often a write is tried against somebody who writes without the lock.
const tries = 3

// A Store is the state of one project. It remembers what it has read and reads only what has changed since; several
// goroutines may use it, and any number of Stores, in any number of processes, one project.
type Store struct {
	// Now is the clock of the stamps that are written.
	Now func() time.Time

	root string

	mu      sync.Mutex // guards what follows; never held while waiting for the project's lock
	swept   bool
	files   map[string]*cached[*sliceFile]
	graph   *cached[graphFile]
	state   *cached[stateFile]
	backup  *cached[stateFile]
	project *cached[projectState]
	side    *cached[legacySide]

	rendered *rendering // the last one
	unshown  shownSoon  // the last change in Do
	config   *cached[string]
}

var _ tracker.Tracker = (*Store)(nil)

// Open returns the store of the project at root, an absolute path. It reads nothing yet.
func Open(root string) *Store { return &Store{Now: time.Now, root: root} }

func (s *Store) path(name string) string { return filepath.Join(s.root, ".greenlight", name) }

func (s *Store) slicePath(stem string) string { return filepath.Join(s.path("slices"), stem+".md") }

func stateRel(name string) string { return ".greenlight/" + name }

func sliceRel(name string) string { return ".greenlight/slices/" + name }

// Format is "slices", or "legacy" for a project that has only a STATE.md.
func (s *Store) Format() string {
	if format, err := Detect(s.root); err == nil {
		return format
	}
	return slicesFormat
}

// Prompt is the slash command that works on a slice.
func (s *Store) Prompt(id string) string { return "/gl:slice " + id }

// Watch lists the directories of the slice files and of everything else.
func (s *Store) Watch() []string { return []string{s.path("slices"), s.path("")} }

// Do runs f with the project's lock held.
func (s *Store) Do(ctx context.Context, f func(tracker.Tx) error) error {
	return s.locked(ctx, func() error {
		t := &tx{s: s}
		err := f(t)
		if t.wrote {
			n := s.noteChange()
			s.mu.Lock()
			s.unshown = shownSoon{n, time.Now()}
			s.mu.Unlock()
		}
		return err
	})
}

// locked runs f under the project's lock, having done the housekeeping that is due.
func (s *Store) locked(ctx context.Context, f func() error) error {
	return s.underLock(ctx, func() error {
		if err := s.housekeep(); err != nil {
			return err
		}
		return f()
	})
}

// underLock runs f under the project's lock.
func (s *Store) underLock(ctx context.Context, f func() error) error {
	if _, err := Detect(s.root); err != nil {
		return err
	}
	return statedir.Locked(ctx, s.root, f)
}

// housekeep removes, once, the temps of writers that died, completes the migration of one that did, and makes the
// .gitignore.
func (s *Store) housekeep() error {
	s.mu.Lock()
	done := s.swept
	s.swept = true
	s.mu.Unlock()
	if done {
		return nil
	}
	// A temp that stays is only untidy: it is no reason to refuse the work.
	_ = durable.Sweep(s.path("slices"), time.Now())
	_ = durable.Sweep(s.path(""), time.Now())
	_ = durable.Sweep(s.path("runs"), time.Now())
	s.sweepStages()
	if _, err := s.finishMigration(); err != nil {
		return err
	}
	return statedir.WriteIgnore(s.root)
}

// Read parses the file of one slice afresh; in a legacy project it makes one of what is known. The error is
// tracker.ErrNotFound where there is none, and a *CorruptError where it is no slice file.
func (s *Store) Read(id string) (*File, error) {
	if err := ValidID(id); err != nil {
		return nil, err
	}
	read := s.readForEdit
	if s.Format() == legacyFormat {
		read = s.readRow
	}
	_, f, err := read(id)
	if err == nil && f == nil {
		return nil, fmt.Errorf("%w: %q has no file %s", tracker.ErrNotFound, id, sliceRel(id+".md"))
	}
	return f, err
}

// readForEdit returns the file's bytes and what they mean; nil for both where there is no file.
func (s *Store) readForEdit(id string) ([]byte, *File, error) {
	data, err := os.ReadFile(s.slicePath(id))
	if missing(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", sliceRel(id+".md"), bareError(err))
	}
	f, err := ParseFile(data)
	if err != nil {
		return nil, nil, &CorruptError{Path: sliceRel(id + ".md"), Reason: reason(err)}
	}
	if data == nil {
		data = []byte{}
	}
	return data, f, nil
}

// Edit changes one slice's file by f, under the lock, and then STATE.md. The file of a slice that is only in GRAPH.json
// is made first. Unless f sets it, the key "updated" becomes the time of the change. f may run up to three times, each
// time on what somebody else has just written; then the error is tracker.ErrChanged with the path.
func (s *Store) Edit(ctx context.Context, id string, f func(*File) error) error {
	var change uint64
	err := s.locked(ctx, func() error {
		t := &tx{s: s}
		if err := t.edit(id, true, f); err != nil {
			return err
		}
		if t.wrote {
			change = s.noteChange()
			return nil
		}
		return s.refreshAndCount()
	})
	if err != nil || change == 0 {
		return err
	}
	return s.show(ctx, change)
}

// A tx is one holding of the lock. What it looked at first stays its view of which slices there are.
type tx struct {
	s     *Store
	view  *view
	wrote bool // a slice file
}

// look returns the view and the canonical id. The caller holds s.mu.
func (t *tx) look(id string) (*view, string, error) {
	if t.view == nil || t.view.format == legacyFormat { // a legacy project's slices are all in one file, so they're read anew
		v, err := t.s.look()
		if err != nil {
			return nil, "", err
		}
		t.view = v
	}
	id, err := t.view.ix.resolve(id)
	return t.view, id, err
}

// Item implements tracker.Tx.
func (t *tx) Item(id string) (plan.Item, error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	v, id, err := t.look(id)
	if err != nil {
		return plan.Item{}, err
	}
	return v.item(id), nil
}

// Load implements tracker.Tx.
func (t *tx) Load() (*tracker.Contents, error) {
	t.view = nil
	return t.s.Load()
}

// Claim implements tracker.Tx. The day on which the work began stays that of the first claim.
func (t *tx) Claim(id, token string) error {
	return t.edit(id, false, func(f *File) error {
		set := [][2]string{{"status", "in_progress"}, {"session", token}}
		if started, _ := f.Get("started"); started == "" {
			set = append(set, [2]string{"started", t.s.Now().UTC().Format(time.DateOnly)})
		}
		return f.SetAll(set)
	})
}

// Settle implements tracker.Tx.
func (t *tx) Settle(id string, e tracker.Effect, before tracker.Before) (mark plan.Mark, err error) {
	set := [][2]string{{"session", ""}}
	switch e {
	case tracker.Fail:
		set = append(set, [2]string{"status", "failed"})
	case tracker.Restore:
		set = [][2]string{
			{"status", before.Status}, {"step", before.Step}, {"session", before.Session}, {"started", before.Started},
		}
	}
	err = t.edit(id, false, func(f *File) error {
		err := f.SetAll(set)
		mark.Status, _ = f.Get("status")
		mark.Step, _ = f.Get("step")
		mark.Session, _ = f.Get("session")
		return err
	})
	if err == nil && t.view.format == legacyFormat { // whose step may be in three places
		it, err := t.Item(id)
		return plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}, err
	}
	return mark, err
}

// SetAll sets pairs of a key and its value; a missing key need not be made to be empty.
func (f *File) SetAll(set [][2]string) error {
	for _, s := range set {
		key, value := s[0], s[1]
		if _, there := f.Get(key); !there && value == "" {
			continue
		}
		if err := f.Set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// edit is one read-modify-write. With create, a slice without a file gets one even if f changes nothing.
func (t *tx) edit(id string, create bool, f func(*File) error) error {
	t.s.mu.Lock()
	v, id, err := t.look(id)
	t.s.mu.Unlock()
	if err != nil {
		return err
	}
	if v.format == legacyFormat {
		return t.editLegacy(id, f)
	}
	for range tries {
		err = t.try(v, id, create, f)
		if !errors.Is(err, durable.ErrChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", sliceRel(id+".md"), tracker.ErrChanged)
}

func (t *tx) try(v *view, id string, create bool, f func(*File) error) error {
	old, file, err := t.s.readForEdit(id)
	if err != nil {
		return err
	}
	now := t.s.Now().UTC().Format(time.RFC3339)
	if file == nil {
		t.s.mu.Lock()
		file, err = v.newFile(id, now)
		t.s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	before, stamp := string(file.Bytes()), file.updated()
	if err := f(file); err != nil {
		return err
	}
	if string(file.Bytes()) == before && (old != nil || !create) {
		return nil
	}
	if old != nil && file.updated() == stamp {
		if err := file.Set("updated", now); err != nil {
			return err
		}
	}
	data := file.Bytes()
	if _, err := ParseFile(data); err != nil {
		return fmt.Errorf("edit %s: the result would be no slice file: %w", sliceRel(id+".md"), err)
	}
	if err := durable.Replace(t.s.slicePath(id), old, data); err != nil {
		return fmt.Errorf("write %s: %w", sliceRel(id+".md"), bareError(err))
	}
	t.wrote = true
	v.ix.file[id] = true
	return nil
}

func (f *File) updated() string {
	u, _ := f.Get("updated")
	return u
}
