package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"greenlight/internal/agent"
	"greenlight/internal/durable"
	"greenlight/internal/plan"
)

const (
	holdFile    = "hold.json"
	longestHold = time.Hour     // without a reset time, however often
	blindHold   = 6 * time.Hour // then gl tries once, whatever reset time an agent has named
	floorPart   = 10            // the shortest hold is this part of parallel.hold_seconds, and doubles as well
)

func (s *Store) holdPath() string { return filepath.Join(s.dir, holdFile) }

// Hold returns the hold that was put last, over or not; nil for none, and for one that can't be used.
func (s *Store) Hold() *plan.Hold {
	h, _ := s.ReadHold() // whoever shows the project's state names a bad one
	return h
}

// ReadHold is Hold with the reason why one can't be used: a *BadRecord where that is its content.
func (s *Store) ReadHold() (*plan.Hold, error) {
	h := new(plan.Hold)
	err := readChecked(s.holdPath(), h, func() error { return checkHold(h) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return h, nil
}

func checkHold(h *plan.Hold) error {
	switch {
	case h.Count < 0:
		return fmt.Errorf("counts %d holds", h.Count)
	case !saneTime(h.Until):
		return fmt.Errorf("until %s is no time to wait for", h.Until.Format(time.RFC3339))
	case len(h.Reason) > longestText || len(h.Kind) > longestName || len(h.By) > longestName:
		return errors.New("is longer than any that gl writes")
	}
	return nil
}

// LiftHold ends the hold.
func (s *Store) LiftHold(now time.Time) error {
	h := s.Hold()
	if err := durable.Remove(s.holdPath()); err != nil {
		return err
	}
	s.TellHoldEnded(h, now)
	return nil
}

// putHold makes everybody wait after an attempt met a limit. Attempts that ran beside the one that met it first meet
// the same limit: they can only move the end, the next wait doubles once. The lock must be held.
func (s *Store) putHold(r *Record, l *agent.Limit, now time.Time, first time.Duration) error {
	old := s.Hold()
	h := plan.Hold{Since: now, Kind: l.Kind, Reason: l.Reason, By: r.Slice, Count: 1}
	if old != nil && (old.Kind == plan.HeldByPerson || old.Kind == plan.HeldByBudget || old.Open()) && now.Before(old.Until) {
		return nil // and the person says when it ends
	}
	if old != nil {
		h.Count = old.Count + 1
		if r.StartedAt != nil && r.StartedAt.Before(old.Since) {
			h.Since, h.Count = old.Since, old.Count
		}
	}
	doubled := func(d time.Duration) time.Duration { return min(d<<min(h.Count-1, 16), longestHold) }
	h.Until = now.Add(doubled(first))
	if l.Reset != nil && l.Reset.After(now.Add(-time.Minute)) { // one that has just passed is news, an old one is none
		h.Until = *l.Reset
		// A reset that is always just over must not make a loop, and one in 2100 must not hold everybody for ever.
		if floor := now.Add(doubled(first / floorPart)); h.Until.Before(floor) {
			h.Until = floor
		}
		if most := now.Add(blindHold); h.Until.After(most) {
			reset := l.Reset.UTC()
			h.Until, h.Reset = most, &reset
		}
	}
	if old != nil && old.Until.After(h.Until) {
		h.Until, h.Reset = old.Until, old.Reset
	}
	h.Until = h.Until.UTC()
	return s.writeHold(&h)
}

// PutPersonsHold makes everybody wait because a person says so. The lock must be held.
func (s *Store) PutPersonsHold(until, now time.Time) error {
	return s.writeHold(&plan.Hold{Since: now.UTC(), Until: until.UTC(), Kind: plan.HeldByPerson})
}

// PutBudgetHold makes everybody wait because a budget is spent. A hold that lasts at least as long stays. The lock must be held.
func (s *Store) PutBudgetHold(until time.Time, reason string, now time.Time) error {
	if old := s.Hold(); old != nil && !old.Until.Before(until) {
		return nil
	}
	return s.writeHold(&plan.Hold{Since: now.UTC(), Until: until.UTC(), Kind: plan.HeldByBudget, Reason: reason, Count: 1})
}

func (s *Store) writeHold(h *plan.Hold) error {
	if err := writeJSON(s.holdPath(), h); err != nil {
		return err
	}
	s.tellHold(h)
	return nil
}

// endHold forgets an old hold once an attempt that started after it wasn't held, so that the next one begins small.
func (s *Store) endHold(r *Record, now time.Time) error {
	h := s.Hold()
	if h == nil || now.Before(h.Until) || r.StartedAt == nil || r.StartedAt.Before(h.Since) {
		return nil
	}
	return s.LiftHold(now)
}

// refute compares a limit that a line of text alone tells of with how others fare: if an attempt with the same agent has
// succeeded since this one began, or since the one before it that met such a limit, there is no limit, and the slice's own
// trouble has the wrong words. The lock must be held.
func (s *Store) refute(r *Record) error {
	if l := r.evidence().Limit; l == nil || !l.Text || r.Evidence.Refuted != "" || r.StartedAt == nil {
		return nil
	}
	index, err := s.Index()
	if err != nil {
		return err
	}
	since := *r.StartedAt
	for _, e := range index[r.Slice] {
		if e.N == r.N-1 && e.Outcome == Held {
			if before, err := s.readSettled(e); err == nil && before.Agent == r.Agent && before.StartedAt != nil && before.evidence().Limit != nil && before.evidence().Limit.Text {
				since = *before.StartedAt
			}
		}
	}
	for slice, entries := range index {
		for _, e := range entries {
			if slice == r.Slice || !e.Outcome.Traits().Success {
				continue
			}
			if other, err := s.readSettled(e); err == nil && other.Agent == r.Agent && other.EndedAt != nil && other.EndedAt.After(since) {
				evidence := *r.Evidence
				evidence.Refuted = other.Name()
				r.Evidence = &evidence
				return nil
			}
		}
	}
	return nil
}
