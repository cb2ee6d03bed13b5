// Package command describes the programs that gl starts, and how they ended: configured
// commands (setup and teardown of a worktree, the tests) and agents. It contains the gate that
// a program waits behind until it is recorded. Package executor runs them.
package command

import (
	"fmt"
	"io"
	"os"
	"time"

	"greenlight/internal/base/proc"
)

// EndGrace is the time between SIGTERM and SIGKILL when a program is ended.
const EndGrace = 10 * time.Second

// A Handle names a started program. It is what records keep, to find the program again after
// the process that started it has died.
type Handle struct {
	Process proc.ID // leads a session and a group; the zero ID for none
}

// A Spec is a configured command to run to its end.
type Spec struct {
	Argv  []string
	Dir   string
	Env   []string
	Files []*os.File                  // inherited by it
	Limit time.Duration               // 0 for none
	Box   func(Program) (*Box, error) // creates its sandbox; nil for none
	Log   io.Writer                   // gets stdout and stderr as they come; may be nil

	// Mark is for a command that must leave nothing running: the variable, "NAME=value", is
	// added to Env, and everything the command has started ends with it. "" is for a command
	// that may leave a service behind, in a session of its own.
	Mark string

	// Started records the command before it may run. If it returns an error, the command never
	// runs, and that error is returned. It is nil for a command that needn't be found again.
	Started func(Handle) error
}

// A Result describes how a program ended.
type Result struct {
	Program    string        // path of the program
	NotStarted string        // why the program couldn't be started; "" if it was
	ExitCode   int           // -1 if a signal ended it
	Signal     string        // the signal that ended it; "" for none
	TimedOut   bool          // it was ended at its time limit
	Last       string        // of a Spec: the last informative line, safe to print
	Duration   time.Duration // from start to end
	CPU        time.Duration // that it used, with all processes below it that were waited for

	OutOfMemory bool // a signal ended it, and the kernel has killed for lack of memory meanwhile
	Unseen      bool // how it ended is unknown: the process that started it died before

	// processes that the program left running, now ended: "sleep (4711)"; if only services of
	// its group could be left, they aren't named
	Left     []string
	Leftover error // why leftover processes can't be ended
}

// OK reports whether the command succeeded.
func (r Result) OK() bool { return r.ExitCode == 0 && r.Signal == "" && !r.TimedOut }

// How describes how a failed command ended. limit is its limit in words.
func (r Result) How(limit string) string {
	how := fmt.Sprintf("exit status %d", r.ExitCode)
	switch {
	case r.TimedOut:
		how = "not done after " + limit
	case r.Signal != "":
		how = "signal: " + r.Signal
	}
	if r.Last != "" {
		how += ": " + r.Last
	}
	return how
}
