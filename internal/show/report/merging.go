package report

import (
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/scrub"
	"greenlight/internal/base/uniq"
	"greenlight/internal/base/words"
	"greenlight/internal/run/attempt"
	"greenlight/internal/show/eventtext"
	"greenlight/internal/state/journal"
)

// Merging is what the merge queue did in a run, and how long the run waited for it.
type Merging struct {
	Runs   int     `json:"test_runs"`
	AtOnce int     `json:"at_once"`      // the most test runs side by side
	Busy   float64 `json:"seconds"`      // in which the queue had an entry
	Waited float64 `json:"wait_seconds"` // of these, in which no agent was at work
	// entries without which those behind them were tested, and why
	SetAside []Span `json:"set_aside"`
}

// merging finds what the merge queue did in the night.
func merging(in Input, recs []*attempt.Record, n Night) Merging {
	m := Merging{SetAside: []Span{}}
	var runs, queued, agents []Span
	for _, e := range in.Events {
		at := Span{ID: e.Slice, N: e.Attempt, State: e.Outcome, From: e.Time, To: e.Time}
		switch {
		case !within(at, n):
		case e.Kind == journal.SetAside:
			at.Text = scrub.Text(eventtext.Of(e))
			m.SetAside = append(m.SetAside, at)
		case e.Kind == journal.Verdict && e.DurationMS != nil && *e.DurationMS >= 0:
			m.Runs++
			took := time.Duration(min(*e.DurationMS, 1<<40)) * time.Millisecond
			// written a little after its end: the next may have begun by then
			runs = append(runs, Span{From: e.Time.Add(-took), To: e.Time.Add(-took / 10)})
		}
	}
	for _, r := range recs {
		if r.Life.StartedAt == nil {
			continue
		}
		s := Span{From: *r.Life.StartedAt, To: n.To}
		if r.Life.EndedAt != nil {
			s.To = *r.Life.EndedAt
		}
		agents = append(agents, s)
		if r.Landing != nil && r.Life.EndedAt != nil {
			queued = append(queued, Span{From: s.To, To: over(r, n.To)})
		}
	}
	m.AtOnce, _ = overlap(n, runs, nil)
	_, busy := overlap(n, queued, nil)
	_, waited := overlap(n, queued, agents)
	m.Busy, m.Waited = busy.Seconds(), waited.Seconds()
	return m
}

// overlap returns how many of the spans overlap at most in the night, and for how long there is any
// of them and none of the others.
func overlap(n Night, spans, others []Span) (most int, lasts time.Duration) {
	type change struct {
		at          time.Time
		span, other int
	}
	var changes []change
	add := func(s Span, span, other int) {
		if s.From.Before(n.From) {
			s.From = n.From
		}
		if s.To.After(n.To) {
			s.To = n.To
		}
		if s.To.After(s.From) {
			changes = append(changes, change{s.From, span, other}, change{s.To, -span, -other})
		}
	}
	for _, s := range spans {
		add(s, 1, 0)
	}
	for _, s := range others {
		add(s, 0, 1)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	is, other := 0, 0
	for i, c := range changes {
		if i > 0 && is > 0 && other == 0 {
			lasts += c.at.Sub(changes[i-1].at)
		}
		is, other = is+c.span, other+c.other
		if i+1 == len(changes) || changes[i+1].at.After(c.at) {
			most = max(most, is)
		}
	}
	return most, lasts
}

// Text returns it as a sentence, "" if the queue had no entry.
func (m *Merging) Text() string {
	if m.Busy <= 0 && m.Runs == 0 {
		return ""
	}
	text := "The merge queue ran the tests " + words.Count(m.Runs, "time")
	if m.AtOnce > 1 {
		text += ", up to " + words.Count(m.AtOnce, "run") + " side by side"
	}
	if m.Busy >= 1 {
		text += ". It had something to merge for " + duration(m.Busy)
	}
	if m.Waited >= 1 {
		text += "; for " + duration(m.Waited) + " of that no agent was at work, and the run waited for the queue alone"
	}
	text += "."
	if ids := m.setAside(); len(ids) > 0 {
		text += " Set aside meanwhile, and those behind tested without: " + strings.Join(ids, ", ") + "."
	}
	return text
}

// setAside returns the slices that were set aside, each once.
func (m *Merging) setAside() []string {
	var ids uniq.List
	for _, s := range m.SetAside {
		ids.Add(s.ID)
	}
	return ids.Items()
}
