package lane

import (
	"context"
	"errors"
	"slices"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A resetting begins the queue's branch again at the target as it is.
type resetting struct {
	project *project.Project
	repo    *worktree.Repo
	history history
	file    *file
	tip     *branchTip
	undoing *undoing
}

// reset drops what the target doesn't have, and returns those slices, and those that are pending
// again.
func (r *resetting) reset(ctx context.Context) (dropped, reopened []string, err error) {
	tip, err := r.repo.Queue.Tip(ctx)
	if err == nil {
		err = r.tip.checkFree()
	}
	if err != nil {
		return nil, nil, err
	}
	target, err := r.history.target(ctx)
	if err != nil {
		return nil, nil, err
	}
	if dropped, err = r.dropWaiting(ctx, target); err != nil {
		return dropped, reopened, err
	}
	if err := r.drop(ctx, tip, target); err != nil {
		return dropped, reopened, err
	}
	if reopened, err = r.reopenDropped(ctx, dropped, target); err != nil {
		return dropped, reopened, err
	}
	r.file.Undelivered, r.file.Reason, r.file.Since, r.file.Seen = nil, "", nil, target
	r.file.PullRequest = nil // what was pushed is replaced by the next push
	if tip == target {
		r.file.Tip, r.file.Next = tip, ""
		return dropped, reopened, errors.Join(r.repo.Queue.SetMark(worktree.LaneMark{Tip: tip}),
			r.file.save())
	}
	pass, err := gate.Ask(gate.Facts{Way: gate.Reset, Left: target, Lands: target,
		Approval: &gate.Approval{By: "a person, by gl land --reset"}}).Pass(target)
	if err != nil {
		return dropped, reopened, err
	}
	if err := r.tip.move(ctx, tip, target, "reset", pass); err != nil {
		return dropped, reopened, err
	}
	return dropped, reopened, r.undoing.undoAgain(ctx)
}

// reopenDropped reopens the named slices and those that the queue's branch has dropped before, and
// returns those that were complete. If the target has a slice in another shape, amended or rebased,
// it stays complete.
func (r *resetting) reopenDropped(ctx context.Context, named []string,
	target string) (reopened []string, err error) {
	ids := slices.Clone(named)
	for _, d := range r.file.Dropped {
		if !d.Undone && !slices.Contains(ids, d.Slice) {
			ids = append(ids, d.Slice)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	landings, err := git.Landings(ctx, r.repo.Git.Common, "", target)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		rec, err := r.history.landingRecord(id)
		if err != nil {
			return reopened, err
		}
		if rec == nil || rec.Since.Undone != nil || slices.ContainsFunc(landings,
			func(c git.Landed) bool { return r.history.landedBy(c, id, rec.ID.N) }) {
			continue
		}
		if was, err := r.reopen(ctx, rec); err != nil {
			return reopened, err
		} else if was {
			reopened = append(reopened, id)
		}
	}
	return reopened, nil
}

// reopen makes the slice of an attempt that landed pending again, and reports whether it was
// complete. A slice that was reopened or attempted since stays as it is.
func (r *resetting) reopen(ctx context.Context, rec *attempt.Record) (was bool, err error) {
	err = r.project.Tracker.Do(ctx, func(tx tracker.Tx) error {
		it, err := tx.Item(rec.ID.Slice)
		if errors.Is(err, tracker.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		all, err := r.project.Runs.History(rec.ID.Slice)
		if err != nil || len(all) == 0 || all[len(all)-1].ID.N != rec.ID.N ||
			all[len(all)-1].Since.Retried {
			return err
		}
		done := it.Corrupt == "" && plan.Classify(it.Status) == plan.Done
		was = done || rec.Landed(&it) != nil
		if done {
			if err := tx.PutBack(rec.ID.Slice, it.Mark(), false); err != nil {
				return err
			}
		}
		if err := r.project.Runs.Within(tx.Held()).MarkRetried(rec.ID.Slice); err != nil {
			return err
		}
		return r.project.Runs.Proofs.Withdraw(rec.ID.System, rec.ID.Slice, rec.ID.N)
	})
	return was, err
}

// dropWaiting returns the slices that the target doesn't have. If one was taken back and is still
// in the target, the file notes to take it back again.
func (r *resetting) dropWaiting(ctx context.Context, target string) (dropped []string, err error) {
	waiting := r.file.Undelivered
	if pr := r.file.PullRequest; pr != nil {
		waiting = slices.Concat(pr.Slices, waiting)
	}
	for _, u := range waiting {
		switch in, err := git.IsAncestor(ctx, r.repo.Git.Common, u.Commit, target); {
		case err != nil:
			return nil, err
		case in:
		case u.Undone:
			r.file.Again = append(r.file.Again, u)
			r.file.Dropped = append(r.file.Dropped, u)
		default:
			dropped = append(dropped, u.Slice)
		}
	}
	return dropped, nil
}

// drop notes what the queue's branch has and the target lacks. A commit that was amended or rebased
// still names its slice, so the target has it.
func (r *resetting) drop(ctx context.Context, lane, target string) error {
	base, err := git.MergeBase(ctx, r.repo.Git.Common, lane, target)
	if err != nil {
		return err
	}
	again, err := git.Landings(ctx, r.repo.Git.Common, base, target)
	if err != nil {
		return err
	}
	landed, err := git.Landings(ctx, r.repo.Git.Common, target, lane)
	if err != nil {
		return err
	}
	for _, c := range landed {
		if !slices.ContainsFunc(again, func(a git.Landed) bool {
			return a.Slice == c.Slice && a.Attempt == c.Attempt
		}) {
			r.file.Dropped = append(r.file.Dropped, Undelivered{Slice: c.Slice, Commit: c.Commit,
				At: c.When})
		}
	}
	return r.dropUndos(ctx, lane, base, target)
}

// dropUndos notes what was taken back and is in the target again after it was reset. It had been
// delivered, or dropWaiting has noted it.
func (r *resetting) dropUndos(ctx context.Context, lane, base, target string) error {
	again, err := git.AllTakenBack(ctx, r.repo.Git.Common, base, target)
	if err != nil {
		return err
	}
	undone, err := git.AllTakenBack(ctx, r.repo.Git.Common, target, lane)
	for _, c := range undone {
		known := slices.ContainsFunc(r.file.Again,
			func(u Undelivered) bool { return u.Commit == c.Commit })
		kept := slices.ContainsFunc(again,
			func(a git.TakenBack) bool { return a.Slice == c.Slice && a.Reverts == c.Reverts })
		if known || kept || c.Project != r.repo.Git.Prefix {
			continue
		}
		u := Undelivered{Slice: c.Slice, Commit: c.Commit, Undone: true}
		r.file.Again, r.file.Dropped = append(r.file.Again, u), append(r.file.Dropped, u)
	}
	return err
}
