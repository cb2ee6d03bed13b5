package attempt

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// The gate closes the gap between an agent's start and the record of its pid. The wrapper starts `gl gate` in the
// agent's place: same pid, same process group, same start time, but nothing runs yet. Only when that identity is on
// disk does a byte go through the pipe, and the gate becomes the agent. Whenever the wrapper dies before, the pipe
// closes and no agent has ever run.
const (
	gateGo  = 3 // file descriptor of the pipe that says go
	gateErr = 4 // file descriptor on which a failed exec is reported; exec closes it
)

// GateArg is the hidden command that runs Gate; it is dispatched before any flag is parsed.
const GateArg = "gate"

// Gate waits for the word and becomes the program argv[0], a path, with the arguments argv[1:], argv[1] being the
// name it is called by. It returns, with an exit code, only if there is no word or no exec.
func Gate(argv []string) int {
	pipe := os.NewFile(gateGo, "go")
	if n, err := pipe.Read(make([]byte, 1)); n != 1 || err != nil || len(argv) < 2 {
		return 1
	}
	pipe.Close()
	syscall.CloseOnExec(gateErr)
	err := syscall.Exec(argv[0], argv[1:], os.Environ())
	os.NewFile(gateErr, "error").WriteString(err.Error())
	return 127
}

// gated is the command that waits in the program's place.
func gated(self, program string, argv []string, dir string, env []string, files ...*os.File) *exec.Cmd {
	cmd := exec.Command(self, append([]string{GateArg, program}, argv...)...)
	cmd.Args[0] = "gl"
	cmd.Dir = dir
	cmd.Env = env
	cmd.ExtraFiles = files
	// A session of its own, not only a process group: a tool that reads from /dev/tty would be stopped for ever in a
	// pane, and finds no terminal this way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// Env is the agent's environment: the launching gl's own, without the marks of a session that it may itself run in,
// and with the attempt's.
func (r *Record) Env(scrubbed []string, root string) []string {
	env := make([]string, 0, len(scrubbed)+4)
	for _, e := range scrubbed {
		if !strings.HasPrefix(e, "GREENLIGHT_ROOT=") {
			env = append(env, e)
		}
	}
	return append(env, r.env(root)...)
}
