package command

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// The gate closes the gap between a program's start and the record of its pid. gl starts `gl gate` in the program's place:
// same pid, same process group, same start time, but nothing runs yet. Only when that identity is on disk does a byte go
// through the pipe, and the gate becomes the program. Whenever the starting gl dies before, the pipe closes and the program
// has never run.
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
		// What ends the program is sent to its whole group. The sandbox's own process must outlive that, for as long as the program
		// takes: its exit status is the program's.
		signal.Ignore(endSignals...)
	} else {
		syscall.CloseOnExec(gateErr)
	}
	return become(argv)
}

// endSignals are those that programs are ended by.
var endSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// InsideArg is the hidden command that runs Inside.
const InsideArg = "inside"

// Inside is what the sandbox starts: it hears again what ends a program, and becomes the program. It returns only if it can't.
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

// A Latch holds a program back behind its gate: the ends of the pipes between the two.
type Latch struct {
	goRead, goWrite   *os.File
	errRead, errWrite *os.File
}

// NewLatch makes the pipes.
func NewLatch() (*Latch, error) {
	l := &Latch{}
	for _, e := range []struct{ r, w **os.File }{{&l.goRead, &l.goWrite}, {&l.errRead, &l.errWrite}} {
		r, w, err := os.Pipe()
		if err != nil {
			l.CloseChild()
			l.Close()
			return nil, err
		}
		*e.r, *e.w = r, w
	}
	return l, nil
}

// A Program is what a gate becomes.
type Program struct {
	Path string
	Argv []string // Argv[0] is the name it is called by
	Dir  string
	Env  []string
}

// A Box is a sandbox that is ready for one program.
type Box struct {
	Path    string                       // of the sandbox's program
	Gl      string                       // of gl in there; /proc/self/exe is another program
	Command func(argv []string) []string // the sandbox's command line around one
	Env     []string
}

// Gated is the command that waits in the program's place until Release; with a sandbox, in that of the program in it. self is the
// path of gl; the program inherits the files. box may be nil.
func (l *Latch) Gated(self string, p Program, box *Box, files ...*os.File) *exec.Cmd {
	args, env := append([]string{GateArg, p.Path}, p.Argv...), p.Env
	if box != nil {
		inner := append([]string{box.Gl, InsideArg, p.Path}, p.Argv...)
		args, env = append([]string{GateArg, sandboxedArg, box.Path}, box.Command(inner)...), box.Env
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "gl"
	cmd.Dir = p.Dir
	cmd.Env = env
	cmd.ExtraFiles = append([]*os.File{l.goRead, l.errWrite}, files...)
	// A session of its own, not only a process group: a tool that reads from /dev/tty would be stopped for ever in a
	// pane, and finds no terminal this way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// CloseChild closes the gate's ends here, once it has been started or couldn't be.
func (l *Latch) CloseChild() { CloseAll(l.goRead, l.errWrite) }

// Close closes our ends: a program that hasn't been released never runs.
func (l *Latch) Close() { CloseAll(l.goWrite, l.errRead) }

// Release lets the program go. It sends why the gate couldn't become the program, "" once it has.
func (l *Latch) Release() <-chan string {
	l.goWrite.Write([]byte{1})
	l.goWrite.Close()
	c := make(chan string, 1)
	go func() {
		defer l.errRead.Close()
		var b bytes.Buffer
		b.ReadFrom(l.errRead)
		c <- b.String()
	}()
	return c
}

// CloseAll closes the files; nil is none.
func CloseAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
