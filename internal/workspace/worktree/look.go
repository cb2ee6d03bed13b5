package worktree

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/workspace/git"
)

// What look finds.
type found int

const (
	nothing found = iota // neither a directory nor an entry
	half                 // a part of what git worktree add makes, and nothing else
	whole                // a worktree without files, or with them
	taken                // something else
)

// look finds out how much there is of a worktree in which no agent has worked yet, and sets Admin
// if it is whole.
func (ls *Lineages) look(ctx context.Context, l *Lineage) (found, error) {
	if !l.IsLane() {
		tip, err := git.ResolveCommit(ctx, ls.common, l.Branch)
		if err != nil {
			return 0, err
		}
		if tip != "" && tip != l.Base && !l.Again || tip == "" && l.Again {
			return taken, nil
		}
	}
	linked, foreign, err := ls.entries(l)
	switch {
	case err != nil:
		return 0, err
	case foreign:
		return taken, nil
	}
	for _, e := range linked {
		w := git.Worktree{Common: ls.common, Admin: e.Admin, Path: l.Path}
		if branch, err := w.Branch(); err == nil && w.Check() == nil && branch == l.Branch {
			if l.IsLane() { // git writes zeros before the commit
				if head, err := git.ResolveCommit(ctx, e.Admin, "HEAD"); err != nil || head == "" {
					continue
				}
			}
			l.Admin = e.Admin
			return whole, nil
		}
	}
	files, err := durable.ReadDir(l.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(linked) == 0:
		return nothing, nil
	case errors.Is(err, fs.ErrNotExist), err == nil && len(files) == 0:
		return half, nil
	case err == nil && len(files) == 1 && files[0].Name() == ".git" && ls.halfFile(l):
		return half, nil
	}
	return taken, nil
}

// halfFile reports whether the .git file of the lineage's directory was left by a git worktree add
// that was killed: it names an entry of this repository, or is still empty.
func (ls *Lineages) halfFile(l *Lineage) bool {
	data, err := durable.ReadFile(filepath.Join(l.Path, ".git"))
	if err != nil {
		return false
	}
	admin := git.GitFile(l.Path)
	return len(data) == 0 || filepath.Dir(admin) == filepath.Join(ls.common, "worktrees")
}

// entries returns git's entries of the lineage's worktree. A half-made one is recognized by gl's
// lock, which is written first. An entry of the same path without it is foreign: a person's.
func (ls *Lineages) entries(l *Lineage) (mine []git.Linked, foreign bool, err error) {
	all, err := git.ListLinked(ls.common)
	for _, e := range all {
		switch {
		case e.Path != "" && e.Path != l.Path && paths.Exists(e.Path): // also ours, if it was moved
		case e.Lock == git.LockReason(l.Path) || e.Path == "" && blank(e.Admin, filepath.Base(l.Path)):
			mine = append(mine, e)
		case e.Path == l.Path:
			foreign = true
		}
	}
	return mine, foreign, err
}

// blank reports whether the admin directory is one for a worktree of that name, left by a git that
// was killed before it wrote anything.
func blank(admin, name string) bool {
	if !strings.HasPrefix(filepath.Base(admin), name) {
		return false
	}
	files, err := durable.ReadDir(admin)
	if err != nil || len(files) > 1 {
		return false
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || f.Name() != "locked" || info.Size() > 0 {
			return false
		}
	}
	return true
}
