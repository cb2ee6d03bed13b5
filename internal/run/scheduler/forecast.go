package scheduler

import (
	"context"
	"errors"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/forecast"
	"greenlight/internal/workspace/worktree"
)

// foresight forecasts conflicts beside the loop. Its findings come back by a file, which the next
// plan takes in.
type foresight struct {
	repo     *worktree.Repo // nil if there is nothing to forecast: no worktrees, or a task
	system   string
	runs     string // the directory of the attempts
	interval time.Duration
	trace    func(format string, a ...any)
	life     context.Context // of the run

	forecaster *forecast.Forecaster
	busy       bool
	done       chan error
	cancel     context.CancelFunc
	at         time.Time // when the last forecast began, or the first slice to run
}

func newForesight(ctx context.Context, cfg *Config) *foresight {
	f := &foresight{
		system: cfg.Project.Key(), runs: cfg.Project.Runs.Files.Dir(),
		interval: cfg.Pace.Interval, trace: cfg.Output.Trace, life: ctx, done: make(chan error, 1),
	}
	if repo := cfg.Tools.Trees; repo != nil && cfg.Scope.Task == nil {
		f.repo = repo
		f.forecaster = &forecast.Forecaster{Repo: repo, Age: 2 * f.interval}
	}
	return f
}

// look begins a forecast once in each interval, since agents write all the time. Work that is over
// sooner costs nothing.
func (f *foresight) look(p *plan.Plan) {
	if f.repo == nil || f.busy {
		return
	}
	switch {
	case len(p.Lists.Running) == 0:
		f.at = time.Time{}
		return
	case f.at.IsZero():
		f.at = time.Now()
		return
	case time.Since(f.at) < f.interval:
		return
	}
	works := f.works(p)
	f.at = time.Now()
	if len(works) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(f.life)
	f.busy, f.cancel = true, cancel
	forecaster, runs, done := f.forecaster, f.runs, f.done
	go func() {
		defer cancel()
		list, err := forecaster.Find(ctx, works)
		if err == nil {
			err = forecast.Write(runs, list)
		}
		done <- err
	}()
}

// works returns what there is to compare: running slices, those in the merge queue, and ready ones
// that have been worked on. Without a running slice there is nothing.
func (f *foresight) works(p *plan.Plan) (works []forecast.Work) {
	running := false
	for i := range p.States {
		st := &p.States[i]
		begun := st.Class == plan.Active || st.Class == plan.Landing
		ready := st.Class == plan.Available && len(st.Needs) == 0
		if st.Attempt == nil || !begun && !ready {
			continue
		}
		l, err := f.repo.Lineages.Get(f.system, st.ID)
		if err != nil || l.Phase != worktree.Ready && l.Phase != worktree.Filled {
			continue
		}
		runs := st.Class == plan.Active && st.Attempt.Live()
		running = running || runs
		works = append(works, forecast.Work{Slice: st.ID, Lineage: l, Running: runs})
	}
	if !running {
		return nil
	}
	return works
}

// over takes in the end of a forecast.
func (f *foresight) over(err error) {
	f.busy = false
	if err != nil && !errors.Is(err, context.Canceled) {
		f.trace("no forecast: %v", err)
	}
}

// stop ends the forecast that is being made.
func (f *foresight) stop() {
	if f.busy {
		f.cancel()
		f.over(<-f.done)
	}
}
