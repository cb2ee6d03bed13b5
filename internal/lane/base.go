package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"greenlight/internal/git"
	"greenlight/internal/statedir"
	"greenlight/internal/testrun"
	"greenlight/internal/worktree"
)

// A Standstill says why the lane can't go on until a person has done something.
type Standstill struct{ Reason string }

func (e *Standstill) Error() string { return e.Reason }

func standstill(format string, a ...any) error { return &Standstill{fmt.Sprintf(format, a...)} }

// base is the commit into which work is merged: the lane's tip, once it contains the target's. It moves the lane for that.
func (l *Lane) base(ctx context.Context) (string, error) {
	lane, err := l.tip(ctx)
	if err != nil {
		return "", err
	}
	target, err := l.target(ctx)
	if err != nil {
		return "", err
	}
	if lane == target {
		return lane, l.see(target)
	}
	if err := l.checkRewound(ctx, target); err != nil {
		return "", err
	}
	if in, err := git.IsAncestor(ctx, l.Repo.Common, target, lane); err != nil || in {
		return lane, err
	}
	if in, err := git.IsAncestor(ctx, l.Repo.Common, lane, target); err != nil || in {
		if err == nil {
			err = l.moveLane(ctx, lane, target, "follow "+worktree.Short(l.Repo.Target()))
		}
		if err == nil {
			err = l.see(target)
		}
		return target, err
	}
	return l.takeIn(ctx, lane, target)
}

// tip is the lane's commit, if it is where a worker has left it and nobody has it checked out.
func (l *Lane) tip(ctx context.Context) (string, error) {
	tip, err := l.Repo.LaneTip(ctx)
	if err != nil {
		return "", err
	}
	name := worktree.Short(l.Repo.LaneRef())
	if l.file.Tip != "" && tip != l.file.Tip && tip != l.file.Next {
		return "", standstill("the branch %s isn't where gl left it (%s): somebody has moved it. Move it back, or run gl land --reset to begin again at %s",
			name, short(l.file.Tip), worktree.Short(l.Repo.Target()))
	}
	return tip, l.checkFree()
}

// checkFree stops where somebody has the lane checked out: its files wouldn't follow.
func (l *Lane) checkFree() error {
	where, err := git.CheckedOut(l.Repo.Common, l.Repo.LaneRef())
	if err == nil && where != "" {
		err = standstill("the branch %s is checked out in %s: check out another one there", worktree.Short(l.Repo.LaneRef()), where)
	}
	return err
}

// moveLane moves the lane. That it is about to is written down first, so that nobody takes it for somebody else's doing.
func (l *Lane) moveLane(ctx context.Context, from, to, reason string) error {
	l.file.Tip, l.file.Next = from, to
	if err := l.save(); err != nil {
		return err
	}
	if err := l.Repo.MoveLane(ctx, from, to, reason); err != nil {
		return err
	}
	l.file.Tip, l.file.Next = to, ""
	return l.save()
}

// see notes that the lane has the target's commit.
func (l *Lane) see(target string) error {
	if l.file.Seen == target {
		return nil
	}
	l.file.Seen = target
	return l.save()
}

// checkRewound stops at a target that has gone back, or was rebased: what was taken out there on purpose must not come back from the
// lane.
func (l *Lane) checkRewound(ctx context.Context, target string) error {
	if l.file.Seen == "" || l.file.Seen == target {
		return nil
	}
	in, err := git.IsAncestor(ctx, l.Repo.Common, l.file.Seen, target)
	if err != nil || in {
		return err
	}
	name := worktree.Short(l.Repo.Target())
	return standstill("%s doesn't contain %s any more, which it had: it was reset or rebased. Run gl land --reset to begin again at %s as it is now",
		name, short(l.file.Seen), name)
}

