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

	"greenlight/internal/proc"
)

// A gate may stay above its program instead of becoming it: it then ends with the program all that
// the program has left running, wherever that has gone, and only after that it exits. Its own
// process leads the session, and is what others record and signal.

const (
	leftGrace = time.Second      // for what the program has left running
	deafGrace = endGrace * 4 / 5 // for the program, from the signal on: whoever sent it kills the gate, too, after endGrace
	reapEvery = 10 * time.Second // zombies that were left to the gate
	reportTag = "\x01"           // comes before a report, and after an error of the program's start
)

// adopts says whether a gate that stays above its program finds all that it leaves: see proc.Adopt.
const adopts = runtime.GOOS == "linux"

// A report is what a gate says of a program that it has stayed above.
type report struct {
	ExitCode int      `json:"exit_code"` // -1 where a signal ended it
	Signal   string   `json:"signal,omitempty"`
	Left     []string `json:"left,omitempty"`     // what it left running, which is ended: "sleep (4711)"
	Leftover string   `json:"leftover,omitempty"` // why some of that lives on; "" if all of it is gone for certain
}

// supervise runs the program below this process.
func (p Program) supervise() int {
	tree := proc.Tree{Below: proc.Adopt()}
	cmd := &exec.Cmd{Path: p.Path, Args: p.Argv, Env: p.Env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if p.sandboxed {
		signal.Ignore(endSignals...) // for the sandbox's own process: see Gate
	}
	heard := make(chan os.Signal, 8)
	if !p.sandboxed { // what is caught, a program doesn't inherit
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
		cmd.Wait()
		close(done)
	}()
	outlast(tree, cmd, done, heard)
	r := report{ExitCode: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal = ws.Signal().String()
	}
	if tree.Below { // else who started the gate looks for it
		var err error
		if r.Left, err = tree.End(leftGrace); err != nil {
			r.Leftover = err.Error()
		}
	}
	text, _ := json.Marshal(r) // strings and numbers
	os.NewFile(gateSocket, "gate").WriteString(reportTag + string(text))
	return max(r.ExitCode, 0)
}

// outlast returns when the program is done. One that is deaf to the signals that end programs is
// killed, with all that it has started.
func outlast(tree proc.Tree, cmd *exec.Cmd, done <-chan struct{}, heard <-chan os.Signal) {
	ticker := time.NewTicker(reapEvery)
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

// takeReport takes what a gate has said apart: why there was no program, and how the program
// ended. It is nil for a gate that said nothing, since it was killed.
func takeReport(text string) (why string, r *report) {
	why, text, ok := strings.Cut(text, reportTag)
	if !ok {
		return why, nil
	}
	r = new(report)
	if json.Unmarshal([]byte(text), r) != nil {
		return why, nil
	}
	return why, r
}
