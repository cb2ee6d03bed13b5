package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// stateDirs are the directories in which projects keep state. Their content may come from a
// clone, so no symbolic link at or below one is followed; the last of these names in a path
// marks where that begins. Directories above it, and all paths without such a name, belong to
// the person, who may use links there.
var stateDirs = [...]string{".greenlight", ".planning", ".specwright", ".gsd"}

// StateDirs returns the names of the directories in which no symbolic link is followed.
func StateDirs() []string { return stateDirs[:] }

// A LinkError reports a symbolic link in a project's state. Its text names the link, so no path
// is prepended.
type LinkError struct {
	Path string // of the link, which may be a directory above the requested file
	top  bool   // the link is the state directory itself
}

func (e *LinkError) Error() string {
	if e.top {
		return fmt.Sprintf("%s is a symbolic link; gl follows it only if you set GREENLIGHT_ROOT=%s",
			filepath.Base(e.Path), filepath.Dir(e.Path))
	}
	_, start, _ := stateOf(e.Path)
	return filepath.ToSlash(e.Path[start:]) +
		" is a symbolic link; gl doesn't follow links in a project's state: " +
		"remove it, or put the file itself in its place"
}

// ErrIrregular is returned for a directory, a device or a pipe in place of a file.
var ErrIrregular = errors.New("not a regular file")

// followed holds the projects whose state directory itself may be a link, because their owner
// has named them.
var followed sync.Map

// FollowRoot allows the state directories of the project at root to be links. Links inside them
// still aren't followed.
func FollowRoot(root string) { followed.Store(filepath.Clean(root), true) }

// stateOf finds the last state directory in a path: path[start:end] is its name.
func stateOf(path string) (ok bool, start, end int) {
	for end = len(path); end > 0; end = start - 1 {
		start = strings.LastIndexByte(path[:end], filepath.Separator) + 1
		// Most names don't start with a dot, and this runs for every file.
		if end-start > 3 && path[start] == '.' && slices.Contains(stateDirs[:], path[start:end]) {
			return true, start, end
		}
	}
	return false, 0, 0
}

// inState reports whether links must not be followed at the path. If a directory above it
// within the state is a link, the error is a *LinkError; checking the path itself is up to the
// caller. A path that doesn't exist isn't an error.
//
// The directories are checked before the path is used rather than held open: links come with a
// clone. A process that could create one in between can already write everywhere gl can.
func inState(path string) (bool, error) {
	ok, start, end := stateOf(path)
	if !ok || end == len(path) {
		return ok, nil
	}
	if isLink(path[:end]) && !follows(path[:start]) {
		return true, &LinkError{path[:end], true}
	}
	for i := end + 1; i < len(path); i++ {
		if path[i] == filepath.Separator && isLink(path[:i]) {
			return true, &LinkError{Path: path[:i]}
		}
	}
	return true, nil
}

func follows(root string) bool {
	_, ok := followed.Load(filepath.Clean(root))
	return ok
}

func isLink(path string) bool {
	var st syscall.Stat_t
	err := retry(func() error { return syscall.Lstat(path, &st) })
	return err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFLNK
}

// CheckDirs returns a *LinkError if a directory above path is a symbolic link in a project's
// state.
func CheckDirs(path string) error {
	_, err := inState(path)
	return err
}

// CheckPath returns nil if the path isn't in a project's state, or if no symbolic link leads
// there. A path that doesn't exist isn't a link.
func CheckPath(path string) error {
	state, err := inState(path)
	if err != nil || !state {
		return err
	}
	return checkLast(path)
}

// checkLast checks the path itself, which is in the state.
func checkLast(path string) error {
	if !isLink(path) {
		return nil
	}
	_, start, end := stateOf(path)
	if end == len(path) {
		if follows(path[:start]) {
			return nil
		}
		return &LinkError{path, true}
	}
	return &LinkError{Path: path}
}

// CheckBelow is like CheckPath for any directory: at or below base, which contains path,
// nothing may be a link.
func CheckBelow(base, path string) error {
	rel, err := filepath.Rel(base, path)
	if err != nil || !filepath.IsLocal(rel) {
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("not in " + base)}
	}
	at := base
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		if at = filepath.Join(at, name); isLink(at) {
			return &fs.PathError{Op: "open", Path: at,
				Err: errors.New("is a symbolic link, and gl doesn't follow links there: remove it")}
		}
	}
	return nil
}

// openFile opens a state file, or any other. It never blocks on a pipe or a device, and opens
// neither those nor directories.
func openFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, _, err := openSized(path, flag, perm)
	return f, err
}

func openSized(path string, flag int, perm fs.FileMode) (f *os.File, size int64, err error) {
	state, _, _ := stateOf(path)
	if state {
		flag |= syscall.O_NOFOLLOW
	}
	// Reading a file that doesn't exist is harmless anywhere, and gl often does.
	reading := flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) == 0
	if !reading {
		if err := CheckDirs(path); err != nil {
			return nil, 0, err
		}
	}
	f, err = os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, 0, linked(path, state, err)
	}
	if reading {
		err = CheckDirs(path)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrIrregular}
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// linked converts the error of an open that met a link to the one that names the link.
func linked(path string, state bool, err error) error {
	p, ok := err.(*fs.PathError)                                            //nolint:errorlint // os.OpenFile promises it, and errors.Is is the dearer half of a failed open
	if state && ok && (p.Err == syscall.ELOOP || p.Err == syscall.EMLINK) { //nolint:errorlint // as above
		if link := checkLast(path); link != nil {
			return link
		}
	}
	return err
}

