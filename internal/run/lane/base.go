package lane

import (
	"context"
	"fmt"

	"greenlight/internal/core/gate"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A Standstill is the reason why the queue can't move until a person acts.
type Standstill struct{ Reason string }

func (e *Standstill) Error() string { return e.Reason }

func standstill(format string, a ...any) *Standstill { return &Standstill{fmt.Sprintf(format, a...)} }

// An ahead is a merge of the queue's branch with the target, where both have commits of their own.
// It is tested together with the next work, and the branch moves to it then.
type ahead struct{ lane, target, commit string }

// A branchTip moves the queue's branch, and finds what the next work is merged into. The branch
// moves only by a gate.Pass, and only from where the last worker left it.
type branchTip struct {
	project *project.Project
	repo    *worktree.Repo
	history history
	trees   *trees
	bench   *bench
	file    *file
	tell    func(format string, a ...any)

	ahead *ahead // the lane merged with the target, where both have moved
	// the base is the lane as it is, whatever the target has: see cars
	pinned bool
}

// base returns the commit to merge work into: it contains the queue's branch and the target. If
// that needs no test, base moves the branch there; otherwise the commit is t.ahead, and the branch
// moves with the first work that passes on top of it.
func (t *branchTip) base(ctx context.Context) (string, error) {
	lane, err := t.current(ctx)
	if err != nil {
		return "", err
	}
	target, err := t.history.target(ctx)
	if err != nil {
		return "", err
	}
	if err := t.tellTargetMoved(ctx, target); err != nil {
		return "", err
	}
	if lane == target {
		return lane, t.file.see(target)
	}
	if err := t.checkRewound(ctx, target); err != nil {
		return "", err
	}
	if t.pinned {
		return lane, nil
	}
	if in, err := git.IsAncestor(ctx, t.repo.Git.Common, target, lane); err != nil || in {
		if err == nil {
			err = t.file.see(target)
		}
		return lane, err
	}
	return t.towards(ctx, lane, target)
}

// towards is base where the target has commits that the lane hasn't.
func (t *branchTip) towards(ctx context.Context, lane, target string) (string, error) {
	if in, err := git.IsAncestor(ctx, t.repo.Git.Common, lane, target); err != nil || in {
		if err == nil {
			err = t.followTarget(ctx, lane, target)
		}
		if err == nil {
			err = t.file.see(target)
		}
		return target, err
	}
	if err := t.meet(ctx, lane, target); err != nil {
		return "", err
	}
	if test, err := t.bench.needsTest(ctx, t.ahead); err != nil || test {
		return t.ahead.commit, err
	}
	return t.takeIn(ctx, t.ahead)
}

// take moves the lane to its merge with a commit of the target, which was tested.
func (t *branchTip) take(ctx context.Context, target string) error {
	lane, err := t.current(ctx)
	if err != nil {
		return err
	}
	base, err := t.towards(ctx, lane, target)
	if a := t.aheadAt(base); a != nil && err == nil {
		_, err = t.takeIn(ctx, a)
	}
	return err
}

// settledBase is base after the queue's branch has moved there: it tests by itself what is ahead.
func (t *branchTip) settledBase(ctx context.Context) (string, error) {
	base, err := t.base(ctx)
	if a := t.aheadAt(base); a != nil && err == nil {
		return t.takeIn(ctx, a)
	}
	return base, err
}

// aheadAt returns what the queue's branch takes in to get to a base, nil for nothing.
func (t *branchTip) aheadAt(base string) *ahead {
	if t.ahead == nil || t.ahead.commit != base {
		return nil
	}
	return t.ahead
}

// from returns where the queue's branch is while work is merged into a base, "" if it is at the
// base.
func (t *branchTip) from(base string) string {
	if a := t.aheadAt(base); a != nil {
		return a.lane
	}
	return ""
}

// current returns the branch's commit, if it is where the last worker left it and isn't checked
// out.
func (t *branchTip) current(ctx context.Context) (string, error) {
	tip, err := t.repo.Queue.Tip(ctx)
	if err != nil {
		return "", err
	}
	name := worktree.Short(t.repo.Queue.Ref())
	if still, err := strayed(ctx, t.repo, t.file, tip); err != nil {
		return "", err
	} else if still != nil {
		return "", still
	}
	if t.file.Tip == "" { // gl has never moved it, so its own commits were never tested
		target, err := t.history.target(ctx)
		if err != nil {
			return "", err
		}
		if in, err := git.IsAncestor(ctx, t.repo.Git.Common, tip, target); err != nil {
			return "", err
		} else if !in {
			return "", standstill("the branch %s has commits that gl hasn't put there (%s): something else has moved it. Run gl land --reset to start over from %s",
				name, short(tip), worktree.Short(t.repo.Target()))
		}
	}
	return tip, t.checkFree()
}

// tellTargetMoved tells once that the target was moved neither by gl nor by work in its checkout,
// but by git update-ref, or by a push into this repository. Any process with access can do that.
func (t *branchTip) tellTargetMoved(ctx context.Context, target string) error {
	f := t.file
	if f.Seen == "" || f.Seen == target || f.Own == target || f.Moved == target {
		return nil
	}
	where, err := git.CheckedOut(t.repo.Git.Common, t.repo.Target())
	// without a checkout, people work on it from elsewhere
	if err != nil || where == "" || git.Visited(ctx, where, target) {
		return err
	}
	name := worktree.Short(t.repo.Target())
	reason := fmt.Sprintf("%s was moved to %s, neither by gl nor by a commit in %s: git log %s..%s shows what it has now, git reflog %s where it was", name,
		short(target), where, short(f.Seen), name, name)
	t.tell("%s", reason)
	_ = t.project.Runs.Journal().AppendOnce(journal.Event{Kind: journal.NeedsYou,
		System: t.project.Key(), Target: name, Commit: target, Reason: reason,
		Key: "moved." + name + "." + target})
	f.Moved = target
	return t.file.save()
}

// checkFree stops if the queue's branch is checked out, since the files there wouldn't follow.
func (t *branchTip) checkFree() error {
	where, err := git.CheckedOut(t.repo.Git.Common, t.repo.Queue.Ref())
	if err == nil && where != "" {
		err = standstill("the branch %s is checked out in %s: check out another one there",
			worktree.Short(t.repo.Queue.Ref()), where)
	}
	return err
}

// move moves the queue's branch. The file has the destination before the branch moves, so that the
// next worker recognizes the move as gl's.
func (t *branchTip) move(ctx context.Context, from, to, reason string, pass gate.Pass) error {
	t.file.Tip, t.file.Next = from, to
	if err := t.file.save(); err != nil {
		return err
	}
	if err := t.repo.Queue.Move(ctx, from, to, reason, pass); err != nil {
		return err
	}
	t.file.Tip, t.file.Next = to, ""
	return t.file.save()
}

// checkRewound stops at a target that was reset or rebased: what was removed there on purpose must
// not come back from the queue's branch.
func (t *branchTip) checkRewound(ctx context.Context, target string) error {
	if lost, err := lostBy(ctx, t.repo, t.file, target); err != nil || !lost {
		return err
	}
	if git.LostByReset(ctx, t.repo.Git.Common, t.repo.Target(), t.file.Seen) {
		return t.deliverLost(ctx, target)
	}
	return rewound(t.repo, t.file)
}

// deliverLost lists what the target lost by chance as not delivered yet.
func (t *branchTip) deliverLost(ctx context.Context, target string) error {
	lost, err := git.Landings(ctx, t.repo.Git.Common, target, t.file.Seen)
	if err != nil {
		return err
	}
	for _, c := range lost {
		if err := t.file.deliverLater(Undelivered{Slice: c.Slice, Commit: c.Commit,
			At: c.When}); err != nil {
			return err
		}
	}
	t.tell("%s was moved back by a git reset or git stash that ran while gl merged %s into it: merging it again",
		worktree.Short(t.repo.Target()), short(t.file.Seen))
	return nil
}

// followTarget moves the queue's branch to the target, which contains it.
func (t *branchTip) followTarget(ctx context.Context, lane, target string) error {
	pass, err := gate.Ask(gate.Facts{Way: gate.Follow, Left: target, Lands: target}).Pass(target)
	if err != nil {
		return err
	}
	return t.move(ctx, lane, target, "follow "+worktree.Short(t.repo.Target()), pass)
}

// meet merges the target into the queue's branch in memory, where both have moved. The target's
// state wins.
func (t *branchTip) meet(ctx context.Context, lane, target string) error {
	if t.ahead != nil && t.ahead.lane == lane && t.ahead.target == target {
		return nil
	}
	name := worktree.Short(t.repo.Target())
	tree, conflicts, err := git.MergeTree(ctx, t.repo.Git.Common, target, lane, statedir.InState)
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return standstill("merged work conflicts with %s in %s: resolve it with git merge %s on %[1]s, or have agents build it again from %[1]s with gl land --reset",
			name, some(conflicts), worktree.Short(t.repo.Queue.Ref()))
	}
	commit, err := git.CommitTree(ctx, t.repo.Git.Common,
		git.NewCommit{Tree: tree, Parents: []string{lane, target},
			Message: "Merge " + name + " into the merge queue"})
	if err != nil {
		return err
	}
	t.tell("merging %s into the merge queue", name)
	t.ahead = &ahead{lane, target, commit}
	return nil
}

// takeIn moves the queue's branch to its merge with the target. The merge must pass the tests,
// unless the target itself doesn't.
func (t *branchTip) takeIn(ctx context.Context, a *ahead) (string, error) {
	run := gate.TestRun{Why: "nothing but state differs from what was tested"}
	if was, err := t.trees.contentOf(ctx, a.lane); err != nil {
		return "", err
	} else if is, err := t.trees.contentOf(ctx, a.commit); err != nil {
		return "", err
	} else if is != was {
		if run, err = t.bench.checkBoth(ctx, a); err != nil {
			return "", err
		}
	}
	pass, err := gate.Ask(gate.Facts{Way: gate.TakeIn, Run: run}).Pass(a.commit)
	if err != nil {
		return "", err
	}
	reason := "merge " + worktree.Short(t.repo.Target())
	if err := t.move(ctx, a.lane, a.commit, reason, pass); err != nil {
		return "", err
	}
	t.ahead = nil // it is the lane by now
	return a.commit, t.file.see(a.target)
}
