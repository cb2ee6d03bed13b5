// Package lane merges, tests and delivers what agents call complete: only what passes its tests here makes a slice complete. It
// works the queue of attempts in phase landing, one at a time, and owns the lane's file, its worktree and the lane's ref. It
// starts no agent: what it sends back, a drain launches again. docs/lane.md is the design.
//
// Whatever is killed, the next worker finds out by the records and git's refs how far things are.
package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A Lane is a project's lane as one process works it.
type Lane struct {
	Reader    *Reader // answers what needs no lock
	Project   *project.Project
	Repo      *worktree.Repo
	Self      string            // path of gl
	Environ   []string          // of setup and tests
	Trust     trust.Store       // what the person has allowed: nothing else of the configuration is run
	TrustRoot string            // the project for which they have: this one, or the one that this is a copy of
	Told      func(line string) // progress, for people; nil for nobody
	Asked     bool              // a person has asked: what waits for its time, or for a person, is done now

	history  history
	trees    *trees
	inspect  *inspector
	commands *commands
	events   *events
	turn     *turn // while the lock is held
}

// Open is the lane of a project. The error is a *worktree.Unavailable where there can be none.
func Open(ctx context.Context, pr *project.Project, self string, environ []string) (*Lane, error) {
	read, err := OpenReader(ctx, pr)
	if err != nil {
		return nil, err
	}
	return &Lane{Reader: read, Project: pr, Repo: read.repo, Self: self, Environ: environ, history: read.history, trees: read.trees, inspect: read.inspect,
		commands: &commands{project: pr, conf: pr}, events: &events{project: pr, repo: read.repo}}, nil
}

// errBusy says that another process works the lane.
var errBusy = errors.New("another gl works the merge queue")

// peek is longer than a look at the lane's lock takes.
const peek = 20 * time.Millisecond

// Work lands what can land, and delivers it. If another process works the lane, it returns at once: that process looks at
// the queue once more before it gives the lane up. ctx ends it; what is in the queue then stays there.
func (l *Lane) Work(ctx context.Context) error {
	var queue *line
	turn := func(ctx context.Context) error { queue = l.turn.line; return l.workQueue(ctx) }
	for {
		before, err := queueOf(l.Project)
		if err != nil || len(before) == 0 {
			return err
		}
		err = l.locked(ctx, turn)
		for range 3 { // it may have been a look at the lock: see durable.Holder
			if !errors.Is(err, errBusy) {
				break
			}
			time.Sleep(peek)
			err = l.locked(ctx, turn)
		}
		if errors.Is(err, errBusy) {
			return nil
		}
		if err != nil {
			return err
		}
		after, err := queueOf(l.Project)
		if err != nil || !slices.ContainsFunc(after, func(r *attempt.Record) bool { return !queue.isStuck(r) }) {
			return err
		}
	}
}

// Restore puts back into the queue what was removed with runs/ while it awaited the lane, and objects that a prune has taken.
func (l *Lane) Restore(ctx context.Context) error {
	if err := git.Mend(l.Repo.Common); err != nil {
		return err
	}
	settler := l.Project.Settler()
	ids, err := settler.Restore(ctx)
	if len(ids) > 0 {
		l.tell("in the merge queue again, after its record was removed: %s", strings.Join(ids, ", "))
	}
	return err
}

// locked runs f with the queue's lock. The lock is in the git directory that all worktrees share,
// since runs/ may be removed, and isn't inherited by tests.
func (l *Lane) locked(ctx context.Context, f func(context.Context) error) (err error) {
	lock, err := durable.TryLock(l.Repo.LaneLock())
	if errors.Is(err, durable.ErrLocked) {
		return errBusy
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	defer func() { l.turn = nil }()
	if l.turn, err = l.begin(ctx, lock); err != nil {
		return err
	}
	if err := l.turn.bench.endTests(); err != nil {
		return err
	}
	if err := errors.Join(git.Mend(l.Repo.Common), l.Repo.DropLostNext(ctx)); err != nil {
		return err
	}
	if err := l.settleEnded(ctx); err != nil {
		return err
	}
	if err := l.turn.undoing.finishUndo(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.turn.bench.leave()) }()
	if err := l.turn.undoing.undoAgain(ctx); err != nil {
		return err
	}
	return f(ctx)
}

// begin returns the turn of the process that holds the lock.
func (l *Lane) begin(ctx context.Context, held *durable.Held) (*turn, error) {
	t := &turn{held: held, settler: l.Project.Settler(), alone: map[string]bool{}}
	since := now()
	l.permitted().follow()
	var err error
	if t.file, err = openFile(ctx, l.Project, l.Repo, l.tell); err != nil {
		return nil, err
	}
	t.line = &line{project: l.Project, settler: t.settler, tell: l.tell, stuck: map[string]string{}}
	t.bench = &bench{
		project: l.Project, repo: l.Repo, self: l.Self, environ: l.Environ, commands: l.commands, trees: l.trees, file: t.file,
		events: l.events, tell: l.tell, since: since, seen: map[testrun.Key]*testrun.Verdict{},
	}
	t.tip = &tip{project: l.Project, repo: l.Repo, history: l.history, trees: l.trees, bench: t.bench, file: t.file, tell: l.tell}
	pulls := &pullRequests{
		repo: l.Repo, history: l.history, commands: l.commands, events: l.events, file: t.file,
		environ: l.Environ, asked: l.Asked, tell: l.tell,
	}
	t.delivery = &delivery{
		project: l.Project, repo: l.Repo, history: l.history, tip: t.tip, file: t.file,
		events: l.events, pulls: pulls, tell: l.tell, pushed: since,
	}
	t.undoing = &undoing{
		project: l.Project, repo: l.Repo, history: l.history, settler: t.settler, file: t.file, tip: t.tip, bench: t.bench, tell: l.tell,
	}
	t.resetting = &resetting{project: l.Project, repo: l.Repo, history: l.history, file: t.file, tip: t.tip, undoing: t.undoing}
	return t, nil
}

