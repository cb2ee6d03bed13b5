package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// CommitAll commits exactly what the worktree has beyond HEAD, whatever git status or the index
// show, on the branch, which must be checked out. If an agent resolved a merge and left it
// uncommitted, the commit finishes it. Afterwards the index matches the commit. If it is killed,
// the next call finishes. The errors are *BranchError, *BusyError, *UnresolvedError, *UnkeptError.
func (x Exclusive) CommitAll(ctx context.Context, branch,
	message string) (tip string, changed bool, err error) {
	if err := x.Recover(ctx); err != nil {
		return "", false, err
	}
	if err := x.w.on(branch, "merge"); err != nil {
		return "", false, err
	}
	if agentsRef(branch) {
		if _, err := TidyRefs(x.w.Common, path.Dir(branch)); err != nil {
			return "", false, err
		}
	}
	if err := x.unlock(); err != nil {
		return "", false, err
	}
	s, err := x.w.newSnapshot(ctx, SnapshotOptions{Exact: true, Branch: branch})
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, s.g.q.remove()) }()
	if tip, changed, err = s.commitAll(ctx, message); err != nil {
		return "", false, err
	}
	// Release also if nothing is new: something may have pruned what the agent has committed.
	if err := s.g.q.release(); err != nil {
		return "", false, err
	}
	if changed {
		if err := changeWhole(ctx, x.w.Common, x.w.Admin, "commit: gl: what was left uncommitted",
			[]string{s.rev.head}, s.g.q,
			RefChange{Name: branch, New: tip, Old: s.rev.head}); err != nil {
			return "", false, err
		}
	}
	if !changed && s.index.isClean() {
		return tip, false, nil
	}
	return tip, changed, x.syncIndex(ctx)
}

// commitAll makes the commit, without any ref. If there is nothing to commit, it returns HEAD.
func (s *snapshot) commitAll(ctx context.Context,
	message string) (id string, changed bool, err error) {
	if err := s.rev.resolve(ctx); err != nil {
		return "", false, err
	}
	if s.rev.head == "" {
		return "", false, fmt.Errorf("%s: HEAD is no commit", s.g.w.Path)
	}
	tree, err := s.tree(ctx)
	if err != nil {
		return "", false, err
	}
	if len(s.g.failed) > 0 {
		unkept := &UnkeptError{Where: s.g.w.Path}
		for _, f := range s.g.failed {
			unkept.Paths = append(unkept.Paths, f.Path)
		}
		return "", false, unkept
	}
	merging, err := s.rev.mergeHeads(ctx)
	if err != nil {
		return "", false, err
	}
	if len(merging) > 0 {
		left, err := s.index.unresolved(ctx, merging)
		if err == nil && len(left) > 0 {
			err = &UnresolvedError{s.g.w.Path, left}
		}
		if err != nil {
			return "", false, err
		}
	}
	if tree == s.rev.headTree && len(merging) == 0 {
		return s.rev.head, false, nil
	}
	id, err = commitTree(ctx, NewCommit{Tree: tree,
		Parents: append([]string{s.rev.head}, merging...), Message: message},
		func(_ []string, input string, args ...string) (string, error) {
			return s.g.git(ctx, time.Minute, strings.NewReader(input), args...)
		})
	return id, true, err
}
