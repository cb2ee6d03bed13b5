package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
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

// A delivery brings what has landed to the target: into the branch here, or into a pull request.
type delivery struct {
	project *project.Project
	repo    *worktree.Repo
	history history
	tip     *branchTip
	file    *file
	events  *events
	pulls   *pullRequests
	tell    func(format string, a ...any)

	between bool      // something in the queue is about to be tested
	pushed  time.Time // of pull requests: when what has landed was delivered last
}

// deliver moves the target to the queue's branch. If it can't, it notes the reason and returns no
// error, because the queue goes on.
func (d *delivery) deliver(ctx context.Context) error {
	reason, err := d.tryDeliver(ctx)
	if reason == "" || err != nil {
		return err
	}
	return d.undelivered(reason)
}

// tryDeliver is deliver, without a note of why it can't.
func (d *delivery) tryDeliver(ctx context.Context) (reason string, err error) {
	deliver := d.forward
	switch c := d.project.Config.Git.Deliver; {
	case c == project.DeliverBranch,
		c == project.DeliverPR && scratch.Is(d.project.Root): // a rehearsal has no remote
		return "", d.delivered("")
	case c == project.DeliverPR:
		deliver = d.proposeAll
	}
	reason, err = deliver(ctx)
	if err != nil && ctx.Err() == nil {
		return err.Error(), nil
	}
	return reason, err
}

// proposeAll puts what has landed into a pull request; reason says what is in the way.
func (d *delivery) proposeAll(ctx context.Context) (reason string, err error) {
	lane, reason, err := d.deliverable(ctx)
	if lane == "" || err != nil {
		return reason, err
	}
	return d.pulls.propose(ctx, lane)
}

// deliverBetween delivers what has landed before the next is tested.
func (d *delivery) deliverBetween(ctx context.Context) error {
	if len(d.file.Undelivered) == 0 ||
		d.project.Config.Git.Deliver == project.DeliverPR && now().Sub(d.pushed) < proposeEvery {
		return nil
	}
	d.between, d.pushed = true, now()
	defer func() { d.between = false }()
	if err := d.deliver(ctx); err != nil {
		return err
	}
	return d.commitStateNow(ctx)
}

// deliverable returns the commit to deliver: that of the queue's branch, once it contains the
// target. It is "" at a standstill, with the reason, and if the next work in the queue is tested
// together with the target's commits.
func (d *delivery) deliverable(ctx context.Context) (commit, reason string, err error) {
	if commit, err = d.tip.base(ctx); err == nil && d.tip.pinned {
		return d.withTarget(ctx, commit)
	}
	if err == nil && d.tip.aheadAt(commit) != nil {
		if d.between {
			return "", "", d.file.noReason()
		}
		commit, err = d.tip.takeIn(ctx, d.tip.ahead)
	}
	if still := new(Standstill); errors.As(err, &still) {
		return "", still.Reason, nil
	}
	return commit, "", err
}

// withTarget returns the commit of the queue's branch if it contains the target, "" otherwise: the
// target's own commits are tested then, and delivery follows.
func (d *delivery) withTarget(ctx context.Context, lane string) (commit, reason string, err error) {
	target, err := d.history.target(ctx)
	if err != nil {
		return "", "", err
	}
	in, err := git.IsAncestor(ctx, d.repo.Git.Common, target, lane)
	if err != nil || in {
		return lane, "", err
	}
	return "", "", d.file.noReason()
}

// forward moves the target; reason says what is in the way.
func (d *delivery) forward(ctx context.Context) (reason string, err error) {
	busy, overlap, locked := new(git.BusyError), new(git.OverlapError), new(git.LockedError)
	err = git.Settle(ctx, d.repo.Git.Common, d.repo.Target())
	if err != nil && !errors.As(err, &busy) && !errors.As(err, &locked) {
		// the delivery reports these
		return "", err
	}
	lane, reason, err := d.deliverable(ctx)
	if lane == "" || err != nil {
		return reason, err
	}
	target, err := d.history.target(ctx)
	if err != nil {
		return "", err
	}
	if lane == target {
		return "", d.delivered(target)
	}
	pass, err := d.deliverPass(lane)
	if err != nil {
		return "", err
	}
	err = git.FastForward(ctx, d.repo.Git.Common, d.repo.Target(), target, lane, pass,
		statedir.InState)
	name := worktree.Short(d.repo.Target())
	switch {
	case err == nil:
		d.tell("merged into %s", name)
		return "", d.delivered(lane)
	case errors.As(err, &busy):
		return fmt.Sprintf("%s in progress in %s", busy.Operation, busy.Where), nil
	case errors.As(err, &overlap):
		return overlapText(name, overlap), nil
	case errors.As(err, &locked):
		return fmt.Sprintf("%s is locked: if no git runs there, remove %s", locked.Where,
			locked.File), nil
	}
	return "", err
}

