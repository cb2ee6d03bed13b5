package lane

import (
	"context"
	"errors"
	"fmt"

	"greenlight/internal/core/gate"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A Standstill says why the lane can't go on until a person has done something.
type Standstill struct{ Reason string }

func (e *Standstill) Error() string { return e.Reason }

func standstill(format string, a ...any) error { return &Standstill{fmt.Sprintf(format, a...)} }

// An ahead is a base to which the lane hasn't moved yet: both the lane and the target have commits of their own, and their merge is tested
// together with the next work.
type ahead struct{ lane, target, commit string }

// base is the commit into which work is merged: it contains the lane's tip and the target's. It moves the lane where nothing has to be
// tested for that; else it is l.ahead, and the lane moves with the work that passes on top of it.
func (l *Lane) base(ctx context.Context) (string, error) {
	lane, err := l.tip(ctx)
	if err != nil {
		return "", err
	}
	target, err := l.target(ctx)
	if err != nil {
		return "", err
	}
	if err := l.tellTargetMoved(ctx, target); err != nil {
		return "", err
	}
	if lane == target {
		return lane, l.see(target)
	}
	if err := l.checkRewound(ctx, target); err != nil {
		return "", err
	}
	if in, err := git.IsAncestor(ctx, l.Repo.Git.Common, target, lane); err != nil || in {
		if err == nil {
			err = l.see(target)
		}
		return lane, err
	}
	if in, err := git.IsAncestor(ctx, l.Repo.Git.Common, lane, target); err != nil || in {
		if err == nil {
			err = l.followTarget(ctx, lane, target)
		}
		if err == nil {
			err = l.see(target)
		}
		return target, err
	}
	if err := l.meet(ctx, lane, target); err != nil {
		return "", err
	}
	if test, err := l.needsTest(ctx, l.ahead); err != nil || test {
		return l.ahead.commit, err
	}
	return l.takeIn(ctx, l.ahead)
}

// settledBase is base once the lane is there: what is ahead of it is tested by itself.
func (l *Lane) settledBase(ctx context.Context) (string, error) {
	base, err := l.base(ctx)
	if a := l.aheadAt(base); a != nil && err == nil {
		return l.takeIn(ctx, a)
	}
	return base, err
}

// aheadAt is what the lane has to take in before it is at a base; nil for nothing.
func (l *Lane) aheadAt(base string) *ahead {
	if l.ahead == nil || l.ahead.commit != base {
		return nil
	}
	return l.ahead
}

// from is where the lane is while work is merged into a base, "" for at the base.
func (l *Lane) from(base string) string {
	if a := l.aheadAt(base); a != nil {
		return a.lane
	}
	return ""
}

// tip is the lane's commit, if it is where a worker has left it and nobody has it checked out.
func (l *Lane) tip(ctx context.Context) (string, error) {
	tip, err := l.Repo.Queue.Tip(ctx)
	if err != nil {
		return "", err
	}
	name := worktree.Short(l.Repo.Queue.Ref())
	if l.file.Tip != "" && tip != l.file.Tip && tip != l.file.Next {
		return "", standstill("the branch %s isn't where gl left it (%s): it was moved. Move it back, or run gl land --reset to begin again at %s",
			name, short(l.file.Tip), worktree.Short(l.Repo.Target()))
	}
	if l.file.Tip == "" { // gl has never moved it: whatever is there beyond the target was never tested
		target, err := l.target(ctx)
		if err != nil {
			return "", err
		}
		if in, err := git.IsAncestor(ctx, l.Repo.Git.Common, tip, target); err != nil {
			return "", err
		} else if !in {
			return "", standstill("the branch %s has commits that gl hasn't put there (%s): something else has moved it. Run gl land --reset to begin again at %s",
				name, short(tip), worktree.Short(l.Repo.Target()))
		}
	}
	return tip, l.checkFree()
}

// tellTargetMoved tells once that the target was moved by something else than gl or somebody at work where it is checked out: git update-ref, or a
// push into this repository, as any process with access can do.
func (l *Lane) tellTargetMoved(ctx context.Context, target string) error {
	f := l.file
	if f.Seen == "" || f.Seen == target || f.Own == target || f.Moved == target {
		return nil
	}
	where, err := git.CheckedOut(l.Repo.Git.Common, l.Repo.Target())
	if err != nil || where == "" || git.Visited(ctx, where, target) { // else whoever works on it does so from elsewhere
		return err
	}
	name := worktree.Short(l.Repo.Target())
	reason := fmt.Sprintf("%s was moved to %s, neither by gl nor by a commit in %s: git log %s..%s shows what it has now, git reflog %s where it was", name,
		short(target), where, short(f.Seen), name, name)
	l.tell("%s", reason)
	_ = l.Project.Runs.Journal().AppendOnce(journal.Event{Kind: journal.NeedsYou, System: l.Project.Key(), Target: name, Commit: target, Reason: reason,
		Key: "moved." + name + "." + target})
	f.Moved = target
	return l.save()
}

// checkFree stops where somebody has the lane checked out: its files wouldn't follow.
func (l *Lane) checkFree() error {
	where, err := git.CheckedOut(l.Repo.Git.Common, l.Repo.Queue.Ref())
	if err == nil && where != "" {
		err = standstill("the branch %s is checked out in %s: check out another one there", worktree.Short(l.Repo.Queue.Ref()), where)
	}
	return err
}

// moveLane moves the lane. That it is about to is written down first, so that nobody takes it for somebody else's doing.
func (l *Lane) moveLane(ctx context.Context, from, to, reason string, pass gate.Pass) error {
	l.file.Tip, l.file.Next = from, to
	if err := l.save(); err != nil {
		return err
	}
	if err := l.Repo.Queue.Move(ctx, from, to, reason, pass); err != nil {
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
	in, err := git.IsAncestor(ctx, l.Repo.Git.Common, l.file.Seen, target)
	if err != nil || in {
		return err
	}
	name := worktree.Short(l.Repo.Target())
	return standstill("%s doesn't contain %s any more, which it had: it was reset or rebased. Run gl land --reset to begin again at %s as it is now",
		name, short(l.file.Seen), name)
}

// followTarget moves the lane to the target, which contains it.
func (l *Lane) followTarget(ctx context.Context, lane, target string) error {
	pass, err := gate.Ask(gate.Facts{Way: gate.Follow, Left: target, Lands: target}).Pass(target)
	if err != nil {
		return err
	}
	return l.moveLane(ctx, lane, target, "follow "+worktree.Short(l.Repo.Target()), pass)
}

// meet merges the target into the lane in memory, where both have moved. The target's state wins.
func (l *Lane) meet(ctx context.Context, lane, target string) error {
	if l.ahead != nil && l.ahead.lane == lane && l.ahead.target == target {
		return nil
	}
	name := worktree.Short(l.Repo.Target())
	tree, conflicts, err := git.MergeTree(ctx, l.Repo.Git.Common, target, lane, statedir.InState)
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return standstill("what has landed conflicts with %s in %s: merge the branch %s there and run gl land, or run gl land --reset to merge it anew, slice by slice",
			name, some(conflicts), worktree.Short(l.Repo.Queue.Ref()))
	}
	commit, err := git.CommitTree(ctx, l.Repo.Git.Common, git.NewCommit{Tree: tree, Parents: []string{lane, target}, Message: "Merge " + name + " into the lane"})
	if err != nil {
		return err
	}
	l.tell("merging %s into what has landed", name)
	l.ahead = &ahead{lane, target, commit}
	return nil
}

// needsTest reports whether nobody knows how the tests go on the merge. They go as on the lane where the target has only changed state.
func (l *Lane) needsTest(ctx context.Context, a *ahead) (bool, error) {
	if !l.conf.Config.Test.Command.IsSet() {
		return false, nil
	}
	was, err := l.contentOf(ctx, a.lane)
	if err != nil {
		return false, err
	}
	if is, err := l.contentOf(ctx, a.commit); err != nil || is == was {
		return false, err
	}
	v, err := l.knownVerdict(ctx, a.commit)
	return v == nil, err
}

// takeIn moves the lane to its merge with the target. The merge must pass the tests, unless the target itself doesn't.
func (l *Lane) takeIn(ctx context.Context, a *ahead) (string, error) {
	run := gate.TestRun{Why: "nothing but state differs from what was tested"}
	if was, err := l.contentOf(ctx, a.lane); err != nil {
		return "", err
	} else if is, err := l.contentOf(ctx, a.commit); err != nil {
		return "", err
	} else if is != was {
		if run, err = l.checkBoth(ctx, a); err != nil {
			return "", err
		}
	}
	pass, err := gate.Ask(gate.Facts{Way: gate.TakeIn, Run: run}).Pass(a.commit)
	if err != nil {
		return "", err
	}
	if err := l.moveLane(ctx, a.lane, a.commit, "merge "+worktree.Short(l.Repo.Target()), pass); err != nil {
		return "", err
	}
	return a.commit, l.see(a.target)
}

// checkBoth tests a merge of the lane and the target. It stops at one that is red although the target is green.
func (l *Lane) checkBoth(ctx context.Context, a *ahead) (gate.TestRun, error) {
	verdict, err := l.test(ctx, a.commit, nil)
	run := l.runOf(verdict)
	if err != nil || verdict == nil || verdict.Green() {
		return run, err
	}
	own, err := l.baseVerdict(ctx, a.target)
	if run.Known = true; err != nil || !own.Green() {
		return run, err
	}
	return run, standstill("the tests pass on %s and on what has landed, but not on both together (%s): see %s, merge the branch %s and mend it, then run gl land",
		worktree.Short(l.Repo.Target()), How(verdict, l.Project.Config.Test.Limit), verdict.Log, worktree.Short(l.Repo.Queue.Ref()))
}

// knownVerdict is the verdict on a commit that was tested before, nil for none.
func (l *Lane) knownVerdict(ctx context.Context, commit string) (*testrun.Verdict, error) {
	tree, err := l.contentOf(ctx, commit)
	if err == nil {
		err = l.allowed(ctx)
	}
	if err != nil {
		return nil, err
	}
	bed, err := l.makeBed(ctx)
	if err != nil {
		return nil, err
	}
	_, v := l.recorded(bed, tree)
	return v, nil
}

// baseVerdict is the verdict on a commit that isn't an agent's. A red one of another run is doubted: the disk may have been full.
func (l *Lane) baseVerdict(ctx context.Context, commit string) (*testrun.Verdict, error) {
	return l.verdict(ctx, commit, nil, func(v *testrun.Verdict) bool { return v.Green() || v.At.After(l.since) })
}

// TestBase runs the tests on what slices begin at, if nobody knows how they go there, and says so if they fail.
func (l *Lane) TestBase(ctx context.Context) (red string, err error) {
	err = l.locked(ctx, func(ctx context.Context) error {
		base, err := l.settledBase(ctx)
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
