package crashtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// toldBy names the variable with the descriptor by which the process hands over its listener.
	toldBy = "GREENLIGHT_CRASHTEST"
	// uncounted is the exit code of a process whose kernel doesn't count.
	uncounted = 97
)

// changing holds the system calls that change files, locks or directories, with the names of
// all Linux ports.
var changing = sync.OnceValue(func() map[uint64]string {
	m := map[uint64]string{
		syscall.SYS_WRITE: "write", syscall.SYS_PWRITE64: "pwrite",
		syscall.SYS_FTRUNCATE: "ftruncate",
		syscall.SYS_FSYNC:     "fsync", syscall.SYS_FCHMOD: "fchmod", syscall.SYS_FCHOWN: "fchown",
		syscall.SYS_FLOCK:    "flock",
		syscall.SYS_RENAMEAT: "renameat", syscall.SYS_LINKAT: "linkat",
		syscall.SYS_UNLINKAT: "unlinkat",
		syscall.SYS_MKDIRAT:  "mkdirat", syscall.SYS_OPENAT: "openat",
	}
	for nr, name := range olderCalls() {
		m[nr] = name
	}
	return m
})

// Begin starts the counting: from now on the kernel asks the test before every changing call of
// this process and of those that it starts. The process under test calls Begin. Without a test
// that counts, Begin does nothing.
func Begin() {
	if os.Getenv(toldBy) == "" {
		return
	}
	os.Unsetenv(toldBy)
	const socket = 3 // the first of ExtraFiles
	listener, err := listen()
	if err == nil {
		err = unix.Sendmsg(socket, []byte{0}, unix.UnixRights(listener), nil, 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(uncounted)
	}
	_ = unix.Close(listener)
	_ = unix.Close(socket)
}

// listen installs the filter in all threads, and returns the descriptor of what it stops.
func listen() (int, error) {
	const (
		call  = 0        // struct seccomp_data's nr
		flags = 16 + 2*8 // the lower half of its args[2]
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		set   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	prog := []unix.SockFilter{{Code: load, K: call}}
	for nr := range changing() {
		if nr == unix.SYS_OPENAT {
			continue
		}
		prog = append(prog, unix.SockFilter{Code: equal, K: uint32(nr), Jf: 1},
			unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	prog = append(prog,
		unix.SockFilter{Code: equal, K: unix.SYS_OPENAT, Jf: 3},
		unix.SockFilter{Code: load, K: flags},
		unix.SockFilter{Code: set, K: unix.O_CREAT, Jf: 1},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
	filter := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	// Both calls are about the same thread: the kernel then gives the others what it has.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, os.NewSyscallError("prctl", err)
	}
	// Go's runtime interrupts its threads with signals: a call that was counted isn't begun again.
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC|unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH|
			unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return 0, os.NewSyscallError("seccomp", errno)
	}
	return int(fd), nil
}

// At runs the test binary with these variables added to the environment, counts its changing
// calls after Begin, and kills it just before the n-th. killed is false if the process ended
// before that call.
func At(t *testing.T, n int, env ...string) (killed bool, call string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), env...), "GOMAXPROCS=1", toldBy+"=1")
	// a pipe would need a goroutine, and wait for the whole process tree
	file, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stderr = file
	listener, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{pid: cmd.Process.Pid, n: n, listener: listener, hit: make(chan string, 1)}
	if listener >= 0 {
		go c.serve()
	}
	err = cmd.Wait()
	select {
	case call := <-c.hit:
		return true, call
	default:
	}
	if err != nil {
		data, _ := os.ReadFile(file.Name())
		if cmd.ProcessState.ExitCode() == uncounted {
			t.Skipf("no counting here: %s", data)
		}
		t.Fatalf("the operation failed: %v: %s", err, data)
	}
	return false, "through"
}

// start starts the process, and returns the listener that Begin hands over: -1 if the process ends
// without.
func start(cmd *exec.Cmd) (listener int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socketpair", err)
	}
	ours := pair[0]
	defer unix.Close(ours)
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return -1, err
	}
	rights := make([]byte, unix.CmsgSpace(4))
	var size, room int
	for {
		size, room, _, _, err = unix.Recvmsg(ours, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil || size == 0 {
		return -1, os.NewSyscallError("recvmsg", err)
	}
	all, err := unix.ParseSocketControlMessage(rights[:room])
	if err != nil || len(all) != 1 {
		return -1, fmt.Errorf("the listener didn't come: %v", err)
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("the listener didn't come: %v", err)
	}
	return fds[0], nil
}

// A counter answers for the calls of one process, and of those that it has started.
type counter struct {
	pid, n   int
	listener int
	hit      chan string // the call at which the process was killed
}

// A notification is the kernel's struct seccomp_notif.
type notification struct {
	id   uint64
	tid  uint32
	_    uint32
	nr   int32
	arch uint32
	_, _ uint64 // instruction pointer, first argument
	_    [5]uint64
}

// A reply is the kernel's struct seccomp_notif_resp.
type reply struct {
	id    uint64
	_     int64
	_     int32
	flags uint32
}

// serve lets every call proceed except the process's n-th. It runs until all of the processes have
// ended, because a call without an answer fails.
func (c *counter) serve() {
	defer unix.Close(c.listener)
	for {
		fds := []unix.PollFd{{Fd: int32(c.listener), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil || fds[0].Revents&unix.POLLIN == 0 {
			return
		}
		var asked notification
		err = c.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&asked))
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) { // ENOENT: it's dead
			continue
		}
		if err != nil {
			return
		}
		if c.own(asked.tid) {
			if c.n--; c.n == 0 {
				c.hit <- changing()[uint64(asked.nr)]
				_ = syscall.Kill(c.pid, syscall.SIGKILL)
				continue
			}
		}
		answer := reply{id: asked.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_ = c.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
	}
}

// own reports whether a thread is one of the process, and not of a program that it has started.
func (c *counter) own(tid uint32) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", c.pid, tid))
	return err == nil
}

func (c *counter) ioctl(request uint, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), uintptr(request), uintptr(arg))
	if errno != 0 {
		return errno
	}
	return nil
}
