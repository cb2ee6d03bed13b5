package gsd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// A Store is the STATE.md of one project or workstream, with the files beside it. Its methods
// are the verbs of GSD's state command: each reads, changes and writes in one step under GSD's
// own lock.
type Store struct {
	Root     string           // the directory that contains .planning
	Planning string           // .planning, or the part of it selected by the environment
	Now      func() time.Time // the clock
	Compat   bool             // compute status and percent as GSD's own tools do
	Warn     func(string)     // called with warnings for a person

	getenv func(string) string
}

// A Result is the output of a verb: a document for JSON, and one word or line for --raw.
type Result struct {
	Doc    any
	Raw    *string // nil to print the document
	Failed bool    // the verb failed; the document gives the reason
}

// A UsageError is returned for an invalid command line.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func usagef(format string, a ...any) error { return &UsageError{fmt.Sprintf(format, a...)} }

// errNoState is returned if there is no STATE.md.
var errNoState = errors.New("STATE.md not found")

// A failure is GSD's document for a failed verb.
type failure struct {
	Error string `json:"error"`
}

func failed(format string, a ...any) Result {
	return Result{Doc: failure{fmt.Sprintf(format, a...)}, Failed: true}
}

func result(doc any, raw string) Result { return Result{Doc: doc, Raw: &raw} }

// reported returns a result whose --raw is true or false.
func reported(doc any, done bool) Result { return result(doc, strconv.FormatBool(done)) }

// refused returns GSD's result for a verb that was understood but not carried out.
func refused(doc any) Result {
	r := reported(doc, false)
	r.Failed = true
	return r
}

// OpenStore finds the STATE.md for dir, like Find; GSD_PROJECT and GSD_WORKSTREAM select a part
// of .planning. A missing STATE.md isn't an error.
func OpenStore(dir string, getenv func(string) string) (*Store, error) {
	s := &Store{Root: planningRoot(dir, getenv("HOME")), Now: clock(getenv), Warn: func(string) {},
		getenv: getenv}
	s.Planning = filepath.Join(s.Root, ".planning")
	for _, key := range []string{projectKey, workstreamKey} {
		if value := getenv(key); value != "" && !validName(value) {
			return nil, usagef("%s isn't the name of a directory: %q", key, value)
		}
	}
	project, workstream := getenv(projectKey), getenv(workstreamKey)
	if project != "" {
		s.Planning = filepath.Join(s.Planning, project)
	}
	if workstream != "" {
		s.Planning = filepath.Join(s.Planning, "workstreams", workstream)
	}
	if project == "" && workstream == "" {
		if place, ok := Find(dir, getenv); ok && !place.NoWorkstream {
			s.Root, s.Planning = place.Root, place.Planning
		}
	}
	return s, nil
}

// planningRoot returns the nearest directory upward, up to home, with .planning, or dir itself
// if there is none.
func planningRoot(dir, home string) string {
	at := dir
	for range maxUp {
		parent := filepath.Dir(at)
		if paths.IsDir(filepath.Join(at, ".planning")) {
			return at
		}
		if parent == at || at == home {
			break
		}
		at = parent
	}
	return dir
}

// clock returns time.Now, or the clock that GSD's tests pin: GSD_NOW_MS, respected only with
// GSD_TEST_MODE.
func clock(getenv func(string) string) func() time.Time {
	ms, err := strconv.ParseInt(strings.TrimSpace(getenv("GSD_NOW_MS")), 10, 64)
	if getenv("GSD_TEST_MODE") == "" || err != nil || ms > 8.64e15 || ms < -8.64e15 {
		return time.Now
	}
	return func() time.Time { return time.UnixMilli(ms) }
}

// Path returns the path of STATE.md.
func (s *Store) Path() string { return filepath.Join(s.Planning, "STATE.md") }

func (s *Store) file(name string) string { return filepath.Join(s.Planning, name) }

// load reads STATE.md without a lock, which is safe because every write is one rename.
func (s *Store) load() (*Doc, error) {
	src, err := durable.ReadFile(s.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoState
	}
	if err != nil {
		return nil, err
	}
	return Parse(src), nil
}

func (s *Store) facts(doc *Doc) Facts {
	return readFacts(placeOf(s), doc, s.Compat)
}

