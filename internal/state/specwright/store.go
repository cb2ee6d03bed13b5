package specwright

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/state/tracker"
)

const (
	// attempts at a write that races with writers that take no lock
	tries = 3
	// reads of a file that doesn't parse: an agent may be writing it in place
	readTries = 5
	readPause = 10 * time.Millisecond // pause between these reads

	ignore = ".gitignore\nworkflow.json.lock\n.workflow.json.*.tmp\n"
)

// ErrNotInitialized is returned if there is no workflow.json.
//
//lint:ignore ST1005 Specwright is a name
var ErrNotInitialized = errors.New("Specwright not initialized. Run /sw-init (gl sw init)")

// A BrokenError is returned for a workflow.json that must not be touched until a person has
// looked at it.
type BrokenError struct{ Reason error }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s can't be understood, and stays as it is: %v. Correct it by hand",
		StateFile, e.Reason)
}

func (e *BrokenError) Unwrap() error { return e.Reason }

// A Store is the state of one project. It is safe for concurrent use by goroutines and
// processes.
type Store struct {
	tracker.Defaults

	Now func() time.Time

	root string

	mu   sync.Mutex
	last *State // the last readable state
}

// Open returns the Store of the project at root, an absolute path. It reads nothing yet.
func Open(root string) *Store { return &Store{Now: time.Now, root: root} }

func (s *Store) path() string { return filepath.Join(s.root, filepath.FromSlash(StateFile)) }

// Read reads the state. The error is ErrNotInitialized, or a *BrokenError.
func (s *Store) Read() (*State, error) {
	_, _, st, err := s.read()
	return st, err
}

func (s *Store) read() (data []byte, doc *jsonedit.Doc, st *State, err error) {
	for n := range readTries {
		if n > 0 {
			time.Sleep(readPause)
		}
		var changed time.Time
		if data, changed, err = s.readFile(); err != nil {
			return nil, nil, nil, err
		}
		if doc, st, err = parse(data, changed); err == nil {
			s.mu.Lock()
			s.last = st
			s.mu.Unlock()
			return data, doc, st, nil
		}
	}
	return nil, nil, nil, &BrokenError{err}
}

func (s *Store) readFile() (data []byte, changed time.Time, err error) {
	f, err := durable.Open(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, changed, ErrNotInitialized
	}
	if err != nil {
		return nil, changed, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, changed, err
	}
	data, err = durable.ReadOpen(f)
	return data, info.ModTime(), err
}

// Update changes the state by f under the kernel's lock. It reads, compares and replaces the
// file as a whole, formatted as JSON.stringify does, with lastUpdated set. If f changes
// nothing, or fails, nothing is written. If writers without the lock interfere, f runs up to
// three times, each time on the latest state; then the error is tracker.ErrChanged. Update
// returns the last Edit with its warnings, even along with an error from f.
func (s *Store) Update(ctx context.Context, who Caller, f func(*Edit) error) (*Edit, error) {
	lock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	var e *Edit
	for range tries {
		if e, err = s.try(who, f); !errors.Is(err, durable.ErrChanged) {
			return e, errors.Join(err, lock.Unlock())
		}
	}
	return e, errors.Join(fmt.Errorf("%s: %w", StateFile, tracker.ErrChanged), lock.Unlock())
}

// lock takes the kernel's lock, on a file beside the state.
func (s *Store) lock(ctx context.Context) (*durable.Held, error) {
	dir := filepath.Dir(s.path())
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotInitialized
	}
	lock, err := durable.Lock(ctx, s.path()+".lock")
	if err != nil {
		return nil, err
	}
	if path := filepath.Join(dir, ".gitignore"); !paths.Exists(path) {
		_ = durable.Replace(path, nil, []byte(ignore)) // best effort: only for tidiness
	}
	s.sweep(dir)
	return lock, nil
}

// sweep removes the temporary files of dead writers. The directory isn't gl's, so sweep
// considers only gl's own files.
func (s *Store) sweep(dir string) {
	left, _ := durable.Abandoned(dir, time.Now()) // also best effort
	for _, path := range left {
		name := filepath.Base(path)
		if strings.HasPrefix(name, ".workflow.json.") || strings.HasPrefix(name, "..gitignore.") {
			_ = durable.Unlink(path)
		}
	}
}

func (s *Store) try(who Caller, f func(*Edit) error) (*Edit, error) {
	data, doc, st, err := s.read()
	if err != nil {
		return nil, err
	}
	e := &Edit{State: st, root: s.root, doc: doc, who: who, now: s.Now()}
	if err := st.readOnly(); err != nil {
		return e, err
	}
	if err := f(e); err != nil {
		return e, err
	}
	if string(doc.Bytes()) == string(data) {
		return e, nil
	}
	if e.refresh && e.mine() {
		if err := e.set(quote(e.timestamp()), "lock", "since"); err != nil {
			return e, err
		}
	}
	if err := e.set(quote(e.timestamp()), "lastUpdated"); err != nil {
		return e, err
	}
	doc.Relay()
	err = durable.Replace(s.path(), data, doc.Bytes())
	if err == nil && e.anew {
		err = durable.Remove(s.memoryPath())
	}
	return e, err
}

// Init creates an empty state if there is none.
func (s *Store) Init(ctx context.Context) error {
	if err := durable.MkdirAll(filepath.Dir(s.path()), 0o755); err != nil {
		return err
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, `{
  "version": "2.0",
  "currentWork": null,
  "gates": {},
  "workUnits": null,
  "lock": null,
  "lastUpdated": %s
}
`, quote(formatTime(s.Now())))
	err = durable.Replace(s.path(), nil, text)
	if errors.Is(err, durable.ErrChanged) {
		err = fmt.Errorf("%s already exists: run gl sw status", StateFile)
	}
	return errors.Join(err, lock.Unlock())
}
