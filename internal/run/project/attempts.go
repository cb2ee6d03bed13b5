package project

import (
	"errors"
	"maps"
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// A joiner joins the items of one system with its attempts.
type joiner struct {
	runs *attempt.Store
	key  string // of the system: see Project.Key
}

// has reports whether the attempt is at an item of the system, or at a task, which belongs to none.
func (j joiner) has(r *attempt.Record) bool {
	return r.ID.IsTask() || r.ID.System == j.key || r.ID.System == "" && j.key == greenlight
}

// doubt removes from items the verdicts in their files that gl hasn't given: anyone can write
// these files.
func (j joiner) doubt(s *plan.Snapshot, attempts map[string]attempt.Tally) {
	by := map[string]*plan.Item{}
	for _, it := range s.Items {
		if it.Verified != plan.Green || attempts[it.ID].Last.Outcome.Traits().Success ||
			j.runs.Proofs.Vouched(j.key, it.ID) {
			continue
		}
		doubted := *it
		doubted.Verified = plan.NotKnown
		by[it.ID] = &doubted
	}
	replace(s, by)
}

// holdBack opens items again that their system calls complete, and on which the tests have failed.
// The files stay: only the system's own commands change them.
func (j joiner) holdBack(s *plan.Snapshot, attempts map[string]attempt.Tally) {
	by := map[string]*plan.Item{}
	for _, it := range s.Items {
		last := attempts[it.ID].Last
		if plan.Classify(it.Status) != plan.Done || it.Session != "" || !last.Outcome.Traits().Asks {
			continue
		}
		r, err := j.runs.Settled(last)
		if err != nil || !j.has(r) || !r.ID.IsOf(it) || !r.HeldBack() {
			continue
		}
		held := *it
		held.HeldBack, held.Status = true, "pending"
		if !r.Since.Retried {
			held.WaitingFor, held.Next = r.Judged.Detail, []string{"gl retry " + it.ID + s.Flags}
		}
		by[it.ID], s.Attempts[it.ID] = &held, settled(r)
	}
	replace(s, by)
}

// addReleased distinguishes slices released half-way from those that an unknown session works
// on. It doesn't change the tracker's items.
func (j joiner) addReleased(s *plan.Snapshot) {
	by := map[string]*plan.Item{}
	for _, it := range s.Items {
		if it.Session != "" || plan.Classify(it.Status) != plan.Active ||
			!j.runs.Claims.Released(it.ID, plan.Mark{Status: it.Status, Step: it.Step}) {
			continue
		}
		released := *it
		released.Released = true
		by[it.ID] = &released
	}
	replace(s, by)
}

// addSettled adds the last settled attempt of each item that isn't done, reading only those
// records. An item whose work has landed is done, even if its file says otherwise. It returns
// the unusable records.
func (j joiner) addSettled(s *plan.Snapshot, attempts map[string]attempt.Tally,
	index map[string][]attempt.Entry) (bad []*attempt.BadRecord) {
	reverted, withdrawn := map[string]*plan.Item{}, j.runs.Proofs.Withdrawn(j.key)
	attempts = j.inherited(s, attempts)
	for _, it := range attempted(s, attempts) {
		tally := attempts[it.ID]
		s.Used[it.ID] = tally.Used
		last := tally.Last
		complete := plan.Classify(it.Status) == plan.Done && it.Corrupt == ""
		out := attempt.Out(withdrawn[it.ID], last)
		if complete && it.Session == "" && out == 0 {
			continue
		}
		if s.Cost.Spent != nil {
			s.Cost.Spent[it.ID] = j.spent(index[it.ID])
			for _, name := range earlier(s, it) {
				s.Cost.Spent[it.ID] += j.spent(index[name])
			}
		}
		if last.Outcome == "" { // it is open, and was read before
			if open := j.runs.EarlierWord(j.key, it, out); complete && open != nil {
				reverted[it.ID] = open
			}
			continue
		}
		r, err := j.runs.Settled(last)
		var unusable *attempt.BadRecord
		switch {
		case errors.As(err, &unusable):
			bad = append(bad, unusable)
		case err == nil && j.has(r) && r.ID.IsOf(it):
			if landed := r.Landed(it); landed != nil {
				reverted[it.ID] = landed
				continue
			}
			a := settled(r)
			if complete {
				open := j.runs.EarlierWord(j.key, it, out)
				if open == nil {
					continue
				}
				open = r.LeftOpen(open, out)
				if reverted[it.ID] = open; a.After == it.Mark() {
					// the file came back before its end, and no one has changed it since
					a.After = plan.Mark{Status: open.Status, Step: open.Step, Session: open.Session}
				}
			}
			s.Attempts[it.ID] = a
		}
	}
	replace(s, reverted)
	return bad
}

// replace substitutes items by id in a copy of the tracker's list.
func replace(s *plan.Snapshot, by map[string]*plan.Item) {
	if len(by) == 0 {
		return
	}
	s.Items = slices.Clone(s.Items)
	for i, it := range s.Items {
		if other := by[it.ID]; other != nil {
			s.Items[i] = other
		}
	}
}

// earlier returns the ids under which an item was attempted before it was renamed, without those
// that another item has now.
func earlier(s *plan.Snapshot, it *plan.Item) []string {
	if len(it.Was) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(it.Was), func(name string) bool {
		return slices.ContainsFunc(s.Items, func(other *plan.Item) bool { return other.ID == name })
	})
}

// inherited returns the attempts by item, including those under an earlier id.
func (j joiner) inherited(s *plan.Snapshot,
	attempts map[string]attempt.Tally) map[string]attempt.Tally {
	all, cloned := attempts, false
	for _, it := range s.Items {
		for _, name := range earlier(s, it) {
			before, ok := attempts[name]
			if !ok {
				continue
			}
			if !cloned {
				all, cloned = maps.Clone(all), true
			}
			sum, own := all[it.ID]
			if sum.Used += before.Used; !own || j.later(before.Last, sum.Last) {
				sum.Last = before.Last
			}
			all[it.ID] = sum
		}
	}
	return all
}

// later reports whether attempt a was settled after b; an open attempt is later than any other.
func (j joiner) later(a, b attempt.Entry) bool {
	if a.Outcome == "" || b.Outcome == "" {
		return a.Outcome == ""
	}
	ended := func(e attempt.Entry) (at time.Time) {
		if r, err := j.runs.Settled(e); err == nil && r.Life.SettledAt != nil {
			at = *r.Life.SettledAt
		}
		return at
	}
	return ended(a).After(ended(b))
}

// attempted returns the items that have attempts, in order.
func attempted(s *plan.Snapshot, attempts map[string]attempt.Tally) (items []*plan.Item) {
	if s.At == nil {
		return slices.DeleteFunc(slices.Clone(s.Items), func(it *plan.Item) bool {
			_, ok := attempts[it.ID]
			return !ok
		})
	}
	var places []int
	for id := range attempts {
		if i, ok := s.At[id]; ok {
			places = append(places, i)
		}
	}
	slices.Sort(places)
	for _, i := range places {
		items = append(items, s.Items[i])
	}
	return items
}

// spent returns the known cost of the attempts.
func (j joiner) spent(entries []attempt.Entry) (sum float64) {
	for _, e := range entries {
		if r, err := j.runs.Get(e.Slice, e.N); err == nil && j.has(r) && r.Judged.Cost() != nil {
			sum += *r.Judged.Cost()
		}
	}
	return sum
}
