// Package command runs a command line of the project's configuration to its end, within a
// limit: setup and teardown of a worktree, the tests. It contains the gate, which also starts
// agents.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/text/lines"
)

const (
	endGrace = 10 * time.Second // between SIGTERM and SIGKILL
	// polling interval for output left in the pipes after the whole group is gone,
	pipeTick  = 50 * time.Millisecond
	pipeTicks = 10             // which ends after this many silent ticks in a row,
	pipeLimit = 200 * pipeTick // or at the latest after this, also counted in ticks
	lineBytes = 256 << 10      // bytes of a line that are examined
)

// A Spec is a command to run.
type Spec struct {
	Self  string // path of gl, which waits in the command's place until Started has returned
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

	// Started records the process, which leads a session and a group, before it may run. If it
	// returns an error, the process never runs, and Run returns that error. It is nil for a
	// command that needn't be found again.
	Started func(proc.ID) error
}

// A Result describes how a command ended.
type Result struct {
	ExitCode int           // -1 if a signal ended it
	Signal   string        // the signal that ended it; "" for none
	TimedOut bool          // it was ended at its time limit
	Last     string        // the last informative line, safe to print
	Duration time.Duration // from start to end
	// processes that a command with a Mark left running, now ended: "sleep (4711)"
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

// Run runs a command to its end, in a session of its own, with nothing to read. Processes it
// leaves running in its group are ended with it; with a Mark, also those that have left the
// group. If ctx ends, the command is ended, and the error is ctx's. Other errors mean that the
// command couldn't be started.
func Run(ctx context.Context, s Spec) (Result, error) {
	if len(s.Argv) == 0 {
		return Result{}, errors.New("the command is empty")
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	program, err := paths.Program(s.Argv[0], s.Dir)
	if err != nil {
		return Result{}, err
	}
	prog, box := Program{Path: program, Argv: s.Argv, Dir: s.Dir, Env: s.Env, Supervised: s.Mark != ""}, (*Box)(nil)
	if s.Mark != "" {
		prog.Env = append(slices.Clip(s.Env), s.Mark)
	}
	if s.Box != nil {
		if box, err = s.Box(prog); err != nil {
			return Result{}, err
		}
	}
	if err := prog.CanBe(); err != nil {
		return Result{}, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	var env []string // of the gate, distinguishing it from a person's process: see attempt.Caller
	if s.Mark != "" {
		env = []string{s.Mark}
	}
	gate, err := Wait(s.Self, nil, outWrite, outWrite, env...)
	if err != nil {
		outRead.Close()
		return Result{}, err
	}
	r := running{path: program, mark: s.Mark, log: s.Log, exited: make(chan error, 1), cmd: gate.Cmd, split: lines.NewSplitter(lineBytes)}
	go func() { r.exited <- gate.Cmd.Wait() }()
	r.id, err = proc.Of(gate.Cmd.Process.Pid)
	if err == nil && s.Started != nil {
		err = s.Started(r.id)
	}
	if err != nil {
		gate.Close()
		outRead.Close()
		<-r.exited
		return Result{}, err
	}
	out, over := make(chan []byte, 64), make(chan struct{})
	defer close(over)
	go readAll(outRead, out, over)
	return r.await(ctx, s.Limit, out, gate.Release(prog, box, s.Files...))
}

// readAll sends the data from in, and closes both. Chunks are small, and so is unread data.
// After the command has ended it keeps reading and discards the data: a service outside the
// group, which setup may have started, would die from a closed pipe.
func readAll(in io.ReadCloser, out chan<- []byte, over <-chan struct{}) {
	defer in.Close()
	defer close(out)
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			select {
			case out <- bytes.Clone(buf[:n]):
			case <-over:
			}
		}
		if err != nil {
			return
		}
	}
}

// running is a running command.
type running struct {
	path   string
	mark   string
	cmd    *exec.Cmd
	id     proc.ID
	exited chan error
	log    io.Writer
	split  *lines.Splitter
	last   LastWords
}

func (r *running) take(data []byte) {
	if r.log != nil {
		r.log.Write(data) // a log that can't be written, on a full disk, must not end a command
	}
	r.split.Write(data, r.hear)
}

func (r *running) hear(p lines.Piece) {
	if !p.Rest {
		r.last.Hear(strings.TrimRight(string(p.Text), "\r\n"))
	}
}

func (r *running) await(ctx context.Context, limit time.Duration, out <-chan []byte, failed <-chan string) (Result, error) {
	begun := time.Now()
	var over <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	var res Result
	var stopped error
	end, rest := ctx.Done(), out
	for {
		select {
		case data, ok := <-rest:
			if !ok {
				rest = nil
				continue
			}
			r.take(data)
		case <-over:
			over, end, res.TimedOut = nil, nil, true
			go proc.EndGroup(r.id, endGrace)
		case <-end:
			over, end, stopped = nil, nil, ctx.Err()
			go proc.EndGroup(r.id, endGrace)
		case err := <-r.exited:
			res.Duration = time.Since(begun)
			r.endLeft(&res)
			TakeRest(rest, r.take)
			r.split.End(r.hear)
			res.Last = r.last.Text
			why, report := takeReport(<-failed)
			if why != "" {
				return res, fmt.Errorf("%s can't be started: %s", r.path, why)
			}
			if r.cmd.ProcessState == nil {
				return res, err
			}
			r.howEnded(&res, report)
			return res, stopped
		}
	}
}

// endLeft ends what the command has left running. A gate that stayed above it has done so,
// unless it was killed, or can't know.
func (r *running) endLeft(res *Result) {
	var err error
	if r.mark == "" {
		err = proc.EndGroup(r.id, leftGrace)
	} else if ws, ok := r.waitStatus(); !ok || !ws.Exited() || !adopts {
		res.Left, err = proc.Tree{Root: r.id, Marks: []string{r.mark}}.End(leftGrace)
	}
	if err != nil && !errors.Is(err, proc.ErrDead) {
		res.Leftover = err
	}
}

func (r *running) waitStatus() (ws syscall.WaitStatus, ok bool) {
	if r.cmd.ProcessState == nil {
		return ws, false
	}
	ws, ok = r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ws, ok
}

// howEnded records how the command ended, according to the gate above it, or else its own
// process.
func (r *running) howEnded(res *Result, said *report) {
	if said != nil {
		res.ExitCode, res.Signal, res.Left = said.ExitCode, said.Signal, append(said.Left, res.Left...)
		if said.Leftover != "" {
			res.Leftover = errors.New(said.Leftover)
		}
		return
	}
	res.ExitCode = r.cmd.ProcessState.ExitCode()
	if ws, ok := r.waitStatus(); ok && ws.Signaled() {
		res.Signal = ws.Signal().String()
	}
}

// TakeRest reads what is left in the pipes, up to their end or until no more data comes,
// because a process outside the group may hold them open. Silence is counted in ticks rather
// than measured: on a busy machine the end of a long output can take longer than any fixed
// grace period, and ticks don't accumulate while this process waits for a CPU.
func TakeRest[T any](rest <-chan T, take func(T)) {
	tick := time.NewTicker(pipeTick)
	defer tick.Stop()
	for silent, ticks := 0, 0; rest != nil && silent < pipeTicks && time.Duration(ticks)*pipeTick < pipeLimit; {
		select {
		case c, ok := <-rest:
			if !ok {
				return
			}
			take(c)
			silent = 0
		case <-tick.C:
			silent++
			ticks++
		}
	}
}
