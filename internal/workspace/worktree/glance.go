package worktree

import (
	"context"
	"time"

	"greenlight/internal/workspace/git"
)

// A Saved is the last snapshot of a lineage.
type Saved struct {
	Commit string    // "" for none
	At     time.Time // when it was kept
}

// Last finds the last snapshots of the lineages, by their branches.
func (ss *Snapshots) Last(ctx context.Context, lineages []*Lineage) (map[string]Saved, error) {
	last := map[string]Saved{}
	var commits []string
	for _, l := range lineages {
		all, err := ss.wipRefs(ctx, l)
		if err != nil {
			return nil, err
		}
		if _, tree := all.latest(); tree != "" {
			last[l.Branch], commits = Saved{Commit: tree}, append(commits, tree)
		}
	}
	at, err := git.CommitTimes(ctx, ss.common, commits...)
	for branch, s := range last {
		s.At = at[s.Commit]
		last[branch] = s
	}
	return last, err
}

// Glance returns a recent snapshot of the lineage's worktree: saved, if that is younger than age,
// else a new one that no ref has. last is what Glance returned before, "" for nothing; it is
// returned again if nothing has changed. The result is "" for a worktree in which no agent has
// worked yet.
func (ss *Snapshots) Glance(ctx context.Context, l *Lineage, saved Saved, last string,
	age time.Duration) (string, error) {
	if l.Phase != Ready && l.Phase != Filled || lost(l.Path) {
		return "", nil
	}
	if saved.Commit != "" && time.Since(saved.At) < age {
		return saved.Commit, nil
	}
	s, err := ss.at.Worktree(l).Snapshot(ctx, git.SnapshotOptions{
		Base: l.Base, Branch: l.Branch, Last: last, FilesOnly: true, MaxBytes: ss.limit,
		Why: "gl: forecast",
	})
	if err != nil {
		return "", err
	}
	return s.Tree, nil
}

// Work returns a commit with the lineage's work: its last snapshot, saved, if that is on top of its
// branch's tip, else that tip; "" for none.
func (ss *Snapshots) Work(ctx context.Context, l *Lineage, saved Saved) (string, error) {
	tip, err := git.ResolveCommit(ctx, ss.common, l.Branch)
	if err != nil || tip == "" {
		return "", err
	}
	if saved.Commit != "" {
		parent, err := git.ResolveCommit(ctx, ss.common, saved.Commit+"^")
		if err != nil || parent == tip {
			return saved.Commit, err
		}
	}
	return tip, nil
}
