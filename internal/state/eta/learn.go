// Package eta estimates when work will be done. It learns from the journal how long slices
// take, in each step and in the merge queue, and simulates the rest of the graph on the
// available slots. Without history the result is unknown. It is pure; the events are passed in.
package eta

import (
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/state/journal"
)

const (
	fewest = 3  // samples needed for a median; fewer aren't a history
	newest = 50 // samples used: projects change
)

// A Pace describes how long slices take. The zero Pace has no data.
type Pace struct {
	// duration of an attempt that completes its slice, from the agent's start to its end: the
	// median; 0 if unknown
	Typical time.Duration
	Samples int // number of these attempts
	// total of all attempts at such a slice: the mean, because many of them add up
	Whole time.Duration
	// time that the merge queue spends on such a slice: also the mean
	Lane time.Duration
	Rest map[string]time.Duration // by step: from its beginning to the end of the agent

	took []time.Duration  // durations of attempts that completed their slices, shortest first
	at   map[string]entry // attempts in progress, by slice
}

// An entry is the current step of an attempt.
type entry struct {
	attempt int
	step    string
	since   time.Time
}

// A Learner learns from events in order. The zero Learner has seen none.
type Learner struct {
	live   map[string]*run
	worked map[string]work // so far, on incomplete slices
	total  []time.Duration
	whole  []time.Duration
	lane   []time.Duration
	rest   map[string][]time.Duration
	landed time.Time // when the merge queue last finished something
}

// A work is the total time of the attempts at a slice and of the merge queue.
type work struct{ agents, lane time.Duration }

// A run is an attempt in progress.
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

// leaveLane records how long the merge queue was busy with something that has left it, without
// the time spent on others before it.
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
	traits := outcome.Of(e.Outcome)
	if e.DurationMS == nil || *e.DurationMS < 0 || traits.Limited {
		return
	}
	took := time.Duration(*e.DurationMS) * time.Millisecond
	w := l.worked[key]
	w.agents += took
	l.worked[key] = w
	if !traits.Success {
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
		// a step that was returned to counts from its first beginning
		if left := over.Sub(s.since); left >= 0 && !seen[s.step] {
			seen[s.step] = true
			list := l.rest[s.step]
			keep(&list, left)
			l.rest[s.step] = list
		}
	}
}

// keep adds a sample, dropping the oldest beyond the limit.
func keep(list *[]time.Duration, d time.Duration) {
	*list = append(*list, d)
	if len(*list) > newest {
		*list = (*list)[1:]
	}
}

// Pace returns what has been learned so far.
func (l *Learner) Pace() Pace {
	p := Pace{
		Typical: median(l.total),
		Samples: len(l.total),
		Whole:   mean(l.whole),
		Lane:    mean(l.lane),
		Rest:    map[string]time.Duration{},
		at:      map[string]entry{},
	}
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

// median returns 0 for too few samples.
func median(list []time.Duration) time.Duration {
	if len(list) < fewest {
		return 0
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return max(sorted[len(sorted)/2], 1)
}

// mean returns 0 for too few samples. It drops the longest of many: the machine may have been
// asleep.
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

// Of returns the pace of attempts with these durations.
func Of(took ...time.Duration) Pace {
	var l Learner
	for _, d := range took {
		keep(&l.total, d)
		keep(&l.whole, d)
	}
	return l.Pace()
}
