package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNotEmpty says that a directory has files, and so isn't restored into.
var ErrNotEmpty = errors.New("the directory isn't empty")

// Restore writes the files of a commit into dir, which it makes if necessary, and which must be
// empty except for a worktree's .git. Line endings follow the attributes. If a filter fails, files
// are written as they are stored.
func Restore(ctx context.Context, common, commit, dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s: a restore needs an absolute path", dir)
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != ".git" }) {
		return fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	temp, err := os.MkdirTemp("", "gl-restore-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	git := func(off []string, args ...string) error {
		c := call{dir: dir, limit: long,
			env: []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index")}}
		_, _, err := c.run(ctx, slices.Concat(steady, off,
			[]string{"--git-dir=" + common, "--work-tree=" + dir}, args)...)
		return err
	}
	if err := git(nil, "read-tree", commit+"^{tree}"); err != nil {
		return err
	}
	err = git(nil, "checkout-index", "-a", "-q")
	if err == nil || ctx.Err() != nil {
		return err
	}
	off, offErr := filtersOff(ctx, dir, "--git-dir="+common)
	if offErr != nil {
		return errors.Join(err, offErr)
	}
	return git(off, "checkout-index", "-a", "-q", "-f")
}

// RestoreBranch makes a new branch at a commit of a snapshot; name is in full. The error is
// ErrRefExists if there is one.
func RestoreBranch(ctx context.Context, common, commit, name string) error {
	if ok, err := ValidRef(ctx, name); err != nil || !ok ||
		!strings.HasPrefix(name, "refs/heads/") {
		return errors.Join(fmt.Errorf("%q can't be the name of a branch", name), err)
	}
	return ChangeRefs(ctx, common, "gl: restored", RefChange{Name: name, New: commit})
}
