package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"syscall"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/tracker"
)

// What an agent has built in the checkout its wrapper tests there, before the attempt is judged: the slot is taken as long. It proves
// something only if nobody else has worked there meanwhile. What nobody has seen isn't held against the agent: then the slice is
// done, unverified, and says why. So it is if this process is killed: the checkout may be another's by then.

// Tests is how a wrapper runs tests.
type Tests struct {
	Limit   time.Duration
	Pattern *regexp.Regexp // testrun.Spec.Pattern

	Removable []string // paths whose tests may go without a person being asked
}

const (
	besideText  = "another agent worked in the same checkout"
	stoppedText = "its tests were stopped"
)

// verify finds out whether the tests pass, if the agent calls its slice complete. The record says what came of it.
func (w *Wrapper) verify(ctx context.Context) {
	if w.rec.Conditions.Test == nil || w.over || !w.calledComplete(ctx) {
		return
	}
	if w.rec.Life.Ending == EndStop {
		w.rec.Judged.Unverified = stoppedText
		return
	}
	if w.besides() {
		return
	}
	w.log.note(logfile.Gl, "running the tests: "+w.rec.Conditions.Test.Line)
	v, err := w.runTests(ctx)
	switch {
	case w.rec.Life.Ending == EndStop:
		w.rec.Judged.Unverified = stoppedText
	case err != nil:
		w.rec.Judged.Unverified = "its tests can't be run: " + err.Error()
	case w.besides():
	default:
		w.rec.Judged.Verdict = v
		fewer := w.Store.fewer(w.rec)
		w.rec.Judged.Compared.Found = append(w.rec.Judged.Compared.Found, fewer...)
		if v.Green() && len(fewer) == 0 { // else the checkout has work that isn't accepted
			_ = w.Store.Proofs.PutSuite(v, "") // without it the counts are those of the run before
		}
	}
}

// fewer finds that fewer tests ran in the checkout than in the last run whose work was accepted. What names tell already isn't told again.
func (s *Store) fewer(r *Record) []gate.Item {
	v, before := r.Judged.Verdict, s.Proofs.Suite()
	named := slices.ContainsFunc(r.Judged.Compared.Found, func(i gate.Item) bool { return i.Kind == gate.Removed || i.Kind == gate.Skips })
	if before == nil || before.Uncounted || v.Passed == nil || named {
		return nil
	}
	now, then := *v.Passed+max(v.FailedCount(), 0), before.Passed+before.Failed
	if now >= then {
		return nil
	}
	return []gate.Item{{Kind: gate.Fewer, Name: fmt.Sprintf("%d, and %d in the run before", now, then)}}
}

func (w *Wrapper) calledComplete(ctx context.Context) bool {
	complete := false
	err := w.Tracker.Do(ctx, func(tx tracker.Tx) error {
		it, err := tx.Item(w.rec.ID.Slice)
		complete = err == nil && it.Corrupt == "" && plan.Classify(it.Status) == plan.Done
		return err
	})
	return err == nil && complete
}

// besides notes whether another agent has worked in the checkout since this one began.
func (w *Wrapper) besides() bool {
	beside, err := w.Store.beside(w.rec)
	switch {
	case err != nil:
		w.rec.Judged.Unverified = "it can't be told whether another agent worked in the same checkout: " + err.Error()
	case beside:
		w.rec.Judged.Unverified = besideText
	}
	return w.rec.Judged.Unverified != ""
}

// beside says whether another attempt has had an agent in the checkout since this one's started.
func (s *Store) beside(r *Record) (bool, error) {
	live, bad, err := s.Live()
	if err != nil || len(bad) > 0 { // who knows
		return len(bad) > 0, err
	}
	for _, other := range live {
		if other.ID.Name() != r.ID.Name() && other.Place.Lineage == 0 && other.Life.StartedAt != nil {
			return true, nil
		}
	}
	settled, err := s.Files.settledEntries()
	if err != nil {
		return false, err
	}
	for _, e := range settled {
		if e.Slice == r.ID.Slice && e.N == r.ID.N || !s.Files.settledSince(e, *r.Life.StartedAt) {
			continue
		}
		other, err := s.readSettled(e)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return true, nil
		case other.Place.Lineage == 0 && other.Life.StartedAt != nil && other.Life.EndedAt != nil && other.Life.EndedAt.After(*r.Life.StartedAt):
			return true, nil
		}
	}
	return false, nil
}

// settledSince says whether a record was written after an instant, or about then: most needn't be read.
func (f Files) settledSince(e Entry, at time.Time) bool {
	info, err := os.Stat(f.donePath(e.Slice, e.N, e.Outcome))
	return err != nil || info.ModTime().After(at.Add(-time.Minute))
}

// runTests runs them to their end, or until somebody stops the attempt.
func (w *Wrapper) runTests(ctx context.Context) (*testrun.Verdict, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		v   *testrun.Verdict
		err error
	}
	begun, recorded, done := make(chan proc.ID), make(chan error), make(chan result, 1)
	env := w.rec.Env(w.Env, w.Root)
	var files []*os.File
	if w.lock != nil {
		files = []*os.File{w.lock} // as for the agent
	}
	go func() {
		v, err := testrun.Run(ctx, testrun.Spec{
			Self: w.Self, Command: *w.rec.Conditions.Test, Root: w.Root, Top: w.Root, Dir: w.Root, Env: env, Files: files, Limit: w.Tests.Limit, Pattern: w.Tests.Pattern, Mark: w.rec.ID.Token,
			Log: w.Store.Files.TestsLog(w.rec.ID.Slice, w.rec.ID.N), Started: func(id proc.ID) error { begun <- id; return <-recorded },
		})
		done <- result{v, err}
	}()
	ticker := time.NewTicker(longestTick)
	defer ticker.Stop()
	for {
		select {
		case id := <-begun:
			recorded <- w.recordTests(ctx, id)
		case <-ticker.C:
			w.keepRecord(ctx)
		case <-w.Stop:
			if w.rec.Life.Ending == EndStop && w.rec.Life.Process != nil {
				w.rec.Life.Process.SignalGroup(syscall.SIGKILL)
			}
			w.rec.Life.Ending = EndStop
			if err := w.Store.MarkEnding(ctx, w.Tracker, w.rec, EndStop, ""); err != nil {
				w.log.note(logfile.Gl, giveUpNote+err.Error())
			}
			cancel()
		case r := <-done:
			return r.v, r.err
		}
	}
}

// recordTests writes down which process the tests are, in the agent's place, so that whoever settles for this process ends them first.
func (w *Wrapper) recordTests(ctx context.Context, id proc.ID) error {
	ctx = durable.Patiently(ctx, nil)
	return w.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := w.Store.Get(w.rec.ID.Slice, w.rec.ID.N)
		switch {
		case errors.Is(err, fs.ErrNotExist): // git clean -x
			err = w.Store.Files.Prepare()
		case err == nil && (disk.Life.Phase != plan.Started || disk.ID.Token != w.rec.ID.Token):
			err = ErrLate
		case err == nil && disk.Life.Ending == EndStop: // its signal is on the way
			w.rec.Life.Ending, w.rec.Life.EndingDetail = disk.Life.Ending, disk.Life.EndingDetail
			err = errEnding
		}
		if err != nil {
			return err
		}
		w.rec.Life.Process = &id
		return w.Store.Within(tx.Held()).putLive(w.rec)
	})
}
