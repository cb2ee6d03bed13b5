package command

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// The gate closes the gap between a program's start and the record of its pid. gl starts `gl gate` in the program's place:
// same pid, same process group, same start time, but nothing runs yet. Only when that identity is on disk does gl say through a
// socket what the program is, and the gate becomes it. Whenever the starting gl dies before, the socket closes and the program
// has never run. Since the gate is told so late, it can be started before anybody knows the program.
const gateSocket = 3 // the file descriptor; exec closes it, or why there was none is written to it

// GateArg is the hidden command that runs Gate; it is dispatched before any flag is parsed.
const GateArg = "gate"

// maxFiles is how many files a program can inherit beside its standard ones.
const maxFiles = 16

// Gate waits until it is told what to become, and becomes it. It returns, with an exit code, only if nobody says so or there is no
// exec.
func Gate([]string) int {
	p, err := receive()
	if err != nil {
		return 1
	}
	if p.Supervised {
		if !p.sandboxed {
			syscall.CloseOnExec(gateSocket)
		}
		if err := p.settle(); err != nil {
			return failed(err)
		}
		return p.supervise()
	}
	if p.sandboxed {
		// What ends the program is sent to its whole group. The sandbox's own process must outlive that, for as long as the program
		// takes: its exit status is the program's.
		signal.Ignore(endSignals...)
	} else {
		syscall.CloseOnExec(gateSocket)
	}
	if err := p.settle(); err != nil {
		return failed(err)
	}
	return failed(syscall.Exec(p.Path, p.Argv, p.Env))
}

// endSignals are those that programs are ended by.
var endSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// InsideArg is the hidden command that runs Inside.
const InsideArg = "inside"

// Inside is what the sandbox starts: it hears again what ends a program, and becomes the program argv[0], a path, with the arguments
// argv[1:], argv[1] being the name it is called by. It returns only if it can't.
func Inside(argv []string) int {
	if len(argv) < 2 {
		return 1
	}
	signal.Notify(make(chan os.Signal, 1), endSignals...) // exec makes the default of what is caught, not of what is ignored
	syscall.CloseOnExec(gateSocket)
	return failed(syscall.Exec(argv[0], argv[1:], os.Environ()))
}

// failed says why there was no exec.
func failed(err error) int {
	os.NewFile(gateSocket, "gate").WriteString(err.Error())
	return 127
}

// A Program is what a gate becomes.
type Program struct {
	Path string
	Argv []string // Argv[0] is the name it is called by
	Dir  string
	Env  []string

	Listens    bool // it reads the gate's stdin; else it has nothing to read
	Supervised bool // what it leaves running ends with it: see supervise
	sandboxed  bool // it is the sandbox's, in which gl is started as InsideArg
}

// A Box is a sandbox that is ready for one program.
type Box struct {
	Path    string                       // of the sandbox's program
	Gl      string                       // of gl in there; /proc/self/exe is another program
	Command func(argv []string) []string // the sandbox's command line around one
	Env     []string
}

// boxed is the sandbox's program with this one in it; box may be nil.
func (p Program) boxed(box *Box) Program {
	if box == nil {
		return p
	}
	inner := append([]string{box.Gl, InsideArg, p.Path}, p.Argv...)
	return Program{Path: box.Path, Argv: box.Command(inner), Dir: p.Dir, Env: box.Env, Listens: p.Listens, Supervised: p.Supervised, sandboxed: true}
}

// settle goes where the program works and gives it its stdin.
func (p Program) settle() error {
	if err := os.Chdir(p.Dir); err != nil || p.Listens {
		return err
	}
	if err := syscall.Close(0); err != nil {
		return err
	}
	fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0) // the lowest that is free
	if err == nil && fd != 0 {
		err = errors.New("stdin can't be closed")
	}
	return err
}

// A program goes through the socket as its strings with NULs between them, which no string of an exec can have; before them their length,
// with which its files come.
func (p Program) encode() []byte {
	words := []string{p.Path, p.Dir, strconv.FormatBool(p.Listens), strconv.FormatBool(p.Supervised), strconv.FormatBool(p.sandboxed), strconv.Itoa(len(p.Argv))}
	words = append(append(words, p.Argv...), (&exec.Cmd{Env: p.Env}).Environ()...) // a variable that is there twice counts once
	return []byte(strings.Join(words, "\x00"))
}

