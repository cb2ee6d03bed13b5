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

// The gate closes the gap between a program's start and the record of its pid. gl starts `gl
// gate` in the program's place: same pid, same process group, same start time, but nothing runs
// yet. Only after that identity is on disk does gl send the program through a socket, and the
// gate becomes it. If the starting gl dies before that, the socket closes and the program never
// runs. Since the gate learns the program so late, it can be started before the program is
// known.
// the file descriptor; exec closes it, or the reason why there was no exec is written to it
const gateSocket = 3

// GateArg is the hidden command that runs Gate; it is dispatched before any flag is parsed.
const GateArg = "gate"

// maxFiles is how many files a program can inherit besides its standard ones.
const maxFiles = 16

// Gate waits for a program and becomes it. It returns, with an exit code, only if it gets none
// or exec fails.
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
		// Signals that end the program go to its whole group. The sandbox's own process must
		// outlive them until the program ends, because its exit status is the program's.
		signal.Ignore(endSignals...)
	} else {
		syscall.CloseOnExec(gateSocket)
	}
	if err := p.settle(); err != nil {
		return failed(err)
	}
	return failed(syscall.Exec(p.Path, p.Argv, p.Env))
}

// endSignals are the signals that end programs.
var endSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// InsideArg is the hidden command that runs Inside.
const InsideArg = "inside"

// Inside is started by the sandbox. It stops ignoring the signals that end programs, and
// becomes the program argv[0], a path, with the arguments argv[1:], where argv[1] is the name
// it is called by. It returns only on failure.
func Inside(argv []string) int {
	if len(argv) < 2 {
		return 1
	}
	// exec resets caught signals to the default, but not ignored ones
	signal.Notify(make(chan os.Signal, 1), endSignals...)
	syscall.CloseOnExec(gateSocket)
	return failed(syscall.Exec(argv[0], argv[1:], os.Environ()))
}

// failed reports why exec failed.
func failed(err error) int {
	_, _ = os.NewFile(gateSocket, "gate").WriteString(err.Error())
	return 127
}

// A Program is what a gate becomes.
type Program struct {
	Path string
	Argv []string // Argv[0] is the name it is called by
	Dir  string
	Env  []string

	Listens    bool // it reads the gate's stdin; otherwise it has nothing to read
	Supervised bool // processes it leaves running end with it: see supervise
	sandboxed  bool // it is the sandbox's program, which starts gl as InsideArg
}

// A Box is a sandbox prepared for one program.
type Box struct {
	Path    string                       // path of the sandbox's program
	Gl      string                       // path of gl inside; /proc/self/exe is another program
	Command func(argv []string) []string // wraps a command line in the sandbox's
	Env     []string
}

// boxed returns the sandbox's program with this one inside; box may be nil.
func (p Program) boxed(box *Box) Program {
	if box == nil {
		return p
	}
	inner := append([]string{box.Gl, InsideArg, p.Path}, p.Argv...)
	return Program{
		Path: box.Path, Argv: box.Command(inner), Dir: p.Dir, Env: box.Env,
		Listens: p.Listens, Supervised: p.Supervised, sandboxed: true,
	}
}

// settle changes to the program's directory and sets its stdin.
func (p Program) settle() error {
	if err := os.Chdir(p.Dir); err != nil || p.Listens {
		return err
	}
	if err := syscall.Close(0); err != nil {
		return err
	}
	fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0) // gets the lowest free descriptor
	if err == nil && fd != 0 {
		err = errors.New("stdin can't be closed")
	}
	return err
}

// encode returns the program for the socket: its strings separated by NULs, which no string of
// an exec can contain. Their length is sent first, along with the files.
func (p Program) encode() []byte {
	words := []string{
		p.Path, p.Dir, strconv.FormatBool(p.Listens), strconv.FormatBool(p.Supervised),
		strconv.FormatBool(p.sandboxed), strconv.Itoa(len(p.Argv)),
	}
	// keeps the last of duplicate variables
	words = append(append(words, p.Argv...), (&exec.Cmd{Env: p.Env}).Environ()...)
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

// receive reads a program from the gate's socket. Its files stay open for the program.
func receive() (Program, error) {
	var head [4]byte
	rights := make([]byte, syscall.CmsgSpace(4*maxFiles))
	n, rn, _, _, err := syscall.Recvmsg(gateSocket, head[:], rights, 0)
	for errors.Is(err, syscall.EINTR) {
		n, rn, _, _, err = syscall.Recvmsg(gateSocket, head[:], rights, 0)
	}
	if err != nil || n != len(head) {
		return Program{}, errors.Join(err, io.ErrUnexpectedEOF)
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:rn])
	for i := range messages {
		// they are ours now, and stay open across exec
		if _, bad := syscall.ParseUnixRights(&messages[i]); bad != nil {
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

// A Waiting is a gate that doesn't have its program yet.
type Waiting struct {
	Cmd    *exec.Cmd
	socket *os.File
}

// Wait starts a gate with these standard files, which it closes in this process; stdin may be
// nil. self is the path of gl. env is the gate's entire environment, by which other processes
// may find the program before it starts.
func Wait(self string, stdin, stdout, stderr *os.File, env ...string) (*Waiting, error) {
	defer CloseAll(stdin, stdout, stderr)
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(self, GateArg)
	cmd.Args[0] = "gl"
	// nil would mean our own environment
	cmd.Env = append([]string{}, env...)
	// a nil *os.File would become a non-nil io.Reader
	if cmd.Stdout, cmd.Stderr = stdout, stderr; stdin != nil {
		cmd.Stdin = stdin
	}
	cmd.ExtraFiles = []*os.File{theirs}
	// Use a session of its own, not only a process group: a tool that reads from /dev/tty would
	// be stopped forever in a pane, and finds no terminal this way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	return &Waiting{cmd, ours}, nil
}

// socketpair returns two ends of a socket that no other child inherits.
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

// CanBe returns why the gate couldn't become the program, as far as that is known in advance.
func (p Program) CanBe() error {
	info, err := os.Stat(p.Dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "chdir", Path: p.Dir, Err: syscall.ENOTDIR}
	}
	return err
}

// Release makes the gate become the program, or the sandbox with the program inside, which
// inherits the files; box may be nil. It sends the reason if the gate fails, or "" once it has
// become the program.
func (g *Waiting) Release(p Program, box *Box, files ...*os.File) <-chan string {
	c := make(chan string, 1)
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	text := p.boxed(box).encode()
	// Send the files now, while the caller has them; the rest may have to wait until the gate
	// reads.
	head := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	err := syscall.Sendmsg(int(g.socket.Fd()), head, rights(fds), nil, 0)
	go func() {
		defer g.socket.Close()
		if err == nil {
			_, err = g.socket.Write(text)
		}
		// a killed gate counts as a killed program
		if err != nil && !errors.Is(err, syscall.EPIPE) {
			c <- fmt.Sprintf("the program can't be told to its gate: %v", err)
			return
		}
		var b bytes.Buffer
		_, _ = b.ReadFrom(g.socket)
		c <- b.String()
	}()
	return c
}

// rights returns the control message that carries files; nil for none.
func rights(fds []int) []byte {
	if len(fds) == 0 {
		return nil
	}
	return syscall.UnixRights(fds...)
}

// CloseAll closes the files, skipping nil ones.
func CloseAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
