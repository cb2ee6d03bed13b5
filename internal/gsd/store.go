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

	"greenlight/internal/durable"
	"greenlight/internal/paths"
)

// A Store is the STATE.md of one project, or of one of its workstreams, with the files beside it. Its methods are the
// verbs of GSD's state command: each reads, changes and writes in one step under GSD's own lock.
type Store struct {
	Root     string           // the directory in which .planning is
	Planning string           // .planning, or the part of it that the environment chooses
	Now      func() time.Time // the clock
	Compat   bool             // status and percent as GSD's own tools make them
	Warn     func(string)     // told what a person should know
}

// A Result is what a verb has to say: a document for JSON, and one word or line for --raw.
type Result struct {
	Doc    any
	Raw    *string // nil: the document
	Failed bool    // it did not do what was asked, and the document says why
}

// A UsageError is a command line that can't be meant.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func usagef(format string, a ...any) error { return &UsageError{fmt.Sprintf(format, a...)} }

// errNoState: there is no STATE.md.
var errNoState = errors.New("STATE.md not found")

// A failure is GSD's document for what could not be done.
type failure struct {
	Error string `json:"error"`
}

func failed(format string, a ...any) Result {
	return Result{Doc: failure{fmt.Sprintf(format, a...)}, Failed: true}
}

func result(doc any, raw string) Result { return Result{Doc: doc, Raw: &raw} }

// reported is a document whose --raw is true or false.
func reported(doc any, done bool) Result { return result(doc, strconv.FormatBool(done)) }

// A refusal is GSD's document for what was understood and not done.
func refused(doc any) Result {
	r := reported(doc, false)
	r.Failed = true
	return r
}

// OpenStore finds the STATE.md that dir belongs to, as Find does; GSD_PROJECT and GSD_WORKSTREAM choose a part of .planning. That
// there is none yet is no error.
func OpenStore(dir string, getenv func(string) string) (*Store, error) {
	s := &Store{Root: planningRoot(dir, getenv("HOME")), Now: clock(getenv), Warn: func(string) {}}
	s.Planning = filepath.Join(s.Root, ".planning")
	project, workstream := getenv("GSD_PROJECT"), getenv("GSD_WORKSTREAM")
	for name, value := range map[string]string{"GSD_PROJECT": project, "GSD_WORKSTREAM": workstream} {
		if value != "" && !validName(value) {
			return nil, usagef("%s is no name of a directory: %q", name, value)
		}
	}
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

// planningRoot is the nearest directory upwards, not beyond home, that has .planning; dir itself where there is none.
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

// clock is the time, or the one that GSD's tests pin: GSD_NOW_MS, which counts only beside GSD_TEST_MODE.
func clock(getenv func(string) string) func() time.Time {
	ms, err := strconv.ParseInt(strings.TrimSpace(getenv("GSD_NOW_MS")), 10, 64)
	if getenv("GSD_TEST_MODE") == "" || err != nil || ms > 8.64e15 || ms < -8.64e15 {
		return time.Now
	}
	return func() time.Time { return time.UnixMilli(ms) }
}

// Path is STATE.md.
func (s *Store) Path() string { return filepath.Join(s.Planning, "STATE.md") }

func (s *Store) file(name string) string { return filepath.Join(s.Planning, name) }

// load reads STATE.md without a lock: every write is one rename.
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
	return ReadFacts(Place{Root: s.Root, Planning: s.Planning}, doc, s.Compat)
}

// A writing says which files a change touches.
type writing struct {
	note   bool               // it says nothing about how far the project is, so the progress isn't counted again
	bare   bool               // it sets keys of the frontmatter, and nothing is derived
	also   bool               // more than STATE.md: GSD's second lock is taken, too
	create bool               // STATE.md is made where there is none
	first  func(*draft) error // another file that must be written before STATE.md; called once the change is decided
}

// edit changes STATE.md: lock, read, change, bring the frontmatter into line, replace durably. change is called again
// where somebody without the lock wrote meanwhile. Where it changes nothing nothing is written, and done is false.
func (s *Store) edit(ctx context.Context, w writing, change func(*draft) error) (done bool, err error) {
	if _, err := os.Stat(s.Path()); errors.Is(err, fs.ErrNotExist) && !w.create {
		return false, errNoState
	}
	release, err := lockState(ctx, s.Path(), w.also)
	if err != nil {
		return false, err
	}
	defer release()
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
		return false, fmt.Errorf("%s: line %d is --, so the frontmatter goes on to the next ---: make it ---", s.Path(), n)
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

// verb runs a change and makes its result; a missing STATE.md is a result, too.
func (s *Store) verb(ctx context.Context, w writing, change func(*draft) error, result func(done bool) Result) (Result, error) {
	done, err := s.edit(ctx, w, change)
	if errors.Is(err, errNoState) {
		return failed("%s", errNoState), nil
	}
	if err != nil {
		return Result{}, err
	}
	return result(done), nil
}

// maxTextFile is how large a text may be that goes into STATE.md, in bytes: a much larger STATE.md couldn't be read any more.
const maxTextFile = 1 << 20

// textOrFile is a text given by --name or in the file of --name-file.
func (s *Store) textOrFile(text, file, label string) (string, error) {
	if file == "" {
		return text, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.Root, file)
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
