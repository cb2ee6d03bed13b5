// Package lane merges, tests and delivers what agents call complete: only what passes its tests here makes a slice complete. It
// works the queue of attempts in phase landing, one at a time, and owns the lane's file, its worktree and the lane's ref. It
// starts no agent: what it sends back, a drain launches again. docs/lane.md is the design.
//
// Whatever is killed, the next worker finds out by the records and git's refs how far things are.
package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/tracker"
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
	var stuck map[string]string
	turn := func(ctx context.Context) error { stuck = l.turn.stuck; return l.workQueue(ctx) }
	for {
		before, err := l.queue()
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
		after, err := l.queue()
		if err != nil || !slices.ContainsFunc(after, func(r *attempt.Record) bool { _, is := stuck[r.Name()]; return !is }) {
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
	if err := l.finishUndo(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.turn.bench.leave()) }()
	if err := l.undoAgain(ctx); err != nil {
		return err
	}
	return f(ctx)
}

// begin returns the turn of the process that holds the lock.
func (l *Lane) begin(ctx context.Context, held *durable.Held) (*turn, error) {
	t := &turn{held: held, settler: l.Project.Settler(), stuck: map[string]string{}, alone: map[string]bool{}, pushed: now()}
	l.permitted().follow()
	var err error
	if t.file, err = openFile(ctx, l.Project, l.Repo, l.tell); err != nil {
		return nil, err
	}
	t.bench = &bench{
		project: l.Project, repo: l.Repo, self: l.Self, environ: l.Environ, commands: l.commands, trees: l.trees, file: t.file,
		events: l.events, tell: l.tell, since: t.pushed, seen: map[testrun.Key]*testrun.Verdict{},
	}
	t.tip = &tip{project: l.Project, repo: l.Repo, history: l.history, trees: l.trees, bench: t.bench, file: t.file, tell: l.tell}
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
	held    *durable.Held
	settler attempt.Settler
	file    *file
	bench   *bench
	tip     *tip
	stuck   map[string]string
	alone   map[string]bool // not tested with others
	between bool            // something in the queue is about to be tested
	pushed  time.Time       // of pull requests: when what has landed was delivered last
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
		rec, err := l.next(ctx)
		if err != nil || rec == nil {
			return errors.Join(err, l.deliver(ctx), l.commitStateNow(ctx))
		}
		if err := l.deliverBetween(ctx); err != nil {
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

// commitStateNow is commitState, but not again and again.
func (l *Lane) commitStateNow(ctx context.Context) error {
	switch at := now(); {
	case l.turn.file.Committed == nil: // the first time is at the drain's end, or after a while
		l.turn.file.Committed = &at
		return l.turn.file.save()
	case at.Sub(*l.turn.file.Committed) < stateEvery:
		return nil
	}
	return l.commitState(ctx)
}

// queue is what awaits this lane: the project may have items of another system, which are for another.
func (l *Lane) queue() ([]*attempt.Record, error) {
	queue, err := l.Project.Runs.Queue()
	return slices.DeleteFunc(queue, func(r *attempt.Record) bool { return !l.Project.Has(r) }), err
}

// isStuck says whether the attempt was found unable to move.
func (l *Lane) isStuck(r *attempt.Record) bool { _, stuck := l.turn.stuck[r.Name()]; return stuck }

// next is the first of the queue that may move, nil for none.
func (l *Lane) next(ctx context.Context) (*attempt.Record, error) {
	queue, err := l.queue()
	if err != nil {
		return nil, err
	}
	planned := sync.OnceValues(func() (*plan.Plan, error) { return l.Project.Plan(now(), l.Project.Options()) })
	base := ""
	for _, r := range queue {
		if l.isStuck(r) {
			continue
		}
		if r.Landing.Tried == "" && r.Landing.Behind == "" {
			return r, nil
		}
		if base == "" {
			base, err = l.turn.tip.base(ctx)
			if errors.As(err, new(*Standstill)) { // said of each
				return r, nil
			}
			if err != nil {
				return nil, err
			}
		}
		behind := r.Landing.Behind != "" && l.isResolving(r.Landing.Behind, planned)
		if !behind && (r.Landing.Behind != "" || r.Landing.Tried != base) {
			return r, nil
		}
		l.turn.stuck[r.Name()] = r.LandingText()
	}
	return nil, nil
}

// isResolving says whether an agent is at work on a slice, or a task, because of a conflict, or is about to be. planned is asked for the plan
// only where that depends on it.
func (l *Lane) isResolving(work string, planned func() (*plan.Plan, error)) bool {
	all, err := l.Project.Runs.AttemptsAt(work)
	if err != nil || len(all) == 0 {
		return false
	}
	last := all[0]
	if last.Phase != plan.Settled {
		return last.Mends()
	}
	switch {
	case last.Outcome != attempt.Conflict || last.Retried || !last.PlanOutcome().Continue:
		return false
	case last.IsTask(): // who started it has it go on, and nobody else
		return last.LauncherLives()
	}
	// What it needs may have been taken back, and may itself be in the queue: they would wait for each other.
	p, err := planned()
	if err != nil {
		return false
	}
	st := p.State(work)
	return st != nil && st.Class == plan.Available && len(st.Needs) == 0
}

// wait leaves the attempt in the queue, with the reason.
func (l *Lane) wait(ctx context.Context, r *attempt.Record, why error) error {
	reason := why.Error()
	l.turn.stuck[r.Name()] = reason
	return l.turn.settler.Wait(ctx, r, func(g *attempt.Landing) {
		g.Step, g.Reason, g.Barred = "", reason, errors.As(why, new(*trust.Error))
	})
}

// step says what is done with the attempt, and about how long that takes, 0 for unknown. gone is for one that isn't in the queue any more.
func (l *Lane) step(ctx context.Context, r *attempt.Record, what string, takes time.Duration) (gone bool, err error) {
	l.tell("%s: %s", r.Label(), what)
	now, err := l.turn.settler.Proceed(ctx, r, func(r *attempt.Record) {
		g := r.Landing
		g.Step, g.Takes, g.Reason, g.Barred, g.Behind, g.Tried = what, takes.Seconds(), "", false, "", ""
	})
	if now != nil {
		r.Landing = now.Landing
	}
	return now == nil && err == nil, err
}

// finish settles an attempt that is through.
func (l *Lane) finish(ctx context.Context, r *attempt.Record, res attempt.LandingResult) error {
	if r.Accepted() && res.Outcome.Traits().Claimed { // nobody else is there to put it right
		ask := tracker.Ask
		res.Effect = &ask
	}
	final, err := l.turn.settler.EndLanding(ctx, r, res)
	if final != nil {
		l.tell("%s %s", r.Label(), final.Outcome.Text(final.Detail))
	}
	return err
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