// A writing describes which files a change touches.
type writing struct {
	note   bool // progress is unaffected, so it isn't recounted
	bare   bool // sets front matter keys only; nothing is derived
	also   bool // touches more than STATE.md, so GSD's second lock is needed, too
	create bool // create a missing STATE.md
	// writes another file before STATE.md; called once the change is decided
	first func(*draft) error
}

// edit changes STATE.md: lock, read, change, update the front matter, replace durably. It calls
// change again if another process wrote meanwhile without the lock. If change changes nothing,
// nothing is written and done is false.
func (s *Store) edit(ctx context.Context, w writing,
	change func(*draft) error) (done bool, err error) {
	if _, err := os.Stat(s.Path()); errors.Is(err, fs.ErrNotExist) && !w.create {
		return false, errNoState
	}
	release, err := lockState(ctx, s.Path(), w.also)
	if err != nil {
		return false, err
	}
	defer release()
	return s.compareAndWrite(w, change)
}

// locked runs f under both of GSD's locks, for changes of files other than STATE.md. What a
// killed writer has left beside them goes first.
func locked(ctx context.Context, s *Store, f func() error) error {
	if _, err := os.Stat(s.Planning); err != nil {
		return fmt.Errorf("%w: type %s in Claude Code to begin one, or gl init --system gsd", err,
			Slash(s.Root, "new-project", s.getenv))
	}
	release, err := lockState(ctx, s.Path(), true)
	if err != nil {
		return err
	}
	defer release()
	for _, dir := range []string{s.Planning, s.file("milestones"),
		filepath.Join(s.Planning, "todos", "pending")} {
		_ = durable.Sweep(dir, time.Now()) // leftovers are harmless
	}
	return f()
}

// compareAndWrite is edit for a caller that holds the lock.
func (s *Store) compareAndWrite(w writing, change func(*draft) error) (done bool, err error) {
	const tries = 5
	for try := 1; ; try++ {
		done, err := s.once(w, change)
		if !errors.Is(err, durable.ErrChanged) || try == tries {
			return done, err
		}
	}
}

func (s *Store) once(w writing, change func(*draft) error) (bool, error) {
	doc, err := s.load()
	create := errors.Is(err, errNoState) && w.create
	if err != nil && !create {
		return false, err
	}
	if create {
		doc = Parse(nil)
	}
	if n := doc.misclosed(); n > 0 {
		return false, fmt.Errorf("%s: line %d is --, so the frontmatter goes on to the next ---: "+
			"make it ---", s.Path(), n)
	}
	d := newDraft(doc)
	d.keepCounts = w.note
	if err := change(d); err != nil {
		return false, err
	}
	if bytes.Equal(d.body, doc.Body()) && len(d.set) == 0 && len(d.drop) == 0 {
		if !s.miscounted(d) {
			return false, nil
		}
		d.force = false
	}
	var out []byte
	if w.bare {
		out = slices.Concat(editFront(doc, d.set, d.drop, nil), d.body)
	} else {
		out = d.settle(s.facts(doc), s.Now(), s.Compat)
	}
	if w.first != nil {
		if err := w.first(d); err != nil {
			return false, err
		}
	}
	old := doc.Src
	if old == nil && !create {
		old = []byte{}
	}
	return true, durable.Replace(s.Path(), old, out)
}

// verb runs a change and builds its result; a missing STATE.md is also reported as a result.
func (s *Store) verb(ctx context.Context, w writing, change func(*draft) error,
	result func(done bool) Result) (Result, error) {
	done, err := s.edit(ctx, w, change)
	if errors.Is(err, errNoState) {
		return failed("%s", errNoState), nil
	}
	if err != nil {
		return Result{}, err
	}
	return result(done), nil
}

// maxTextFile is the maximum size in bytes of a text added to STATE.md: a much larger STATE.md
// would become unreadable.
const maxTextFile = 1 << 20

// textOrFile returns a text given by --name or in the file of --name-file.
func textOrFile(root, text, file, label string) (string, error) {
	if file == "" {
		return text, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, file)
	}
	data, err := durable.ReadNamed(file, maxTextFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s file not found: %s", label, file)
	case err != nil:
		return "", fmt.Errorf("%s file: %w", label, err)
	}
	return strings.TrimRight(string(data), " \t\r\n"), nil
}
