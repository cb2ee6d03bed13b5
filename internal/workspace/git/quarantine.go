package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// A quarantine is a directory in which git writes new objects before they are moved into the
// repository's, as git itself does for a push. A failure leaves nothing behind in the repository:
// git add leaves its temporary objects when a disk is full. gl's temporary indexes and git
// directories are in there too. It is beside the repository's objects, not among them: an agent in
// a sandbox writes objects, and must change nothing that a git of gl's reads or writes.
type quarantine struct {
	dir     string // on the file system of objects, wherever that is possible
	objects string // the repository's
	lock    *durable.Held
}

const (
	quarantines = "gl-tmp-" // what names of quarantines begin with
	// quarantined is the same among the objects, for a gl that itself runs in a sandbox, and of
	// older versions. Git prunes files of this name when they are two weeks old.
	quarantined = "tmp_objdir-gl-"
	// releasing is a file in a quarantine whose objects are being moved into the repository. They
	// also stay in the quarantine until refs have them and git can read them: something may prune
	// the repository in between.
	releasing = "releasing"
)

func newQuarantine(common string) (*quarantine, error) {
	objects := filepath.Join(common, "objects")
	if strings.Contains(objects, "\n") {
		return nil, fmt.Errorf("%q: git can't name objects elsewhere in a path with a line feed",
			objects)
	}
	sweepQuarantines(common, quarantines)
	sweepQuarantines(objects, quarantined)
	_ = mend(common, false) // the next one does what fails
	dir, err := "", error(syscall.EXDEV)
	if sameDevice(common, objects) {
		dir, err = os.MkdirTemp(common, quarantines)
	}
	if errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EROFS) ||
		errors.Is(err, fs.ErrPermission) {
		dir, err = os.MkdirTemp(objects, quarantined)
	}
	if err != nil {
		return nil, err
	}
	lock, err := durable.TryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &quarantine{dir, objects, lock}, nil
}

func sameDevice(a, b string) bool {
	var at, bt syscall.Stat_t
	return syscall.Stat(a, &at) == nil && syscall.Stat(b, &bt) == nil && at.Dev == bt.Dev
}

// sweepQuarantines removes the quarantines of killed processes. One that is being made may not be
// locked yet.
func sweepQuarantines(in, prefix string) {
	left, _ := filepath.Glob(filepath.Join(paths.EscapeGlob(in), prefix+"*"))
	for _, dir := range left {
		released := paths.Exists(filepath.Join(dir, releasing))
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() ||
			!released && time.Since(info.ModTime()) < time.Minute {
			continue
		}
		lock, err := durable.TryLock(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		if released { // refs may have its objects, which something has pruned in between
			objects := in
			if prefix == quarantines {
				objects = filepath.Join(in, "objects")
			}
			err = (&quarantine{dir: dir, objects: objects}).release()
		}
		if err == nil {
			os.RemoveAll(dir)
		}
		lock.Unlock()
	}
}

// env makes git write new objects here.
func (q *quarantine) env() []string {
	other := q.objects
	if strings.Contains(other, ":") || strings.HasPrefix(other, `"`) {
		other = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(other) + `"`
	}
	return []string{"GIT_OBJECT_DIRECTORY=" + q.dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + other}
}

// release puts the objects into the repository, and again if they have been pruned there. A pack's
// index is the last of its files: git looks for that.
func (q *quarantine) release() error {
	if err := os.WriteFile(filepath.Join(q.dir, releasing), nil, 0o644); err != nil {
		return err
	}
	if err := putObjects(q.dir, q.objects); err != nil {
		return err
	}
	q.hold()
	return nil
}

// hold holds the objects, which may have no ref for a while, or ever: see hold.
func (q *quarantine) hold() {
	files, _ := filepath.Glob(filepath.Join(paths.EscapeGlob(q.dir), "[0-9a-f][0-9a-f]", "*"))
	for _, file := range files {
		id := filepath.Base(filepath.Dir(file)) + filepath.Base(file)
		if isID(id) && linkHeld(filepath.Dir(q.objects), q.dir, id) != nil {
			return
		}
	}
}

// putObjects moves the objects of a directory to their places in the repository.
func putObjects(from, objects string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	parent, err := os.Stat(objects)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := strconv.ParseUint(e.Name(), 16, 8); !e.IsDir() ||
			e.Name() != "pack" && (err != nil || len(e.Name()) != 2) {
			continue
		}
		if err := linkObjects(filepath.Join(from, e.Name()), filepath.Join(objects, e.Name()),
			parent.Mode()); err != nil {
			return err
		}
	}
	return nil
}

func linkObjects(from, to string, mode fs.FileMode) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := makeObjectDir(to, mode); err != nil {
		return err
	}
	var last []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "tmp_"): // of a git that failed
		case strings.HasSuffix(name, ".idx"):
			last = append(last, name)
		default:
			if err := linkFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range last {
		if err := linkFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// makeObjectDir makes a directory of objects if there is none. It refuses a link in its place,
// which isn't git's and leads elsewhere.
func makeObjectDir(dir string, mode fs.FileMode) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_ = os.Chmod(dir, mode.Perm()|mode&fs.ModeSetgid) // as core.sharedRepository has it
	}
	return err
}

// linkFile puts an object among the others, by a hard link if possible, else as a copy.
func linkFile(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := filepath.Join(filepath.Dir(to), "tmp_obj_gl_"+filepath.Base(to))
	if err := os.Remove(part); ignoreMissing(err) != nil {
		return err
	}
	if err := copyFile(from, part); err != nil {
		return err
	}
	if err := os.Chmod(part, 0o444); err != nil {
		return err
	}
	return os.Rename(part, to)
}

func (q *quarantine) remove() error {
	return errors.Join(os.RemoveAll(q.dir), q.lock.Unlock())
}
