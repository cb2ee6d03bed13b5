package eta

import (
	"fmt"
	"testing"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
)

var now = time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)

// attempt returns the events of an attempt that ended with the outcome: half of its time in
// tests, half in implementing.
func attempt(id string, n int, at time.Time, took time.Duration, outcome string, lane time.Duration) []journal.Event {
	ms := took.Milliseconds()
	list := []journal.Event{
		{Kind: journal.Launched, Slice: id, Attempt: n, Time: at},
		{Kind: journal.Step, Slice: id, Attempt: n, Time: at, Step: "tests"},
		{Kind: journal.Step, Slice: id, Attempt: n, Time: at.Add(took / 2), Step: "implementing"},
	}
	if lane > 0 {
		list = append(list, journal.Event{Kind: journal.Queued, Slice: id, Attempt: n, Time: at.Add(took)})
	}
	return append(list, journal.Event{Kind: journal.Ended, Slice: id, Attempt: n, Time: at.Add(took + lane), Outcome: outcome, DurationMS: &ms})
}

func learned(events ...[]journal.Event) *Learner {
	var l Learner
	for _, list := range events {
		for i := range list {
			l.Take(&list[i])
		}
	}
	return &l
}

// Two samples aren't enough. Failed attempts count for the slice; tasks and held attempts
// don't; the median is of completed ones.
func TestLearn(t *testing.T) {
	old := now.Add(-time.Hour)
	two := [][]journal.Event{
		attempt("S-1", 1, old, 10*time.Minute, "done", 0), attempt("S-2", 1, old, 5*time.Minute, "red", 0), attempt("S-2", 2, old, 20*time.Minute, "done", 0),
		attempt("S-3", 1, old, time.Second, "held", 0), attempt("@quick", 1, old, time.Second, "done", 0),
	}
	if p := learned(two...).Pace(); p.Typical != 0 || p.Samples != 0 {
		t.Errorf("two samples are no history: %+v", p)
	}
	p := learned(append(two, attempt("S-4", 1, old, 12*time.Minute, "done", 0))...).Pace()
	if p.Typical != 12*time.Minute || p.Samples != 3 || p.Whole != (10+25+12)*time.Minute/3 || p.Lane != 0 || p.Rest["implementing"] != 6*time.Minute {
		t.Errorf("%+v", p)
	}
}

// The rest of a graph on slots: one running, two ready, a chain behind the first, and slices
// that can't proceed by themselves.
func TestRemaining(t *testing.T) {
	pace := Of(12*time.Minute, 12*time.Minute, 12*time.Minute)
	items := []*plan.Item{{ID: "S-1", Status: "tests"}, {ID: "S-2"}, {ID: "S-3"}, {ID: "S-4", Deps: []string{"S-1"}}, {ID: "S-5", Deps: []string{"S-4"}}, {ID: "S-6", Deps: []string{"S-7"}}, {ID: "S-7", Status: "failed"}}
	snapshot := &plan.Snapshot{Items: items, Attempts: map[string]*plan.Attempt{"S-1": {N: 1, Phase: plan.Started, Started: now.Add(-2 * time.Minute)}}}
	p := plan.New(snapshot, now, plan.Options{})
	for slots, want := range map[int]time.Duration{1: 58 * time.Minute, 2: 36 * time.Minute, 4: 34 * time.Minute} {
		if got, ok := pace.Remaining(p, slots, now); !ok || got != want {
			t.Errorf("%d slots: %s, want %s", slots, got, want)
		}
	}
	if left, ok := pace.Left(p.State("S-1"), now); !ok || left != 10*time.Minute {
		t.Errorf("S-1 in %s", left)
	}
	if _, ok := pace.Left(p.State("S-1"), now.Add(time.Hour)); ok {
		t.Error("one that takes longer than usual has no known end")
	}
	if _, ok := (Pace{}).Remaining(p, 4, now); ok {
		t.Error("no history, no forecast")
	}

	// The current step tells more than the time since the start, and slices that wait for the
	// lane are merged one after the other.
	l := learned(attempt("A", 1, now.Add(-5*time.Hour), 20*time.Minute, "done", 2*time.Minute), attempt("B", 1, now.Add(-4*time.Hour), 20*time.Minute, "done", 2*time.Minute),
		attempt("C", 1, now.Add(-3*time.Hour), 20*time.Minute, "done", 2*time.Minute),
		[]journal.Event{{Kind: journal.Launched, Slice: "S-1", Attempt: 1, Time: now.Add(-2 * time.Minute)}, {Kind: journal.Step, Slice: "S-1", Attempt: 1, Time: now.Add(-time.Minute), Step: "implementing"}})
	pace = l.Pace()
	if left, ok := pace.Left(p.State("S-1"), now); !ok || left != 9*time.Minute {
		t.Errorf("S-1 in %s", left)
	}
	if got, ok := pace.Remaining(p, 4, now); !ok || got != 55*time.Minute { // 9+2, 20+2, 20+2
		t.Errorf("%s", got)
	}

	// A hold delays the start, and one that asks a person has no end.
	snapshot.Hold = &plan.Hold{Until: now.Add(time.Hour), Kind: "rate_limit"}
	// 60+20, three in the lane, 20+2
	if got, ok := pace.Remaining(plan.New(snapshot, now, plan.Options{}), 4, now); !ok || got != 108*time.Minute {
		t.Errorf("%s", got)
	}
	snapshot.Hold = &plan.Hold{Until: plan.UntilLifted, Kind: plan.HeldByFailures}
	if _, ok := pace.Remaining(plan.New(snapshot, now, plan.Options{}), 4, now); ok {
		t.Error("nobody knows when a person comes")
	}
}

// BenchmarkRemaining shows that the simulation of a thousand slices is fast enough for a view
// that redraws.
func BenchmarkRemaining(b *testing.B) {
	var items []plan.Item
	for i := range 1000 {
		it := plan.Item{ID: fmt.Sprintf("S-%d", i)}
		if i >= 10 {
			it.Deps = []string{fmt.Sprintf("S-%d", i-10)}
		}
		items = append(items, it)
	}
	p, pace := plan.New(&plan.Snapshot{Items: plan.Pointers(items)}, now, plan.Options{}), Of(time.Minute, time.Minute, time.Minute)
	for b.Loop() {
		pace.Remaining(p, 8, now)
	}
}

// An agent that has taken longer than all before it isn't about to finish: the guess is as long
// again.
func TestRemainingOfTheOverdue(t *testing.T) {
	p := plan.New(&plan.Snapshot{Items: []*plan.Item{{ID: "S-1", Status: "implementing", Session: "t"}},
		Attempts: map[string]*plan.Attempt{"S-1": {N: 1, Phase: plan.Started, Token: "t", Started: now.Add(-time.Hour)}}}, now, plan.Options{})
	if left, ok := Of(20*time.Minute, 0, 0).Remaining(p, 4, now); !ok || left != time.Hour {
		t.Errorf("%s, %v", left, ok)
	}
}
