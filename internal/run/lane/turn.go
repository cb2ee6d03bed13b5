package lane

import (
	"context"
	"errors"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A turn is one process's time with the queue's lock. What the lock guards (lane.json, the queue's
// branch, its worktree, the verdicts of this turn) is reachable through a turn alone, and only
// Queue.lock makes one.
type turn struct {
	held     *durable.Held
	project  *project.Project
	repo     *worktree.Repo
	commands *commands
	settler  attempt.Settler
	file     *file
	fleet    *fleet

	line      *line
	tip       *branchTip
	bench     *bench
	cleanup   *cleanup
	merging   *merging
	cars      *cars
	batching  *batching
	delivery  *delivery
	undoing   *undoing
	resetting *resetting
	checking  *checking
}

// locked runs f in a turn, after finishing what a worker that was killed has left.
func (q *Queue) locked(ctx context.Context, f func(context.Context, *turn) error) (err error) {
	t, err := q.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	if err := t.recover(ctx); err != nil {
		return err
	}
	return f(ctx, t)
}

// lock takes the queue's lock. The lock is in the git directory that all worktrees share, since
// runs/ may be removed, and isn't inherited by tests.
func (q *Queue) lock(ctx context.Context) (*turn, error) {
	held, err := durable.TryLock(q.Repo.Queue.LockFile())
	if errors.Is(err, durable.ErrLocked) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	t := &turn{held: held, project: q.Project, repo: q.Repo, commands: q.permitted(),
		settler: q.Project.Settler()}
	since := now()
	t.commands.follow()
	if t.file, err = openFile(ctx, q.Project, q.Repo, q.tells()); err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	q.furnish(t, since)
	return t, nil
}

// furnish makes the turn's parts in the order in which they depend on each other.
func (q *Queue) furnish(t *turn, since time.Time) {
	pr, repo, tell, read := t.project, t.repo, q.tells(), q.Reader
	t.fleet = &fleet{
		project: pr, repo: repo, commands: t.commands, tell: q.notes(),
		unfit: map[string]time.Time{}, red: map[string]string{}, took: map[string]time.Duration{},
	}
	t.line = &line{project: pr, settler: t.settler, commands: t.commands, tell: tell,
		stuck: map[string]string{}}
	t.bench = &bench{
		project: pr, repo: repo, commands: t.commands, trees: read.trees, file: t.file,
		events: q.events, tell: tell, since: since, seen: map[testrun.Key]*testrun.Verdict{},
	}
	t.bench.bed = &bed{
		project: pr, repo: repo, self: q.Self, environ: q.Environ, commands: t.commands, tell: tell,
		name: "lane", lineage: repo.Lineages.Lane, trees: read.trees, manifests: t.file.Manifests,
		started: t.bench.started, setUp: t.bench.setUp, fleet: t.fleet,
	}
	t.tip = &branchTip{
		project: pr, repo: repo, history: read.history, trees: read.trees, bench: t.bench,
		file: t.file, tell: tell,
	}
	t.cleanup = &cleanup{
		project: pr, repo: repo, self: q.Self, environ: q.Environ, commands: t.commands, tell: tell,
	}
	t.merging = &merging{
		project: pr, repo: repo, settler: t.settler, file: t.file, line: t.line, tip: t.tip,
		bench: t.bench, trees: read.trees, inspect: read.inspect, commands: t.commands,
		events: q.events, cleanup: t.cleanup, tell: tell,
	}
	t.batching = &batching{
		project: pr, repo: repo, settler: t.settler, line: t.line, tip: t.tip, bench: t.bench,
		commands: t.commands, events: q.events, merging: t.merging, tell: tell,
		alone: map[string]bool{},
	}
	t.cars = q.newCars(t)
	pulls := &pullRequests{
		repo: repo, history: read.history, commands: t.commands, events: q.events, file: t.file,
		environ: q.Environ, asked: q.Asked, tell: tell,
	}
	t.delivery = &delivery{
		project: pr, repo: repo, history: read.history, tip: t.tip, file: t.file,
		events: q.events, pulls: pulls, tell: tell, pushed: since,
	}
	t.cars.delivery = t.delivery
	t.undoing = &undoing{
		project: pr, repo: repo, history: read.history, settler: t.settler, file: t.file,
		tip: t.tip, bench: t.bench, tell: tell,
	}
	t.resetting = &resetting{project: pr, repo: repo, history: read.history, file: t.file,
		tip: t.tip, undoing: t.undoing}
	t.checking = &checking{
		project: pr, repo: repo, history: read.history, trees: read.trees, inspect: read.inspect,
		bench: t.bench, recheck: q.recheck,
	}
}

// end gives up the queue's worktrees, then the lock.
func (t *turn) end() error {
	return errors.Join(t.bench.leave(), t.cars.beds.leave(), t.held.Unlock())
}

// recover finishes what a worker that was killed has left.
func (t *turn) recover(ctx context.Context) error {
	if err := errors.Join(t.bench.endTests(), t.cars.beds.endTests()); err != nil {
		return err
	}
	if err := errors.Join(git.Mend(t.repo.Git.Common), t.repo.Queue.DropLostNext(ctx)); err != nil {
		return err
	}
	if err := t.settleEnded(ctx); err != nil {
		return err
	}
	if err := t.undoing.finishUndo(ctx); err != nil {
		return err
	}
	return t.undoing.undoAgain(ctx)
}

// settleEnded settles the attempts that a worker had decided on when it was killed.
func (t *turn) settleEnded(ctx context.Context) error {
	live, _, err := t.project.Runs.Live()
	if err != nil {
		return err
	}
	for _, r := range live {
		if r.Life.Phase != plan.Ended || r.Landing == nil || !t.project.Has(r) {
			continue
		}
		final, err := t.settler.Settle(ctx, r)
		if err != nil {
			return err
		}
		if final.Judged.Outcome == outcome.Done {
			t.cleanup.tidy(ctx, final)
		}
	}
	return nil
}

// workQueue lands attempts one after the other, or tests them side by side, until none in the queue
// can move.
func (t *turn) workQueue(ctx context.Context) error {
	for {
		if err := t.followCommands(); err != nil {
			return err
		}
		rec, err := t.line.next(ctx, t.tip.base)
		if err != nil || rec == nil {
			return errors.Join(err, t.delivery.deliver(ctx), t.delivery.commitStateNow(ctx))
		}
		if err := t.delivery.deliverBetween(ctx); err != nil {
			return err
		}
		if moved, err := t.cars.work(ctx); err != nil {
			return err
		} else if moved {
			continue
		}
		group, err := t.batching.group(ctx, rec)
		if err == nil {
			err = t.batching.landGroup(ctx, group)
		}
		if err != nil {
			return err
		}
	}
}

// followCommands takes over the commands that the configuration names now, and gives up the
// worktrees, which were set up by the old ones.
func (t *turn) followCommands() error {
	if !t.commands.follow() {
		return nil
	}
	t.cars.width.follow()
	return errors.Join(t.bench.leave(), t.cars.beds.leave())
}
