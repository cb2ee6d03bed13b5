package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/outcome"
)

// Files are the paths in a project's directory of attempts, .greenlight/runs.
type Files struct{ dir string }

func (f Files) badDir() string { return filepath.Join(f.dir, "bad") }

// Dir is the store's directory; hold.json, stop.json and the run's lock are in it.
func (f Files) Dir() string { return f.dir }

// root is the project's.
func (f Files) root() string { return filepath.Dir(filepath.Dir(f.dir)) }

// LiveDir is the directory whose file events tell of claims and settled attempts.
func (f Files) LiveDir() string { return filepath.Join(f.dir, "live") }

// Log is the file that holds everything the agent of the attempt wrote.
func (f Files) Log(slice string, n int) string {
	return filepath.Join(f.dir, "log", fmt.Sprintf("%s.%d.log", slice, n))
}

// Brief is the file with the instructions for an agent without our commands: Wrapper.Brief.
func (f Files) Brief(slice string, n int) string {
	return filepath.Join(f.dir, "log", fmt.Sprintf("%s.%d.brief.log", slice, n))
}

// SetupLog is the file that holds what the setup command of the attempt's worktree wrote.
func (f Files) SetupLog(slice string, n int) string {
	return filepath.Join(f.dir, "log", fmt.Sprintf("%s.%d.setup.log", slice, n))
}

// TestsLog is the file that holds what the tests wrote that gl ran of the attempt's work.
func (f Files) TestsLog(slice string, n int) string {
	return filepath.Join(f.dir, "log", fmt.Sprintf("%s.%d.tests.log", slice, n))
}

// Prepare makes the directories. They may be removed while it does (git clean -x).
func (f Files) Prepare() (err error) {
	const tries = 10
	for range tries {
		if err = f.prepare(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

func (f Files) prepare() error {
	for _, d := range []string{f.LiveDir(), f.doneDir(), filepath.Join(f.dir, "log")} {
		if err := mkdir(d); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes the temps of writers that were killed. What can't be removed stays: it is only
// untidy.
func (f Files) Sweep(now time.Time) {
	for _, d := range []string{f.dir, f.LiveDir(), f.doneDir()} {
		_ = durable.Sweep(d, now)
	}
}

// FirstTime reports whether a note for people is new in the project, and remembers it. If it can't,
// the note is shown again.
func (f Files) FirstTime(note string) bool {
	path := filepath.Join(f.dir, "noted")
	data, err := durable.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	old := strings.Split(string(data), "\n")
	if slices.Contains(old, note) {
		return false
	}
	text := strings.Join(append(old[max(0, len(old)-mostNotes):], note), "\n")
	if f.Prepare() == nil {
		_ = durable.WriteFile(path, []byte(strings.TrimLeft(text, "\n")), 0o600)
	}
	return true
}

// mostNotes is how many notes are remembered.
const mostNotes = 20

func (f Files) doneDir() string { return filepath.Join(f.dir, "done") }

func (f Files) livePath(slice string, n int) string {
	return filepath.Join(f.LiveDir(), fmt.Sprintf("%s.%d.json", slice, n))
}

func (f Files) donePath(slice string, n int, o outcome.Outcome) string {
	return filepath.Join(f.doneDir(), Entry{slice, n, o}.doneName())
}

func (f Files) envPath(r *Record) string { return filepath.Join(f.dir, "env", r.ID.Name()) }

// PutEnv keeps an environment for the attempt's wrapper, readable by the user alone.
func (f Files) PutEnv(r *Record, env []string) error {
	path := f.envPath(r)
	if err := mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := durable.Unlink(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		// it has modes of its own, and readers
		return err
	}
	file, err := durable.Create(path, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.Join(env, "\x00"))
	return errors.Join(err, file.Close())
}

// TakeEnv returns the environment that was kept, and forgets it.
func (f Files) TakeEnv(r *Record) ([]string, error) {
	data, err := durable.ReadFile(f.envPath(r))
	if err != nil {
		return nil, err
	}
	return strings.Split(string(data), "\x00"), durable.Unlink(f.envPath(r))
}
