package scheduler

import "time"

// claimPauses are the times after which a claim that failed is tried again, unless the run's Pace
// has others: a full disk, a lock that another program holds or a git that was killed doesn't cost
// a slice the whole run.
var claimPauses = []time.Duration{time.Second, 5 * time.Second, 25 * time.Second}

// A refusal is a slice whose claims failed.
type refusal struct {
	times int
	until time.Time // when it is tried again
}

// refused is the slices whose claims failed.
type refused struct {
	pauses []time.Duration
	slices map[string]refusal // by id
}

func newRefused(p Pace) refused {
	if p.ClaimAgain != nil {
		return refused{p.ClaimAgain, map[string]refusal{}}
	}
	return refused{claimPauses, map[string]refusal{}}
}

// again notes that a claim failed, and reports whether it is tried again.
func (m refused) again(id string, now time.Time) bool {
	n := m.slices[id].times
	if n >= len(m.pauses) {
		delete(m.slices, id)
		return false
	}
	m.slices[id] = refusal{n + 1, now.Add(m.pauses[n])}
	return true
}

// waits reports whether a slice isn't tried yet.
func (m refused) waits(id string, now time.Time) bool { return now.Before(m.slices[id].until) }

// due returns the time until a slice is tried again, at most next.
func (m refused) due(next time.Duration, now time.Time) time.Duration {
	for _, r := range m.slices {
		if now.Before(r.until) {
			next = min(next, r.until.Sub(now))
		}
	}
	return next
}

// pending reports whether a slice will be tried again.
func (m refused) pending(now time.Time) bool {
	for id := range m.slices {
		if m.waits(id, now) {
			return true
		}
	}
	return false
}
