package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/words"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
)

const (
	recoverTries = 3           // times that this drain tries to settle one dead attempt
	recoverPause = time.Second // between the first two tries; it doubles
)

// A recovery is what this drain has done to settle an attempt whose wrapper is dead. Every way to a recovery goes through
// it, so that none can be taken again and again without a pause.
type recovery struct {
	token   string // of the attempt: a claim that was given back leaves its number to the next one
	tries   int
	running bool      // beside the loop
	next    time.Time // not tried again before this time
	failed  error     // why the last try settled nothing
	stuck   bool      // given up: its slot and its dependants stay safe, but this drain neither tries again nor waits for it
}

// A recovered is the end of one try.
type recovered struct {
	*recovery
	was   *attempt.Record
	final *attempt.Record // nil where nothing was settled
	err   error
}

// recoveryOf is what was done for the attempt so far.
func (d *drain) recoveryOf(rec *attempt.Record) *recovery {
	if t := d.recoveries[rec.ID.Name()]; t != nil && t.token == rec.ID.Token {
		return t
	}
	return &recovery{token: rec.ID.Token}
}

// mayTry says whether it is time for a try.
func (t *recovery) mayTry() bool { return !t.running && !t.stuck && !time.Now().Before(t.next) }

// recover settles a dead attempt beside the loop: ending its orphaned agent can take seconds. It tries a few times, with
// growing pauses.
func (d *drain) recover(rec *attempt.Record, r *Report) {
	t := d.recoveryOf(rec)
	if !t.mayTry() {
		return
	}
	if t.tries == recoverTries {
		d.giveUp(t, rec, r)
		return
	}
	d.recoveries[rec.ID.Name()] = t
	t.tries++
	t.running = true
	d.Trace("settling %s, whose gl process is gone: try %d", rec.ID.Name(), t.tries)
	last := !rec.Life.Phase.Begun() && rec.Life.Launcher == proc.Self() && d.lastStart(rec)
	go func() {
		settler, ctx := d.Project.Whose(rec).Settler(), durable.Patiently(d.life, nil)
		var final *attempt.Record
		var err error
		if last {
			final, err = settler.FailStart(ctx, rec, neverStarted(endedEarly))
		} else {
			final, err = settler.Recover(ctx, rec)
		}
		d.recovered <- recovered{t, rec, final, err}
	}()
}

// afterRecovery takes in the end of a try. What became of an attempt of ours the next look finds in the files.
func (d *drain) afterRecovery(e recovered, r *Report) {
	pause := recoverPause << (e.tries - 1)
	e.running, e.failed, e.next = false, e.err, time.Now().Add(pause)
	switch {
	case e.err != nil && e.tries == recoverTries:
		d.giveUp(e.recovery, e.was, r)
	case e.err != nil:
		d.Trace("%s can't be settled, trying again in %s: %v", e.was.ID.Name(), pause, e.err)
	case e.final == nil || d.open[e.was.ID.Name()] != nil:
	case e.final.ID.IsTask(): // of a gl that is gone
		r.Ended = append(r.Ended, e.final)
	case !d.Project.Has(e.final):
		r.Warnings = append(r.Warnings, fmt.Sprintf("the gl process of attempt %d of %s %s is gone: settled as %s",
			e.final.ID.N, d.Project.Whose(e.final).System().Name, e.final.ID.Slice, e.final.Judged.Outcome.Traits().Words))
	}
}

// giveUp leaves an attempt alone that can't be settled.
func (d *drain) giveUp(t *recovery, rec *attempt.Record, r *Report) {
	t.stuck = true
	if d.open[rec.ID.Name()] != nil && d.open[rec.ID.Name()].ID.Token == rec.ID.Token {
		delete(d.open, rec.ID.Name())
	}
	why := t.failed
	if why == nil {
		why = errors.New("its record is still open")
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("%s isn't settled after %d tries: %v. Run gl stop %s%s",
		rec.ID.Name(), t.tries, why, rec.ID.Label(), d.Project.Whose(rec).Flags()))
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

// Patiently returns a context under which Reconcile waits for the project's lock as long as it takes. After some seconds
// it calls told with who has it.
func Patiently(ctx context.Context, told func(holder string)) context.Context {
	return durable.Patiently(ctx, func(e *durable.LockedError) { told(e.Holder) })
}

// A Reconciled is what was wrong in a project's runs/ and is right now.
type Reconciled struct {
	Settled []*attempt.Record // attempts whose launcher or wrapper is dead
	Aside   []*attempt.Aside  // files that can't be used, and where they are now
}

// Reconcile settles all attempts whose launcher or wrapper is dead, and moves bad records aside. Whoever is about to
// launch one slice, or to put one back, does this first. It is a *TrackedError where git has the records: they are
// somebody else's, and gl doesn't act on them.
func Reconcile(ctx context.Context, pr *project.Project) (*Reconciled, error) {
	if err := checkTracked(ctx, pr); err != nil {
		return &Reconciled{}, err
	}
	live, bad, err := pr.Runs.Live()
	if err != nil {
		return &Reconciled{}, err
	}
	r := &Reconciled{}
	errs := []error{r.setAside(ctx, pr, bad)}
	for _, rec := range live {
		s := pr.Whose(rec).Settler()
		final, err := s.Recover(ctx, rec)
		if final != nil {
			r.Settled = append(r.Settled, final)
		}
		errs = append(errs, err)
	}
	return r, errors.Join(errs...)
}

func (r *Reconciled) setAside(ctx context.Context, pr *project.Project, bad []*attempt.BadRecord) error {
	var badHold *attempt.BadRecord
	if _, err := pr.Runs.HoldFile.Read(); errors.As(err, &badHold) {
		bad = append(bad, badHold)
	}
	if len(bad) == 0 {
		return nil
	}
	return pr.Tracker.Do(ctx, func(tracker.Tx) (err error) {
		r.Aside, err = (attempt.Quarantine{Store: pr.Runs}).SetAside(bad)
		return err
	})
}

// A TrackedError says that git has files of runs/, which belongs to one machine.
type TrackedError struct{ Files []string }

func (e *TrackedError) Error() string {
	return fmt.Sprintf("git tracks %s%s, but attempt records belong to one machine, and gl doesn't act on records from a repository. "+
		"Run %s", e.Files[0], words.More(len(e.Files)-1), UntrackCommand)
}

// UntrackCommand takes runs/ out of git and leaves the files.
const UntrackCommand = "git rm -r --cached " + statedir.Name + "/runs"

// checkTracked asks git. Where git has no answer, there is nothing that it could have brought.
func checkTracked(ctx context.Context, pr *project.Project) error {
	if !paths.Exists(pr.Runs.Files.Dir()) {
		return nil
	}
	files, err := git.Tracked(ctx, pr.Root, statedir.Name+"/runs")
	if err != nil || len(files) == 0 {
		return nil
	}
	return &TrackedError{files}
}
