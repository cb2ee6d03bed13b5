package worktree

import (
	"context"
	"errors"

	"greenlight/internal/workspace/git"
)

// HandOver records exactly what is in the lineage's worktree as the tests that are handed over, and
// returns the commit. Its first parent is the last handover. If nothing has changed since, HandOver
// returns that one.
func (ss *Snapshots) HandOver(ctx context.Context, l *Lineage) (string, error) {
	w := ss.at.Worktree(l)
	for lost := 0; ; {
		old, err := ss.HandedOver(ctx, l)
		if err != nil {
			return "", err
		}
		s, err := w.Snapshot(ctx, git.SnapshotOptions{Base: l.Base, Branch: l.Branch, Exact: true,
			MaxBytes: ss.limit, Why: "gl: tests handed over"})
		if err != nil {
			return "", err
		}
		c := git.NewCommit{Tree: s.Tree + "^{tree}",
			Message: "gl: tests of " + l.Slice + " handed over"}
		if old != "" {
			if same, err := git.SameFiles(ctx, ss.common, old, s.Tree); err != nil || same {
				return old, err
			}
			c.Parents = []string{old}
		}
		id, err := git.CommitTree(ctx, ss.common, c)
		if err != nil {
			return "", err
		}
		has := []string{s.Tip}
		if s.Tip == "" {
			if has, err = ss.queue.known(ctx); err != nil {
				return "", err
			}
		}
		err = git.ChangeWhole(ctx, ss.common, "gl: tests handed over", has,
			git.RefChange{Name: ss.at.testsRef(l), New: id, Old: old})
		if lost++; errors.Is(err, git.ErrLost) && lost < 3 {
			continue
		}
		if errors.Is(err, git.ErrRefMoved) || old == "" && errors.Is(err, git.ErrRefExists) {
			// Another process has just done it.
			if now, nowErr := ss.HandedOver(ctx, l); nowErr == nil && now != old {
				continue
			}
		}
		return id, err
	}
}

// Look returns a commit of what is in the lineage's worktree now, on top of its branch, or the
// branch's own commit if there is no worktree; "" if there is neither. It keeps nothing and moves
// nothing.
func (ss *Snapshots) Look(ctx context.Context, l *Lineage) (string, error) {
	tip, err := git.ResolveCommit(ctx, ss.common, l.Branch)
	if err != nil || tip == "" || l.Phase != Ready && l.Phase != Filled || lost(l.Path) {
		return tip, err
	}
	s, err := ss.at.Worktree(l).Snapshot(ctx, git.SnapshotOptions{Base: l.Base, Branch: l.Branch,
		Exact: true, MaxBytes: ss.limit, Why: "gl verify"})
	if err != nil {
		return "", err
	}
	return git.CommitTree(ctx, ss.common, git.NewCommit{Tree: s.Tree + "^{tree}",
		Parents: []string{tip}, Message: "gl: " + l.Slice + " as it is"})
}

// HandedOver returns the commit that HandOver recorded last, "" for none.
func (ss *Snapshots) HandedOver(ctx context.Context, l *Lineage) (string, error) {
	return git.ResolveCommit(ctx, ss.common, ss.at.testsRef(l))
}
