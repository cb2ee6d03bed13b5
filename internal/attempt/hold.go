package attempt

import (
	"path/filepath"
	"time"

	"greenlight/internal/agent"
	"greenlight/internal/durable"
	"greenlight/internal/plan"
)

const longestHold = time.Hour

func (s *Store) holdPath() string { return filepath.Join(s.dir, "hold.json") }

// Hold returns the hold that was put last, over or not; nil for none.
func (s *Store) Hold() *plan.Hold {
	h := new(plan.Hold)
	if !readJSON(s.holdPath(), h) {
		return nil
	}
	return h
}

// LiftHold ends the hold.
func (s *Store) LiftHold() error { return durable.Remove(s.holdPath()) }

// putHold makes everybody wait after an attempt met a limit. Attempts that ran beside the one that met it first meet
// the same limit: they can only move the end, the next wait doubles once. The lock must be held.
func (s *Store) putHold(r *Record, l *agent.Limit, now time.Time, first time.Duration) error {
	old := s.Hold()
	h := plan.Hold{Since: now, Kind: l.Kind, Reason: l.Reason, By: r.Slice, Count: 1}
	if old != nil {
		h.Count = old.Count + 1
		if r.StartedAt != nil && r.StartedAt.Before(old.Since) {
			h.Since, h.Count = old.Since, old.Count
		}
	}
	wait := first << min(h.Count-1, 16)
	h.Until = now.Add(min(wait, longestHold))
	if l.Reset != nil && l.Reset.After(now.Add(-time.Minute)) { // one that has just passed is news, an old one is none
		h.Until = *l.Reset
		if soon := now.Add(time.Second); h.Until.Before(soon) {
			h.Until = soon
		}
	}
	if old != nil && old.Until.After(h.Until) {
		h.Until = old.Until
	}
	h.Until = h.Until.UTC()
	return writeJSON(s.holdPath(), &h)
}

// endHold forgets an old hold once an attempt that started after it wasn't held, so that the next one begins small.
func (s *Store) endHold(r *Record, now time.Time) error {
	h := s.Hold()
	if h == nil || now.Before(h.Until) || r.StartedAt == nil || r.StartedAt.Before(h.Since) {
		return nil
	}
	return s.LiftHold()
}
