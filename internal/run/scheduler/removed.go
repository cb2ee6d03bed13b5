package scheduler

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/runner"
	"greenlight/internal/state/tracker"
)

// This file is for files that a person removes under a running gl, with git clean -x for example.
// What the run remembers then stands in for the records: wrappers write theirs anew.

// cleanTries is how many claims may fail because runs/ is being removed, per slice.
const cleanTries = 20

// removed counts the claims that failed because runs/ was removed, by slice.
type removed map[string]int

// again reports whether a claim that failed with err is to be tried again.
func (m removed) again(id string, err error) bool {
	gone := errors.Is(err, fs.ErrNotExist) && !errors.Is(err, tracker.ErrNotFound)
	if !gone || m[id] >= cleanTries {
		return false
	}
	m[id]++
	return true
}

// needsOpen reports whether a slice needs one whose attempt is open. The file of that one may be
// complete already while its agent still works, if the record of its attempt was removed.
func (o *roster) needsOpen(p *plan.Plan, id string) bool {
	st := p.State(id)
	return st != nil && slices.ContainsFunc(st.Deps, o.isOpen)
}

// noteTaken takes in that a wrapper has taken its attempt over: should its record be removed in the
// next instant, the run still knows the agent.
func (s *supervisor) noteTaken(e runner.Exit) {
	was := s.roster.open[e.Record.ID.Name()]
	if was != nil && was.ID.Token == e.Token && was.Life.Phase == plan.Claimed {
		s.roster.open[e.Record.ID.Name()] = e.Record
	}
}

// noteLost takes in that an attempt of this run has no record: its claim was given back, or the
// record was removed. The claim of one that never started is given back here, since no other
// process can tell it from a person's.
func (s *supervisor) noteLost(ctx context.Context, was *attempt.Record, r *Report) {
	switch {
	case s.recoveries.of(was).running:
	case !was.Life.Phase.Begun() && was.Life.Launcher == proc.Self():
		// That is the last the run knows: the wrapper may have started since. Then it settles the
		// attempt, with or without the record.
		if s.starts.wrappers[was.ID.Token] {
			return
		}
		switch err := s.settler.GiveBackLost(ctx, was); {
		case errors.Is(err, attempt.ErrAgentLives):
			// Its wrapper writes the record anew. If that is gone, too, the claim waits for the
			// agent's end.
			return
		case err != nil:
			r.warn("the claim of %s can't be given back, trying again: %v", was.ID.Slice, err)
			return
		}
		s.drop(was)
		if s.recoveries.of(was).tries == 0 { // the record was removed
			s.turns.retry(was.ID.Slice)
		} else {
			s.countStart(was, r, endedEarly)
		}
	case !was.Life.Phase.Begun():
		delete(s.roster.open, was.ID.Name())
	case was.Life.Dead():
		s.recover(was, r)
	}
}
