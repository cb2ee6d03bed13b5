// Package runner starts the wrappers of attempts and tells when one of its own has exited. It knows command line,
// environment and directory, and nothing of state: the record on disk, not the runner, says how an attempt ended.
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

// An Exit says that a wrapper which the runner started is gone.
type Exit struct {
	Slice string
	N     int
	Token string // of the claim: one that was given back may have left its number to the next
	Err   error  // how; the wrapper's word is in the record, this is for when there is none

	Record *attempt.Record // instead: the wrapper isn't gone, it has taken the attempt over
}

// A Runner starts wrappers.
type Runner interface {
	// Name is the runner's name in records and on the command line.
	Name() string
	// Expect says that Start is likely to be called soon. It returns at once; who calls both calls them one after the other.
	Expect()
	// Start starts the wrapper of a claimed attempt and returns at once.
	Start(r *attempt.Record) error
	// Exits tells of wrappers that are gone, where the runner can know.
	Exits() <-chan Exit
}

// Process runs each wrapper as a process of its own session: it has no terminal, gets no signal that is meant for gl,
// and outlives it.
type Process struct {
	Self   string   // path of gl
	Root   string   // of the project
	Env    []string // for the wrapper and, scrubbed, for its agent
	Stdout *os.File // where the wrapper prints what the agent does; nil for nowhere

	exits chan Exit
}

// NewProcess returns a runner; room is how many exits may wait to be read.
func NewProcess(self, root string, env []string, stdout *os.File, room int) *Process {
	return &Process{Self: self, Root: root, Env: env, Stdout: stdout, exits: make(chan Exit, room)}
}

// Name is "process".
func (p *Process) Name() string { return "process" }

// Expect does nothing: there is nothing to ask for.
func (p *Process) Expect() {}

// Start starts the wrapper, in a session of its own.
func (p *Process) Start(r *attempt.Record) error {
	cmd := exec.Command(p.Self, WrapperArgs(p.Root, r)...)
	cmd.Args[0] = "gl"
	cmd.Dir = p.Root
	cmd.Env = WithAgentEnv(p.Env, r)
	if p.Stdout != nil { // a nil *os.File would be taken for a writer
		cmd.Stdout = p.Stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the wrapper of %s: %w", r.ID.Name(), err)
	}
	go func() {
		err := cmd.Wait()
		p.exits <- Exit{Slice: r.ID.Slice, N: r.ID.N, Token: r.ID.Token, Err: err}
	}()
	return nil
}

// Exits is one word for each wrapper that Start started.
func (p *Process) Exits() <-chan Exit { return p.exits }

// AgentEnv is the variable by which a wrapper gets what is added to its agent's environment, as a list in JSON. It may hold
// keys: no command line has it, no file but the one by which a pane gets its environment, and nothing else that the wrapper runs.
const AgentEnv = "GL_AGENT_ENV"

// WithAgentEnv is the environment of the attempt's wrapper.
func WithAgentEnv(env []string, r *attempt.Record) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, AgentEnv+"=") })
	if len(r.Job.Environ) == 0 {
		return env
	}
	list, _ := json.Marshal(r.Job.Environ) // strings
	return append(env, AgentEnv+"="+string(list))
}

// TakeAgentEnv takes that out of a wrapper's environment.
func TakeAgentEnv(env []string) (rest, added []string) {
	for _, v := range env {
		if list, ok := strings.CutPrefix(v, AgentEnv+"="); ok {
			_ = json.Unmarshal([]byte(list), &added) // nothing where it isn't ours
		} else {
			rest = append(rest, v)
		}
	}
	return rest, added
}

// WrapperCommand is the hidden command that is an attempt's wrapper.
const WrapperCommand = "attempt"

// WrapperArgs are the arguments of the wrapper of one attempt.
func WrapperArgs(root string, r *attempt.Record) []string {
	return []string{WrapperCommand, "--root", root, "--slice", r.ID.Slice, "--n", fmt.Sprint(r.ID.N), "--token", r.ID.Token}
}
