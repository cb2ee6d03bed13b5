package lane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A Diff is what a slice has changed: two trees that differ in nothing else. It leaves state out.
type Diff struct {
	Slice       string
	Of          DiffOf
	Branch      string // short; "" for one that has landed
	From, To    string // commits or trees
	Uncommitted bool   // some of it isn't committed
	TakenBack   bool   // it was merged, and isn't any more
	Stat        git.DiffStat
}

// DiffOf is where the work was found.
type DiffOf string

const (
	inWorktree DiffOf = "worktree" // as it is in the slice's worktree now
	onBranch   DiffOf = "branch"   // on the slice's branch, whose worktree is gone
	Landed     DiffOf = "landed"   // as it was merged
)

// Diff returns what the slice or the task has changed so far.
func (r *Reader) Diff(ctx context.Context, id string) (*Diff, error) {
	lineage, err := r.repo.Lineages.Get(r.history.system(id), id)
	if errors.As(err, new(*worktree.BadLineage)) || errors.Is(err, fs.ErrNotExist) ||
		err == nil && lineage.Phase == worktree.Gone {
		landed, err := r.history.landing(ctx, id)
		if err != nil {
			return nil, err
		}
		if landed != "" {
			return r.diff(ctx, &Diff{Slice: id, Of: Landed, From: landed + "^1", To: landed})
		}
		rec, err := r.history.landingRecord(id)
		if err == nil && rec != nil && rec.Since.Undone != nil {
			first := rec.Landing.Commit
			if all := rec.Landing.Commits; len(all) > 0 {
				first = all[0]
			}
			return r.diff(ctx, &Diff{Slice: id, Of: Landed, TakenBack: true, From: first + "^1",
				To: rec.Landing.Commit})
		}
		if lineage == nil {
			return nil, fmt.Errorf("%s has no worktree and isn't merged: nothing was built, or it was built in the checkout, where git log and git diff show it", id)
		}
	} else if err != nil {
		return nil, err
	}
	d := &Diff{Slice: id, Of: onBranch, Branch: worktree.Short(lineage.Branch)}
	if d.To, err = git.ResolveCommit(ctx, r.repo.Git.Common, lineage.Branch); err != nil {
		return nil, err
	}
	if d.To == "" {
		return nil, fmt.Errorf("%s has no branch yet: its worktree is being made, or its branch %s was removed", id, d.Branch)
	}
	if lineage.Phase == worktree.Ready || lineage.Phase == worktree.Filled {
		// As exact as git status: this is only shown.
		o := git.SnapshotOptions{Base: lineage.Base, Branch: lineage.Branch, Why: "gl diff"}
		if s, err := r.repo.Layout.Worktree(lineage).Snapshot(ctx, o); err == nil && s.Tree != "" {
			changed, err := git.Changed(ctx, r.repo.Git.Common, d.To, s.Tree, statedir.InState)
			if err != nil {
				return nil, err
			}
			d.Of, d.To, d.Uncommitted = inWorktree, s.Tree, len(changed) > 0
		}
	}
	if d.From, err = r.base(ctx, d, lineage); err != nil {
		return nil, err
	}
	return r.diff(ctx, d)
}

// base returns the commit at which a slice's changes begin. What an unfinished merge has brought
// into its worktree isn't the slice's own change.
func (r *Reader) base(ctx context.Context, d *Diff, l *worktree.Lineage) (string, error) {
	newest, err := r.history.newest(ctx)
	if err != nil {
		return "", err
	}
	common := r.repo.Git.Common
	if d.Of == inWorktree {
		head, err := r.repo.Layout.Worktree(l).MergeHead(ctx)
		if err != nil {
			return "", err
		}
		if head != "" {
			merged, err := git.IsAncestor(ctx, common, head, newest)
			if err != nil || merged {
				return head, err
			}
		}
	}
	if base, err := git.MergeBase(ctx, common, newest, d.To); err == nil && base != "" {
		return base, nil
	}
	return l.Base, nil
}

// diff leaves state out, and counts.
func (r *Reader) diff(ctx context.Context, d *Diff) (*Diff, error) {
	common := r.repo.Git.Common
	var err error
	if d.From, err = git.ResolveCommit(ctx, common, d.From); err != nil {
		return nil, err
	}
	if d.To, err = git.TreeLike(ctx, common, d.To, d.From, statedir.InState); err != nil {
		return nil, err
	}
	d.Stat, err = git.Stat(ctx, common, d.From, d.To, statedir.InState)
	return d, err
}

// TestsDiff returns how a slice has changed its tests, and what was handed over with them, since
// the hand-over: two trees, and the paths.
func (r *Reader) TestsDiff(ctx context.Context, id string) (*Diff, []string, error) {
	lineage, err := r.repo.Lineages.Get(r.project.Key(), id)
	if err != nil {
		return nil, nil, fmt.Errorf("%s has no worktree: run gl retry --fresh %[1]s", id)
	}
	t, err := r.Touched(ctx, lineage, false)
	if err != nil || t == nil {
		return nil, nil, err
	}
	d := &Diff{Slice: id, Of: inWorktree}
	if d.From, err = r.inspect.handedOver(ctx, lineage); err != nil {
		return nil, nil, err
	}
	d.To, err = r.repo.Snapshots.Look(ctx, lineage)
	return d, t.Paths, err
}

// Changes returns how much of a slice's work would land as it is.
func (r *Reader) Changes(ctx context.Context, lineage *worktree.Lineage) (git.DiffStat, error) {
	base, err := r.history.newest(ctx)
	if err != nil {
		return git.DiffStat{}, err
	}
	tip, err := r.repo.Snapshots.Look(ctx, lineage)
	if err != nil {
		return git.DiffStat{}, err
	}
	tree, conflicts, err := git.MergeTree(ctx, r.repo.Git.Common, base, tip, statedir.InState)
	if err == nil && len(conflicts) > 0 {
		err = errors.New("it doesn't merge")
	}
	if err != nil {
		return git.DiffStat{}, err
	}
	return git.Stat(ctx, r.repo.Git.Common, base, tree, statedir.InState)
}
