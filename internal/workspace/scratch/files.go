package scratch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/statedir"
)

// most is how many bytes of files are copied.
const most = 512 << 20

// A listing is what to copy from a directory: directories come before their contents.
type listing struct {
	root    string
	entries []entry
	size    int64
	left    []string // paths that aren't copied
}

type entry struct {
	path string // relative to the root
	mode fs.FileMode
	time time.Time
	link string // target of a link
}

// listState lists the state of all systems in the project.
func listState(root string) (*listing, error) {
	l := &listing{root: root}
	for _, name := range durable.StateDirs() {
		if err := l.addState(name); err != nil {
			return nil, err
		}
	}
	if l.size > most {
		return nil, fmt.Errorf("the state in %s takes %d MB, and a rehearsal copies at most %d MB",
			root, l.size>>20, most>>20)
	}
	return l, nil
}

// listAll lists all files of a project outside a repository.
func listAll(root string) (*listing, error) {
	l := &listing{root: root}
	if err := l.addDir("."); err != nil {
		return nil, err
	}
	if l.size > most {
		return nil, fmt.Errorf("%s has %d MB of files and no git repository, and a rehearsal copies at most %d MB of files: "+
			"commit what belongs to the project to a git repository, which is cloned without the rest", root, l.size>>20, most>>20)
	}
	return l, nil
}

// addState adds a state directory, which may be a link if GREENLIGHT_ROOT names the project.
func (l *listing) addState(name string) error {
	info, err := durable.Stat(filepath.Join(l.root, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || !info.IsDir():
		l.left = append(l.left, name)
		return nil
	}
	return l.addDir(name)
}

// addDir adds the directory and everything below it. It ignores files that disappear meanwhile.
func (l *listing) addDir(dir string) error {
	list, err := durable.ReadDir(filepath.Join(l.root, dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission) && dir != ".":
		l.left = append(l.left, dir)
		return nil
	case err != nil:
		return err
	}
	info, err := durable.Stat(filepath.Join(l.root, dir))
	if err != nil {
		return err
	}
	l.entries = append(l.entries, entry{path: dir, mode: info.Mode(), time: info.ModTime()})
	for _, d := range list {
		path := filepath.Join(dir, d.Name())
		switch {
		case passed(path):
		case slices.Contains(durable.StateDirs(), path):
			err = l.addState(path)
		case d.IsDir():
			err = l.addDir(path)
		default:
			err = l.add(path, d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// passed reports whether a path belongs to the project and this machine alone: attempts, locks,
// unfinished writes, repositories.
func passed(path string) bool {
	state, _, below := strings.Cut(path, string(filepath.Separator))
	return filepath.Base(path) == ".git" ||
		path == filepath.Join(statedir.Name, "runs") ||
		path == filepath.Join(statedir.Name, ".lock") ||
		below && slices.Contains(durable.StateDirs(), state) && strings.HasSuffix(path, ".tmp")
}

func (l *listing) add(path string, d fs.DirEntry) error {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	e := entry{path: path, mode: info.Mode(), time: info.ModTime()}
	switch {
	case info.Mode().IsRegular():
		l.size += info.Size()
	case l.keepsLink(&e):
	default:
		l.left = append(l.left, filepath.ToSlash(path))
		return nil
	}
	l.entries = append(l.entries, e)
	return nil
}

// keepsLink reports whether the entry is a link that stays within the copy. In the state, none
// does.
func (l *listing) keepsLink(e *entry) bool {
	if e.mode.Type() != fs.ModeSymlink || durable.CheckPath(filepath.Join(l.root, e.path)) != nil {
		return false
	}
	target, err := os.Readlink(filepath.Join(l.root, e.path))
	e.link = filepath.Clean(target) // a name followed by .. could lead out through another link
	return err == nil && !filepath.IsAbs(e.link) &&
		filepath.IsLocal(filepath.Join(filepath.Dir(e.path), e.link))
}

// copyTo creates everything in a directory that no other process uses. Links come last, so that
// nothing is written through one.
func (l *listing) copyTo(ctx context.Context, dst string) error {
	var links []entry
	for _, e := range l.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		to := filepath.Join(dst, e.path)
		switch {
		case e.mode.IsDir():
			err = durable.MkdirAll(to, 0o700|e.mode.Perm())
		case e.link != "":
			links = append(links, e)
		default:
			err = l.copyFile(ctx, e, to)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range links {
		if err := os.Symlink(e.link, filepath.Join(dst, e.path)); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) copyFile(ctx context.Context, e entry, to string) (err error) {
	from, err := durable.Open(filepath.Join(l.root, e.path))
	switch {
	case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		return nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, durable.ErrIrregular),
		statedir.IsLink(err):
		l.left = append(l.left, filepath.ToSlash(e.path))
		return nil
	case err != nil:
		return err
	}
	defer from.Close()
	f, err := durable.Create(to, 0o600|e.mode.Perm())
	if err != nil {
		return err
	}
	// A file may grow while it is copied, for instance a log.
	_, err = io.Copy(f, io.LimitReader(&cancelled{ctx, from}, most))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", e.path, err)
	}
	return os.Chtimes(to, e.time, e.time)
}

// cancelled reads until ctx ends.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

// Read reads unless ctx has ended.
func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
