package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/proc"
)

// A gate may stay above its program instead of becoming it. When the program ends, the gate
// ends everything the program has left running, wherever that has gone, and only then exits.
// The gate's own process leads the session, and is the one that others record and signal.

const (
	// LeftGrace is the time between SIGTERM and SIGKILL for processes that a program has left
	// running.
	LeftGrace = time.Second
	// ReapEvery is the interval for reaping adopted zombies.
	ReapEvery = 10 * time.Second

	// for the program, after a signal: its sender also kills the gate after EndGrace
	deafGrace = EndGrace * 4 / 5
	// precedes a report, and follows an error from starting the program
	reportTag = "\x01"
)

// Adopts reports whether a gate that stays above its program finds everything it leaves: see
// proc.Adopt.
const Adopts = runtime.GOOS == "linux"

// A Report is a gate's report about its program.
type Report struct {
	ExitCode int    `json:"exit_code"` // -1 if a signal ended it
	Signal   string `json:"signal,omitempty"`
	// processes it left running, now ended: "sleep (4711)"
	Left []string `json:"left,omitempty"`
	// why some of these live on; "" if all are certainly gone
	Leftover string `json:"leftover,omitempty"`
}

// supervise runs the program as a child of this process.
func (p Program) supervise() int {
	tree := proc.Tree{Below: proc.Adopt()}
	cmd := &exec.Cmd{
		Path: p.Path, Args: p.Argv, Env: p.Env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	if p.sandboxed {
		signal.Ignore(endSignals...) // for the sandbox's own process: see Gate
	}
	heard := make(chan os.Signal, 8)
	if !p.sandboxed { // a program doesn't inherit caught signals
		signal.Notify(heard, endSignals...)
	}
	if err := cmd.Start(); err != nil {
		return failed(err)
	}
	signal.Notify(heard, endSignals...)
	syscall.CloseOnExec(gateSocket)
	tree.Root, _ = proc.Of(cmd.Process.Pid)
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	outlast(tree, cmd, done, heard)
	r := Report{ExitCode: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal = ws.Signal().String()
	}
	if tree.Below { // otherwise the process that started the gate searches for it
		var err error
		if r.Left, err = tree.End(LeftGrace); err != nil {
			r.Leftover = err.Error()
		}
	}
	text, _ := json.Marshal(r) // strings and numbers can't fail
	_, _ = os.NewFile(gateSocket, "gate").WriteString(reportTag + string(text))
	return max(r.ExitCode, 0)
}

// outlast returns when the program has ended. It kills a program that ignores the signals that
// end programs, with all its children.
func outlast(tree proc.Tree, cmd *exec.Cmd, done <-chan struct{}, heard <-chan os.Signal) {
	ticker := time.NewTicker(ReapEvery)
	defer ticker.Stop()
	var deaf <-chan time.Time
	for {
		select {
		case <-heard:
			if deaf == nil {
				deaf = time.After(deafGrace)
			}
		case <-deaf:
			if _, _ = tree.End(0); !tree.Below {
				_ = cmd.Process.Kill()
			}
		case <-ticker.C:
			tree.Reap()
		case <-done:
			return
		}
	}
}

// TakeReport splits a gate's message into the reason why the program didn't start, and the
// report of how it ended. The report is nil if the gate was killed and sent nothing.
func TakeReport(text string) (why string, r *Report) {
	why, text, ok := strings.Cut(text, reportTag)
	if !ok {
		return why, nil
	}
	r = new(Report)
	if json.Unmarshal([]byte(text), r) != nil {
		return why, nil
	}
	return why, r
}
