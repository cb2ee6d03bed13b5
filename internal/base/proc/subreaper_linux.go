package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of its orphaned descendants, so that no descendant can
// escape. It reports whether the system supports that.
func Adopt() bool { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil }

// children reports whether this process has any children, and whether one of them has ended and
// hasn't been reaped.
func children() (any, ended bool) {
	for {
		var info unix.Siginfo // its signal is 0 if no child has ended
		err := unix.Waitid(unix.P_ALL, 0, &info,
			unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil) // WALL: threads of other kinds
		if !errors.Is(err, unix.EINTR) {
			return !errors.Is(err, unix.ECHILD), err == nil && info.Signo != 0
		}
	}
}
