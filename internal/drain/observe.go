package drain

import (
	"context"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/plan"
	"greenlight/internal/proc"
)

// observe brings the drain's picture up to date: what ended, what else runs, what died.
func (d *drain) observe(ctx context.Context, r *Report) error {
	live, _, err := d.Project.Runs.Live()
	if err != nil {
		return err
	}
	now := make(map[string]*attempt.Record, len(live))
	d.guests = nil
	for _, rec := range live {
		now[rec.Name()] = rec
		d.meet(ctx, rec, r)
	}
	for name := range d.open {
		if now[name] == nil {
			d.part(ctx, name, r)
		}
	}
	if d.Project.Runs.StopMark() != d.stopMark {
		d.stopping, d.res.Stopped = true, true
	}
	return nil
}

// meet handles an open attempt: one of ours, one to adopt, or one whose wrapper is dead.
func (d *drain) meet(ctx context.Context, rec *attempt.Record, r *Report) {
	name := rec.Name()
	if d.stuck[name] {
		return
	}
	if !d.Project.Has(rec) {
		d.guests = append(d.guests, rec)
		if d.leads && !d.recovering[name] && rec.State() == proc.Dead { // maybe nobody else is there to do it
			d.recover(ctx, rec)
		}
		return
	}
	if d.open[name] != nil {
		d.open[name] = rec
	} else if d.Lead && !rec.IsTask() { // who started a task waits for it
		d.open[name] = rec
		if d.leads {
			r.Adopted = append(r.Adopted, rec)
		}
	}
	switch {
	case !d.leads || d.recovering[name]:
	case rec.Phase == plan.Claimed && rec.Launcher == proc.Self():
		if time.Since(rec.ClaimedAt) > startLimit {
			d.misfire(ctx, rec, r, "its wrapper hasn't started")
		}
	case rec.State() == proc.Dead:
		d.recover(ctx, rec)
	}
}

// recover settles a dead attempt beside the loop: ending its orphaned agent can take seconds.
func (d *drain) recover(ctx context.Context, rec *attempt.Record) {
	name := rec.Name()
	d.recovering[name] = true
	go func() {
		settler := d.Project.Whose(rec).Settler()
		final, err := settler.Recover(ctx, rec)
		d.recovered <- recovery{name, final, err}
	}()
}

// part handles one of ours that isn't open any more: settled, or given back.
func (d *drain) part(ctx context.Context, name string, r *Report) {
	rec, err := d.Project.Runs.Get(d.open[name].Slice, d.open[name].N)
	if err != nil || rec.Phase != plan.Settled {
		d.missing(ctx, name)
		return
	}
	delete(d.open, name)
	d.dirty = true
	r.Ended = append(r.Ended, rec)
	d.res.Ended = append(d.res.Ended, rec)
	switch rec.Outcome {
	case plan.Interrupted:
		d.excluded[rec.Slice] = true
	case plan.HeldOut, plan.Advanced:
		delete(d.tried, rec.Slice)
		d.owed[rec.Slice] = true
	}
}

// missing handles an attempt of ours without a record: a claim that was given back, or somebody has cleaned the
// directory. Then what we remember stands in for it, and its wrapper writes it anew when it settles.
func (d *drain) missing(ctx context.Context, name string) {
	rec := d.open[name]
	switch {
	case d.recovering[name]:
	case rec.Phase == plan.Claimed:
		delete(d.open, name)
	case rec.State() == proc.Dead:
		d.recover(ctx, rec)
	}
}
