package facts

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// again is how long the size of a slice's changes remains valid.
const again = 10 * time.Second

// A seen is the last look at a slice's work.
type seen struct {
	at     time.Time
	commit string
}

// LookAtWork determines the size of the changes in slices that are being built, merged or
// reviewed, from the commits on their branches and the contents of their worktrees. It doesn't
// look again at anything unchanged. It reports whether there is news, which All includes from
// then on.
func (r *Reader) LookAtWork(ctx context.Context, p *plan.Plan, now time.Time) bool {
	ids := slices.Concat(p.Lists.Running, p.Lists.Landing, p.Lists.Waiting)
	if p.Snapshot.Noun != plan.Slice || len(ids) == 0 {
		return false
	}
	repo, err := r.pr.Worktrees(ctx)
	if err != nil { // without git there is nothing to compare
		return false
	}
	diffs := maps.Clone(r.diffs)
	for _, id := range ids {
		if now.Sub(r.seen[id].at) < again {
			continue
		}
		d, commit, err := work(ctx, repo, r.pr.Key(), id, r.seen[id].commit)
		r.seen[id] = seen{now, commit}
		if err == nil && d != nil {
			diffs[id] = *d
		}
	}
	changed := !maps.Equal(diffs, r.diffs)
	r.diffs = diffs
	return changed
}

// WithWork returns f with the results of LookAtWork.
func (r *Reader) WithWork(f view.Facts) view.Facts {
	f.Diffs = r.diffs
	return f
}

// work returns the changes of a slice's work; nil for none, or if its state is still known.
func work(ctx context.Context, repo *worktree.Repo,
	system, id, known string) (*view.Diff, string, error) {
	l, err := repo.Lineages.Get(system, id)
	if err != nil {
		return nil, "", err
	}
	saved, err := repo.Snapshots.Last(ctx, []*worktree.Lineage{l})
	if err != nil {
		return nil, "", err
	}
	commit, err := repo.Snapshots.Work(ctx, l, saved[l.Branch])
	if err != nil || commit == "" {
		return nil, known, err
	}
	// include uncommitted changes and new files
	state, err := repo.Snapshots.Glance(ctx, l, saved[l.Branch], known, again)
	if err != nil || state == "" {
		state = commit
	}
	if state == known {
		return nil, known, nil
	}
	base, err := git.ResolveCommit(ctx, repo.Git.Common, repo.Queue.Ref())
	if err == nil && base != "" { // the merge queue may have been merged into its branch
		base, err = git.MergeBase(ctx, repo.Git.Common, base, commit)
	}
	if err != nil {
		return nil, known, err
	}
	s, err := git.Stat(ctx, repo.Git.Common, cmp.Or(base, l.Base), state, statedir.InState)
	if err != nil {
		return nil, known, err
	}
	return &view.Diff{Files: s.Files, Added: s.Insertions, Removed: s.Deletions}, state, nil
}
