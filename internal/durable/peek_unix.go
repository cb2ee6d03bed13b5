//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Holder says who has the lock on the file, as people read it ("pid 123 (gl slice)"); "" where nobody has. It writes
// nothing and makes no file, and it looks by a shared lock, so that two who look don't see each other. Whoever tries the
// lock in that instant without waiting finds it taken.
func Holder(path string) (string, error) {
	f, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", named("look at the lock", path, err)
	}
	defer f.Close()
	err = retry(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) })
	switch {
	case err == nil:
		unlock(f)
		return "", nil
	case errors.Is(err, errBusy):
		return holder(path), nil
	case unsupported(err):
		return "", nil
	}
	return "", named("look at the lock", path, err)
}

// Busy says whether somebody holds the lock on an open file. The error is for a file system that can't say.
func Busy(f *os.File) (bool, error) {
	err := retry(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) })
	switch {
	case err == nil:
		unlock(f)
		return false, nil
	case errors.Is(err, errBusy):
		return true, nil
	}
	return false, named("look at the lock", f.Name(), err)
}
