package worktree

import (
	"context"
	"time"

	"greenlight/internal/git"
)

// Glance is a commit of about what is in the lineage's worktree: its last snapshot where that is younger than age, else a new one that no ref
// has. last is what Glance said before, "" for nothing: it is the answer if nothing has changed. It is "" where nobody has worked yet.
func (r *Repo) Glance(ctx context.Context, l *Lineage, last string, age time.Duration) (string, error) {
	if l.Phase != Ready && l.Phase != Filled || lost(l.Path) {
		return "", nil
	}
	all, err := r.wipRefs(ctx, l)
	if err != nil {
		return "", err
	}
	if tree, at := all.newest(); tree != "" && time.Since(at) < age {
		return tree, nil
	}
	s, err := r.Worktree(l).Snapshot(ctx, git.SnapshotOptions{Base: l.Base, Branch: l.Branch, Last: last, MaxBytes: r.limit, Why: "gl: forecast"})
	if err != nil {
		return "", err
	}
	return s.Tree, nil
}

// Saved is a commit of the work that a lineage has: its last snapshot if that is on top of its branch's tip, else that tip; "" for none.
func (r *Repo) Saved(ctx context.Context, l *Lineage) (string, error) {
	tip, err := git.ResolveCommit(ctx, r.Common, l.Branch)
	if err != nil || tip == "" {
		return "", err
	}
	all, err := r.wipRefs(ctx, l)
	if err != nil {
		return "", err
	}
	if tree, _ := all.newest(); tree != "" {
		parent, err := git.ResolveCommit(ctx, r.Common, tree+"^")
		if err != nil || parent == tip {
			return tree, err
		}
	}
	return tip, nil
}

// newest is the commit of the last tree, and when it was kept.
func (w wips) newest() (tree string, at time.Time) {
	_, tree = w.latest()
	for _, refs := range w {
		for _, ref := range refs {
			if ref.Commit == tree {
				at = ref.Time
			}
		}
	}
	return tree, at
}
