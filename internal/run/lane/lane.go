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
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/drift"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

// A Lane is a project's lane as one process works it.
type Lane struct {
	Project   *project.Project
	Repo      *worktree.Repo
	Self      string            // path of gl
	Environ   []string          // of setup and tests
	Trust     trust.Store       // what the person has allowed: nothing else of the configuration is run
	TrustRoot string            // the project for which they have: this one, or the one that this is a copy of
	Told      func(line string) // progress, for people; nil for nobody
	Asked     bool              // a person has asked: what waits for its time, or for a person, is done now

	conf     *project.Project // Project with the commands that the configuration names now
	settler  attempt.Settler
	file     *file      // while the lock is held
	bed      *site.Site // the lane's worktree, once it is needed
	caches   []string   // in it, of earlier runs: see worktree.Caches
	since    time.Time  // when this process took the lane
	stuck    map[string]string
	seen     map[testrun.Key]*testrun.Verdict // how tests went since
	alone    map[string]bool                  // not tested with others
	batch    []*work                          // what is tested together now
	ahead    *ahead                           // the lane merged with the target, where both have moved
	between  bool                             // something in the queue is about to be tested
	pushed   time.Time                        // of pull requests: when what has landed was delivered last
	compares *drift.Comparer                  // see comparer
	listed   []listing                        // what is in commits and trees, the last at the end

	toldSince time.Time      // the reason that the journal has: file.Since
	median    *time.Duration // how long tests take, once it was asked for
}

// Open is the lane of a project. The error is a *worktree.Unavailable where there can be none.
func Open(ctx context.Context, pr *project.Project, self string, environ []string) (*Lane, error) {
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	return &Lane{Project: pr, conf: pr, Repo: repo, Self: self, Environ: environ}, nil
}

// errBusy says that another process works the lane.
var errBusy = errors.New("another gl works the merge queue")

// peek is longer than a look at the lane's lock takes.
const peek = 20 * time.Millisecond

// Work lands what can land, and delivers it. If another process works the lane, it returns at once: that process looks at
// the queue once more before it gives the lane up. ctx ends it; what is in the queue then stays there.
func (l *Lane) Work(ctx context.Context) error {
	for {
		before, err := l.queue()
		if err != nil || len(before) == 0 {
			return err
		}
		err = l.locked(ctx, l.workQueue)
		for range 3 { // it may have been a look at the lock: see durable.Holder
			if !errors.Is(err, errBusy) {
				break
			}
			time.Sleep(peek)
			err = l.locked(ctx, l.workQueue)
		}
		if errors.Is(err, errBusy) {
			return nil
		}
		if err != nil {
			return err
		}
		after, err := l.queue()
		if err != nil || !slices.ContainsFunc(after, func(r *attempt.Record) bool { return !l.isStuck(r) }) {
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

// locked runs f with the lane's lock. It is in the git directory that all worktrees share, since runs/ may be removed, and isn't
// inherited by tests.
func (l *Lane) locked(ctx context.Context, f func(context.Context) error) (err error) {
	lock, err := durable.TryLock(l.Repo.LaneLock())
	if errors.Is(err, durable.ErrLocked) {
		return errBusy
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	l.settler, l.stuck, l.since = l.Project.Settler(), map[string]string{}, now()
	l.seen, l.alone = map[testrun.Key]*testrun.Verdict{}, map[string]bool{}
	l.ahead, l.pushed = nil, l.since
	if err = l.follow(); err != nil {
		return err
	}
	if l.file, err = l.readFile(ctx); err != nil {
		return err
	}
	if err := l.endTests(); err != nil {
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
	defer func() { err = errors.Join(err, l.leave()) }()
	if err := l.undoAgain(ctx); err != nil {
		return err
	}
	return f(ctx)
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
		final, err := l.settler.Settle(ctx, r)
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
		if err := l.follow(); err != nil {
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
	case l.file.Committed == nil: // the first time is at the drain's end, or after a while
		l.file.Committed = &at
		return l.save()
	case at.Sub(*l.file.Committed) < stateEvery:
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
func (l *Lane) isStuck(r *attempt.Record) bool { _, stuck := l.stuck[r.Name()]; return stuck }

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
			base, err = l.base(ctx)
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
		l.stuck[r.Name()] = r.LandingText()
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
	l.stuck[r.Name()] = reason
	return l.settler.Wait(ctx, r, func(g *attempt.Landing) {
		g.Step, g.Reason, g.Barred = "", reason, errors.As(why, new(*trust.Error))
	})
}

// step says what is done with the attempt, and about how long that takes, 0 for unknown. gone is for one that isn't in the queue any more.
func (l *Lane) step(ctx context.Context, r *attempt.Record, what string, takes time.Duration) (gone bool, err error) {
	l.tell("%s: %s", r.Label(), what)
	now, err := l.settler.Proceed(ctx, r, func(r *attempt.Record) {
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
	final, err := l.settler.EndLanding(ctx, r, res)
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

// target is the target's commit.
func (l *Lane) target(ctx context.Context) (string, error) {
	tip, err := git.ResolveCommit(ctx, l.Repo.Common, l.Repo.Target())
	if err == nil && tip == "" {
		err = fmt.Errorf("the branch %s, which the work is for, is gone: name another with gl settings set git.target BRANCH", worktree.Short(l.Repo.Target()))
	}
	return tip, err
}

// follow takes over the commands that the configuration names now.
func (l *Lane) follow() error {
	again := l.conf.Again(l.Trust.Allows(l.TrustRoot))
	if again == l.conf {
		return nil
	}
	l.conf, l.median = again, nil
	return l.leave() // what was made ready was for the others
}

// allowed refuses to run what the person hasn't allowed.
func (l *Lane) allowed(ctx context.Context) error {
	commands, err := l.conf.MustAllow().ForQueue(ctx)
	if err != nil {
		return err
	}
	if found := statedir.Repositories(l.Project.Root); l.conf.Config.Sandbox == attempt.SandboxBwrap && len(found) > 0 {
		return fmt.Errorf("%s is a git repository, which an agent may have made: any git there runs what its configuration names. Remove it (rm -r %s)", found[0], found[0])
	}
	return l.Trust.Check(l.TrustRoot, commands)
}

func now() time.Time { return time.Now().UTC() }
