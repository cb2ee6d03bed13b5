// Package runner starts the wrappers of attempts and reports when one that it started has exited.
// It knows command lines, environments and directories, not state: how an attempt ended is in its
// record.
package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"greenlight/internal/run/attempt"
)

// An Exit reports that a wrapper which the runner started is gone or, with a Record, that it has
// taken its attempt over.
type Exit struct {
	Slice string
	N     int
	Token string // of the claim: the number may belong to the next claim by now
	Err   error  // how it exited, in case there is no record

	Record *attempt.Record // of a wrapper that isn't gone, but has taken its attempt over
}

// A Runner starts wrappers.
type Runner interface {
	// Name is the runner's name in records and on the command line.
	Name() string
	// Expect prepares for a likely call of Start, and returns at once. Neither may be called while
	// the other runs.
	Expect()
	// Start starts the wrapper of a claimed attempt and returns at once.
	Start(r *attempt.Record) error
	// Exits receives an Exit for each wrapper that is gone; nil if the runner can't know.
	Exits() <-chan Exit
}

// Process runs each wrapper as a process in a session of its own: it has no terminal, gets no
// signal that is meant for gl, and outlives it.
type Process struct {
	Self   string   // path of gl
	Root   string   // of the project
	Env    []string // for the wrapper and, scrubbed, for its agent
	Stdout *os.File // where the wrapper prints what the agent does; nil for nowhere

	exits chan Exit
}

// NewProcess returns a runner; room is how many exits may wait to be received.
func NewProcess(self, root string, env []string, stdout *os.File, room int) *Process {
	return &Process{Self: self, Root: root, Env: env, Stdout: stdout, exits: make(chan Exit, room)}
}

// Name returns "process".
func (p *Process) Name() string { return "process" }

// Expect does nothing: there is nothing to prepare.
func (p *Process) Expect() {}

// Start starts the wrapper, in a session of its own.
func (p *Process) Start(r *attempt.Record) error {
	cmd := detached(p.Self, p.Root, WithAgentEnv(p.Env, r), WrapperArgs(p.Root, r)...)
	if p.Stdout != nil { // a nil *os.File isn't a nil io.Writer
		cmd.Stdout = p.Stdout
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the wrapper of %s: %w", r.ID.Name(), err)
	}
	go func() {
		err := cmd.Wait()
		p.exits <- Exit{Slice: r.ID.Slice, N: r.ID.N, Token: r.ID.Token, Err: err}
	}()
	return nil
}

// detached returns a gl process in a session of its own, which outlives this one.
func detached(self, root string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "gl"
	cmd.Dir, cmd.Env = root, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// QueueCommand is the hidden command that works the merge queue.
const QueueCommand = "work-queue"

// StartQueueWorker starts a process that works the merge queue of the project at root unless a run
// or another worker does. With asked it also does what waits for a person to ask.
func StartQueueWorker(self, root string, env []string, asked bool) error {
	args := []string{QueueCommand, "--root", root}
	if asked {
		args = append(args, "--asked")
	}
	cmd := detached(self, root, env, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker of the merge queue: %w", err)
	}
	go func() { _ = cmd.Wait() }() // the journal and the slices tell what it did
	return nil
}

// Exits receives one Exit for each wrapper that Start started.
func (p *Process) Exits() <-chan Exit { return p.exits }

// AgentEnv is the variable by which a wrapper gets what is added to its agent's environment, as a
// JSON list. It may hold keys: it is in no command line, in no file but the one by which a pane
// gets its environment, and in the environment of nothing else that the wrapper runs.
const AgentEnv = "GL_AGENT_ENV"

// WithAgentEnv returns the environment of the attempt's wrapper.
func WithAgentEnv(env []string, r *attempt.Record) []string {
	isOld := func(v string) bool { return strings.HasPrefix(v, AgentEnv+"=") }
	env = slices.DeleteFunc(slices.Clone(env), isOld)
	if len(r.Job.Environ) == 0 {
		return env
	}
	list, _ := json.Marshal(r.Job.Environ) // strings can be marshaled
	return append(env, AgentEnv+"="+string(list))
}

// TakeAgentEnv takes AgentEnv out of a wrapper's environment, and returns both.
func TakeAgentEnv(env []string) (rest, added []string) {
	for _, v := range env {
		if list, ok := strings.CutPrefix(v, AgentEnv+"="); ok {
			_ = json.Unmarshal([]byte(list), &added) // nothing if gl didn't write it
		} else {
			rest = append(rest, v)
		}
	}
	return rest, added
}

// WrapperCommand is the hidden command that runs an attempt's wrapper.
const WrapperCommand = "attempt"

// WrapperArgs returns the arguments of an attempt's wrapper.
func WrapperArgs(root string, r *attempt.Record) []string {
	return []string{
		WrapperCommand, "--root", root,
		"--slice", r.ID.Slice, "--n", fmt.Sprint(r.ID.N), "--token", r.ID.Token,
	}
}
