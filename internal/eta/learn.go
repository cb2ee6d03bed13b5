// Package eta says when work is likely to be done: it learns from the journal how long slices take, in which steps and in the lane, and
// simulates the rest of the graph on the slots there are. Without history it says that nobody knows. It is pure; the events are passed in.
package eta

import (
	"slices"
	"strings"
	"time"

	"greenlight/internal/journal"
)

const (
	fewest = 3  // samples that a median needs: fewer are no history
	newest = 50 // samples that it is taken from: projects change
)

// A Pace is how long slices take. The zero Pace knows nothing.
type Pace struct {
	Typical time.Duration            // of an attempt that completes its slice, from the agent's start to its end: the median; 0 for unknown
	Samples int                      // attempts that it is of
	Whole   time.Duration            // of all attempts at such a slice together: the mean, which is what many of them take
	Lane    time.Duration            // that the lane is busy with such a slice: the mean, too
	Rest    map[string]time.Duration // by step: from its begin to the end of the agent

	took []time.Duration  // by attempts that completed their slices, the shortest first
	at   map[string]entry // of the attempts under way, by slice
}

// An entry is the step in which an attempt is.
type entry struct {
	attempt int
	step    string
	since   time.Time
}

// A Learner learns from events in their order. The zero Learner has seen none.
type Learner struct {
	live   map[string]*run
	worked map[string]work // so far at a slice that isn't complete
	total  []time.Duration
	whole  []time.Duration
	lane   []time.Duration
	rest   map[string][]time.Duration
	landed time.Time // when the lane was through with something last
}

// A work is what attempts at a slice and the lane have taken together.
type work struct{ agents, lane time.Duration }

// A run is an attempt under way.
type run struct {
	n        int
	launched time.Time
	queued   time.Time
	steps    []entry
}

// Take learns from an event.
func (l *Learner) Take(e *journal.Event) {
	if e.Slice == "" || e.Attempt == 0 || strings.HasPrefix(e.Slice, "@") {
		return
	}
	if l.live == nil {
		l.live, l.worked, l.rest = map[string]*run{}, map[string]work{}, map[string][]time.Duration{}
	}
	key := e.System + "/" + e.Slice
	r := l.live[key]
	if e.Kind == journal.Launched {
		l.live[key] = &run{n: e.Attempt, launched: e.Time}
		return
	}
	if r == nil || r.n != e.Attempt {
		return
	}
	switch e.Kind {
	case journal.Step:
		if e.Step != "" && r.queued.IsZero() {
			r.steps = append(r.steps, entry{e.Attempt, e.Step, e.Time})
		}
	case journal.Queued:
		r.queued = e.Time
	case journal.Ended:
		delete(l.live, key)
		l.leaveLane(key, r, e)
		l.end(key, r, e)
	}
}

// leaveLane takes in how long the lane was busy with what has left it, without the time for which others were before it.
func (l *Learner) leaveLane(key string, r *run, e *journal.Event) {
	if r.queued.IsZero() {
		return
	}
	from := r.queued
	if l.landed.After(from) {
		from = l.landed
	}
	l.landed = e.Time
	w := l.worked[key]
	w.lane += max(e.Time.Sub(from), 0)
	l.worked[key] = w
}

func (l *Learner) end(key string, r *run, e *journal.Event) {
	if e.DurationMS == nil || *e.DurationMS < 0 || e.Outcome == "held" { // what a limit ended says nothing about the slice
		return
	}
	took := time.Duration(*e.DurationMS) * time.Millisecond
	w := l.worked[key]
	w.agents += took
	l.worked[key] = w
	if e.Outcome != "done" {
		return
	}
	keep(&l.total, took)
	keep(&l.whole, w.agents)
	if !r.queued.IsZero() {
		keep(&l.lane, w.lane)
	}
	delete(l.worked, key)
	over := r.launched.Add(took)
	seen := map[string]bool{}
	for _, s := range r.steps {
		if left := over.Sub(s.since); left >= 0 && !seen[s.step] { // a step that was gone back to counts from its first begin
			seen[s.step] = true
			list := l.rest[s.step]
			keep(&list, left)
			l.rest[s.step] = list
		}
	}
}

// keep adds a sample to the newest ones.
func keep(list *[]time.Duration, d time.Duration) {
	*list = append(*list, d)
	if len(*list) > newest {
		*list = (*list)[1:]
	}
}

// Pace is what has been learned so far.
func (l *Learner) Pace() Pace {
	p := Pace{Typical: median(l.total), Samples: len(l.total), Whole: mean(l.whole), Lane: mean(l.lane), Rest: map[string]time.Duration{}, at: map[string]entry{}}
	if p.Typical == 0 {
		p.Samples = 0
	} else {
		p.took = slices.Sorted(slices.Values(l.total))
	}
	for step, list := range l.rest {
		if len(list) >= fewest {
			p.Rest[step] = median(list)
		}
	}
	for key, r := range l.live {
		if len(r.steps) > 0 && r.queued.IsZero() {
			_, id, _ := strings.Cut(key, "/")
			p.at[id] = r.steps[len(r.steps)-1]
		}
	}
	return p
}

// median is 0 for too few.
func median(list []time.Duration) time.Duration {
	if len(list) < fewest {
		return 0
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return max(sorted[len(sorted)/2], 1)
}

// mean is 0 for too few. The longest of many doesn't count: the machine may have slept.
func mean(list []time.Duration) time.Duration {
	if len(list) < fewest {
		return 0
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	if len(sorted) > 10 {
		sorted = sorted[:len(sorted)-1]
	}
	var sum time.Duration
	for _, d := range sorted {
		sum += d / time.Duration(len(sorted))
	}
	return max(sum, 1)
}

// Of is the pace of attempts that took so long.
func Of(took ...time.Duration) Pace {
	var l Learner
	for _, d := range took {
		keep(&l.total, d)
		keep(&l.whole, d)
	}
	return l.Pace()
}
