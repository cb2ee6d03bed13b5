package scripts

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// unheard CODE|PIPE PROGRAM ARG…: runs a program whose stdout has no reader; it must end with
// the exit code, or by SIGPIPE. Its stderr is the script's stderr.
func unheard(ts *testscript.TestScript, _ bool, args []string) {
	r, w, err := os.Pipe()
	ts.Check(err)
	r.Close()
	defer w.Close()
	cmd := exec.Command(lookPath(ts, args[1]), args[2:]...)
	cmd.Dir, cmd.Env, cmd.Stdout = ts.MkAbs("."), environ(ts), w
	cmd.Stderr = ts.Stderr()
	got := "0"
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		got = strconv.Itoa(exit.ExitCode())
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() &&
			status.Signal() == syscall.SIGPIPE {
			got = "PIPE"
		}
	} else {
		ts.Check(err)
	}
	if got != args[0] {
		ts.Fatalf("it ended with %s, not %s", got, args[0])
	}
}
