package scheduler

import (
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

const (
	settleTime = 2 * time.Second  // how long a graph may be unreadable: an editor may be writing it
	stateLimit = 30 * time.Second // how long the state may be unreadable before the run ends
)

// picture is the project as the last pass has seen it, and how far that can be trusted.
type picture struct {
	task   bool // of a run for a task, which needs no graph
	forced bool // the run launches in spite of holds

	plan   *plan.Plan // nil until a pass has read the state
	unsure time.Time  // since when the graph can't be read; zero if it can
	unread time.Time  // since when the state can't be read; zero if it can
}

func newPicture(s Scope) picture {
	return picture{task: s.Task != nil, forced: s.Force && s.IDs != nil}
}

// hold returns what keeps this run from launching anything; nil for nothing.
func (p *picture) hold() *plan.Hold {
	if p.plan == nil || p.forced {
		return nil
	}
	return p.plan.Hold
}

// inDoubt reports whether the graph couldn't be read.
func (p *picture) inDoubt() bool { return !p.task && p.plan.Snapshot.Unsure != "" }

// unsettled reports whether the graph couldn't be read, but may be readable in a moment.
func (p *picture) unsettled() bool {
	if !p.inDoubt() {
		return false
	}
	if p.unsure.IsZero() {
		p.unsure = time.Now()
	}
	return time.Since(p.unsure) < settleTime
}

// distrusted reports whether there are no dependencies to go by: the graph can't be read, not for a
// while now, and no slice names its own.
func (p *picture) distrusted() bool {
	return p.inDoubt() && !p.unsettled() &&
		!slices.ContainsFunc(p.plan.States, func(st plan.State) bool { return len(st.Deps) > 0 })
}

// trusted reports whether slices may be launched by this plan.
func (p *picture) trusted() bool {
	if !p.inDoubt() {
		p.unsure = time.Time{}
		return true
	}
	return !p.unsettled() && !p.distrusted()
}

// failed notes that the state couldn't be read. It reports whether that is new, and whether it has
// lasted too long.
func (p *picture) failed() (first, over bool) {
	if p.unread.IsZero() {
		p.unread = time.Now()
		return true, false
	}
	return false, time.Since(p.unread) >= stateLimit
}

// slots is how many attempts there may be at a time.
type slots struct {
	Slots
	runs *attempt.Store
	set  time.Time // when a person had last set them as the run began
	here int       // of this machine; Max has those of workers, too
}

// count follows the configuration. A number from the command line holds until a person sets
// another.
func (s *slots) count(workers int) {
	if s.here == 0 {
		s.here = s.Max
	}
	if !s.Fixed || !s.runs.Control.SlotsSet().Equal(s.set) {
		if s.Fixed = false; s.Now != nil {
			s.here = s.Now()
		}
	}
	s.Max = s.here + workers
}

// free returns how many more attempts may be launched, with that many of the run's own at work.
func (s *slots) free(p *plan.Plan, own int) int {
	n := s.Max - p.Taken
	if s.Serial {
		n = min(n, 1-own)
	}
	return n
}
