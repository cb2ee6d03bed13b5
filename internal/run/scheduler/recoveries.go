package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

const (
	recoverTries = 3           // times that a run tries to settle one dead attempt
	recoverPause = time.Second // between the first two tries; it doubles
)

// recoveries settle attempts whose wrapper is dead, beside the loop: ending an orphaned agent can
// take seconds. Each attempt is tried a few times, with growing pauses. Every way to a recovery
// goes through here, so that none can be taken again and again without a pause.
type recoveries struct {
	project *project.Project
	trace   func(format string, a ...any)
	life    context.Context // of the run: a recovery outlives the pass that began it
	byName  map[string]*recovery
	done    chan recovered
}

// A recovery is what the run has done to settle one dead attempt.
type recovery struct {
	token   string // of the attempt: a claim that was given back leaves its number to the next one
	tries   int
	running bool      // beside the loop
	next    time.Time // not tried again before this time
	failed  error     // why the last try settled nothing
	stuck   bool      // given up: it keeps its slot, and this run neither retries nor waits
}

// A recovered is the end of one try.
type recovered struct {
	*recovery
	was   *attempt.Record
	final *attempt.Record // nil where nothing was settled
	err   error
}

func newRecoveries(ctx context.Context, cfg *Config) *recoveries {
	return &recoveries{
		project: cfg.Project, trace: cfg.Output.Trace, life: ctx,
		byName: map[string]*recovery{}, done: make(chan recovered, 16),
	}
}

// of returns what was done for the attempt so far.
func (s *recoveries) of(rec *attempt.Record) *recovery {
	if t := s.byName[rec.ID.Name()]; t != nil && t.token == rec.ID.Token {
		return t
	}
	return &recovery{token: rec.ID.Token}
}

// mayTry reports whether it is time for a try.
func (t *recovery) mayTry() bool { return !t.running && !t.stuck && !time.Now().Before(t.next) }

// try begins to settle a dead attempt, if it is time. A non-empty failStart settles it as failed to
// start, for that reason. gaveUp is non-empty once there have been enough tries; it says why.
func (s *recoveries) try(rec *attempt.Record, failStart string) (gaveUp string) {
	t := s.of(rec)
	if !t.mayTry() {
		return ""
	}
	if t.tries == recoverTries {
		return s.giveUp(t, rec)
	}
	s.byName[rec.ID.Name()] = t
	t.tries++
	t.running = true
	s.trace("settling %s, whose gl process is gone: try %d", rec.ID.Name(), t.tries)
	settler, ctx, done := s.project.Whose(rec).Settler(), durable.Patiently(s.life, nil), s.done
	go func() {
		var final *attempt.Record
		var err error
		if failStart != "" {
			final, err = settler.FailStart(ctx, rec, failStart)
		} else {
			final, err = settler.Recover(ctx, rec)
		}
		done <- recovered{t, rec, final, err}
	}()
	return ""
}

// over takes in the end of a try. gaveUp is as with try.
func (s *recoveries) over(e recovered) (gaveUp string) {
	pause := recoverPause << (e.tries - 1)
	e.running, e.failed, e.next = false, e.err, time.Now().Add(pause)
	switch {
	case e.err != nil && e.tries == recoverTries:
		return s.giveUp(e.recovery, e.was)
	case e.err != nil:
		s.trace("%s can't be settled, trying again in %s: %v", e.was.ID.Name(), pause, e.err)
	}
	return ""
}

// giveUp leaves an attempt alone that can't be settled, and returns the words for it.
func (s *recoveries) giveUp(t *recovery, rec *attempt.Record) string {
	t.stuck = true
	why := t.failed
	if why == nil {
		why = errors.New("its record is still open")
	}
	return fmt.Sprintf("%s isn't settled after %d tries: %v. Run gl stop %s%s",
		rec.ID.Name(), t.tries, why, rec.ID.Label(), s.project.Whose(rec).Flags())
}

// pending reports whether a try to settle an attempt runs or, unless the run is stopping, is still
// to come.
func (s *recoveries) pending(stopping bool) bool {
	for _, t := range s.byName {
		if t.running || t.failed != nil && !t.stuck && !stopping {
			return true
		}
	}
	return false
}

// due returns the time until the next try, at most within.
func (s *recoveries) due(within time.Duration) time.Duration {
	for _, t := range s.byName {
		if rest := time.Until(t.next); !t.running && !t.stuck && rest > 0 {
			within = min(within, rest)
		}
	}
	return within
}

// forget drops the recoveries of attempts that are over.
func (s *recoveries) forget(isOver func(name string) bool) {
	for name, t := range s.byName {
		if isOver(name) && !t.running {
			delete(s.byName, name)
		}
	}
}
