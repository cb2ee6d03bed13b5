package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// maxLinks is the maximum length of a chain of symlinks; kernels allow 32 (Darwin) and 40
// (Linux).
const maxLinks = 32

// guardLimit bounds the wait for other callers of Replace. They hold the directory for a read
// and a rename; a longer holder isn't ours, and comparing has to do.
const guardLimit = 2 * time.Second

// A target is the file to replace, after following symlinks.
type target struct {
	path string
	info fs.FileInfo // nil if the file doesn't exist yet
}

// resolve follows symlinks at the end of the path by hand: filepath.EvalSymlinks fails for a
// link whose target is missing. Directories are joined without cleaning, since "a/../b" isn't
// "b" if a is a symlink.
//
// In a project's state it follows no link.
func resolve(path string) (target, error) {
	state, err := inState(path)
	if err != nil {
		return target{}, err
	}
	for range maxLinks {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return target{path: path}, nil
		case err != nil:
			return target{}, err
		case info.Mode().IsRegular():
			return target{path: path, info: info}, nil
		case info.Mode().Type() != fs.ModeSymlink:
			return target{}, ErrIrregular
		case state:
			return target{}, &LinkError{Path: path}
		}
		link, err := os.Readlink(path)
		if err != nil {
			return target{}, err
		}
		if !filepath.IsAbs(link) {
			dir, _ := filepath.Split(path)
			link = dir + link
		}
		path = link
	}
	return target{}, syscall.ELOOP
}

func parent(path string) string {
	if dir, _ := filepath.Split(path); dir != "" {
		return dir
	}
	return "."
}

// put writes data into a temporary file beside the target, and commit moves it into place. If
// commit reports "not found", the file fell victim to a cleanup; put then creates a second one,
// which fails if the directory is gone.
func (t target) put(data []byte, perm fs.FileMode, commit func(tmp, dst string) error) error {
	dir, err := os.Open(parent(t.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	for again := false; ; again = true {
		tmp, err := t.stage(data, perm)
		if err != nil {
			return err
		}
		err = commit(tmp, t.path)
		if err == nil {
			return syncDir(dir)
		}
		os.Remove(tmp)
		if again || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// stage leaves a temporary file on disk with the target's new content and mode.
func (t target) stage(data []byte, perm fs.FileMode) (tmp string, err error) {
	if t.info != nil {
		perm = 0o600 // until it gets the target's mode: never wider than that
	}
	f, err := createTemp(t.path, perm)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if t.info != nil {
		keepOwner(f, t.info) // before the mode: chown clears setuid
		if err := f.Chmod(t.info.Mode()); err != nil {
			return "", err
		}
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// syncDir makes renames in the directory durable. Some file systems (SMB, FUSE) can't sync a
// directory at all; that is a property of theirs, not an error.
func syncDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sync its directory: %w", errors.Unwrap(err))
	}
	return nil
}

func (t target) replace(old, data []byte) error {
	// This early check spares a doomed write its two fsyncs; the check that counts is in swap
	// and create.
	if err := holds(t.path, old); err != nil {
		return err
	}
	if old == nil {
		return t.put(data, 0o644, create)
	}
	if bytes.Equal(old, data) {
		return nil
	}
	return t.put(data, 0o644, func(tmp, dst string) error { return swap(tmp, dst, old) })
}

// holds returns nil if the file has the content want, or doesn't exist if want is nil, and
// otherwise ErrChanged.
func holds(path string, want []byte) error {
	got, err := ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if want == nil {
			return nil
		}
		return ErrChanged
	case err != nil:
		return err
	case want == nil || !bytes.Equal(got, want):
		return ErrChanged
	}
	return nil
}

// swap renames tmp to dst if dst still has the content old.
func swap(tmp, dst string, old []byte) error {
	defer guard(parent(dst))()
	if err := holds(dst, old); err != nil {
		return err
	}
	return os.Rename(tmp, dst)
}

// create gives the temporary file its final name if that is free. Unlike rename, link fails if
// the name is taken, so exactly one of any number of creators wins.
func create(tmp, dst string) error {
	err := os.Link(tmp, dst)
	switch {
	case err == nil:
		os.Remove(tmp) // a leftover is up to the next Sweep
		return nil
	case errors.Is(err, fs.ErrExist):
		return ErrChanged
	case linkless(err):
		return swap(tmp, dst, nil)
	}
	return err
}

// linkless reports whether the error comes from a file system without hard links: vfat returns
// EPERM, others vary.
func linkless(err error) bool {
	return slices.ContainsFunc([]error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP,
		syscall.ENOSYS},
		func(e error) bool { return errors.Is(err, e) })
}

// guard keeps other callers of Replace out of the directory until the returned function is
// called. The lock is on the directory itself: it leaves no file behind, and the kernel
// releases it. If locks aren't supported, or the lock isn't free in time, the function does
// nothing.
func guard(dir string) func() {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	if err := acquire(context.Background(), f, guardLimit, flock); err != nil {
		return func() {} // acquire has closed f, or will
	}
	return func() { _ = release(f) }
}