// Open opens a regular file for reading. The error is a *LinkError for a symbolic link in a
// project's state.
func Open(path string) (*os.File, error) { return openFile(path, os.O_RDONLY, 0) }

// OpenAppend opens a regular file for appending; it creates a missing one with perm minus the
// umask.
func OpenAppend(path string, perm fs.FileMode) (*os.File, error) {
	return openFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, perm)
}

// OpenReadAppend is OpenAppend for a file that is also read.
func OpenReadAppend(path string, perm fs.FileMode) (*os.File, error) {
	return openFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, perm)
}

// Create creates a file that must not exist, with perm minus the umask.
func Create(path string, perm fs.FileMode) (*os.File, error) {
	return openFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
}

// MaxFile is the maximum size of a file read as a whole: a GRAPH.json with a million
// dependencies has twenty megabytes.
const MaxFile = 64 << 20

// A SizeError is returned for a file that is too large to read.
type SizeError struct{ Max int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("larger than %d MiB, the limit for such a file", e.Max>>20)
}

// ReadFile reads a regular file of at most MaxFile bytes, opened like Open.
func ReadFile(path string) ([]byte, error) {
	f, size, err := openSized(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readOpen(f, size, MaxFile)
}

// ReadOpen is ReadFile for an open file.
func ReadOpen(f *os.File) ([]byte, error) { return readUpTo(f, MaxFile) }

// ReadNamed reads at most limit bytes of a file named by a person, which may be a link or a
// pipe.
func ReadNamed(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readUpTo(f, limit)
}

func readUpTo(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readOpen(f, info.Size(), limit)
}

func readOpen(f *os.File, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: &SizeError{limit}}
	}
	data := make([]byte, 0, max(size+1, 512))
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if int64(len(data)) > limit { // it is growing, or a pipe
			return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: &SizeError{limit}}
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// Overwrite writes a small file in place, without fsync, for content that a crash may destroy.
func Overwrite(path string, data []byte, perm fs.FileMode) error {
	f, err := openFile(path, os.O_WRONLY|os.O_CREATE, perm)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// OpenDir opens a directory to read its names.
func OpenDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if missing(err) {
		if state, _, _ := stateOf(path); state { // it may be a dangling link
			err = cmp.Or(checkLast(path), err)
		}
		return nil, err
	}
	if link := CheckPath(path); link != nil {
		f.Close() // nil if the open failed
		return nil, link
	}
	return f, err
}

// missing reports whether the end of a path doesn't exist. Then links on the way don't matter
// to a reader, and gl often asks for such paths.
func missing(err error) bool {
	p, ok := err.(*fs.PathError)         //nolint:errorlint // package os promises it, and errors.Is is the dearer half of a failed open
	return ok && p.Err == syscall.ENOENT //nolint:errorlint // as above
}

// ReadDir is os.ReadDir with the directory opened like OpenDir.
func ReadDir(path string) ([]fs.DirEntry, error) {
	list, err := readDir(path)
	slices.SortFunc(list, byName)
	return list, err
}

func readDir(path string) ([]fs.DirEntry, error) {
	f, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

func byName(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }

// Stat is os.Stat, except that it follows no symbolic link in a project's state.
func Stat(path string) (fs.FileInfo, error) {
	if ok, _, _ := stateOf(path); !ok {
		return os.Stat(path)
	}
	info, err := os.Lstat(path)
	switch {
	case missing(err):
		return nil, err
	case err == nil && info.Mode()&fs.ModeSymlink == 0:
		return info, CheckDirs(path)
	}
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// MkdirAll is os.MkdirAll, except that it follows no symbolic link in a project's state.
func MkdirAll(path string, perm fs.FileMode) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	return os.MkdirAll(path, perm)
}

// MkdirPrivate creates a directory inside a state directory that only this user may access,
// with the directories between the two. It creates the state directory itself for everyone,
// minus the umask. Of the existing directories, it makes the topmost private: an older gl left
// it open.
func MkdirPrivate(path string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	_, _, end := stateOf(path)
	if end == 0 || end == len(path) {
		return os.MkdirAll(path, 0o700)
	}
	if err := os.MkdirAll(path[:end], 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	top := path
	if i := strings.IndexByte(path[end+1:], filepath.Separator); i >= 0 {
		top = path[:end+1+i]
	}
	if info, err := os.Stat(top); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(top, 0o700) // ignore a directory of another user
	}
	return nil
}

// Rename is os.Rename within one directory; a power cut may undo it.
func Rename(from, to string) error {
	if _, err := inState(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Unlink is Remove that a power cut may undo.
func Unlink(path string) error {
	if _, err := inState(path); err != nil {
		return err
	}
	return os.Remove(path)
}
