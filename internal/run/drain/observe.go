package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// observe brings the drain's picture up to date: what ended, what else runs, what died.
func (d *drain) observe(ctx context.Context, r *Report) error {
	live, _, err := d.Project.Runs.Live()
	if err != nil {
		return err
	}
	now := make(map[string]*attempt.Record, len(live))
	d.elsewhere = nil
	for _, rec := range live {
		now[rec.ID.Name()] = rec
		d.noteOpen(ctx, rec, r)
	}
	for name := range d.open {
		if now[name] == nil {
			d.noteClosed(ctx, name, r)
		}
	}
	d.forgetSettled(now)
	d.heedStop()
	return nil
}

// heedStop ends the drain after gl stop --all. A mark that is gone (git clean -x) stops nobody.
func (d *drain) heedStop() bool {
	if mark := d.Project.Runs.Control.StopMark(); mark == "" || mark == d.stopMark {
		return false
	}
	d.stopping, d.res.Stopped = true, true
	return true
}

// noteOpen takes in an open attempt: one of ours, one to adopt, or one whose wrapper is dead.
func (d *drain) noteOpen(ctx context.Context, rec *attempt.Record, r *Report) {
	name := rec.ID.Name()
	if d.recoveryOf(rec).stuck {
		return
	}
	if !d.Project.Has(rec) {
		d.elsewhere = append(d.elsewhere, rec)
		if d.leads && rec.Life.Dead() { // maybe nobody else is there to settle it
			d.recover(rec, r)
		}
		return
	}
	if d.open[name] != nil {
		d.open[name] = rec
	} else if slices.Contains(d.Adopt, name) {
		d.open[name] = rec
	} else if d.Lead && (!rec.ID.IsTask() || rec.Life.Phase == plan.Queued && !rec.Life.LauncherLives()) { // whoever started a task waits for it
		d.open[name] = rec
		if d.leads && !rec.ID.IsTask() {
			r.Adopted = append(r.Adopted, rec)
		}
	}
	switch {
	case !d.leads:
	case rec.Life.Phase == plan.Claimed && rec.Life.Launcher == proc.Self():
		if time.Since(d.claimedAt[rec.ID.Token]) > startLimit {
			d.failedStart(ctx, rec, r, "its wrapper hasn't started")
		}
	case rec.Life.Dead():
		d.recover(rec, r)
	}
}

// noteClosed takes in that one of ours isn't open any more: it was settled, or given back.
func (d *drain) noteClosed(ctx context.Context, name string, r *Report) {
	was := d.open[name]
	rec, err := d.Project.Runs.Get(was.ID.Slice, was.ID.N)
	var bad *attempt.BadRecord
	switch {
	case errors.As(err, &bad) && bad.Settled:
		d.noteUnknownEnd(was, bad, r)
		return
	case err != nil || rec.Life.Phase != plan.Settled:
		d.noteLost(ctx, was, r)
		return
	}
	delete(d.open, name)
	d.dirty = true
	r.Ended = append(r.Ended, rec)
	d.res.Ended = append(d.res.Ended, rec)
	switch rec.Relaunch() {
	case attempt.Never:
		d.excluded[rec.ID.Slice] = true
	case attempt.Again:
		delete(d.tried, rec.ID.Slice)
		d.dueAgain[rec.ID.Slice] = true
	}
}

// noteUnknownEnd takes in an attempt that is over, nobody here knows how: this drain doesn't launch its slice again.
func (d *drain) noteUnknownEnd(was *attempt.Record, bad *attempt.BadRecord, r *Report) {
	delete(d.open, was.ID.Name())
	d.dirty = true
	d.excluded[was.ID.Slice] = true
	d.res.Ended = append(d.res.Ended, was)
	r.Warnings = append(r.Warnings, fmt.Sprintf("%v. %s isn't launched again by this run. Run gl doctor --fix", bad, was.ID.Label()))
}

// noteLost takes in that an attempt of ours has no record: a claim that was given back, or somebody has cleaned the
// directory. Then what we remember stands in for it: its wrapper writes it anew, and of one that never started we take the
// claim back, which nobody else could tell from somebody's.
func (d *drain) noteLost(ctx context.Context, was *attempt.Record, r *Report) {
	switch {
	case d.recoveryOf(was).running:
	case !was.Life.Phase.Begun() && was.Life.Launcher == proc.Self():
		// As we know it: its wrapper may have started it since. Then it settles the attempt, record or no record.
		if d.wrappers[was.ID.Token] {
			return
		}
		switch err := d.settler.GiveBackLost(ctx, was); {
		case errors.Is(err, attempt.ErrAgentLives):
			return // its wrapper writes the record anew; if that is gone, too, the claim waits for the agent's end
		case err != nil:
			r.Warnings = append(r.Warnings, fmt.Sprintf("the claim of %s can't be given back, trying again: %v", was.ID.Slice, err))
			return
		}
		delete(d.open, was.ID.Name())
		d.dirty = true
		if d.recoveryOf(was).tries == 0 { // somebody has cleaned the directory
			delete(d.tried, was.ID.Slice)
		} else {
			d.countStart(was, r, endedEarly)
		}
	case !was.Life.Phase.Begun():
		delete(d.open, was.ID.Name())
	case was.Life.Dead():
		d.recover(was, r)
	}
}