func decode(text []byte) (p Program, err error) {
	words := strings.Split(string(text), "\x00")
	const head = 6
	if len(words) < head {
		return p, io.ErrUnexpectedEOF
	}
	n, err := strconv.Atoi(words[head-1])
	if err != nil || n < 1 || n > len(words)-head {
		return p, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return Program{
		Path: words[0], Dir: words[1], Listens: words[2] == "true", Supervised: words[3] == "true", sandboxed: words[4] == "true",
		Argv: words[head : head+n], Env: words[head+n:],
	}, nil
}

// receive reads a program from the gate's socket. Its files stay open for it.
func receive() (Program, error) {
	var head [4]byte
	rights := make([]byte, syscall.CmsgSpace(4*maxFiles))
	n, rn, _, _, err := syscall.Recvmsg(gateSocket, head[:], rights, 0)
	for err == syscall.EINTR {
		n, rn, _, _, err = syscall.Recvmsg(gateSocket, head[:], rights, 0)
	}
	if err != nil || n != len(head) {
		return Program{}, errors.Join(err, io.ErrUnexpectedEOF)
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:rn])
	for i := range messages {
		if _, bad := syscall.ParseUnixRights(&messages[i]); bad != nil { // they are ours by now, and stay open over the exec
			err = errors.Join(err, bad)
		}
	}
	if err != nil {
		return Program{}, err
	}
	text := make([]byte, binary.BigEndian.Uint32(head[:]))
	for rest := text; len(rest) > 0; {
		n, err := syscall.Read(gateSocket, rest)
		switch {
		case err == syscall.EINTR:
		case err != nil || n == 0:
			return Program{}, errors.Join(err, io.ErrUnexpectedEOF)
		default:
			rest = rest[n:]
		}
	}
	return decode(text)
}

// A Waiting is a gate that nobody has told yet what to become.
type Waiting struct {
	Cmd    *exec.Cmd
	socket *os.File
}

// Wait starts a gate with these standard files, which are closed here; stdin may be nil. self is the path of gl. env is all that the gate itself gets: by it
// others may find a program before it is one.
func Wait(self string, stdin, stdout, stderr *os.File, env ...string) (*Waiting, error) {
	defer CloseAll(stdin, stdout, stderr)
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(self, GateArg)
	cmd.Args[0] = "gl"
	cmd.Env = append([]string{}, env...)                       // nil would be all of ours
	if cmd.Stdout, cmd.Stderr = stdout, stderr; stdin != nil { // a nil *os.File would be taken for a reader
		cmd.Stdin = stdin
	}
	cmd.ExtraFiles = []*os.File{theirs}
	// A session of its own, not only a process group: a tool that reads from /dev/tty would be stopped for ever in a
	// pane, and finds no terminal this way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	return &Waiting{cmd, ours}, nil
}

// socketpair is two ends of a socket that no other child inherits.
func socketpair() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "gate"), os.NewFile(uintptr(fds[1]), "gate"), nil
}

// Close closes our end: a program that hasn't been released never runs.
func (g *Waiting) Close() { g.socket.Close() }

// CanBe says why the gate couldn't become the program, as far as that can be known before.
func (p Program) CanBe() error {
	info, err := os.Stat(p.Dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "chdir", Path: p.Dir, Err: syscall.ENOTDIR}
	}
	return err
}

// Release has the gate become the program, or with a sandbox the program in it, which inherits the files; box may be nil. It sends why the
// gate couldn't, "" once it has.
func (g *Waiting) Release(p Program, box *Box, files ...*os.File) <-chan string {
	c := make(chan string, 1)
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	text := p.boxed(box).encode()
	// The files go at once, while the caller has them; the rest may have to wait until the gate reads.
	err := syscall.Sendmsg(int(g.socket.Fd()), binary.BigEndian.AppendUint32(nil, uint32(len(text))), rights(fds), nil, 0)
	go func() {
		defer g.socket.Close()
		if err == nil {
			_, err = g.socket.Write(text)
		}
		if err != nil && !errors.Is(err, syscall.EPIPE) { // a gate that was killed is a program that was
			c <- fmt.Sprintf("the program can't be told to its gate: %v", err)
			return
		}
		var b bytes.Buffer
		b.ReadFrom(g.socket)
		c <- b.String()
	}()
	return c
}

// rights is the message by which files go along; nil for none.
func rights(fds []int) []byte {
	if len(fds) == 0 {
		return nil
	}
	return syscall.UnixRights(fds...)
}

// CloseAll closes the files; nil is none.
func CloseAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
