package view

import (
	"container/heap"
	"slices"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/plan"
)

// A Pace is how long a slice takes, learned from attempts that completed one. The zero Pace knows nothing.
type Pace struct {
	Typical time.Duration // the median, from the start of the agent to its end; 0 for unknown
	Samples int
}

const (
	fewest = 3  // attempts that a pace needs: fewer are no history
	newest = 50 // attempts that it is taken from: projects change
)

// Learn takes the pace from attempts in any order.
func Learn(recs []*attempt.Record) Pace {
	var done []*attempt.Record
	for _, r := range recs {
		if r.Duration() != nil && !r.IsTask() && r.Outcome.Traits().Success {
			done = append(done, r)
		}
	}
	slices.SortStableFunc(done, func(a, b *attempt.Record) int { return a.EndedAt.Compare(*b.EndedAt) })
	done = done[max(0, len(done)-newest):]
	if len(done) < fewest {
		return Pace{}
	}
	times := make([]time.Duration, len(done))
	for i, r := range done {
		times[i] = *r.Duration()
	}
	slices.Sort(times)
	return Pace{Typical: times[len(times)/2], Samples: len(times)}
}

// Left is how long a running item is likely to take still; false for unknown, which one is that has taken longer already.
func (p Pace) Left(st *plan.State, now time.Time) (time.Duration, bool) {
	a := st.Attempt
	if p.Typical == 0 || !a.Live() || a.Started.IsZero() {
		return 0, false
	}
	left := p.Typical - now.Sub(a.Started)
	return left, left > 0
}

// Remaining is how long a plan takes on so many slots, by giving each item in turn to the first slot that is free. What
// failed, waits for a person or is blocked by that doesn't count: nothing happens to it by itself. false for unknown.
func (p Pace) Remaining(pl *plan.Plan, slots int, now time.Time) (time.Duration, bool) {
	if p.Typical == 0 || slots < 1 {
		return 0, false
	}
	free := make([]time.Duration, slots) // when each slot is
	ends := map[string]time.Duration{}
	for _, id := range pl.Running {
		st := pl.State(id)
		left, _ := p.Left(st, now) // one that takes longer than usual may end at any moment
		if !st.Attempt.Open() || st.Attempt.Started.IsZero() {
			left = p.Typical
		}
		ends[id] = left
		slices.Sort(free)
		free[0] = max(free[0], left)
	}
	for _, id := range pl.Landing {
		ends[id] = 0
	}
	// Each waits for a number of others, and is due when the last of them is done.
	waits, dependents, due := map[string]int{}, map[string][]string{}, map[string]time.Duration{}
	var queue timetable
	for _, id := range slices.Concat(pl.Ready, pl.Blocked) {
		for _, need := range pl.State(id).Needs {
			if end, ok := ends[need]; ok {
				due[id] = max(due[id], end)
				continue
			}
			waits[id]++
			dependents[need] = append(dependents[need], id)
		}
		if waits[id] == 0 {
			heap.Push(&queue, entry{id, due[id]})
		}
	}
	for len(queue) > 0 {
		next := heap.Pop(&queue).(entry)
		slices.Sort(free)
		end := max(next.due, free[0]) + p.Typical
		free[0], ends[next.id] = end, end
		for _, id := range dependents[next.id] {
			due[id] = max(due[id], end)
			if waits[id]--; waits[id] == 0 {
				heap.Push(&queue, entry{id, due[id]})
			}
		}
	}
	var last time.Duration
	for _, end := range ends {
		last = max(last, end)
	}
	return last, true
}

// A timetable is the items that can begin, by the time from which they can.
type timetable []entry

type entry struct {
	id  string
	due time.Duration
}

func (t timetable) Len() int           { return len(t) }
func (t timetable) Less(i, j int) bool { return t[i].due < t[j].due }
func (t timetable) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *timetable) Push(x any)        { *t = append(*t, x.(entry)) }
func (t *timetable) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
