package scheduler

import (
	"context"
	"slices"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
)

// supervisor follows the attempts that the run answers for: it takes in those that began, ended or
// died, settles the dead, and gives back claims whose agents never ran. It launches nothing.
type supervisor struct {
	project *project.Project
	settler attempt.Settler
	mode    Mode

	leadership *leadership
	turns      *turns
	stateFile  *stateFile

	roster     roster
	starts     starts
	recoveries *recoveries
	ended      []*attempt.Record // all that the run saw end
}

func newSupervisor(
	ctx context.Context, cfg *Config, l *leadership, t *turns, f *stateFile,
) *supervisor {
	return &supervisor{
		project: cfg.Project, settler: cfg.Project.Settler(), mode: cfg.Mode,
		leadership: l, turns: t, stateFile: f,
		roster: roster{open: map[string]*attempt.Record{}}, starts: newStarts(),
		recoveries: newRecoveries(ctx, cfg),
	}
}

// giveBackEarly gives back the claims whose wrappers ended early since the last pass.
func (s *supervisor) giveBackEarly(ctx context.Context, r *Report) {
	early := s.starts.early
	s.starts.early = nil
	for _, e := range early {
		s.failedStart(ctx, e.rec, r, e.why)
	}
}

// observe takes in what the records say: what ended, what else runs, what died.
func (s *supervisor) observe(ctx context.Context, r *Report) error {
	live, _, err := s.project.Runs.Live()
	if err != nil {
		return err
	}
	now := make(map[string]*attempt.Record, len(live))
	s.roster.elsewhere = nil
	for _, rec := range live {
		now[rec.ID.Name()] = rec
		s.noteOpen(ctx, rec, r)
	}
	for name := range s.roster.open {
		if now[name] == nil {
			s.noteClosed(ctx, name, r)
		}
	}
	isOver := func(name string) bool { return now[name] == nil && s.roster.open[name] == nil }
	s.recoveries.forget(isOver)
	return nil
}

// caughtUp takes in attempts that were settled or given back since observe, and reports whether
// there were any. The plan may have counted them, and what was launched may have their slots:
// reported later, it would read as if dependents began before what they need was done. Or the plan
// hasn't, and is behind: a run that believed it would end with work ready.
func (s *supervisor) caughtUp(ctx context.Context, r *Report) bool {
	n := len(s.roster.open)
	for name := range s.roster.open {
		if !s.project.Runs.IsOpen(name) {
			s.noteClosed(ctx, name, r)
		}
	}
	return len(s.roster.open) < n
}

// adopts reports whether an attempt that another gl launched is this run's from now on. A task
// belongs to the gl that started it, as long as that lives.
func (s *supervisor) adopts(rec *attempt.Record) bool {
	return s.mode.Lead &&
		(!rec.ID.IsTask() || rec.Life.Phase == plan.Queued && !rec.Life.LauncherLives())
}

// noteUnknownEnd takes in an attempt whose settled record can't be read: this run doesn't launch
// its slice again.
func (s *supervisor) noteUnknownEnd(was *attempt.Record, bad *attempt.BadRecord, r *Report) {
	s.drop(was)
	s.turns.exclude(was.ID.Slice)
	s.ended = append(s.ended, was)
	r.warn("%v. %s isn't launched again by this run. Run gl doctor --fix", bad, was.ID.Label())
}

// drop forgets an attempt that is over.
func (s *supervisor) drop(rec *attempt.Record) {
	delete(s.roster.open, rec.ID.Name())
	s.stateFile.dirty = true
}

// failedStart gives a claim back whose agent never ran. The last of several such attempts is
// settled as failed.
func (s *supervisor) failedStart(ctx context.Context, rec *attempt.Record, r *Report, why string) {
	delete(s.starts.wrappers, rec.ID.Token)
	var err error
	var failed *attempt.Record
	if s.starts.isLast(rec) {
		failed, err = s.settler.FailStart(ctx, rec, neverStarted(why))
	} else {
		err = s.settler.GiveBack(ctx, rec)
	}
	if failed != nil { // the next look reports it
		return
	}
	if err != nil {
		why += "; its claim can't be given back: " + err.Error()
	}
	s.countStart(rec, r, why)
}

