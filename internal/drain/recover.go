package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/project"
)

const (
	recoverTries = 3           // times that this drain tries to settle one dead attempt
	recoverPause = time.Second // after the first try; it doubles
)

// A recovery is what this drain has done to settle an attempt whose wrapper is dead. Every way to a recovery goes through
// it, so that none can be taken again and again without a pause.
type recovery struct {
	token   string // of the attempt: a claim that was given back leaves its number to the next one
	tries   int
	running bool      // beside the loop
	next    time.Time // not tried again before
	failed  error     // why the last try settled nothing
	stuck   bool      // given up: its slot and its dependants stay safe, but this drain neither tries again nor waits for it
}

// A recovered is the end of one try.
type recovered struct {
	was   *attempt.Record
	final *attempt.Record // nil where nothing was settled
	err   error
}

// isRecovering says whether a try to settle the attempt of that name runs.
func (d *drain) isRecovering(name string) bool {
	r := d.recoveries[name]
	return r != nil && r.running
}

// isStuck says whether the attempt has been given up.
func (d *drain) isStuck(rec *attempt.Record) bool {
	r := d.recoveries[rec.Name()]
	return r != nil && r.stuck && r.token == rec.Token
}

// mayRecover says whether a dead attempt is to be settled now.
func (d *drain) mayRecover(rec *attempt.Record) bool {
	r := d.recoveries[rec.Name()]
	return r == nil || r.token != rec.Token || !r.running && !r.stuck && !time.Now().Before(r.next)
}

// recover settles a dead attempt beside the loop: ending its orphaned agent can take seconds. It tries a few times, with
// growing pauses.
func (d *drain) recover(ctx context.Context, rec *attempt.Record, r *Report) {
	if !d.mayRecover(rec) {
		return
	}
	name := rec.Name()
	t := d.recoveries[name]
	if t == nil || t.token != rec.Token {
		t = &recovery{token: rec.Token}
		d.recoveries[name] = t
	}
	if t.tries == recoverTries {
		d.giveUp(rec, r)
		return
	}
	t.tries++
	t.running = true
	t.next = time.Now().Add(recoverPause << (t.tries - 1))
	d.Trace("settling %s, whose gl process is gone: try %d", name, t.tries)
	go func() {
		settler := d.Project.Whose(rec).Settler()
		final, err := settler.Recover(ctx, rec)
		d.recovered <- recovered{rec, final, err}
	}()
}

// afterRecovery takes in the end of a try. What became of an attempt of ours the next look finds in the files.
func (d *drain) afterRecovery(e recovered, r *Report) {
	name := e.was.Name()
	t := d.recoveries[name]
	t.running, t.failed = false, e.err
	switch {
	case e.err != nil && t.tries == recoverTries:
		d.giveUp(e.was, r)
	case e.err != nil:
		d.Trace("%s can't be settled, trying again in %s: %v", name, time.Until(t.next).Round(time.Millisecond), e.err)
	case e.final == nil || d.open[name] != nil:
	case e.final.IsTask(): // of a gl that is gone
		r.Ended = append(r.Ended, e.final)
	case !d.Project.Has(e.final):
		r.Warnings = append(r.Warnings, fmt.Sprintf("the gl process of attempt %d of %s %s is gone: settled as %s",
			e.final.N, d.Project.Whose(e.final).System().Name, e.final.Slice, e.final.Outcome.Traits().Words))
	}
}

// giveUp leaves an attempt alone that can't be settled.
func (d *drain) giveUp(rec *attempt.Record, r *Report) {
	t := d.recoveries[rec.Name()]
	t.stuck = true
	delete(d.open, rec.Name())
	why := t.failed
	if why == nil {
		why = errors.New("its record is still open")
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("%s isn't settled after %d tries: %v. Run gl stop %s%s",
		rec.Name(), t.tries, why, rec.Label(), d.Project.Whose(rec).Flags()))
}

// unsettled says whether a try to settle an attempt runs or is still to come.
func (d *drain) unsettled() bool {
	for _, t := range d.recoveries {
		if t.running || t.failed != nil && !t.stuck && !d.stopping {
			return true
		}
	}
	return false
}

// nextTry is when the next try to settle an attempt is due, at most within.
func (d *drain) nextTry(within time.Duration) time.Duration {
	for _, t := range d.recoveries {
		if rest := time.Until(t.next); !t.running && !t.stuck && rest > 0 {
			within = min(within, rest)
		}
	}
	return within
}

// forgetSettled drops the recoveries of attempts that are over.
func (d *drain) forgetSettled(live map[string]*attempt.Record) {
	for name, t := range d.recoveries {
		if live[name] == nil && d.open[name] == nil && !t.running {
			delete(d.recoveries, name)
		}
	}
}

// Reconcile settles all attempts whose launcher or wrapper is dead, and returns them. Whoever is about to launch one
// slice, or to put one back, does this first.
func Reconcile(ctx context.Context, pr *project.Project) ([]*attempt.Record, error) {
	live, _, err := pr.Runs.Live()
	if err != nil {
		return nil, err
	}
	var settled []*attempt.Record
	var errs []error
	for _, rec := range live {
		s := pr.Whose(rec).Settler()
		final, err := s.Recover(ctx, rec)
		if final != nil {
			settled = append(settled, final)
		}
		errs = append(errs, err)
	}
	return settled, errors.Join(errs...)
}
