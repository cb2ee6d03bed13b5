package drain

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/runner"
)

// wait sleeps until there may be something to do; stop says that the drain is to end at once.
func (d *drain) wait(ctx context.Context) (stop bool, err error) {
	interval := time.NewTimer(d.nextLook())
	defer interval.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-d.watch.News:
			return false, nil
		case e := <-d.Runner.Exits():
			delete(d.wrappers, e.Token)
			if d.exited(e) {
				return false, nil
			}
		case e := <-d.recovered:
			var r Report
			d.afterRecovery(e, &r)
			d.report(r)
			return false, nil
		case err := <-d.laneState.done:
			d.laneOver(err)
			return false, nil
		case err := <-d.forecastState.done:
			d.forecastOver(err)
			return false, nil
		case l := <-d.succession:
			return false, d.takeOver(l)
		case sig := <-d.Signals:
			return d.signaled(ctx, sig), nil
		case <-ticker.C:
			if d.someoneDied() || d.watch.Blind || d.watch.Renew(d.Project.Runs) {
				return false, nil
			}
			var r Report
			d.noteSpace(&r)
			d.report(r)
		case <-interval.C:
			return false, nil
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
}

// nextLook is the time until something is due by itself.
func (d *drain) nextLook() time.Duration {
	next := d.Interval
	if !d.ignoresHold() {
		for _, h := range d.plan.InEffect() {
			next = min(next, time.Until(h.Until))
		}
	}
	if d.inDoubt() || !d.unread.IsZero() {
		next = min(next, settleTime)
	}
	if !d.permission.since.IsZero() {
		next = min(next, lookAgain)
	}
	if d.dirty {
		next = min(next, max(calm, min(time.Until(d.refreshAt), behind)))
	}
	if d.Stagger > 0 {
		if rest := d.Stagger - time.Since(d.lastLaunch); rest > 0 {
			next = min(next, rest)
		}
	}
	return max(d.nextTry(next), time.Millisecond)
}

// someoneDied looks at the processes only. A wrapper that ends in its own time tells through the files; one that was
// killed tells nobody.
func (d *drain) someoneDied() bool {
	died := func(rec *attempt.Record) bool { return d.recoveryOf(rec).mayTry() && rec.Life.Dead() }
	for _, rec := range d.open {
		if died(rec) {
			return true
		}
	}
	return d.leads && slices.ContainsFunc(d.elsewhere, died)
}

// endedEarly is why an agent never ran whose wrapper is gone.
const endedEarly = "its gl process ended before the agent started"

// exited handles a wrapper of ours that is gone. Almost always it has settled its attempt, and we have seen that; else
// there is something to look at.
func (d *drain) exited(e runner.Exit) (look bool) {
	if e.Record != nil { // with its record gone in the next instant, we know still who it is
		if was := d.open[e.Record.ID.Name()]; was != nil && was.ID.Token == e.Token && was.Life.Phase == plan.Claimed {
			d.open[e.Record.ID.Name()] = e.Record
		}
		return false
	}
	rec, err := d.Project.Runs.Get(e.Slice, e.N)
	if err == nil && rec.Life.Phase == plan.Settled && d.open[rec.ID.Name()] == nil {
		return false
	}
	if err != nil || rec.ID.Token != e.Token || rec.Life.Phase != plan.Claimed || rec.Life.Launcher != proc.Self() {
		return true
	}
	why := endedEarly
	if e.Err != nil {
		why += ": " + e.Err.Error()
	}
	d.notStarted = append(d.notStarted, notStarted{rec, why})
	return true
}

func (d *drain) takeOver(s succession) error {
	d.succession = nil
	if s.err != nil {
		return s.err
	}
	d.lock, d.leads = s.lock, true
	d.tellStart()
	d.report(Report{TookOver: true})
	return nil
}

// signaled is the first Ctrl-C, or a later one: in the foreground it ends the attempts, the second at once; else the
// agents go on without us.
func (d *drain) signaled(ctx context.Context, sig os.Signal) (stop bool) {
	first := d.res.Signal == nil
	if first {
		d.res.Signal = sig
	}
	d.stopping = true
	if !d.Foreground {
		return true
	}
	for _, rec := range d.open {
		if first {
			go d.settler.Stop(ctx, rec)
		} else if rec.Life.Wrapper != nil {
			rec.Life.Wrapper.Signal(syscall.SIGTERM)
		}
	}
	return false
}
