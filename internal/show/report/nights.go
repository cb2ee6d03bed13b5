package report

import (
	"slices"
	"time"

	"greenlight/internal/state/journal"
)

// gap is the longest time between two runs of one night. A night contains midnight, so calendar
// days can't be used.
const gap = time.Hour

// nights finds the nights in the journal's events, which are in chronological order. A run without
// an end lasts until the next run's start or the last event.
func nights(events []journal.Event) []Night {
	var list []Night
	open := false
	for i, e := range events {
		if len(list) > 0 && open && e.Kind != journal.DrainStarted {
			list[len(list)-1].To = e.Time
		}
		switch e.Kind {
		case journal.DrainStarted:
			if len(list) == 0 || e.Time.Sub(list[len(list)-1].To) > gap {
				list = append(list, Night{From: e.Time, To: e.Time})
			}
			n := &list[len(list)-1]
			open, n.Why, n.Ended, n.Slots = true, "", nil, e.Max
			n.To = e.Time
		case journal.DrainEnded:
			if len(list) == 0 { // its start has been rotated away
				list = append(list, Night{From: events[0].Time, To: e.Time})
			}
			n := &list[len(list)-1]
			open, n.Why, n.To, n.Ended = false, e.Ending(), e.Time, &events[i].Time
		}
	}
	return list
}

// choose returns the night that a report is about, and the one before.
func choose(all []Night, since, now time.Time, running bool) (night Night, before *Night) {
	i := len(all) - 1
	if !since.IsZero() {
		for i >= 0 && !all[i].From.Before(since) {
			i--
		}
		night = Night{From: since, To: now}
		if last := len(all) - 1; last >= 0 && last > i {
			n := &all[last]
			night.Slots, night.Why, night.Ended, night.To = n.Slots, n.Why, n.Ended, n.To
		}
		i++
	} else if i >= 0 {
		night = all[i]
	} else {
		night = Night{From: now, To: now}
	}
	if night.Ended == nil && running {
		night.Running, night.To = true, now
	}
	if i > 0 && i <= len(all) {
		before = &all[i-1]
	}
	return night, before
}

// holds returns the times in which nothing was launched, or nothing of an agent. Those of one agent
// don't overlap.
func holds(events []journal.Event, n Night) []Span {
	var list []Span
	last := map[string]int{} // by agent, "" for all
	end := func(e *journal.Event) {
		if i, ok := last[e.Agent]; ok && e.Time.Before(list[i].To) {
			list[i].To = e.Time
		}
	}
	for _, e := range events {
		switch e.Kind {
		case journal.Held:
			to := n.To
			if e.Until != nil && e.Until.Before(to) {
				to = *e.Until
			}
			text := e.Reason
			if e.By != "" {
				text += " met by " + e.By
			}
			if e.Agent != "" {
				text = e.Agent + ": " + text
			}
			end(&e) // this one is longer
			last[e.Agent] = len(list)
			list = append(list, Span{Text: text, State: SpanHeld, From: e.Time, To: to})
		case journal.HoldEnded:
			end(&e)
		}
	}
	return slices.DeleteFunc(list, func(s Span) bool { return !within(s, n) })
}

// laneSpans returns what the merge queue did.
func laneSpans(events []journal.Event, n Night) []Span {
	var list []Span
	for _, e := range events {
		if e.DurationMS == nil || *e.DurationMS < 0 {
			continue
		}
		took := time.Duration(min(*e.DurationMS, 1<<40)) * time.Millisecond
		s := Span{ID: e.Slice, N: e.Attempt, From: e.Time.Add(-took), To: e.Time, State: "merge"}
		switch e.Kind {
		case journal.Merge:
			s.Text = "merge"
			if e.Outcome == journal.Conflicts {
				s.Text, s.State = "conflict", "red"
			}
		case journal.Verdict:
			s.Text, s.State = "tests passed", "green"
			if e.Outcome != "green" {
				s.Text, s.State = "tests failed", "red"
			}
		default:
			continue
		}
		if e.Slice == "" {
			s.Text += " without any slice's work"
		}
		if within(s, n) {
			list = append(list, s)
		}
	}
	return list
}

// within reports whether any part of a span is in the night.
func within(s Span, n Night) bool {
	return !s.To.Before(n.From) && !s.From.After(n.To) && !s.To.Before(s.From)
}
