// Package durable owns how a file of state gets onto the disk: whole or not at all, still there after a power cut, and
// never over somebody else's change. It also owns the kernel lock that writers of one project take, and it is the one
// place that opens a project's state: it follows no symbolic link in it and waits for no pipe. It knows nothing of what
// is in the files, and what it knows is on the disk, but for the projects whose owners have named them (FollowRoot).
//
// One WriteFile, call by call:
//
//	lstat target             is it a symlink (then its target is what is replaced), is it a file, which mode and owner
//	open directory           for its fsync later; a directory that can't be opened is an error while nothing has changed
//	open temp O_CREAT|O_EXCL in the same directory, since rename doesn't cross file systems; nobody else writes to it
//	write temp               a full disk shows here, and the old file is still whole
//	fchown, fchmod temp      only over an existing file: rename brings the temp's mode along, so it must be right before
//	fsync temp               else the rename can reach the disk before the content: an empty file after a power cut
//	close temp               network file systems report a failed write only here
//	rename temp → target     the one atomic step: a reader has the old file or the new one
//	fsync directory          else the rename itself is lost by a power cut
//	close directory
//
// Replace reads the file once more before the rename and does both with the directory flocked, so that two callers of
// Replace can't both have compared before either renamed. What a rename can't keep is lost: hard links to the old file
// stay with the old content, and access lists and extended attributes are not copied.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrChanged: the file isn't what the caller of Replace thinks it is. Nothing was written.
var ErrChanged = errors.New("changed while it was being written")

// WriteFile replaces the file's content atomically and durably. A new file gets perm less the umask, as with
// os.WriteFile; an existing one keeps its mode, and its owner where the system lets us. A symlink stays, its target is
// replaced; a missing target is made; but in a project's state a symlink is a *LinkError. Directories and devices are refused. After an error the file is the old one,
// except where the error names the directory's fsync: then the new content is in place, but a power cut may undo it.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	t, err := resolve(path)
	if err == nil {
		err = t.put(data, perm, os.Rename)
	}
	return named("write", path, err)
}

// WriteCache replaces the file's content atomically, but not durably: a power cut may leave the old content, the new one, or
// neither. It is for what can be made again, and has a checksum.
func WriteCache(path string, data []byte, perm fs.FileMode) error {
	if err := CheckPath(path); err != nil {
		return named("write", path, err)
	}
	f, err := createTemp(path, perm)
	if err != nil {
		return named("write", path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return named("write", path, err)
}

// Replace is WriteFile for a caller that has read the file without a lock: it writes data only where the file's content
// is still old, and is ErrChanged otherwise. An old of nil says that there must be no file, an empty slice that there
// must be an empty one. A new file has mode 0644 less the umask. Where old and data are equal nothing is written.
//
// Callers of Replace never overwrite each other. Against a writer that uses neither Replace nor the lock there remains
// the time between the last reading and the rename, some microseconds.
func Replace(path string, old, data []byte) error {
	t, err := resolve(path)
	if err == nil {
		err = t.replace(old, data)
	}
	return named("write", path, err)
}

// MoveDir renames a directory within its parent, durably: the one atomic step that makes many files appear together. A
// target that is there already is an error.
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

// Remove removes a file durably. It is no error if there is none. A symlink is removed, not its target; a directory is
// refused, empty or not.
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

// named gives an error the caller's path instead of the temp's, which means nothing to anyone and is gone by now. As an
// *fs.PathError it can be told without the path by who names the file in other words.
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
