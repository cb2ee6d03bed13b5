// Package statusline makes the line that Claude Code shows below its prompt: the model, the
// session's work or the project's state, the directory, and how full the context is. It returns
// the line and prints nothing. A prompt waits for it, so it never fails, writes nothing, and
// leaves out what takes too long to find out.
package statusline

import (
	"path/filepath"
	"strconv"
	"time"

	"greenlight/internal/run/project"
)

// Options are the inputs of the line.
type Options struct {
	Dir     string // the session's directory, "" if it is gone
	Compact bool   // the project's state in few columns, even if the project doesn't set that
	Getenv  func(string) string
}

// StateLimit is how long finding the project's state may take: a disk that hangs must not hold
// up a prompt. Tests, which share a machine with others, have more.
var StateLimit = 200 * time.Millisecond

// New gathers the content of the line. The client may be nil.
func New(c Client, o Options) Line {
	l := Line{Model: c.model(), Context: c.used(), Windows: c.windows(), CostUSD: c.cost()}
	if o.Dir != "" {
		l.Dir = filepath.Base(o.Dir)
	}
	wanted := project.StatuslineOf(o.Dir, o.Getenv)
	l.ContextFirst = wanted.Front
	l.Columns, _ = strconv.Atoi(o.Getenv("COLUMNS"))
	if l.Task = currentTask(o.Getenv, c.text("session_id")); l.Task == "" {
		l.State = inTime(StateLimit, func() string {
			return projectState(o.Dir, o.Compact || wanted.Compact, o.Getenv)
		})
	}
	return l
}

// inTime returns the result of f, or "" if f takes longer than limit or panics.
func inTime(limit time.Duration, f func() string) string {
	result := make(chan string, 1)
	go func() {
		defer func() {
			if recover() != nil {
				result <- ""
			}
		}()
		result <- f()
	}()
	select {
	case s := <-result:
		return s
	case <-time.After(limit):
		return ""
	}
}
