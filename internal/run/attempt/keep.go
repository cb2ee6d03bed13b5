package attempt

import (
	"context"
	"errors"
	"strconv"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

const (
	keepTries = 3
	keepPause = time.Second // between the first two tries; it doubles
)

// Keep fetches the attempt's work, so that everything in its worktree that git doesn't ignore is
// under a ref before the attempt is judged. The record tells what can't be kept; then the worktree
// stays. The agent, and what it has started, must be gone: this tree lands.
func (s *Settler) Keep(ctx context.Context, r *Record) {
	if r.Place.Lineage == 0 || !r.Life.Phase.Begun() {
		return
	}
	why := "gl: snapshot of " + r.ID.Work() + " at the end of attempt " + strconv.Itoa(r.ID.N)
	pause := keepPause
	for try := 1; ; try++ {
		snap, err := s.Snapshot(ctx, r,
			worktree.SnapshotOptions{Last: true, Why: why, Stashes: r.Place.Stashes})
		if err == nil {
			if snap != nil {
				r.Place.Saved, r.Place.Unsaved = snap.Prefix, notKept(snap.Failed)
				if snap.Linked != "" {
					r.Place.Strayed = append(r.Place.Strayed, sanitize.Text(snap.Linked))
				}
				if len(snap.Failed) == 0 {
					r.Place.Tree, r.Place.Head = snap.Whole, snap.Tip
				}
				r.Place.Left = s.left(ctx, r, snap)
			}
			return
		}
		r.Place.Unsaved, r.Place.Left = sanitize.Text(err.Error()), s.left(ctx, r, nil)
		if try == keepTries || errors.Is(err, context.Canceled) || isFinal(err) {
			return
		}
		time.Sleep(pause)
		pause *= 2
	}
}

// left returns what there is of work: in the snapshot or, without one, on the branch alone. It is
// for people, so errors make it unknown.
func (s *Settler) left(ctx context.Context, r *Record, snap *worktree.Snapshot) LeftWork {
	repo, err := s.Worktrees(ctx)
	if err != nil {
		return ""
	}
	l, err := r.LineageIn(repo)
	if err != nil {
		return ""
	}
	tip, err := git.ResolveCommit(ctx, repo.Git.Common, l.Branch)
	switch {
	case err != nil || tip == "":
		return ""
	case tip != l.Base:
		return LeftCommits
	case snap == nil || snap.Head != "" || len(snap.Failed)+len(snap.Stashes)+len(snap.Logs) > 0:
		return LeftFiles
	}
	switch tree, err := git.TreeOf(ctx, repo.Git.Common, tip); {
	case err != nil:
		return ""
	case tree != snap.Whole:
		return LeftFiles
	}
	return LeftNothing
}

// isFinal reports whether trying again won't help.
func isFinal(err error) bool {
	return errors.As(err, new(*git.StuckError)) || errors.As(err, new(*git.TooBigError)) ||
		errors.As(err, new(*git.SpaceError)) || errors.Is(err, git.ErrUnpacked)
}

// notKept names the first file that a snapshot couldn't take, with the reason, and counts the
// others.
func notKept(failed []git.Failure) string {
	if len(failed) == 0 {
		return ""
	}
	return sanitize.Text(failed[0].Path+": "+failed[0].Why) + words.More(len(failed)-1)
}

// Snapshot fetches what is at the attempt's place now.
func (s *Settler) Snapshot(
	ctx context.Context, r *Record, o worktree.SnapshotOptions,
) (*worktree.Snapshot, error) {
	place := func(ctx context.Context) (*worktree.Repo, *worktree.Lineage, error) {
		repo, err := s.Worktrees(ctx)
		if err != nil {
			return nil, nil, err
		}
		l, err := r.LineageIn(repo)
		return repo, l, err
	}
	return s.Executor.Fetch(ctx, place, o)
}
