package lane

import (
	"context"
	"errors"
	"slices"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// Reset begins the lane again at the target as it is. What has landed and wasn't delivered stays on the slices' branches; it returns
// these slices, and those that are pending again because nothing has them.
func (l *Lane) Reset(ctx context.Context) (dropped, reopened []string, err error) {
	err = l.locked(ctx, func(ctx context.Context) error {
		tip, err := l.Repo.Queue.Tip(ctx)
		if err == nil {
			err = l.turn.tip.checkFree()
		}
		if err != nil {
			return err
		}
		target, err := l.history.target(ctx)
		if err != nil {
			return err
		}
		if dropped, err = l.dropWaiting(ctx, target); err != nil {
			return err
		}
		if err := l.drop(ctx, tip, target); err != nil {
			return err
		}
		if reopened, err = l.reopenDropped(ctx, dropped, target); err != nil {
			return err
		}
		l.turn.file.Undelivered, l.turn.file.Reason, l.turn.file.Since, l.turn.file.Seen = nil, "", nil, target
		l.turn.file.PullRequest = nil // what was pushed is replaced by the next push
		if tip == target {
			l.turn.file.Tip, l.turn.file.Next = tip, ""
			return errors.Join(l.Repo.Queue.SetMark(worktree.LaneMark{Tip: tip}), l.turn.file.save())
		}
		pass, err := gate.Ask(gate.Facts{Way: gate.Reset, Left: target, Lands: target, Approval: &gate.Approval{By: "a person, by gl land --reset"}}).Pass(target)
		if err != nil {
			return err
		}
		if err := l.turn.tip.move(ctx, tip, target, "reset", pass); err != nil {
			return err
		}
		return l.undoAgain(ctx)
	})
	return dropped, reopened, err
}

// reopenDropped reopens what was dropped: the named slices, and those that the lane has dropped before. It returns those that were
// complete. A target that has a slice in another shape, amended or rebased, keeps it complete.
func (l *Lane) reopenDropped(ctx context.Context, named []string, target string) (reopened []string, err error) {
	ids := slices.Clone(named)
	for _, d := range l.turn.file.Dropped {
		if !d.Undone && !slices.Contains(ids, d.Slice) {
			ids = append(ids, d.Slice)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	landings, err := git.Landings(ctx, l.Repo.Git.Common, "", target)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		rec, err := l.history.landingRecord(id)
		if err != nil {
			return reopened, err
		}
		if rec == nil || rec.Since.Undone != nil || slices.ContainsFunc(landings, func(c git.Landed) bool { return l.history.landedBy(c, id, rec.ID.N) }) {
			continue
		}
		if was, err := l.reopen(ctx, rec); err != nil {
			return reopened, err
		} else if was {
			reopened = append(reopened, id)
		}
	}
	return reopened, nil
}

// reopen makes the slice of an attempt that landed pending again, and reports whether it was complete. One that was reopened or attempted
// since stays as it is.
func (l *Lane) reopen(ctx context.Context, rec *attempt.Record) (was bool, err error) {
	err = l.Project.Tracker.Do(ctx, func(tx tracker.Tx) error {
		it, err := tx.Item(rec.ID.Slice)
		if errors.Is(err, tracker.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		all, err := l.Project.Runs.History(rec.ID.Slice)
		if err != nil || len(all) == 0 || all[len(all)-1].ID.N != rec.ID.N || all[len(all)-1].Since.Retried {
			return err
		}
		done := it.Corrupt == "" && plan.Classify(it.Status) == plan.Done
		was = done || rec.Landed(&it) != nil
		if done {
			if err := tx.PutBack(rec.ID.Slice, it.Mark(), false); err != nil {
				return err
			}
		}
		if err := l.Project.Runs.Within(tx.Held()).MarkRetried(rec.ID.Slice); err != nil {
			return err
		}
		return l.Project.Runs.Proofs.Withdraw(rec.ID.System, rec.ID.Slice, rec.ID.N)
	})
	return was, err
}

// dropWaiting are the slices that the target hasn't got. What was taken back and is still in the target is noted, to be taken back again.
func (l *Lane) dropWaiting(ctx context.Context, target string) (dropped []string, err error) {
	waiting := l.turn.file.Undelivered
	if pr := l.turn.file.PullRequest; pr != nil {
		waiting = slices.Concat(pr.Slices, waiting)
	}
	for _, u := range waiting {
		switch in, err := git.IsAncestor(ctx, l.Repo.Git.Common, u.Commit, target); {
		case err != nil:
			return nil, err
		case in:
		case u.Undone:
			l.turn.file.Again = append(l.turn.file.Again, u)
			l.turn.file.Dropped = append(l.turn.file.Dropped, u)
		default:
			dropped = append(dropped, u.Slice)
		}
	}
	return dropped, nil
}

// drop notes what the target hasn't got of the lane, in no shape: a commit that was amended or rebased still says whose it is.
func (l *Lane) drop(ctx context.Context, lane, target string) error {
	base, err := git.MergeBase(ctx, l.Repo.Git.Common, lane, target)
	if err != nil {
		return err
	}
	again, err := git.Landings(ctx, l.Repo.Git.Common, base, target)
	if err != nil {
		return err
	}
	landed, err := git.Landings(ctx, l.Repo.Git.Common, target, lane)
	if err != nil {
		return err
	}
	for _, c := range landed {
		if !slices.ContainsFunc(again, func(a git.Landed) bool { return a.Slice == c.Slice && a.Attempt == c.Attempt }) {
			l.turn.file.Dropped = append(l.turn.file.Dropped, Undelivered{Slice: c.Slice, Commit: c.Commit, At: c.When})
		}
	}
	return l.dropUndos(ctx, lane, base, target)
}

// dropUndos notes what was taken back, and isn't any more in a target that has gone back. That was delivered, or dropWaiting has noted it.
func (l *Lane) dropUndos(ctx context.Context, lane, base, target string) error {
	again, err := git.AllTakenBack(ctx, l.Repo.Git.Common, base, target)
	if err != nil {
		return err
	}
	undone, err := git.AllTakenBack(ctx, l.Repo.Git.Common, target, lane)
	for _, c := range undone {
		known := slices.ContainsFunc(l.turn.file.Again, func(u Undelivered) bool { return u.Commit == c.Commit })
		kept := slices.ContainsFunc(again, func(a git.TakenBack) bool { return a.Slice == c.Slice && a.Reverts == c.Reverts })
		if known || kept || c.Project != l.Repo.Git.Prefix {
			continue
		}
		u := Undelivered{Slice: c.Slice, Commit: c.Commit, Undone: true}
		l.turn.file.Again, l.turn.file.Dropped = append(l.turn.file.Again, u), append(l.turn.file.Dropped, u)
	}
	return err
}

// revives is a slice that was taken out of the lane and that the work would bring back, "" for none.
func (l *Lane) revives(ctx context.Context, w *work) (string, error) {
	for _, d := range l.turn.file.Dropped {
		if d.Undone && d.Slice != w.rec.ID.Slice { // what takes it back again is there, and merges with this
			continue
		}
		in, err := git.IsAncestor(ctx, l.Repo.Git.Common, d.Commit, w.tip)
		if err != nil {
			return "", err
		}
		if !in {
			continue
		}
		if in, err = git.IsAncestor(ctx, l.Repo.Git.Common, d.Commit, w.base); err != nil || !in {
			return d.Slice, err
		}
	}
	return "", nil
}
