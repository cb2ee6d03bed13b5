package executor

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
)

// Local runs jobs as processes of this machine, each behind a gate until it is recorded: see
// package command.
type Local struct {
	self string // path of gl

	mu    sync.Mutex
	ahead map[string]*gate // started before their jobs, by mark
}

// NewLocal returns an executor of local processes. self is the path of gl, which only Start
// needs.
func NewLocal(self string) *Local { return &Local{self: self} }

// Ahead starts the gate of a job that talks or is Apart before the job is known, since that
// takes longer than all else until a program runs. mark is the first of the job's marks. Close
// ends a gate whose job has never come.
func (l *Local) Ahead(mark string) error {
	g, err := l.newGate(true, mark)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ahead == nil {
		l.ahead = map[string]*gate{}
	}
	l.ahead[mark] = g
	return nil
}

// Close ends the gates whose jobs have never come.
func (l *Local) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.ahead {
		g.close()
	}
	l.ahead = nil
}

// Start starts a job as a process.
func (l *Local) Start(ctx context.Context, j Job, record func(command.Handle) error) (Run, error) {
	prog, box, err := j.program(ctx)
	if err != nil {
		return nil, err
	}
	g, err := l.gateFor(j)
	if err != nil {
		return nil, err
	}
	id, err := proc.Of(g.Cmd.Process.Pid)
	if err == nil {
		err = record(command.Handle{Process: id})
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return start(ctx, j, g, id, prog, box), nil
}

// program returns what the job's gate is to become.
func (j *Job) program(ctx context.Context) (prog command.Program, box *command.Box, err error) {
	if len(j.Argv) == 0 {
		return prog, nil, errors.New("the command is empty")
	}
	if err := ctx.Err(); err != nil {
		return prog, nil, err
	}
	prog = command.Program{
		Path: j.Path, Argv: j.Argv, Dir: j.Dir, Env: j.Env,
		Listens: j.Talks, Supervised: j.Leaves == Nothing,
	}
	if prog.Path == "" {
		if prog.Path, err = paths.Program(j.Argv[0], j.Dir); err != nil {
			return prog, nil, err
		}
	}
	if j.Box != nil {
		if box, err = j.Box(prog); err != nil {
			return prog, nil, &BoxError{err}
		}
	}
	return prog, box, prog.CanBe()
}

// A gate is where a program will be, and our ends of the pipes to it.
type gate struct {
	*command.Waiting
	out, err, in *os.File // err and in are nil for a job that is neither Apart nor Talks
}

// gateFor returns the gate that was started ahead for the job, or a new one.
func (l *Local) gateFor(j Job) (*gate, error) {
	apart, env := j.Apart || j.Talks, j.Marks[:min(len(j.Marks), 1)]
	if !apart || len(env) == 0 {
		return l.newGate(apart, env...)
	}
	l.mu.Lock()
	g := l.ahead[env[0]]
	delete(l.ahead, env[0])
	l.mu.Unlock()
	if g != nil {
		return g, nil
	}
	return l.newGate(apart, env...)
}

// newGate starts a gate with these variables alone, which distinguish it from a person's
// process: see attempt.Caller.
func (l *Local) newGate(apart bool, env ...string) (*gate, error) {
	g := &gate{}
	var out, err, in *os.File // the program's ends
	pipes := []struct{ r, w **os.File }{{&g.out, &out}, {&g.err, &err}, {&in, &g.in}}
	if !apart {
		pipes = pipes[:1]
	}
	for _, e := range pipes {
		r, w, failed := os.Pipe()
		if failed != nil {
			command.CloseAll(g.out, g.err, g.in, out, err, in)
			return nil, failed
		}
		*e.r, *e.w = r, w
	}
	if !apart {
		err = out
	}
	var failed error
	if g.Waiting, failed = command.Wait(l.self, in, out, err, env...); failed != nil {
		command.CloseAll(g.out, g.err, g.in)
		return nil, failed
	}
	return g, nil
}

// close ends a gate behind which no program has begun.
func (g *gate) close() {
	g.Waiting.Close()
	command.CloseAll(g.out, g.err, g.in)
	_ = g.Cmd.Wait()
}

// running is a job that this process has started.
type running struct {
	*talk
	job    Job
	gate   *gate
	handle command.Handle
	output *output

	begun  time.Time
	memory int  // proc.OutOfMemory at the start
	adopts bool // what the program leaves is below this process: see proc.Adopt
	ending sync.Once

	exited chan struct{} // closed when the program has exited
	reaped error         // of waiting for it; valid once exited is closed
	done   chan struct{} // closed when res and err are valid
	res    command.Result
	err    error
}

// start releases a recorded program.
func start(
	ctx context.Context, j Job, g *gate, id proc.ID, prog command.Program, box *command.Box,
) *running {
	r := &running{
		job: j, gate: g, handle: command.Handle{Process: id}, begun: time.Now(),
		exited: make(chan struct{}), done: make(chan struct{}),
	}
	r.res.Program = prog.Path
	if j.Leaves == NothingBelow {
		r.adopts = proc.Adopt() // from here on: what ran before isn't the program's
	}
	r.memory = proc.OutOfMemory()
	go func() {
		r.reaped = g.Cmd.Wait()
		close(r.exited)
	}()
	if j.Talks {
		r.talk = newTalk(g.in)
		if j.First != nil {
			_ = r.Talk(j.First) // the first line has room
		}
	} else {
		command.CloseAll(g.in)
	}
	failed := g.Release(prog, box, j.Files...)
	r.output = newOutput(g.out, g.err)
	go r.attend(ctx, failed)
	return r
}

func (r *running) Handle() command.Handle  { return r.handle }
func (r *running) Output() <-chan Chunk    { return r.output.out }
func (r *running) Exited() <-chan struct{} { return r.exited }

func (r *running) End() {
	r.ending.Do(func() { go func() { _ = proc.EndGroup(r.handle.Process, command.EndGrace) }() })
}

func (r *running) Kill() { _ = r.handle.Process.SignalGroup(syscall.SIGKILL) }

func (r *running) Wait() (command.Result, error) {
	<-r.done
	return r.res, r.err
}

// attend ends the program at its limit or with ctx, and what it has left running.
func (r *running) attend(ctx context.Context, failed <-chan string) {
	defer close(r.done)
	var limit, reap <-chan time.Time
	if r.job.Limit > 0 {
		timer := time.NewTimer(r.job.Limit)
		defer timer.Stop()
		limit = timer.C
	}
	if r.job.Leaves == NothingBelow {
		ticker := time.NewTicker(command.ReapEvery)
		defer ticker.Stop()
		reap = ticker.C
	}
	over := ctx.Done()
	var stopped error
	for {
		select {
		case <-limit:
			limit, over, r.res.TimedOut = nil, nil, true
			r.End()
		case <-over:
			limit, over, stopped = nil, nil, ctx.Err()
			r.End()
		case <-reap:
			r.tree().Reap()
		case <-r.exited:
			r.res.Duration = time.Since(r.begun)
			r.endLeft()
			r.output.end()
			var report *command.Report
			r.res.NotStarted, report = command.TakeReport(<-failed)
			if r.gate.Cmd.ProcessState == nil {
				r.res.ExitCode, r.err = -1, r.reaped
				return
			}
			r.howEnded(report)
			r.err = stopped
			return
		}
	}
}

// tree is the program and all that it has started.
func (r *running) tree() proc.Tree {
	return proc.Tree{Root: r.handle.Process, Marks: r.job.Marks, Below: r.adopts, Helpers: r.adopts}
}

// endLeft ends what the program has left running. A gate that stayed above it has done so,
// unless it was killed, or can't know.
func (r *running) endLeft() {
	var err error
	switch r.job.Leaves {
	case Services:
		err = proc.EndGroup(r.handle.Process, command.LeftGrace)
	case Nothing:
		if ws, ok := r.waitStatus(); ok && ws.Exited() && command.Adopts {
			return
		}
		r.res.Left, err = r.tree().End(command.LeftGrace)
	case NothingBelow:
		r.res.Left, err = r.tree().End(command.LeftGrace)
	}
	if err != nil && !errors.Is(err, proc.ErrDead) {
		r.res.Leftover = err
	}
}

func (r *running) waitStatus() (ws syscall.WaitStatus, ok bool) {
	if r.gate.Cmd.ProcessState == nil {
		return ws, false
	}
	ws, ok = r.gate.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ws, ok
}

// howEnded records how the program ended, according to the gate above it, or else its own
// process.
func (r *running) howEnded(said *command.Report) {
	res, state := &r.res, r.gate.Cmd.ProcessState
	res.CPU = state.UserTime() + state.SystemTime()
	if said != nil {
		res.ExitCode, res.Signal, res.Left = said.ExitCode, said.Signal, append(said.Left, res.Left...)
		if said.Leftover != "" {
			res.Leftover = errors.New(said.Leftover)
		}
	} else {
		res.ExitCode = state.ExitCode()
		if ws, ok := r.waitStatus(); ok && ws.Signaled() {
			res.Signal = ws.Signal().String()
		}
	}
	res.OutOfMemory = res.Signal != "" && proc.OutOfMemory() > r.memory
	if r.job.Unwrap && res.Signal == "" && res.ExitCode > 128 && res.ExitCode <= 128+64 {
		res.Signal, res.ExitCode = syscall.Signal(res.ExitCode-128).String(), -1
	}
}