// takeIn merges the target into the lane, where both have moved. The target's state wins. The result must pass the tests, unless
// the target itself doesn't.
func (l *Lane) takeIn(ctx context.Context, lane, target string) (string, error) {
	name := worktree.Short(l.Repo.Target())
	tree, conflicts, err := git.MergeTree(ctx, l.Repo.Common, target, lane, statedir.InState)
	if err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		return "", standstill("what has landed conflicts with %s in %s: merge the branch %s there, then run gl land", name, some(conflicts),
			worktree.Short(l.Repo.LaneRef()))
	}
	commit, err := git.CommitTree(ctx, l.Repo.Common, git.NewCommit{Tree: tree, Parents: []string{lane, target}, Message: "Merge " + name + " into the lane"})
	if err != nil {
		return "", err
	}
	l.tell("merging %s into the lane", name)
	verdict, err := l.test(ctx, commit, nil)
	if err != nil {
		return "", err
	}
	if verdict != nil && !verdict.Green() {
		own, err := l.baseVerdict(ctx, target)
		if err != nil {
			return "", err
		}
		if own.Green() {
			return "", standstill("the tests pass on %s and on what has landed, but not on both together (%s): see %s, merge the branch %s and mend it, then run gl land",
				name, How(verdict, l.Project.Config.Test.Limit), verdict.Log, worktree.Short(l.Repo.LaneRef()))
		}
	}
	if err := l.moveLane(ctx, lane, commit, "merge "+name); err != nil {
		return "", err
	}
	return commit, l.see(target)
}

// baseVerdict is the verdict on a commit that isn't an agent's. A red one of another run is doubted: the disk may have been full.
func (l *Lane) baseVerdict(ctx context.Context, commit string) (*testrun.Verdict, error) {
	return l.verdict(ctx, commit, nil, func(v *testrun.Verdict) bool { return v.Green() || v.At.After(l.since) })
}

// Reset begins the lane again at the target as it is. What has landed and wasn't delivered stays on the slices' branches; it returns
// these slices.
func (l *Lane) Reset(ctx context.Context) (dropped []string, err error) {
	err = l.locked(ctx, func(ctx context.Context) error {
		tip, err := l.Repo.LaneTip(ctx)
		if err == nil {
			err = l.checkFree()
		}
		if err != nil {
			return err
		}
		target, err := l.target(ctx)
		if err != nil {
			return err
		}
		waiting := l.file.Undelivered
		if pr := l.file.PullRequest; pr != nil {
			waiting = slices.Concat(pr.Slices, waiting)
		}
		for _, u := range waiting {
			if in, err := git.IsAncestor(ctx, l.Repo.Common, u.Commit, target); err != nil {
				return err
			} else if !in {
				dropped = append(dropped, u.Slice)
			}
		}
		if err := l.drop(ctx, tip, target); err != nil {
			return err
		}
		l.file.Undelivered, l.file.Reason, l.file.Since, l.file.Seen = nil, "", nil, target
		l.file.PullRequest = nil // what was pushed is replaced by the next push
		if tip == target {
			l.file.Tip, l.file.Next = tip, ""
			return l.save()
		}
		return l.moveLane(ctx, tip, target, "reset")
	})
	return dropped, err
}

// drop notes what the target hasn't got of the lane, in no shape: a commit that was amended or rebased still says whose it is.
func (l *Lane) drop(ctx context.Context, lane, target string) error {
	base, err := git.MergeBase(ctx, l.Repo.Common, lane, target)
	if err != nil {
		return err
	}
	again, err := git.Landings(ctx, l.Repo.Common, base, target)
	if err != nil {
		return err
	}
	landed, err := git.Landings(ctx, l.Repo.Common, target, lane)
	for _, c := range landed {
		if !slices.ContainsFunc(again, func(a git.Landed) bool { return a.Slice == c.Slice && a.Attempt == c.Attempt }) {
			l.file.Dropped = append(l.file.Dropped, Undelivered{Slice: c.Slice, Commit: c.Commit, At: c.When})
		}
	}
	return err
}

// revives is a slice that was taken out of the lane and that the work would bring back, "" for none.
func (l *Lane) revives(ctx context.Context, w *work) (string, error) {
	for _, d := range l.file.Dropped {
		in, err := git.IsAncestor(ctx, l.Repo.Common, d.Commit, w.tip)
		if err != nil {
			return "", err
		}
		if !in {
			continue
		}
		if in, err = git.IsAncestor(ctx, l.Repo.Common, d.Commit, w.base); err != nil || !in {
			return d.Slice, err
		}
	}
	return "", nil
}

// TestBase runs the tests on what slices begin at, if nobody knows how they go there, and says so if they fail.
func (l *Lane) TestBase(ctx context.Context) (red string, err error) {
	err = l.locked(ctx, func(ctx context.Context) error {
		base, err := l.base(ctx)
		if err != nil {
			return err
		}
		v, err := l.baseVerdict(ctx, base)
		if err == nil && v != nil && !v.Green() {
			red = "the tests fail on " + worktree.Short(l.Repo.Target()) + " (" + How(v, l.Project.Config.Test.Limit) + ")"
		}
		return err
	})
	if errors.Is(err, errBusy) {
		err = nil
	}
	return red, err
}
