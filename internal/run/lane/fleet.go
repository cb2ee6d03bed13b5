package lane

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/run/workers"
	"greenlight/internal/workspace/worktree"
)

// A fleet decides for a turn which tests run here and which on workers: see test.where.
type fleet struct {
	project  *project.Project
	repo     *worktree.Repo
	commands *commands
	tell     func(format string, a ...any)

	mu    sync.Mutex
	width int                      // how many tests may run here at once
	here  int                      // tests that run here
	away  int                      // tests that run on workers
	used  bool                     // tests have run on workers
	unfit map[string]time.Time     // workers that get no tests until then
	red   map[string]string        // by tree: the worker on which its tests failed
	took  map[string]time.Duration // by worker, "" for here: the last green run
}

func (f *fleet) where() string { return f.commands.conf.Config.Test.Where }

// waitForPlace is between two looks for a place where tests can run.
const waitForPlace = 200 * time.Millisecond

// How long a worker gets no tests after it has lost some, and after what failed there has passed
// here.
const (
	afterLoss       = time.Minute
	afterDifference = time.Hour
)

// place returns the worker for the tests of a tree, nil for this machine, and waits until there is
// room. left gives the place up.
func (f *fleet) place(ctx context.Context, tree string) (w *workers.Worker,
	left func(), err error) {
	for {
		f.mu.Lock()
		w, busy := f.choose(ctx, tree)
		room := f.here == 0 || f.here < f.width
		switch {
		case w != nil:
			f.away++
			f.used = true
			f.mu.Unlock()
			return w, func() { f.leave(&f.away) }, nil
		case room && !(busy && f.where() == project.WhereWorkers):
			f.here++
			f.mu.Unlock()
			return nil, func() { f.leave(&f.here) }, nil
		}
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(waitForPlace):
		}
	}
}

func (f *fleet) leave(count *int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*count--
}

// choose returns the worker for a tree; nil for none. busy says that one may have room soon. What
// failed on a worker is repeated here, or on another worker if tests are to run on workers alone.
func (f *fleet) choose(ctx context.Context, tree string) (w *workers.Worker, busy bool) {
	failedOn, where := f.red[tree], f.where()
	if where == project.WhereHere || failedOn != "" && where == project.WhereAuto {
		return nil, false
	}
	list, load := f.workers()
	if list.Slots() == 0 {
		return nil, false
	}
	needs, err := f.needs(ctx)
	if err != nil {
		f.tell("tests run here: %v", err)
		return nil, false
	}
	wish := remote.Wish{Needs: needs}
	w, c := list.Without(failedOn).Choose(wish, load)
	if w == nil {
		w, c = list.Choose(wish, load)
	}
	if w == nil {
		return nil, len(c.Lacks) == 0
	}
	there, here := f.took[w.Name], f.took[""]
	if where == project.WhereAuto && f.here == 0 && there > here && here > 0 {
		return nil, false
	}
	return w, false
}

// workers returns the workers that may get tests, and how many jobs each has.
func (f *fleet) workers() (*workers.List, map[string]int) {
	runs := f.project.Runs
	list, err := workers.Read(runs.Files.Dir())
	if err != nil || !list.Serving() {
		return &workers.List{}, nil
	}
	for name, until := range f.unfit {
		if now().Before(until) {
			list = list.Without(name)
		}
	}
	live, _, _ := runs.Live() // what can't be read takes no slot
	return list, workers.Busy(runs.Files.Dir(), live)
}

func (f *fleet) needs(ctx context.Context) (remote.Needs, error) {
	conf := f.commands.conf.Config
	files, err := workers.Files(ctx, f.repo.Git.Top)
	needs := remote.Needs{Files: files, Caches: conf.Caches}
	if conf.Sandbox == attempt.SandboxBwrap {
		needs.Sandbox = conf.Sandbox
	}
	return needs, err
}

// room returns how many tests more than here can run at once, those that run on workers included.
func (f *fleet) room() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.where() == project.WhereHere {
		return 0
	}
	list, load := f.workers()
	free := list.Slots()
	for _, n := range load {
		free -= n
	}
	return max(0, free) + f.away
}

// unused reports whether no tests have run on workers: those here were beside each other alone.
func (f *fleet) unused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.used
}

// allow sets how many tests may run here at once.
func (f *fleet) allow(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.width = n
}

// ended takes in tests that ran on a worker, and reports whether their verdict counts.
func (f *fleet) ended(ctx context.Context, w *workers.Worker, v *testrun.Verdict, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return true
	case err != nil:
		why := err.Error()
		if lost := new(executor.LostError); errors.As(err, &lost) {
			why = lost.Why
		}
		f.tell("no tests on worker %s for %s: %s", w.Name, plan.Age(afterLoss), why)
		f.unfit[w.Name] = now().Add(afterLoss)
		return false
	case v.Signal != "", v.TimedOut && f.where() == project.WhereAuto:
		f.tell("no tests on worker %s for %s: they ended with %s", w.Name, plan.Age(afterLoss),
			cmp.Or(v.Signal, "no result in "+plan.Age(f.commands.conf.Config.Test.Limit)))
		f.unfit[w.Name] = now().Add(afterLoss)
		return false
	case v.Green():
		f.took[w.Name] = v.Duration()
	default:
		f.red[v.Tree] = w.Name
	}
	return true
}

// endedHere takes in tests that ran on this machine. A worker on which the same failed lacks
// something that is here.
func (f *fleet) endedHere(v *testrun.Verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !v.Green() {
		return
	}
	f.took[""] = v.Duration()
	if w := f.red[v.Tree]; w != "" {
		delete(f.red, v.Tree)
		f.unfit[w] = now().Add(afterDifference)
		f.tell("no tests on worker %s for %s: they failed there and pass here", w, plan.Age(afterDifference))
	}
}
