package lane

import (
	"context"
	"errors"

	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// Redo returns the commit at which the next attempt at a slice begins that was taken back: what new
// work begins at, with the slice's earlier work on top, since merging its old branch wouldn't bring
// that back. It is "" for any other slice, for one whose work goes on or that a person has begin
// anew, and if the earlier work no longer fits. No ref has the commit before the slice's branch
// does, so git holds it until then.
func (r *Reader) Redo(ctx context.Context, id string) (string, error) {
	rec, err := r.history.landingRecord(id)
	if err != nil || rec == nil || rec.Since.Undone == nil || rec.Since.Undone.Anew {
		return "", err
	}
	if lineage, err := r.repo.Lineages.Get(r.project.Key(), id); err == nil &&
		lineage.Phase != worktree.Gone {
		if lost, err := r.repo.Lineages.BaseLost(ctx, lineage); err != nil || !lost {
			return "", err
		}
	}
	base, err := r.repo.Queue.Base(ctx)
	if err != nil {
		return "", err
	}
	if in, err := git.IsAncestor(ctx, r.repo.Git.Common, rec.Since.Undone.Commit,
		base); err != nil || !in {
		return "", err
	}
	for try := 1; ; try++ {
		commit, err := r.bringBack(ctx, id, base, rec.Since.Undone.Commit)
		if err == nil && commit != "" {
			err = git.Hold(ctx, r.repo.Git.Common, commit, base)
		}
		if err == nil || !errors.Is(err, git.ErrLost) || try == 3 {
			return commit, err
		}
	}
}

// bringBack returns a commit on base that reverts what took a slice back, "" if that conflicts.
func (r *Reader) bringBack(ctx context.Context, id, base, takenBack string) (string, error) {
	tree, conflicts, err := revert(ctx, r.repo.Git.Common, base, takenBack)
	if err != nil || len(conflicts) > 0 {
		return "", err
	}
	return git.CommitTree(ctx, r.repo.Git.Common, git.NewCommit{Tree: tree, Parents: []string{base},
		Message: git.LandingMessage("Bring back "+id,
			git.Trailer{Key: "Reverts", Value: takenBack})})
}
