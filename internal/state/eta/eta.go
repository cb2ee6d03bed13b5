package eta

import (
	"container/heap"
	"slices"
	"time"

	"greenlight/internal/core/plan"
)

// Left returns how much longer a running item is likely to take; false if unknown, in
// particular if it has already taken longer than similar ones.
func (p Pace) Left(st *plan.State, now time.Time) (time.Duration, bool) {
	a := st.Attempt
	if p.Typical == 0 || !a.Live() || a.Started.IsZero() {
		return 0, false
	}
	left := p.Typical - now.Sub(a.Started)
	if e, ok := p.at[st.ID]; ok && e.attempt == a.N {
		if rest, known := p.Rest[e.step]; known { // specific to its current step
			left = rest - now.Sub(e.since)
		}
	}
	return left, left > 0
}

// longer returns how much longer attempts took, on average, that exceeded than. If there were
// few, the best guess is the same time again.
func (p Pace) longer(than time.Duration) time.Duration {
	i, _ := slices.BinarySearch(p.took, than+1)
	if len(p.took)-i < fewest {
		return than
	}
	return max(mean(p.took[i:])-than, 0)
}

// whole returns how long an item takes that hasn't begun.
func (p Pace) whole() time.Duration { return max(p.Whole, p.Typical) }

// Remaining returns how long a plan takes with that many slots. Each item in turn gets the
// first free slot, and completed work passes through the merge queue one at a time. Items that
// failed, wait for a person or are blocked by such items don't count, because they make no
// progress by themselves. It returns false if unknown: without history, or while a hold waits
// for a person.
func (p Pace) Remaining(pl *plan.Plan, slots int, now time.Time) (time.Duration, bool) {
	if p.Typical == 0 || slots < 1 || pl.Hold.Open() {
		return 0, false
	}
	s := simulation{
		pace:       p,
		free:       make([]time.Duration, slots),
		waits:      map[string]int{},
		dependents: map[string][]string{},
		due:        map[string]time.Duration{},
	}
	if pl.Hold != nil {
		for i := range s.free {
			s.free[i] = max(pl.Hold.Until.Sub(now), 0)
		}
	}
	for range pl.Lists.Landing {
		s.lane += p.Lane
	}
	ends := map[string]time.Duration{}
	for i, id := range pl.Lists.Landing {
		ends[id] = p.Lane * time.Duration(i+1)
	}
	for _, id := range pl.Lists.Running {
		st := pl.State(id)
		left, known := p.Left(st, now)
		switch {
		case !st.Attempt.Open() || st.Attempt.Started.IsZero():
			left = p.whole()
		case !known:
			left = p.longer(now.Sub(st.Attempt.Started))
		}
		slices.Sort(s.free)
		s.free[0] = max(s.free[0], left)
		heap.Push(&s.queue, job{id: id, due: left, ran: true})
	}
	s.plan(pl, ends)
	var last time.Duration
	for _, end := range ends {
		last = max(last, end)
	}
	return max(last, s.run()), true
}

// A simulation runs the rest of a plan on slots.
type simulation struct {
	pace       Pace
	free       []time.Duration // when each slot is free
	lane       time.Duration   // when the merge queue is free
	queue      timetable
	order      int
	waits      map[string]int // number of others that each item waits for
	dependents map[string][]string
	due        map[string]time.Duration // when the last of its dependencies is done
}

// plan queues the items that can begin, in plan order.
func (s *simulation) plan(pl *plan.Plan, ends map[string]time.Duration) {
	for _, id := range slices.Concat(pl.Lists.Ready, pl.Lists.Blocked) {
		for _, need := range pl.State(id).Needs {
			if end, landing := ends[need]; landing {
				s.due[id] = max(s.due[id], end)
				continue
			}
			s.waits[id]++
			s.dependents[need] = append(s.dependents[need], id)
		}
		if s.waits[id] == 0 {
			s.push(id)
		}
	}
}

func (s *simulation) push(id string) {
	s.order++
	heap.Push(&s.queue, job{id: id, due: s.due[id], order: s.order})
}

// run returns when everything that can be done is done.
func (s *simulation) run() time.Duration {
	var last time.Duration
	for len(s.queue) > 0 {
		next := heap.Pop(&s.queue).(job)
		if !next.ran { // it gets a slot; after its agent comes the merge queue
			slices.Sort(s.free)
			next.due, next.ran = max(next.due, s.free[0])+s.pace.whole(), true
			s.free[0] = next.due
			heap.Push(&s.queue, next)
			continue
		}
		end := next.due
		if s.pace.Lane > 0 {
			end = max(end, s.lane) + s.pace.Lane
			s.lane = end
		}
		last = max(last, end)
		for _, id := range s.dependents[next.id] {
			s.due[id] = max(s.due[id], end)
			if s.waits[id]--; s.waits[id] == 0 {
				s.push(id)
			}
		}
	}
	return last
}

// A timetable is a queue of jobs, ordered by time.
type timetable []job

// A job is an item that can begin at due or, if its agent has run, ends then.
type job struct {
	id    string
	due   time.Duration
	ran   bool
	order int
}

func (t timetable) Len() int { return len(t) }
func (t timetable) Less(i, j int) bool {
	a, b := t[i], t[j]
	if a.due != b.due {
		return a.due < b.due
	}
	return a.ran && !b.ran || a.ran == b.ran && a.order < b.order
}
func (t timetable) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timetable) Push(x any)   { *t = append(*t, x.(job)) }
func (t *timetable) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
