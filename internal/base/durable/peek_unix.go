//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Holder describes the holder of the lock on the file ("pid 123 (gl slice)"); "" if it is free.
// It writes nothing and creates no file. It probes with a shared lock, so that concurrent
// probes don't see each other; a TryLock in that instant finds the lock taken.
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

// Busy reports whether the lock on an open file is held. The error is for a file system that
// can't tell.
func Busy(f *os.File) (bool, error) {
	err := retry(func() error {
		return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	})
	switch {
	case err == nil:
		unlock(f)
		return false, nil
	case errors.Is(err, errBusy):
		return true, nil
	}
	return false, named("look at the lock", f.Name(), err)
}