// permitted returns the commands, with the permission that the person has given by now.
func (l *Lane) permitted() *commands {
	l.commands.trust, l.commands.root = l.Trust, l.TrustRoot
	return l.commands
}

// A turn is one process's time with the queue's lock. What the lock guards is reachable through
// it alone, and begin makes it of the held lock alone.
type turn struct {
	held      *durable.Held
	settler   attempt.Settler
	file      *file
	bench     *bench
	tip       *tip
	line      *line
	alone     map[string]bool // not tested with others
	delivery  *delivery
	undoing   *undoing
	resetting *resetting
}

// settleEnded settles what a worker had decided on when it was killed.
func (l *Lane) settleEnded(ctx context.Context) error {
	live, _, err := l.Project.Runs.Live()
	if err != nil {
		return err
	}
	for _, r := range live {
		if r.Phase != plan.Ended || r.Landing == nil || !l.Project.Has(r) {
			continue
		}
		final, err := l.turn.settler.Settle(ctx, r)
		if err != nil {
			return err
		}
		if final.Outcome == attempt.Done {
			l.tidy(ctx, final)
		}
	}
	return nil
}

// workQueue lands one after the other until nothing in the queue can move.
func (l *Lane) workQueue(ctx context.Context) error {
	for {
		if err := l.followCommands(); err != nil {
			return err
		}
		rec, err := l.turn.line.next(ctx, l.turn.tip.base)
		if err != nil || rec == nil {
			return errors.Join(err, l.turn.delivery.deliver(ctx), l.turn.delivery.commitStateNow(ctx))
		}
		if err := l.turn.delivery.deliverBetween(ctx); err != nil {
			return err
		}
		group, err := l.group(ctx, rec)
		if err == nil {
			err = l.landGroup(ctx, group)
		}
		if err != nil {
			return err
		}
	}
}

func (l *Lane) tell(format string, a ...any) {
	if l.Told != nil {
		l.Told(fmt.Sprintf(format, a...))
	}
}

// short is a commit as people read it.
func short(commit string) string { return commit[:min(len(commit), 10)] }

// followCommands takes over the commands that the configuration names now.
func (l *Lane) followCommands() error {
	if !l.commands.follow() {
		return nil
	}
	return l.turn.bench.leave() // what was made ready was for the others
}

func now() time.Time { return time.Now().UTC() }

// TestBase runs the tests on what slices begin at, if nobody knows how they go there, and says so if they fail.
func (l *Lane) TestBase(ctx context.Context) (red string, err error) {
	err = l.locked(ctx, func(ctx context.Context) error {
		base, err := l.turn.tip.settledBase(ctx)
		if err != nil {
			return err
		}
		v, err := l.turn.bench.baseVerdict(ctx, base)
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

// Reset begins the lane again at the target as it is. What has landed and wasn't delivered stays on the slices' branches; it returns
// these slices, and those that are pending again because nothing has them.
func (l *Lane) Reset(ctx context.Context) (dropped, reopened []string, err error) {
	err = l.locked(ctx, func(ctx context.Context) error {
		dropped, reopened, err = l.turn.resetting.reset(ctx)
		return err
	})
	return dropped, reopened, err
}

// Deliver delivers what has landed, for gl land and the end of a drain, and commits state. The error is nil if another process works
// the lane: it delivers. A person who asks also gets a Standstill where nothing waits to be delivered, as with a target that was reset.
func (l *Lane) Deliver(ctx context.Context) error {
	err := l.locked(ctx, func(ctx context.Context) error {
		if l.turn.file.Tip == "" && len(l.turn.file.Undelivered) == 0 { // nothing has ever landed
			return nil
		}
		reason, err := l.turn.delivery.tryDeliver(ctx)
		if err != nil {
			return err
		}
		var still error
		if reason != "" {
			if err := l.turn.delivery.undelivered(reason); err != nil {
				return err
			}
			if l.Asked && len(l.turn.file.Undelivered) == 0 {
				still = &Standstill{Reason: reason}
			}
		}
		return cmp.Or(l.turn.delivery.commitState(ctx), still)
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
		return errors.Join(l.turn.delivery.deliver(ctx), l.turn.delivery.commitStateNow(ctx))
	})
	if errors.Is(err, errBusy) {
		return nil
	}
	return err
}

// Undo takes a slice back that has landed: its merge is reverted in the lane, what is left is tested, and the slice is pending again.
// With force it also does that where other finished slices need it, or the tests fail without it.
func (l *Lane) Undo(ctx context.Context, id, why string, force bool) (u *Undone, err error) {
	err = l.locked(ctx, func(ctx context.Context) error {
		if err := l.turn.undoing.mayUndo(id, force); err != nil {
			return err
		}
		if u, err = l.turn.undoing.undo(ctx, id, why, force); err != nil {
			return err
		}
		return errors.Join(l.turn.delivery.deliver(ctx), l.turn.delivery.commitState(ctx))
	})
	if errors.Is(err, errBusy) {
		err = fmt.Errorf("another gl works the merge queue: %s. Try again when it is through", l.busy())
	}
	return u, err
}
