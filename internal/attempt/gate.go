package attempt

import (
	"os"
	"os/exec"
	"os/signal"
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

// sandboxedArg, in front of a gate's program, says that the program is the sandbox's, in which gl is started as InsideArg.
const sandboxedArg = "--sandboxed"

// Gate waits for the word and becomes the program argv[0], a path, with the arguments argv[1:], argv[1] being the
// name it is called by. It returns, with an exit code, only if there is no word or no exec.
func Gate(argv []string) int {
	pipe := os.NewFile(gateGo, "go")
	sandboxed := len(argv) > 0 && argv[0] == sandboxedArg
	if sandboxed {
		argv = argv[1:]
	}
	if n, err := pipe.Read(make([]byte, 1)); n != 1 || err != nil || len(argv) < 2 {
		return 1
	}
	pipe.Close()
	if sandboxed {
		// What ends the agent is sent to its whole group. The sandbox's own process must outlive that, for as long as the agent
		// takes: its exit status is the agent's.
		signal.Ignore(endSignals...)
	} else {
		syscall.CloseOnExec(gateErr)
	}
	return become(argv)
}

// endSignals are those that agents are ended by.
var endSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// InsideArg is the hidden command that runs Inside.
const InsideArg = "inside"

// Inside is what the sandbox starts: it hears again what ends an agent, and becomes the program. It returns only if it can't.
func Inside(argv []string) int {
	if len(argv) < 2 {
		return 1
	}
	signal.Notify(make(chan os.Signal, 1), endSignals...) // exec makes the default of what is caught, not of what is ignored
	syscall.CloseOnExec(gateErr)
	return become(argv)
}

// become execs argv[0], a path, with argv[1:]. It returns, with an exit code, only if there is no exec.
func become(argv []string) int {
	err := syscall.Exec(argv[0], argv[1:], os.Environ())
	os.NewFile(gateErr, "error").WriteString(err.Error())
	return 127
}

// A program is what a gate becomes.
type program struct {
	path string
	argv []string // argv[0] is the name it is called by
	dir  string
	env  []string
}

// gated is the command that waits in the program's place; with a sandbox, in that of the program in it. box may be nil.
func gated(self string, p program, box *box, files ...*os.File) *exec.Cmd {
	args := append([]string{GateArg, p.path}, p.argv...)
	env := p.env
	if box != nil {
		args = append([]string{GateArg, sandboxedArg, box.bwrap}, box.plan.Command(append([]string{box.gl, InsideArg, p.path}, p.argv...))...)
		env = box.plan.Env
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "gl"
	cmd.Dir = p.dir
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
