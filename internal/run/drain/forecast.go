package drain

import (
	"context"
	"errors"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/forecast"
	"greenlight/internal/workspace/worktree"
)

// The forecast is made beside the loop, like the lane's work: what it finds comes back by a file, which the next plan takes in.

// forecastState is what the drain knows of it.
type forecastState struct {
	forecaster *forecast.Forecaster
	busy       bool
	done       chan error
	cancel     context.CancelFunc
	at         time.Time // when the last one began, or the first slice to run
}

// lookAhead has a forecast made once in each interval, since agents write all the time. What is over sooner costs nothing.
func (d *drain) lookAhead() {
	f := &d.forecastState
	if d.Trees == nil || !d.leads || d.stopping || f.busy || d.Task != nil || d.plan == nil {
		return
	}
	switch {
	case len(d.plan.Lists.Running) == 0:
		f.at = time.Time{}
		return
	case f.at.IsZero():
		f.at = time.Now()
		return
	case time.Since(f.at) < d.Interval:
		return
	}
	works := d.works()
	f.at = time.Now()
	if len(works) == 0 {
		return
	}
	if f.forecaster == nil {
		f.forecaster = &forecast.Forecaster{Repo: d.Trees, Age: 2 * d.Interval}
	}
	ctx, cancel := context.WithCancel(d.life)
	f.busy, f.cancel = true, cancel
	runs := d.Project.Runs.Dir()
	go func() {
		defer cancel()
		list, err := f.forecaster.Find(ctx, works)
		if err == nil {
			err = forecast.Write(runs, list)
		}
		f.done <- err
	}()
}

// works is what there is to compare: running slices, what awaits the lane, and ready ones that have been worked on. There is nothing
// as long as none runs.
func (d *drain) works() (works []forecast.Work) {
	running := false
	for i := range d.plan.States {
		st := &d.plan.States[i]
		if st.Attempt == nil || st.Class != plan.Active && st.Class != plan.Landing && (st.Class != plan.Available || len(st.Needs) > 0) {
			continue
		}
		l, err := d.Trees.Get(d.Project.Key(), st.ID)
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

func (d *drain) forecastOver(err error) {
	d.forecastState.busy = false
	if err != nil && !errors.Is(err, context.Canceled) {
		d.Trace("no forecast: %v", err)
	}
}

// stopForecast ends the one that is being made.
func (d *drain) stopForecast() {
	if d.forecastState.busy {
		d.forecastState.cancel()
		d.forecastOver(<-d.forecastState.done)
	}
}