// countStart counts an attempt that never started its agent. After the last one this run doesn't
// launch its slice again.
func (s *supervisor) countStart(rec *attempt.Record, r *Report, why string) {
	s.turns.retry(rec.ID.Slice)
	last := s.starts.isLast(rec)
	s.starts.failed[rec.ID.Slice]++
	if last {
		s.turns.exclude(rec.ID.Slice)
		why += ", not tried again"
	}
	r.warn("%s didn't start: %s", rec.ID.Label(), why)
}

// recover settles a dead attempt beside the loop.
func (s *supervisor) recover(rec *attempt.Record, r *Report) {
	failStart := ""
	if !rec.Life.Phase.Begun() && rec.Life.Launcher == proc.Self() && s.starts.isLast(rec) {
		failStart = neverStarted(endedEarly)
	}
	if gaveUp := s.recoveries.try(rec, failStart); gaveUp != "" {
		s.giveUp(rec, gaveUp, r)
	}
}

// recovered takes in the end of a try. The next look finds in the files what became of an attempt
// of this run.
func (s *supervisor) recovered(e recovered, r *Report) {
	gaveUp := s.recoveries.over(e)
	switch {
	case gaveUp != "":
		s.giveUp(e.was, gaveUp, r)
	case e.err != nil || e.final == nil || s.roster.open[e.was.ID.Name()] != nil:
	case e.final.ID.IsTask():
		if !e.was.Life.LauncherLives() { // otherwise the task's own gl reports it
			r.Ended = append(r.Ended, e.final)
		}
	case !s.project.Has(e.final):
		system, how := s.project.Whose(e.final).System().Name,
			e.final.Judged.Outcome.Traits().Shown.Words
		r.warn("the gl process of attempt %d of %s %s is gone: settled as %s",
			e.final.ID.N, system, e.final.ID.Slice, how)
	}
}

// giveUp leaves an attempt alone that can't be settled.
func (s *supervisor) giveUp(rec *attempt.Record, why string, r *Report) {
	if was := s.roster.open[rec.ID.Name()]; was != nil && was.ID.Token == rec.ID.Token {
		delete(s.roster.open, rec.ID.Name())
	}
	r.Warnings = append(r.Warnings, why)
}

// someoneDied reports whether a process of an attempt is gone that hasn't told so by the files: one
// that was killed.
func (s *supervisor) someoneDied() bool {
	died := func(rec *attempt.Record) bool {
		return s.recoveries.of(rec).mayTry() && rec.Life.Dead()
	}
	for _, rec := range s.roster.open {
		if died(rec) {
			return true
		}
	}
	return s.leadership.ours && slices.ContainsFunc(s.roster.elsewhere, died)
}

// reap waits for the wrappers whose attempts are over to exit, but not long.
func (s *supervisor) reap(exits <-chan runner.Exit) {
	timeout := time.After(reapLimit)
	for s.starts.leaving(s.roster.open) {
		select {
		case e := <-exits:
			delete(s.starts.wrappers, e.Token)
		case <-timeout:
			clear(s.starts.wrappers)
		}
	}
}

// exited takes in the exit of a wrapper of this run, and reports whether it calls for a look.
// Almost always the wrapper has settled its attempt, and the run has seen that.
func (s *supervisor) exited(e runner.Exit) (look bool) {
	delete(s.starts.wrappers, e.Token)
	if e.Record != nil { // it isn't gone: it has taken its attempt over
		s.noteTaken(e)
		return false
	}
	rec, err := s.project.Runs.Get(e.Slice, e.N)
	if err == nil && rec.Life.Phase == plan.Settled && s.roster.open[rec.ID.Name()] == nil {
		return false
	}
	unstarted := err == nil && rec.Life.Phase == plan.Claimed && rec.Life.Launcher == proc.Self()
	if !unstarted || rec.ID.Token != e.Token {
		return true
	}
	why := endedEarly
	if e.Err != nil {
		why += ": " + e.Err.Error()
	}
	s.starts.early = append(s.starts.early, earlyEnd{rec, why})
	return true
}
