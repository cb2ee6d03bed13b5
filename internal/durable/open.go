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

// stateDirs are the directories in which projects keep state. What is in them may have come with a clone, so no symbolic
// link at or below one is followed: the last of these names in a path says where that begins. The directories above
// belong to the person, who may link what they like, and so does every path without such a name.
var stateDirs = [...]string{".greenlight", ".planning", ".specwright", ".gsd"}

// StateDirs are the names of the directories in which no symbolic link is followed.
func StateDirs() []string { return stateDirs[:] }

// A LinkError is a symbolic link in a project's state. It has no path in front: its text names the link.
type LinkError struct {
	Path string // of the link, which may be a directory above the file that was wanted
	top  bool   // it is the state directory itself
}

func (e *LinkError) Error() string {
	if e.top {
		return fmt.Sprintf("%s is a symbolic link; gl follows it only if you set GREENLIGHT_ROOT=%s",
			filepath.Base(e.Path), filepath.Dir(e.Path))
	}
	_, start, _ := stateOf(e.Path)
	return filepath.ToSlash(e.Path[start:]) + " is a symbolic link; gl doesn't follow links in a project's state: " +
		"remove it, or put the file itself in its place"
}

// ErrIrregular: a directory, a device or a pipe is where a file should be.
var ErrIrregular = errors.New("not a regular file")

// followed are the projects whose state directory itself may be a link, because their owner has named them.
var followed sync.Map

// FollowRoot allows the state directories of the project at root to be links. Links in them still aren't followed.
func FollowRoot(root string) { followed.Store(filepath.Clean(root), true) }

// stateOf finds the last state directory in a path: path[start:end] is its name.
func stateOf(path string) (ok bool, start, end int) {
	for end = len(path); end > 0; end = start - 1 {
		start = strings.LastIndexByte(path[:end], filepath.Separator) + 1
		// Most names have no dot in front, and comparing is for each file.
		if end-start > 3 && path[start] == '.' && slices.Contains(stateDirs[:], path[start:end]) {
			return true, start, end
		}
	}
	return false, 0, 0
}

// inState says whether links aren't followed at the path. A link in a directory above it, within the state, is a
// *LinkError; the path itself is for the caller to look at. What doesn't exist is no error.
//
// The directories are looked at before the path is used, and not held open: links come with a clone. Whoever can put one
// there in between can also write wherever gl can.
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

// CheckDirs is an error, a *LinkError, where a symbolic link in a project's state is among the directories above path.
func CheckDirs(path string) error {
	_, err := inState(path)
	return err
}

// CheckPath is nil where the path isn't in a project's state, and where no symbolic link leads there. What doesn't exist
// is no link.
func CheckPath(path string) error {
	state, err := inState(path)
	if err != nil || !state {
		return err
	}
	return checkLast(path)
}

// checkLast looks at the path itself, which is in the state.
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

// CheckBelow is CheckPath for a directory of any name: at or below base, which is in path, nothing may be a link.
func CheckBelow(base, path string) error {
	rel, err := filepath.Rel(base, path)
	if err != nil || !filepath.IsLocal(rel) {
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("not in " + base)}
	}
	at := base
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		if at = filepath.Join(at, name); isLink(at) {
			return &fs.PathError{Op: "open", Path: at, Err: errors.New("is a symbolic link, and gl doesn't follow links there: remove it")}
		}
	}
	return nil
}

// openFile opens a file of state, or any other one: a pipe or a device keeps nobody waiting, and neither it nor a
// directory is opened.
func openFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, _, err := openSized(path, flag, perm)
	return f, err
}

func openSized(path string, flag int, perm fs.FileMode) (f *os.File, size int64, err error) {
	state, _, _ := stateOf(path)
	if state {
		flag |= syscall.O_NOFOLLOW
	}
	// To read what isn't there does no harm wherever it is, and gl often asks for files that aren't there.
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

// linked is the error of an open that met a link as the one that names it.
func linked(path string, state bool, err error) error {
	p, ok := err.(*fs.PathError)                                            //nolint:errorlint // os.OpenFile promises it, and errors.Is is the dearer half of a failed open
	if state && ok && (p.Err == syscall.ELOOP || p.Err == syscall.EMLINK) { //nolint:errorlint // as above
		if link := checkLast(path); link != nil {
			return link
		}
	}
	return err
}

// Open opens a regular file for reading. The error is a *LinkError for a symbolic link in a project's state.
func Open(path string) (*os.File, error) { return openFile(path, os.O_RDONLY, 0) }

// OpenAppend opens a regular file for writing at its end; a missing one is made with perm less the umask.
func OpenAppend(path string, perm fs.FileMode) (*os.File, error) {
	return openFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, perm)
}

// OpenReadAppend is OpenAppend of a file that is also read.
func OpenReadAppend(path string, perm fs.FileMode) (*os.File, error) {
	return openFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, perm)
}

// Create makes a file that must not be there yet, with perm less the umask.
func Create(path string, perm fs.FileMode) (*os.File, error) {
	return openFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
}

// MaxFile is how large a file may be that is read as a whole: GRAPH.json with a million dependencies has twenty megabytes.
const MaxFile = 64 << 20

// A SizeError says that a file is too large to be read.
type SizeError struct{ Max int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("larger than %d MiB, the limit for such a file", e.Max>>20)
}

// ReadFile reads a regular file of at most MaxFile bytes as Open opens it.
func ReadFile(path string) ([]byte, error) {
	f, size, err := openSized(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readOpen(f, size, MaxFile)
}

// ReadOpen is ReadFile of a file that is open.
func ReadOpen(f *os.File) ([]byte, error) { return readUpTo(f, MaxFile) }

// ReadNamed reads at most limit bytes of what a person has named: it may be a link or a pipe.
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

// Overwrite writes a small file in place, without fsync: for what a crash may take away.
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

// OpenDir opens a directory for reading its names.
func OpenDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if missing(err) {
		if state, _, _ := stateOf(path); state { // it may be a link that leads to nothing
			err = cmp.Or(checkLast(path), err)
		}
		return nil, err
	}
	if link := CheckPath(path); link != nil {
		f.Close() // nil where it couldn't be opened
		return nil, link
	}
	return f, err
}

// missing says that there is nothing at the end of a path. Which links are on the way then doesn't matter to who reads, and
// gl often asks for what isn't there.
func missing(err error) bool {
	p, ok := err.(*fs.PathError)         //nolint:errorlint // package os promises it, and errors.Is is the dearer half of a failed open
	return ok && p.Err == syscall.ENOENT //nolint:errorlint // as above
}

// ReadDir is os.ReadDir as OpenDir opens it.
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

// Stat is os.Stat, which in a project's state follows no symbolic link.
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

// MkdirAll is os.MkdirAll, which in a project's state follows no symbolic link.
func MkdirAll(path string, perm fs.FileMode) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	return os.MkdirAll(path, perm)
}

// MkdirPrivate makes a directory in a state directory that only this user may look into, and those between the two. The
// state directory itself is made for all, less the umask. Of the directories that exist, the topmost is made private: an
// older gl left it open.
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
		_ = os.Chmod(top, 0o700) // somebody else's directory stays as it is
	}
	return nil
}

// Rename is os.Rename within one directory, which a power cut may undo.
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
