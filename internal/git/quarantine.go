package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/durable"
)

// A quarantine is a directory in which git writes new objects before they are moved into the repository's, as it does
// itself for a push. What fails leaves nothing behind: git add leaves its temporary objects when a disk is full. The
// temporary index is in there too.
type quarantine struct {
	dir     string // on the file system of objects
	objects string // the repository's
	lock    *durable.Held
}

// quarantined is what names of quarantines begin with. Git prunes what is called like that when it is two weeks old.
const quarantined = "tmp_objdir-gl-"

func newQuarantine(common string) (*quarantine, error) {
	objects := filepath.Join(common, "objects")
	if strings.Contains(objects, "\n") {
		return nil, fmt.Errorf("%q: git can't name objects elsewhere in a path with a line feed", objects)
	}
	sweepQuarantines(objects)
	dir, err := os.MkdirTemp(objects, quarantined)
	if err != nil {
		return nil, err
	}
	lock, err := durable.TryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &quarantine{dir, objects, lock}, nil
}

// sweepQuarantines removes what processes left that were killed. One that is being made may not be locked yet.
func sweepQuarantines(objects string) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(objects), quarantined+"*"))
	for _, dir := range left {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if lock, err := durable.TryLock(filepath.Join(dir, "lock")); err == nil {
			os.RemoveAll(dir)
			lock.Unlock()
		}
	}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// env makes git write here what the repository doesn't have.
func (q *quarantine) env() []string {
	other := q.objects
	if strings.Contains(other, ":") || strings.HasPrefix(other, `"`) {
		other = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(other) + `"`
	}
	return []string{"GIT_OBJECT_DIRECTORY=" + q.dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + other}
}

// release moves the objects into the repository. A pack's index is the last of its files: git looks for that.
func (q *quarantine) release() error {
	entries, err := os.ReadDir(q.dir)
	if err != nil {
		return err
	}
	parent, err := os.Stat(q.objects)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := strconv.ParseUint(e.Name(), 16, 8); !e.IsDir() || e.Name() != "pack" && (err != nil || len(e.Name()) != 2) {
			continue
		}
		if err := moveObjects(filepath.Join(q.dir, e.Name()), filepath.Join(q.objects, e.Name()), parent.Mode()); err != nil {
			return err
		}
	}
	return nil
}

func moveObjects(from, to string, mode fs.FileMode) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o777); err == nil {
		os.Chmod(to, mode.Perm()|mode&fs.ModeSetgid) // as core.sharedRepository has it
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	var last []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "tmp_"): // of a git that failed
		case strings.HasSuffix(name, ".idx"):
			last = append(last, name)
		default:
			if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range last {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

func (q *quarantine) remove() error {
	return errors.Join(os.RemoveAll(q.dir), q.lock.Unlock())
}
