// Package scratch makes scratch copies of projects, in which anything may be tried: the repository as a local clone of what
// is checked out, the state as it is on disk, in a temporary directory. The project that is copied is only read, so a copy
// that is cut short at any moment leaves it as it was. The package knows no format; what is done in a copy isn't known here.
package scratch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/durable"
	"greenlight/internal/git"
	"greenlight/internal/paths"
	"greenlight/internal/statedir"
)

// A Copy is a scratch copy of a project.
type Copy struct {
	Of     string   // the project that it is a copy of
	Dir    string   // the temporary directory with everything in it
	Root   string   // of the copied project
	Cloned bool     // it is a clone; else a copy of the files
	Left   []string // paths relative to the project that were left out: links, pipes, what can't be read
}

// Make copies the project at root. The error leaves nothing behind; ctx ends it early.
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
	// Under the project's own name: sessions and messages show it.
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
	// Last: what has no mark is no copy.
	m.Root, c.Left = c.Root, tree.left
	return c, m.write()
}

// clone clones the repository into top and returns where the project is in it, without the state that was committed.
func clone(ctx context.Context, root, top, prefix string) (string, error) {
	if err := git.Clone(ctx, root, top); err != nil {
		return "", err
	}
	root = filepath.Join(top, prefix)
	if err := durable.CheckBelow(top, root); err != nil { // the commit may have a link where the project is
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

// tempDir makes a directory outside of the project.
func tempDir(top string) (string, error) {
	place, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(top, place); err != nil || filepath.IsLocal(rel) {
		return "", fmt.Errorf("the temporary directory %s is in %s, which is to be copied: set TMPDIR to a directory outside", place, top)
	}
	return os.MkdirTemp(place, "greenlight-rehearsal-")
}

// A mark is in a copy and says so. It has the copy's path, so that it counts nowhere else: not in a clone that came with one.
type mark struct {
	Root       string `json:"root"`
	Repository string `json:"repository,omitempty"` // top of the clone
}

func markPath(root string) string { return statedir.Path(root, "runs", "scratch.json") }

func (m mark) write() error {
	data, err := json.Marshal(m)
	if err == nil {
		err = statedir.Make(m.Root)
	}
	if err == nil {
		err = durable.MkdirPrivate(filepath.Dir(markPath(m.Root)))
	}
	if err != nil {
		return err
	}
	return durable.WriteFile(markPath(m.Root), append(data, '\n'), 0o600)
}

// Is says whether the project at root is a scratch copy.
func Is(root string) bool {
	_, ok := find(root)
	return ok
}

func find(root string) (m mark, ok bool) {
	data, err := durable.ReadFile(markPath(root))
	if err != nil || json.Unmarshal(data, &m) != nil {
		return mark{}, false
	}
	real, err := filepath.EvalSymlinks(root)
	return m, err == nil && m.Root == real
}

// Author is who a rehearsal's commits are by: what was invented bears nobody's name.
var Author = git.Author{Name: "gl rehearsal", Email: "rehearsal@localhost"}

// WriteFile writes a file in dir, which is in a copy or in a worktree, by its path relative to dir, and makes the directory it is
// in. No link leads it out of dir.
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

// ReadFile reads a file that WriteFile may have written. It is "" for one that isn't there.
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

// Commit commits files that WriteFile wrote. Where the copy at root is no clone, it does nothing.
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
		if common := git.CommonOf(top); common == "" || !paths.Same(common, filepath.Join(m.Repository, ".git")) {
			return fmt.Errorf("%s is no worktree of %s", dir, m.Repository)
		}
	}
	files := make([]string, len(names))
	for i, name := range names {
		files[i] = paths.Relative(top, filepath.Join(dir, name))
	}
	return git.CommitFiles(ctx, top, files, message, Author)
}

// Leftovers are the names as people read them, the first few.
func (c *Copy) Leftovers() string {
	const most = 3
	if n := len(c.Left) - most; n > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(c.Left[:most], ", "), n)
	}
	return strings.Join(c.Left, ", ")
}
