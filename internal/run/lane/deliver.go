package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/core/gate"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/scratch"
	"greenlight/internal/workspace/worktree"
)

// deliver brings the target to the lane's tip. Why it can't is noted, and no error: the lane goes on.
func (l *Lane) deliver(ctx context.Context) error {
	reason, err := l.tryDeliver(ctx)
	if reason == "" || err != nil {
		return err
	}
	return l.undelivered(reason)
}

// tryDeliver is deliver, without a note of why it can't.
func (l *Lane) tryDeliver(ctx context.Context) (reason string, err error) {
	deliver := l.forward
	switch c := l.Project.Config.Git.Deliver; {
	case c == project.DeliverBranch, c == project.DeliverPR && scratch.Is(l.Project.Root): // a rehearsal has no remote
		return "", l.delivered("")
	case c == project.DeliverPR:
		deliver = l.propose
	}
	reason, err = deliver(ctx)
	if err != nil && ctx.Err() == nil {
		return err.Error(), nil
	}
	return reason, err
}

// deliverBetween delivers what has landed before the next is tested.
func (l *Lane) deliverBetween(ctx context.Context) error {
	if len(l.turn.file.Undelivered) == 0 || l.Project.Config.Git.Deliver == project.DeliverPR && now().Sub(l.turn.pushed) < proposeEvery {
		return nil
	}
	l.turn.between, l.turn.pushed = true, now()
	defer func() { l.turn.between = false }()
	if err := l.deliver(ctx); err != nil {
		return err
	}
	return l.commitStateNow(ctx)
}

// deliverable is the commit to deliver: the lane's, once it contains the target's. It is "" where something in the queue is about to be
// tested together with what the target has, and for a lane that stands still, with the reason.
func (l *Lane) deliverable(ctx context.Context) (commit, reason string, err error) {
	if commit, err = l.turn.tip.base(ctx); err == nil && l.turn.tip.aheadAt(commit) != nil {
		if l.turn.between {
			return "", "", l.turn.file.noReason()
		}
		commit, err = l.turn.tip.takeIn(ctx, l.turn.tip.ahead)
	}
	if still := new(Standstill); errors.As(err, &still) {
		return "", still.Reason, nil
	}
	return commit, "", err
}

// forward moves the target; reason says what is in the way.
func (l *Lane) forward(ctx context.Context) (reason string, err error) {
	busy, overlap, locked := new(git.BusyError), new(git.OverlapError), new(git.LockedError)
	err = git.Settle(ctx, l.Repo.Git.Common, l.Repo.Target())
	if err != nil && !errors.As(err, &busy) && !errors.As(err, &locked) { // else the delivery says it, if there is one
		return "", err
	}
	lane, reason, err := l.deliverable(ctx)
	if lane == "" || err != nil {
		return reason, err
	}
	target, err := l.history.target(ctx)
	if err != nil {
		return "", err
	}
	if lane == target {
		return "", l.delivered(target)
	}
	pass, err := l.deliverPass(lane)
	if err != nil {
		return "", err
	}
	err = git.FastForward(ctx, l.Repo.Git.Common, l.Repo.Target(), target, lane, pass)
	name := worktree.Short(l.Repo.Target())
	switch {
	case err == nil:
		l.tell("merged into %s", name)
		return "", l.delivered(lane)
	case errors.As(err, &busy):
		return fmt.Sprintf("%s in progress in %s", busy.Operation, busy.Where), nil
	case errors.As(err, &overlap):
		return overlapText(name, overlap), nil
	case errors.As(err, &locked):
		return fmt.Sprintf("%s is locked: if no git runs there, remove %s", locked.Where, locked.File), nil
	}
	return "", err
}

// overlapText says what is in the way, and what makes it what the target has where it is only what the target had.
func overlapText(target string, e *git.OverlapError) string {
	const most = 50 // the others come next
	text := fmt.Sprintf("%s would be overwritten in %s: commit or move it there", some(e.Paths), e.Where)
	if len(e.Former) == 0 {
		return text
	}
	command := append([]string{"git", "-C", e.Where, "restore", "--source=HEAD", "--staged", "--worktree", "--"}, e.Former[:min(most, len(e.Former))]...)
	return fmt.Sprintf("%s, or, if you didn't mean to take back what %s has (it is as it was before), run %s", text, target, shellwords.Join(command))
}

// deliverPass is the pass to move the target to the lane's tip: that is where gl left it, and all that it has was asked about.
func (l *Lane) deliverPass(tip string) (gate.Pass, error) {
	left := cmp.Or(l.turn.file.Tip, tip)
	if tip == l.turn.file.Next { // killed before it could be written
		left = tip
	}
	return gate.Ask(gate.Facts{Way: gate.Deliver, Left: left, Lands: tip}).Pass(tip)
}

