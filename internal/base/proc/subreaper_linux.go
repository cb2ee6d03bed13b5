package proc

import (
	"syscall"
	"unsafe"
)

// Adopt makes this process the parent of its orphaned descendants, so that no descendant can
// escape. It reports whether the system supports that.
func Adopt() bool {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	_, _, failed := syscall.RawSyscall6(syscall.SYS_PRCTL, setChildSubreaper, 1, 0, 0, 0, 0)
	return failed == 0
}

// children reports whether this process has any children, and whether one of them has ended and
// hasn't been reaped.
func children() (any, ended bool) {
	const (
		all  = 0
		wall = 0x40000000 // include threads of other kinds
	)
	var info [32]int32 // siginfo_t; its first field is the signal, 0 if no child has ended
	for {
		_, _, failed := syscall.Syscall6(syscall.SYS_WAITID, all, 0, uintptr(unsafe.Pointer(&info)),
			syscall.WEXITED|syscall.WNOHANG|syscall.WNOWAIT|wall, 0, 0)
		if failed != syscall.EINTR {
			return failed != syscall.ECHILD, failed == 0 && info[0] != 0
		}
	}
}
