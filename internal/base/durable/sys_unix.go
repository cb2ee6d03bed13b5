//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// errBusy is the system's error for a lock that is taken.
var errBusy = syscall.EWOULDBLOCK

// flock takes the exclusive lock on the open file, waiting for it or not. The lock belongs to
// the open file, not to the process: two opens in one process exclude each other.
func flock(f *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	return retry(func() error { return syscall.Flock(int(f.Fd()), how) })
}

func unlock(f *os.File) {
	_ = retry(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) })
}

// unsupported reports whether the error means that the file system has no locks.
func unsupported(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) &&
		slices.Contains([]syscall.Errno{syscall.ENOLCK, syscall.ENOTSUP, syscall.EOPNOTSUPP,
			syscall.ENOSYS}, errno)
}

// unlink removes a file and, unlike os.Remove, never an empty directory.
func unlink(path string) error {
	return retry(func() error { return syscall.Unlink(path) })
}

// keepOwner gives the file the owner and group of the file it will replace, if they differ and
// the system permits it. Otherwise root in a container would take over the user's files one by
// one.
func keepOwner(f *os.File, like fs.FileInfo) {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	info, err := f.Stat()
	if err != nil {
		return
	}
	if have, ok := info.Sys().(*syscall.Stat_t); ok &&
		(have.Uid != want.Uid || have.Gid != want.Gid) {
		_ = f.Chown(int(want.Uid), int(want.Gid))
	}
}

// exists reports whether a process with that pid exists on this host, including one that we may
// not signal.
func exists(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// retry repeats a call interrupted by a signal.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
