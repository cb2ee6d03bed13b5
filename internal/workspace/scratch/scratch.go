// Package scratch makes scratch copies of projects, in which anything may be tried: the
// repository as a local clone of what is checked out, the state as it is on disk, in a
// temporary directory. It only reads the original project, so interrupting a copy at any moment
// leaves the original unchanged. The package knows no format, and doesn't know what is done in
// a copy.
package scratch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// A Copy is a scratch copy of a project.
type Copy struct {
	Of     string // the original project
	Dir    string // the temporary directory that contains everything
	Root   string // root of the copied project
	Cloned bool   // it is a clone rather than a copy of the files
	// paths relative to the project that were omitted: links, pipes, unreadable files
	Left []string
}

// Make copies the project at root. On an error it leaves nothing behind; canceling ctx
// interrupts it.
func Make(ctx context.Context, root string) (c *Copy, err error) {
	top, prefix, err := git.Place(ctx, root)
	cloned := err == nil
	if errors.Is(err, git.ErrNone) || errors.Is(err, git.ErrMissing) {
		top, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, err
	}
	list := listAll
	if cloned {
		list = listState
	}
	tree, err := list(root)
	if err != nil {
		return nil, err
	}
	dir, err := tempDir(top)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	// Use the project's own name, which sessions and messages show.
	c = &Copy{Of: root, Dir: dir, Root: filepath.Join(dir, filepath.Base(top)), Cloned: cloned}
	m := mark{}
	if err := durable.MkdirAll(c.Root, 0o755); err != nil {
		return nil, err
	}
	if cloned {
		m.Repository = c.Root
		if c.Root, err = clone(ctx, root, c.Root, prefix); err != nil {
			return nil, err
		}
	}
	if err := tree.copyTo(ctx, c.Root); err != nil {
		return nil, err
	}
	// The mark comes last: a directory without one isn't a copy.
	m.Root, c.Left = c.Root, tree.left
	return c, m.write()
}

// clone clones the repository into top and returns the project's place in it, without the state
// that was committed.
func clone(ctx context.Context, root, top, prefix string) (string, error) {
	if err := git.Clone(ctx, root, top); err != nil {
		return "", err
	}
	root = filepath.Join(top, prefix)
	// the commit may have a link in place of the project
	if err := durable.CheckBelow(top, root); err != nil {
		return "", err
	}
	if err := durable.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	for _, name := range durable.StateDirs() {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			return "", err
		}
	}
	return root, nil
}

// tempDir creates a directory outside the project.
func tempDir(top string) (string, error) {
	place, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	if _, inside := paths.Below(top, place); inside {
		return "", fmt.Errorf("the temporary directory %s is in %s, which is to be copied: set TMPDIR to a directory outside", place, top)
	}
	return os.MkdirTemp(place, "greenlight-rehearsal-")
}

// A mark identifies a copy. It contains the copy's path, so that it is invalid elsewhere, for
// example in a clone that came with one.
type mark struct {
	Root       string `json:"root"`
	Repository string `json:"repository,omitempty"` // top of the clone
}

func markPath(root string) string { return statedir.Path(root, "runs", "scratch.json") }

func (m mark) write() error {
	if err := statedir.Make(m.Root); err != nil {
		return err
	}
	if err := durable.MkdirPrivate(filepath.Dir(markPath(m.Root))); err != nil {
		return err
	}
	return durable.WriteJSON(markPath(m.Root), m)
}

// Is reports whether the project at root is a scratch copy.
func Is(root string) bool {
	_, ok := find(root)
	return ok
}

func find(root string) (m mark, ok bool) {
	if durable.ReadJSON(markPath(root), &m) != nil {
		return mark{}, false
	}
	real, err := filepath.EvalSymlinks(root)
	return m, err == nil && m.Root == real
}

// Author is the author of a rehearsal's commits, since no real person made them.
var Author = git.Author{Name: "gl rehearsal", Email: "rehearsal@localhost"}

// WriteFile writes a file in dir, which is in a copy or a worktree, by its path relative to
// dir, and creates its directory. No link leads it out of dir.
func WriteFile(dir, name, text string) error {
	at, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	if parent := filepath.Dir(name); parent != "." {
		if err := at.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	f, err := at.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// ReadFile reads a file that WriteFile may have written; a missing one gives "".
func ReadFile(dir, name string) (string, error) {
	at, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer at.Close()
	f, err := at.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

// Commit commits files written by WriteFile. If the copy at root isn't a clone, it does
// nothing.
func Commit(ctx context.Context, root, dir string, names []string, message string) error {
	m, ok := find(root)
	if !ok {
		return fmt.Errorf("%s is no scratch copy", root)
	}
	if m.Repository == "" {
		return nil
	}
	top := m.Repository
	if !paths.Same(dir, m.Root) {
		var err error
		if top, _, err = git.Place(ctx, dir); err != nil {
			return err
		}
		if common := git.CommonOf(top); common == "" ||
			!paths.Same(common, filepath.Join(m.Repository, ".git")) {
			return fmt.Errorf("%s is no worktree of %s", dir, m.Repository)
		}
	}
	files := make([]string, len(names))
	for i, name := range names {
		files[i] = paths.Relative(top, filepath.Join(dir, name))
	}
	return git.CommitFiles(ctx, top, files, message, Author)
}

// Leftovers lists the first few omitted paths for people.
func (c *Copy) Leftovers() string {
	const most = 3
	if n := len(c.Left) - most; n > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(c.Left[:most], ", "), n)
	}
	return strings.Join(c.Left, ", ")
}
