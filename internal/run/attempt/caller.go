package attempt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"greenlight/internal/base/environ"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
)

// A Caller is what a process belongs to that calls gl and isn't a person's: an agent that gl has
// started without a person to talk to, what that has started in turn, or the tests of its work.
type Caller struct {
	ID     string // of the slice or task; "" for tests, and if unknown
	N      int    // of the attempt; 0 if unknown
	Token  string // of its claim, in the same way
	System string // whose item it is, in the same way
	Tests  bool   // it is a run of tests, or
	Setup  bool   // in their place git.setup, git.teardown, or what these have started

	// Alone means that nothing but the caller's own environment tells of it, which names no
	// project: gl may have been started in a session of another one.
	Alone bool
}

// CallerOf finds out what the calling process belongs to; nil for a person, and for a conversation
// that a person holds. Three signs are looked for, since an agent can clear any variable and leave
// any group: the process is below the wrapper or the agent of an attempt that runs, a process
// above it was started with the mark of an attempt or of tests of this project, or it carries such
// a mark itself.
//
// env is the caller's environment.
func CallerOf(s *Store, env environ.Environ) *Caller {
	live, _, _ := s.Live() // what can't be read is no record of ours
	if c := callerBelow(s, proc.Ancestors(), live); c != nil {
		return c
	}
	if c := marked(s, env, live); c != nil {
		return c
	}
	return Bearer(env)
}

// CallerAt is CallerOf for another process, such as a client of gl web.
func CallerAt(s *Store, pid int) *Caller {
	live, _, _ := s.Live() // as above
	return callerBelow(s, proc.Lineage(pid), live)
}

// callerBelow returns what a process below these belongs to, or one of them; nil for a person.
func callerBelow(s *Store, above []proc.ID, live []*Record) *Caller {
	for _, r := range live {
		if r.Life.isAbove(above) {
			return r.ID.caller()
		}
	}
	for _, id := range above {
		if vars, err := id.Environ(); err == nil {
			if c := marked(s, vars, live); c != nil {
				return c
			}
		}
	}
	return nil
}

// Bearer returns the caller that an environment alone tells of, of whichever project it is; nil
// for none.
func Bearer(env environ.Environ) *Caller {
	if env.Get(environ.Session) == "" {
		return nil
	}
	c := bearer(env, nil)
	c.Alone = true
	return c
}

// isAbove reports whether one of the processes is the attempt's.
func (l *Life) isAbove(above []proc.ID) bool {
	if l.Remote != nil { // gl serve, which is above much else
		return false
	}
	for _, id := range above {
		if l.Wrapper != nil && l.Wrapper.Is(id) || l.Process != nil && l.Process.Is(id) {
			return true
		}
	}
	return false
}

func (id *Identity) caller() *Caller {
	return &Caller{ID: id.Slice, N: id.N, Token: id.Token, System: id.System}
}

// marked is what a process with that environment belongs to in this project.
func marked(s *Store, env environ.Environ, live []*Record) *Caller {
	is := environ.Tests + "=" + env.Get(environ.Tests)
	if strings.HasPrefix(is, environ.MarksOf(s.Files.root())) {
		return &Caller{Tests: true, Setup: is == environ.SetupMark(s.Files.root())}
	}
	if env.Get(environ.Session) != "" && isDir(env.Get("GREENLIGHT_ROOT"), s.Files.root()) {
		return bearer(env, live)
	}
	return nil
}

// bearer is the attempt whose token an environment has. What else it says of the attempt counts
// only where there is no record.
func bearer(env environ.Environ, live []*Record) *Caller {
	token := env.Get(environ.Session)
	for _, r := range live {
		if r.ID.Token == token {
			return r.ID.caller()
		}
	}
	n, _ := strconv.Atoi(env.Get("GL_ATTEMPT"))
	return &Caller{ID: cmp.Or(env.Get("GL_SLICE"), env.Get("GL_TASK")), N: n, Token: token}
}

// isDir reports whether two paths name the same directory.
func isDir(a, b string) bool {
	if a == "" || a == b {
		return a == b
	}
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// String names the caller in a sentence.
func (c *Caller) String() string {
	switch {
	case c.Setup:
		return "git.setup, or what it has started"
	case c.Tests:
		return "a run of tests"
	case c.ID == "" || c.N < 1:
		return "a session that gl started"
	}
	return fmt.Sprintf("attempt %s.%d", c.ID, c.N)
}

// MayWorkOn says why the caller may not change the slice; nil if it is the one that it was started
// for, and still at work.
func (c *Caller) MayWorkOn(s *Store, slice string) error {
	if c.Tests || c.ID != slice {
		return fmt.Errorf("only its own agent or a person may change %s, and this is %s", slice, c)
	}
	r, err := s.Get(c.ID, c.N)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed; its wrapper writes it anew
		return nil
	case err == nil && r.ID.Token == c.Token &&
		(r.Life.Phase == plan.Ended || r.Life.Phase == plan.Settled):
		return fmt.Errorf("%s is over", c)
	case err == nil && r.ID.Token == c.Token && r.Life.Phase == plan.Queued:
		return fmt.Errorf("%s has called %s complete, and its agent has ended", c, slice)
	}
	return nil
}