// overlapText returns what is in the way. For files that are as the target had them before, it adds
// the command that restores them.
func overlapText(target string, e *git.OverlapError) string {
	const most = 50 // the others come next
	text := fmt.Sprintf("the merge would overwrite your changes to %s in %s: commit or stash them (git stash push -u -- FILE)", some(e.Paths),
		e.Where)
	if len(e.Former) == 0 {
		return text
	}
	command := append([]string{"git", "-C", e.Where, "restore", "--source=HEAD", "--staged",
		"--worktree", "--"}, e.Former[:min(most, len(e.Former))]...)
	return fmt.Sprintf("%s. If you didn't mean to undo what %s has, run %s", text, target, shellwords.Join(command))
}

// deliverPass returns the pass that moves the target to the tip of the queue's branch. gl left the
// branch there, and the gate has asked about everything in it.
func (d *delivery) deliverPass(tip string) (gate.Pass, error) {
	left := cmp.Or(d.file.Tip, tip)
	if tip == d.file.Next { // killed before it could be written
		left = tip
	}
	return gate.Ask(gate.Facts{Way: gate.Deliver, Left: left, Lands: tip}).Pass(tip)
}

// delivered notes that the target has everything.
func (d *delivery) delivered(target string) error {
	old := *d.file
	if pr := old.PullRequest; pr != nil {
		old.Undelivered = append(slices.Clone(pr.Slices), old.Undelivered...)
	}
	if target != "" {
		d.events.tellDelivered(old.Undelivered, worktree.Short(d.repo.Target()))
	}
	d.file.Undelivered, d.file.Reason, d.file.Since, d.file.PullRequest = nil, "", nil, nil
	if target != "" {
		d.file.Seen = target
	}
	if len(old.Undelivered) == 0 && old.Reason == "" && old.Seen == d.file.Seen {
		return nil
	}
	return d.file.save()
}

// undelivered notes why the target doesn't have everything.
func (d *delivery) undelivered(reason string) error {
	if len(d.file.Undelivered) == 0 {
		return nil
	}
	if d.file.Reason != reason {
		at := now()
		d.file.Reason, d.file.Since = reason, &at
		d.tell("not merged into %s yet: %s", worktree.Short(d.repo.Target()), reason)
		if err := d.file.save(); err != nil {
			return err
		}
	}
	d.events.tellUndelivered(d.file)
	return nil
}

// proposeEvery is the shortest time between pushes while more work waits.
const proposeEvery = 5 * time.Minute

// stateEvery is the shortest time between commits of state while slices land.
const stateEvery = 5 * time.Minute

// commitState commits the state files that have changed in the target's checkout, so that they
// travel with the work.
func (d *delivery) commitState(ctx context.Context) error {
	// With pull requests the target belongs to the remote: a commit here would keep git pull from
	// moving it forward.
	if c := d.project.Config.Git; !c.CommitState || c.Deliver == project.DeliverPR ||
		d.file.Reason != "" {
		return nil
	}
	dirty, err := git.DirtyAt(ctx, d.project.Root, statedir.Name)
	if err != nil {
		return err
	}
	names, err := d.travels(ctx, dirty)
	if err != nil || len(names) == 0 {
		return err
	}
	at := now()
	commit, left, err := git.CommitPaths(ctx, d.repo.Git, d.repo.Target(), names, "gl: state", at)
	busy, elsewhere, locked := new(git.BusyError), new(git.BranchError), new(git.LockedError)
	if errors.As(err, &busy) || errors.As(err, &elsewhere) || errors.As(err, &locked) ||
		errors.Is(err, git.ErrRefMoved) {
		d.tell("state isn't committed: %v", err)
		return nil
	}
	if err != nil || commit == "" {
		return err
	}
	if len(left) > 0 {
		d.tell("state files that are staged aren't committed: %s", some(left))
	}
	d.file.Committed, d.file.Own = &at, commit
	return d.file.save()
}

// travels returns, of what git status has listed, the state that is committed, sorted: what git
// tracks and, once the person has committed a graph or slices, the files of new slices, without
// which another clone would have them in the graph alone.
func (d *delivery) travels(ctx context.Context, dirty []string) (names []string, err error) {
	shared, err := git.Tracked(ctx, d.project.Root, statedir.Name+"/GRAPH.json", statedir.Name+"/slices")
	if err != nil {
		return nil, err
	}
	for _, entry := range dirty {
		name, _, _ := strings.Cut(entry[3:], " <- ")
		added := strings.HasPrefix(entry, "??") && (len(shared) == 0 ||
			!strings.HasSuffix(filepath.Dir(name), statedir.Name+"/slices"))
		if statedir.InState(name) && !added && !strings.Contains(name, "/runs/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// commitStateNow is commitState, at most once in stateEvery.
func (d *delivery) commitStateNow(ctx context.Context) error {
	switch at := now(); {
	case d.file.Committed == nil: // the first time is at the run's end, or after stateEvery
		d.file.Committed = &at
		return d.file.save()
	case at.Sub(*d.file.Committed) < stateEvery:
		return nil
	}
	return d.commitState(ctx)
}
