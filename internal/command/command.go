// Package command runs a command line of the project's configuration to its end, within a limit: setup and teardown of a
// worktree, the tests. It has the gate, behind which agents start, too.
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

	"greenlight/internal/paths"
	"greenlight/internal/proc"
	"greenlight/internal/text/lines"
)

const (
	endGrace  = 10 * time.Second      // between TERM and KILL
	pipeTick  = 50 * time.Millisecond // output that is still in the pipes when the whole group is gone is over
	pipeTicks = 10                    // when nothing came for so many ticks in a row,
	pipeLimit = 200 * pipeTick        // and at the latest after this, counted in ticks, too
	lineBytes = 256 << 10             // of a line are looked at
)

// A Spec is a command to run.
type Spec struct {
	Self  string // path of gl, which waits in the command's place until Started has returned
	Argv  []string
	Dir   string
	Env   []string
	Files []*os.File                  // that it inherits
	Limit time.Duration               // 0 for none
	Box   func(Program) (*Box, error) // makes its sandbox; nil for none
	Log   io.Writer                   // gets stdout and stderr as they come; nil for nowhere

	// Mark is for a command that must leave nothing running: the variable, "NAME=value", is added to Env, and all that it has started ends with
	// it. "" is for one that may leave a service behind, in a session of its own.
	Mark string

	// Started records the process, which leads a session and a group, before it may run. On an error it never runs, and Run
	// returns that error. nil is for a command that nobody has to find again.
	Started func(proc.ID) error
}

// A Result is how a command ended.
type Result struct {
	ExitCode int           // -1 where a signal ended it
	Signal   string        // that ended it; "" for none
	TimedOut bool          // it was ended because its limit was over
	Last     string        // the last line that says something, safe to print
	Duration time.Duration // from its start to its end
	Left     []string      // what a command with a Mark left running, which is ended: "sleep (4711)"
	Leftover error         // why what it left running can't be ended
}

// OK says whether the command succeeded.
func (r Result) OK() bool { return r.ExitCode == 0 && r.Signal == "" && !r.TimedOut }

// How says how a command that failed has ended. limit is its limit in words.
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

// Run runs a command to its end: in a session of its own, with nothing to read. What it leaves running in its group is ended with
// it; with a Mark, what has left the group, too. When ctx is over the command is ended, and the error is ctx's. Other errors are about commands that can't be started.
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
	var env []string // of the gate, by which it is told from a person's process: see attempt.Caller
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

// readAll sends what comes from in, and closes both. A chunk is small, so what nobody has taken yet is, too. When the command is
// over it reads on and throws away: a service that left the group, which setup may have started, would die of a closed pipe.
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

// running is a command that runs.
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
		r.log.Write(data) // a log that can't be written, on a full disk, is no reason to end a command
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

// endLeft ends what the command has left running. A gate that has stayed above it has done so, unless it was killed, or can't know.
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

// howEnded fills in how the command ended: as the gate above it says, or as its own process did.
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

// TakeRest takes what is still in the pipes, up to their end, or until nothing more comes: somebody who left the group
// may hold them open. Silence is counted in ticks rather than measured: on a busy machine the last of a long output can
// take longer than any fixed grace, and while this process waits for a CPU no tick passes twice.
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
