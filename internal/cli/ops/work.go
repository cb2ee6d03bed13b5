package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/words"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// Work is a slice's unmerged work in a worktree: the main checkout has none of it.
type Work struct {
	Branch   string       `json:"branch"`   // without refs/heads/
	Worktree *string      `json:"worktree"` // null if it was removed
	Commits  []git.Commit `json:"commits"`  // since the branch began, the newest first
	Changed  []string     `json:"changed"`  // uncommitted: lines of git status --porcelain
}

// WorkOf returns a slice's unmerged work in a worktree; nil for none.
func WorkOf(ctx context.Context, pr *project.Project, id string) (*Work, error) {
	if !pr.Tracker.Traits().Lands {
		return nil, nil
	}
	repo, err := pr.Worktrees(ctx)
	if errors.As(err, new(*worktree.Unavailable)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l, err := repo.Lineages.Get(pr.Key(), id)
	if errors.Is(err, fs.ErrNotExist) ||
		err == nil && (l.Phase == worktree.Gone || l.Phase == worktree.Planned) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := &Work{Branch: worktree.Short(l.Branch), Commits: []git.Commit{}, Changed: []string{}}
	commits, err := git.Between(ctx, repo.Git.Common, l.Base, l.Branch)
	if err != nil {
		return nil, fmt.Errorf("can't read the branch %s: %w", w.Branch, err)
	}
	w.Commits = append(w.Commits, commits...)
	changed, err := repo.Layout.Worktree(l).Changed(ctx)
	if err != nil { // it doesn't exist, or git has dropped it
		return w, nil
	}
	w.Worktree = jsondoc.OrNull(repo.Layout.Dir(l))
	w.Changed = append(w.Changed, changed...)
	return w, nil
}

// mostShown limits the listed commits and paths.
const mostShown = 10

// Lines returns the work as text: where it is, its commits, and its uncommitted changes.
func (w *Work) Lines() []string {
	list := []string{"branch: " + w.Branch}
	if w.Worktree != nil {
		list = append(list, "worktree: "+*w.Worktree)
	} else {
		list = append(list, "worktree: removed; gl salvage restores what was in it")
	}
	list = append(list, words.Count(len(w.Commits), "commit"))
	for _, c := range w.Commits[:min(len(w.Commits), mostShown)] {
		list = append(list, "    "+strings.Join([]string{c.Hash, c.Date, c.Subject}, " "))
	}
	if len(w.Commits) > mostShown {
		list = append(list, "    …"+words.More(len(w.Commits)-mostShown))
	}
	if w.Worktree == nil {
		return list
	}
	if len(w.Changed) == 0 {
		return append(list, "everything in the worktree is committed")
	}
	list = append(list, "not committed:")
	for _, path := range w.Changed[:min(len(w.Changed), mostShown)] {
		list = append(list, "    "+path)
	}
	if len(w.Changed) > mostShown {
		list = append(list, "    …"+words.More(len(w.Changed)-mostShown))
	}
	return slices.Clip(list)
}