// delivered notes that the target has everything.
func (l *Lane) delivered(target string) error {
	old := *l.turn.file
	if pr := old.PullRequest; pr != nil {
		old.Undelivered = append(slices.Clone(pr.Slices), old.Undelivered...)
	}
	if target != "" {
		l.events.tellDelivered(old.Undelivered, worktree.Short(l.Repo.Target()))
	}
	l.turn.file.Undelivered, l.turn.file.Reason, l.turn.file.Since, l.turn.file.PullRequest = nil, "", nil, nil
	if target != "" {
		l.turn.file.Seen = target
	}
	if len(old.Undelivered) == 0 && old.Reason == "" && old.Seen == l.turn.file.Seen {
		return nil
	}
	return l.turn.file.save()
}

// undelivered notes why the target hasn't.
func (l *Lane) undelivered(reason string) error {
	if len(l.turn.file.Undelivered) == 0 {
		return nil
	}
	if l.turn.file.Reason != reason {
		at := now()
		l.turn.file.Reason, l.turn.file.Since = reason, &at
		l.tell("not merged into %s yet: %s", worktree.Short(l.Repo.Target()), reason)
		if err := l.turn.file.save(); err != nil {
			return err
		}
	}
	l.events.tellUndelivered(l.turn.file)
	return nil
}

// Deliver delivers what has landed, for gl land and the end of a drain, and commits state. The error is nil if another process works
// the lane: it delivers. A person who asks also gets a Standstill where nothing waits to be delivered, as with a target that was reset.
func (l *Lane) Deliver(ctx context.Context) error {
	err := l.locked(ctx, func(ctx context.Context) error {
		if l.turn.file.Tip == "" && len(l.turn.file.Undelivered) == 0 { // nothing has ever landed
			return nil
		}
		reason, err := l.tryDeliver(ctx)
		if err != nil {
			return err
		}
		var still error
		if reason != "" {
			if err := l.undelivered(reason); err != nil {
				return err
			}
			if l.Asked && len(l.turn.file.Undelivered) == 0 {
				still = &Standstill{Reason: reason}
			}
		}
		return cmp.Or(l.commitState(ctx), still)
	})
	if errors.Is(err, errBusy) {
		return nil
	}
	return err
}

// DeliverAgain delivers what couldn't be delivered before: a person may have removed the reason.
func (l *Lane) DeliverAgain(ctx context.Context) error {
	err := l.locked(ctx, func(ctx context.Context) error {
		if l.turn.file.Reason == "" {
			return nil
		}
		return errors.Join(l.deliver(ctx), l.commitStateNow(ctx))
	})
	if errors.Is(err, errBusy) {
		return nil
	}
	return err
}

// proposeEvery is how often what has landed is pushed at most while more waits.
const proposeEvery = 5 * time.Minute

// stateEvery is how often state is committed at most while slices land.
const stateEvery = 5 * time.Minute

// commitState commits the state files that have changed in the checkout of the target, so that they travel with the work.
func (l *Lane) commitState(ctx context.Context) error {
	// Where pull requests are opened, the target here is the remote's: a commit of its own would keep git pull from moving it forward.
	if c := l.Project.Config.Git; !c.CommitState || c.Deliver == project.DeliverPR || l.turn.file.Reason != "" {
		return nil
	}
	dirty, err := git.DirtyAt(ctx, l.Project.Root, statedir.Name)
	if err != nil {
		return err
	}
	var names []string
	for _, entry := range dirty {
		name, _, _ := strings.Cut(entry[3:], " <- ")
		if statedir.InState(name) && !strings.HasPrefix(entry, "??") && !strings.Contains(name, "/runs/") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	at := now()
	commit, left, err := git.CommitPaths(ctx, l.Repo.Git, l.Repo.Target(), names, "gl: state", at)
	busy, elsewhere, locked := new(git.BusyError), new(git.BranchError), new(git.LockedError)
	if errors.As(err, &busy) || errors.As(err, &elsewhere) || errors.As(err, &locked) || errors.Is(err, git.ErrRefMoved) {
		l.tell("state isn't committed: %v", err)
		return nil
	}
	if err != nil || commit == "" {
		return err
	}
	if len(left) > 0 {
		l.tell("state files that are staged aren't committed: %s", some(left))
	}
	l.turn.file.Committed, l.turn.file.Own = &at, commit
	return l.turn.file.save()
}
