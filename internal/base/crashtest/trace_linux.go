package crashtest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

const (
	ptraceSyscallInfo = 0x420e // PTRACE_GET_SYSCALL_INFO
	ptraceOptions     = 0x1 | 0x8 | 0x100000
	// TRACESYSGOOD, TRACECLONE, EXITKILL: system call stops are marked, threads are followed,
	// and the child dies with the tracer
	syscallStop = syscall.SIGTRAP | 0x80
	waitAll     = 0x40000000 // __WALL
)

// A syscallInfo is the kernel's struct ptrace_syscall_info, up to the fields of a call's entry.
type syscallInfo struct {
	op   uint8 // 1: entry
	_    [3]byte
	arch uint32
	_    [2]uint64 // instruction and stack pointer
	nr   uint64
	args [6]uint64
	_    [24]byte
}

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

// At runs the test binary with these variables added to the environment, traces it, and kills
// it just before its n-th changing call after Begin. killed is false if the process ended
// before that call.
func At(t *testing.T, n int, env ...string) (killed bool, call string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), env...), "GOMAXPROCS=1")
	// a pipe would need a goroutine, and wait for the whole process tree
	file, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stderr = file
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	// Only the thread that started the process may trace it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Skipf("no tracing here: %v", err)
	}
	tr := &tracer{pid: cmd.Process.Pid, n: n}
	status, err := tr.run()
	if err != nil {
		_ = syscall.Kill(tr.pid, syscall.SIGKILL)
		t.Skipf("no tracing here: %v", err)
	}
	if !tr.killed && status.ExitStatus() != 0 {
		data, _ := os.ReadFile(file.Name())
		t.Fatalf("the operation failed with %d: %s", status.ExitStatus(), data)
	}
	if !tr.killed {
		return false, "through"
	}
	return true, tr.call
}

// A tracer follows one process with its threads.
type tracer struct {
	pid, n int
	marked bool
	killed bool
	call   string
}

func (tr *tracer) run() (syscall.WaitStatus, error) {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(tr.pid, &status, 0, nil); err != nil {
		return status, err
	}
	if err := syscall.PtraceSetOptions(tr.pid, ptraceOptions); err != nil {
		return status, err
	}
	if err := syscall.PtraceSyscall(tr.pid, 0); err != nil {
		return status, err
	}
	for {
		// only its group: other tests have children, too
		tid, err := syscall.Wait4(-tr.pid, &status, waitAll, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return status, err
		case (status.Exited() || status.Signaled()) && tid == tr.pid:
			return status, nil
		case !status.Stopped():
			continue
		}
		if err := tr.stop(tid, status); err != nil && !errors.Is(err, syscall.ESRCH) {
			return status, err
		}
	}
}

// stop handles one stop of one thread: it lets the thread continue, or kills the process.
func (tr *tracer) stop(tid int, status syscall.WaitStatus) error {
	signal := status.StopSignal()
	switch signal {
	case syscallStop:
		signal = 0
		hit, err := tr.enters(tid)
		if err != nil {
			return err
		}
		if hit {
			tr.killed = true
			return syscall.Kill(tr.pid, syscall.SIGKILL)
		}
	case syscall.SIGTRAP, syscall.SIGSTOP: // from tracing itself: an exec, a new thread
		signal = 0
	}
	return syscall.PtraceSyscall(tid, int(signal))
}

// enters reports whether the thread is about to make the call at which the process is killed.
func (tr *tracer) enters(tid int) (bool, error) {
	var info syscallInfo
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, ptraceSyscallInfo, uintptr(tid),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return false, errno
	}
	if info.op != 1 || tr.killed {
		return false, nil
	}
	if info.nr == syscall.SYS_GETPGID && info.args[0] == mark {
		tr.marked = true
		return false, nil
	}
	name, ok := changing()[info.nr]
	if !ok || !tr.marked || info.nr == syscall.SYS_OPENAT && info.args[2]&syscall.O_CREAT == 0 {
		return false, nil
	}
	tr.n--
	tr.call = name
	return tr.n == 0, nil
}
