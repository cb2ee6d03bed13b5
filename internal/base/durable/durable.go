// Package durable owns how a state file reaches the disk: all or nothing, surviving a power
// cut, and never overwriting a concurrent change. It also owns the kernel lock that writers of
// one project take. It is the only package that opens a project's state, following no symbolic
// link in it and waiting for no pipe. It doesn't interpret the files, and keeps no state
// outside the disk except for the projects whose owners have named them (FollowRoot).
//
// One WriteFile, call by call:
//
//	lstat target             is it a symlink (then replace its target), a file, which mode?
//	open directory           for its fsync later; fail while nothing has changed
//	open temp O_CREAT|O_EXCL in the same directory: rename doesn't cross file systems
//	write temp               a full disk shows here, and the old file is still whole
//	fchown, fchmod temp      if a file exists: rename brings the temp's mode along
//	fsync temp               or a power cut could leave an empty file: the rename
//	                         can reach the disk before the content
//	close temp               network file systems report a failed write only here
//	rename temp → target     the one atomic step: readers get the old file or the new
//	fsync directory          or a power cut could undo the rename itself
//	close directory
//
// Replace reads the file once more before the rename and does both with the directory flocked,
// so that two callers of Replace can't both have compared before either renamed. What a rename
// can't preserve is lost: hard links to the old file keep the old content, and access lists and
// extended attributes aren't copied.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrChanged is returned if the file's content isn't what the caller of Replace expects.
// Nothing was written.
var ErrChanged = errors.New("changed while it was being written")

// WriteFile replaces the file's content atomically and durably. A new file gets perm minus the
// umask, as with os.WriteFile; an existing one keeps its mode and, if the system permits, its
// owner. A symlink stays and its target is replaced, or created if it is missing; but in a
// project's state a symlink is a *LinkError. Directories and devices are rejected. After an
// error the old file is in place, unless the error names the directory's fsync: then the new
// content is in place, but a power cut may undo it.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	t, err := resolve(path)
	if err == nil {
		err = t.put(data, perm, os.Rename)
	}
	return named("write", path, err)
}

// Replace is WriteFile for a caller that has read the file without a lock. It writes data only
// if the file's content is still old; otherwise the error is ErrChanged. A nil old means that
// the file must not exist, an empty slice that it must be empty. A new file has mode 0644 minus
// the umask. If old and data are equal, nothing is written.
//
// Callers of Replace never overwrite each other. A writer that uses neither Replace nor the
// lock can still interfere between the last read and the rename, some microseconds.
func Replace(path string, old, data []byte) error {
	t, err := resolve(path)
	if err == nil {
		err = t.replace(old, data)
	}
	return named("write", path, err)
}

// MoveDir renames a directory within its parent, durably: the one atomic step that makes many
// files appear together. It is an error if the target exists.
func MoveDir(from, to string) error {
	err := errors.Join(CheckPath(from), CheckPath(to))
	if err != nil {
		return named("move", from, err)
	}
	dir, err := os.Open(parent(to))
	if err == nil {
		defer dir.Close()
		if err = os.Rename(from, to); err == nil {
			err = syncDir(dir)
		}
	}
	return named("move", from, err)
}

// Remove removes a file durably. A missing file isn't an error. It removes a symlink rather
// than its target, and rejects directories, even empty ones.
func Remove(path string) error {
	err := remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return named("remove", path, err)
}

func remove(path string) error {
	if _, err := inState(path); err != nil {
		return err
	}
	dir, err := os.Open(parent(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unlink(path); err != nil {
		return err
	}
	return syncDir(dir)
}

// named reports an error with the caller's path instead of the temporary file's, which is
// meaningless to users and already gone. The result is an *fs.PathError, so callers that
// describe the file differently can strip the path.
func named(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, new(*LinkError)):
		return err // it names the link
	case errors.As(err, &p):
		err = fmt.Errorf("%s: %w", p.Op, p.Err)
	case errors.As(err, &l):
		err = fmt.Errorf("%s: %w", l.Op, l.Err)
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
