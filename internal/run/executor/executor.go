// Package executor starts the programs of attempts and of the merge queue: agents, tests, setup
// and teardown. It streams their output, talks to them, ends them with everything they have
// started, and brings back the files they leave.
//
// What a program's output means, whether its work is accepted, and what records say about it is
// decided above this package. Starting wrappers is the task of package runner.
package executor

import (
	"context"
	"errors"
	"os"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/workspace/worktree"
)

// A Starter starts jobs.
type Starter interface {
	// Start starts a job. record makes its handle durable: the program runs only once record
	// has returned nil. Otherwise it never runs, and Start returns record's error. When ctx
	// ends, the job is ended.
	Start(ctx context.Context, j Job, record func(command.Handle) error) (Run, error)
}

// An Executor runs jobs: Local as processes of this machine, package away's on a worker. Package
// executortest has the tests that every implementation passes.
type Executor interface {
	Starter

	// Find returns a job that another process has started and no longer attends to.
	Find(l Lost) Run

	// Fetch returns the files at a place as they are now. If the options ask for the last
	// snapshot, every job there must have ended.
	Fetch(ctx context.Context, p Place, o worktree.SnapshotOptions) (*worktree.Snapshot, error)
}

// A Job is a program to run, in a session of its own and without a terminal.
type Job struct {
	Path  string   // of the program; "" to look up Argv[0]
	Argv  []string // Argv[0] is the name it is called by
	Dir   string
	Env   []string
	Files []*os.File // inherited by the program and everything it starts

	// Box creates its sandbox; nil for none. Its error is returned as a *BoxError.
	Box func(command.Program) (*command.Box, error)
	// Unwrap means that an exit code above 128 is reported as the signal it stands for: the
	// sandbox's own program exits that way.
	Unwrap bool

	Limit time.Duration // after which it is ended; 0 for none
	Apart bool          // tells stdout and stderr apart; otherwise they are one stream
	Talks bool          // reads lines from Run.Talk; otherwise it has nothing to read
	First []byte        // first line of input of a job that talks; nil for none

	// Marks are variables of Env, "NAME=value", that no other job has. They identify what the
	// program has started.
	Marks  []string
	Leaves Leaves
}

// Leaves defines what a program may leave running when it ends.
type Leaves int

const (
	// Services in sessions of their own may stay; what is left in the program's group ends.
	Services Leaves = iota
	// Nothing may stay. A process above the program ends what it leaves.
	Nothing
	// NothingBelow is Nothing without the process above: all descendants of this process
	// belong to the program, except helpers in this process's own session. At most one such job
	// can run at a time.
	NothingBelow
)

// A Run is a started job. Its methods may be called from any goroutine.
type Run interface {
	Handle() command.Handle

	// Output returns the program's output as it comes. It is closed when all of it has been
	// read after the program's end, or when a process that can't be ended only holds it open.
	// Output that isn't read holds up the program and nothing else.
	Output() <-chan Chunk

	// Talk sends a line to a job that talks. It doesn't wait for the program to read: ErrNoRoom
	// means that too much is unread, ErrHungUp that CloseTalk was called, that the job doesn't
	// talk, or that this process didn't start it.
	Talk(line []byte) error
	// CloseTalk ends the program's input once it has read what it was told.
	CloseTalk()

	// End ends the program: SIGTERM, then SIGKILL after a grace. It doesn't wait.
	End()
	// Kill ends the program without grace. It doesn't wait.
	Kill()

	// Exited is closed when the program has exited. What it has left running may still be there.
	Exited() <-chan struct{}
	// Wait returns how the program ended, once everything it has started has ended, too. If it
	// was ended because Start's ctx was over, the error is ctx's. Wait doesn't depend on
	// Output being read.
	Wait() (command.Result, error)
}

// A Chunk is some of a program's output, as it came: lines, and parts of lines.
type Chunk struct {
	// Stderr is set for a job whose streams are told apart. A worker tells them apart by lines: it
	// ends the last one, and cuts long ones of stderr.
	Stderr bool
	Note   bool // a line about the job by the machine that runs it
	Data   []byte
}

// A Lost job is one whose starter has died.
type Lost struct {
	Handle command.Handle
	Marks  []string
	Leaves Leaves
	Grace  time.Duration // between SIGTERM and SIGKILL
	Seen   int64         // bytes of its log that are known, of a job whose log is kept elsewhere
}

// A Place opens the worktree in which jobs work.
type Place func(ctx context.Context) (*worktree.Repo, *worktree.Lineage, error)

var (
	// ErrNoRoom is returned by Talk if the program hasn't read what it was told before.
	ErrNoRoom = errors.New("the program doesn't read its input")
	// ErrHungUp is returned by Talk if nothing can be told to the program any more.
	ErrHungUp = errors.New("the program's input is closed")
)

// A BoxError is the reason why a job's sandbox can't be made.
type BoxError struct{ Err error }

func (e *BoxError) Error() string { return e.Err.Error() }
func (e *BoxError) Unwrap() error { return e.Err }

// A PlaceError is why a job never started for which the executor makes the worktree. Wait returns
// it.
type PlaceError struct{ Reason string }

func (e *PlaceError) Error() string { return e.Reason }

// A LostError ends a job whose machine is lost: how it ended is unknown. Wait returns it. The
// job may be started once more, elsewhere.
type LostError struct {
	Where, Why string
	Unbegun    bool // nothing of it began, and the same machine gets it again
}

func (e *LostError) Error() string { return e.Where + " hasn't the job: " + e.Why }
