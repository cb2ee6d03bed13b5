package plan

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Outcomes that leave an item in different ways; package attempt has the real ones.
var (
	complete = Outcome{Name: "complete", Available: Stalled, Success: true}
	stalled  = Outcome{Name: "stalled", Available: Stalled, Active: Stalled}
	failed   = Outcome{Name: "failed", Available: Failed, Active: Failed}
	stopped  = Outcome{Name: "stopped", Active: Stalled}
)

func item(id, status string, deps ...string) Item {
	return Item{ID: id, Name: id, Status: status, Deps: deps, Wave: None, Priority: None, Position: None, Changed: now}
}

func planOf(items ...Item) *Plan {
	return New(&Snapshot{Items: Pointers(items)}, now, Options{StaleAfter: 2 * time.Hour})
}

func TestClassify(t *testing.T) {
	for raw, want := range map[string]Class{
		"complete": Done, "Completed": Done, "done": Done,
		"pending": Available, "ready": Available, "": Available, " Pending ": Available,
		"in_progress": Active, "in-progress": Active, "In Progress": Active, "verifying": Active,
		"paused": Waiting, "failed": Failed, "blocked": Unknown, "done!": Unknown,
	} {
		if got := Classify(raw); got != want {
			t.Errorf("Classify(%q) = %s, want %s", raw, got, want)
		}
	}
}

func TestNaturalLess(t *testing.T) {
	ids := []string{"S-10", "S-2", "S-01", "S-1", "S-2.10", "S-2.9", "A", "S-", "S-99999999999999999999999", "S-100"}
	sort.Slice(ids, func(i, j int) bool { return NaturalLess(ids[i], ids[j]) })
	want := []string{"A", "S-", "S-01", "S-1", "S-2", "S-2.9", "S-2.10", "S-10", "S-100", "S-99999999999999999999999"}
	if d := cmp.Diff(want, ids); d != "" {
		t.Error(d)
	}
}

func TestNaturalLessIsAnOrder(t *testing.T) {
	id := rapid.StringMatching(`[S0-9.-]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := id.Draw(t, "a"), id.Draw(t, "b"), id.Draw(t, "c")
		if NaturalLess(a, b) && NaturalLess(b, a) {
			t.Fatalf("%q and %q are each less than the other", a, b)
		}
		if a != b && !NaturalLess(a, b) && !NaturalLess(b, a) {
			t.Fatalf("%q and %q are neither less nor equal", a, b)
		}
		if NaturalLess(a, b) && NaturalLess(b, c) && !NaturalLess(a, c) {
			t.Fatalf("%q < %q < %q, but not %q < %q", a, b, c, a, c)
		}
	})
}

func TestReadyOrder(t *testing.T) {
	wave := func(it Item, w int) Item { it.Wave = w; return it }
	priority := func(it Item, n int) Item { it.Priority = n; return it }
	p := planOf(
		item("S-1", "pending"), item("S-10", "pending"), item("S-9", "pending"),
		wave(item("S-20", "pending"), 2), wave(item("S-21", "pending"), 1),
		priority(item("S-30", "pending"), 1),
		item("S-40", "pending"), item("S-41", "pending", "S-40"), item("S-42", "pending", "S-41"),
	)
	want := []string{"S-21", "S-20", "S-30", "S-40", "S-1", "S-9", "S-10"}
	if d := cmp.Diff(want, p.Lists.Ready); d != "" {
		t.Error(d)
	}
}

func TestDependencies(t *testing.T) {
	s := &Snapshot{
		Items: Pointers([]Item{
			item("S-1", "complete"), item("S-2", "pending", "S-1"), item("S-3", "ready", "S-2"),
			item("S-4", "pending", "S-0"), item("S-5", "pending", "S-99"),
		}),
		Evidence: map[string]string{"S-0": "complete", "S-98": "pending"},
	}
	p := New(s, now, Options{})
	if d := cmp.Diff([]string{"S-2", "S-4"}, p.Lists.Ready); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"S-3", "S-5"}, p.Lists.Blocked); d != "" {
		t.Error(d)
	}
	if got := p.Because("S-5"); got != "unknown slice S-99" {
		t.Errorf("Because(S-5) = %q", got)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0].Message, "S-99") {
		t.Errorf("want one warning that names S-99, got %v", p.Warnings)
	}
}

// A slice whose file says complete while its agent still runs keeps its dependants blocked and
// its slot taken.
func TestLiveAttemptBeatsTheFile(t *testing.T) {
	s := &Snapshot{
		Items:    Pointers([]Item{item("S-1", "complete"), item("S-2", "pending", "S-1")}),
		Attempts: map[string]*Attempt{"S-1": {N: 1, Phase: Started}},
	}
	p := New(s, now, Options{})
	if p.State("S-1").Class != Active || len(p.Lists.Ready) != 0 || p.Taken != 1 {
		t.Errorf("class %s, ready %v, taken %d", p.State("S-1").Class, p.Lists.Ready, p.Taken)
	}
	// an orphan may still write, so for all others it counts as running
	s.Attempts["S-1"].Dead = true
	if p = New(s, now, Options{}); p.State("S-1").Class != Stalled || len(p.Lists.Ready) != 0 || p.Taken != 1 {
		t.Errorf("dead: class %s, ready %v, taken %d", p.State("S-1").Class, p.Lists.Ready, p.Taken)
	}
	s.Attempts["S-1"] = &Attempt{N: 1, Phase: Settled, Outcome: complete, After: Mark{Status: "complete"}}
	p = New(s, now, Options{})
	if p.Done != 1 || len(p.Lists.Ready) != 1 || p.Taken != 0 {
		t.Errorf("done %d, ready %v, taken %d", p.Done, p.Lists.Ready, p.Taken)
	}
}

func TestStalledUntilTouched(t *testing.T) {
	it := item("S-1", "in_progress")
	it.Step = "tests"
	s := &Snapshot{Items: Pointers([]Item{it}), Attempts: map[string]*Attempt{
		"S-1": {N: 1, Phase: Settled, Outcome: stalled, Detail: "turn limit", After: Mark{"in_progress", "tests", ""}}}}
	p := New(s, now, Options{})
	if got := p.Why("S-1", now); got.State != "stalled" || got.Cause != "turn limit" {
		t.Errorf("got %v", got)
	}
	s.Items[0].Step = "implementing" // another session continues it
	if p = New(s, now, Options{}); p.State("S-1").Class != Active {
		t.Errorf("class %s after a change of the step", p.State("S-1").Class)
	}
}

// A slice whose agent writes "pending" and ends must not be launched again and again; nor is
// finished work redone because a reset of the checkout reverted the file.
func TestPendingAgainIsNotReady(t *testing.T) {
	for _, a := range []Attempt{
		{Phase: Settled, Outcome: stalled, After: Mark{Status: "pending"}},
		{Phase: Settled, Outcome: complete, After: Mark{Status: "complete"}},
	} {
		s := &Snapshot{Items: Pointers([]Item{item("S-1", "pending")}), Attempts: map[string]*Attempt{"S-1": &a}}
		if p := New(s, now, Options{}); p.State("S-1").Class != Stalled {
			t.Errorf("after %s: class %s", a.Outcome.Name, p.State("S-1").Class)
		}
		a.Retried = true
		if p := New(s, now, Options{}); len(p.Lists.Ready) != 1 {
			t.Errorf("after %s and a retry: ready %v", a.Outcome.Name, p.Lists.Ready)
		}
	}
}

// An outcome decides the class of an item that hasn't changed since, and only if its status
// doesn't.
func TestOutcomeDecidesTheClass(t *testing.T) {
	for _, c := range []struct {
		outcome Outcome
		status  string
		want    Class
	}{
		{stalled, "tests", Stalled}, {failed, "tests", Failed}, {failed, "pending", Failed}, {stopped, "tests", Stalled},
		{stopped, "pending", Available}, {complete, "tests", Active}, {stalled, "complete", Done}, {stalled, "failed", Failed},
		{stalled, "odd", Unknown}, {Outcome{}, "pending", Available}, {Outcome{}, "tests", Active},
	} {
		a := &Attempt{N: 1, Phase: Settled, Outcome: c.outcome, After: Mark{Status: c.status}}
		class := func() Class {
			s := &Snapshot{Items: Pointers([]Item{item("S-1", c.status)}), Attempts: map[string]*Attempt{"S-1": a}}
			return New(s, now, Options{}).State("S-1").Class
		}
		if got := class(); got != c.want {
			t.Errorf("%q after %+v: class %s, want %s", c.status, c.outcome, got, c.want)
		}
		a.After.Step = "another"
		if got := class(); got != Classify(c.status) {
			t.Errorf("%q after %+v, and touched since: class %s", c.status, c.outcome, got)
		}
	}
}

func TestForeignClaims(t *testing.T) {
	fresh, stale := item("S-1", "in_progress"), item("S-2", "implementing")
	stale.Changed = now.Add(-3 * time.Hour)
	p := planOf(fresh, stale)
	if p.Taken != 1 || !p.State("S-2").Stale || p.State("S-1").Stale {
		t.Errorf("taken %d, stale %v %v", p.Taken, p.State("S-1").Stale, p.State("S-2").Stale)
	}
}

func TestBlame(t *testing.T) {
	p := planOf(
		item("S-1", "failed"), item("S-2", "pending"), item("S-3", "pending", "S-2", "S-1"),
		item("S-4", "pending", "S-3"), item("S-5", "pending", "S-2"),
	)
	if got := p.State("S-4").Root; got != "S-1" {
		t.Errorf("root of S-4 is %q", got)
	}
	if got := p.Because("S-4"); got != "S-1 failed" {
		t.Errorf("because %q", got)
	}
	if d := cmp.Diff([]string{"S-4", "S-3", "S-1"}, p.WayOut("S-4")); d != "" {
		t.Error(d)
	}
	if root, n := p.BlockedOn(); root != "S-1" || n != 2 {
		t.Errorf("blocked on %s: %d", root, n)
	}
}

func TestCycles(t *testing.T) {
	p := planOf(
		item("S-1", "pending", "S-3"), item("S-2", "pending", "S-1"), item("S-3", "pending", "S-2"),
		item("S-4", "pending", "S-2"), item("S-5", "pending"),
		// done: needs no attention
		item("S-6", "complete", "S-7"), item("S-7", "complete", "S-6"),
	)
	if d := cmp.Diff([][]string{{"S-1", "S-3", "S-2"}}, p.Cycles); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"S-5"}, p.Lists.Ready); d != "" {
		t.Error(d)
	}
	if got := p.Because("S-4"); !strings.Contains(got, "cycle") {
		t.Errorf("S-4 because %q", got)
	}
	if len(p.Warnings) != 1 || p.Warnings[0].Message != "dependency cycle: S-1 → S-3 → S-2 → S-1" {
		t.Errorf("warnings %v", p.Warnings)
	}
}

func TestScope(t *testing.T) {
	a, b := item("S-1", "pending"), item("S-2", "pending", "S-1")
	a.Milestone, b.Milestone = "one", "two"
	p := New(&Snapshot{Items: Pointers([]Item{a, b})}, now, Options{Milestone: "two"})
	if p.Total != 1 || len(p.Lists.Ready) != 0 || len(p.Lists.Blocked) != 1 {
		t.Errorf("total %d, ready %v, blocked %v", p.Total, p.Lists.Ready, p.Lists.Blocked)
	}
}

// In any graph: every item is in exactly one list, no ready item has an unfinished need, every
// blocked item has a root other than itself, and a path to it that starts at the item.
func TestPlanOfAnyGraph(t *testing.T) {
	statuses := []string{"pending", "ready", "complete", "in_progress", "failed", "paused", "odd"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "n")
		items := make([]Item, n)
		for i := range items {
			items[i] = item(fmt.Sprintf("S-%d", i), rapid.SampledFrom(statuses).Draw(t, "status"))
			for _, d := range rapid.SliceOfN(rapid.IntRange(0, 31), 0, 3).Draw(t, "deps") {
				if d != i {
					items[i].Deps = append(items[i].Deps, fmt.Sprintf("S-%d", d))
				}
			}
		}
		p := planOf(items...)
		lists := len(p.Lists.Ready) + len(p.Lists.Running) + len(p.Lists.Blocked) + len(p.Lists.Failed) + len(p.Lists.Stalled) + len(p.Lists.Waiting) + len(p.Lists.Unknown) + p.Done
		if lists != n || p.Total != n {
			t.Fatalf("%d items in the lists, total %d, want %d", lists, p.Total, n)
		}
		for _, id := range p.Lists.Ready {
			for _, d := range p.State(id).Deps {
				if s := p.State(d); s == nil || s.Class != Done {
					t.Fatalf("%s is ready, but needs %s", id, d)
				}
			}
		}
		for _, id := range p.Lists.Blocked {
			st := p.State(id)
			if st.Root == "" || p.Because(id) == "" {
				t.Fatalf("%s is blocked without a reason", id)
			}
			if way := p.WayOut(id); way[0] != id || len(way) < 2 && st.Root != id {
				t.Fatalf("way out of %s to %s is %v", id, st.Root, way)
			}
		}
		for _, c := range p.Cycles {
			for i, id := range c {
				next := c[(i+1)%len(c)]
				if !contains(p.State(id).Needs, next) {
					t.Fatalf("cycle %v: %s doesn't need %s", c, id, next)
				}
			}
		}
	})
}

// The chain of an item is the result of a naive recursion over unfinished dependants.
func TestChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		items := make([]Item, n)
		for i := range items {
			items[i] = item(fmt.Sprintf("S-%d", i), rapid.SampledFrom([]string{"pending", "complete"}).Draw(t, "status"))
			for d := range i {
				if rapid.IntRange(0, 4).Draw(t, "edge") == 0 {
					items[i].Deps = append(items[i].Deps, fmt.Sprintf("S-%d", d))
				}
			}
		}
		p := planOf(items...)
		var chain func(id string) int
		chain = func(id string) int {
			longest := 0
			for i := range p.States {
				if contains(p.States[i].Needs, id) {
					longest = max(longest, 1+chain(p.States[i].ID))
				}
			}
			return longest
		}
		for i := range p.States {
			if want := chain(p.States[i].ID); p.States[i].Chain != want {
				t.Fatalf("chain of %s is %d, want %d", p.States[i].ID, p.States[i].Chain, want)
			}
		}
	})
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// A task takes a slot while its agent runs, and none in the lane.
func TestTasksTakeSlots(t *testing.T) {
	s := &Snapshot{Tasks: []Task{
		{ID: "@quick", Attempt: &Attempt{N: 1, Phase: Started}},
		{ID: "@quick", Attempt: &Attempt{N: 2, Phase: Queued}},
	}}
	if p := New(s, now, Options{}); p.Taken != 1 {
		t.Errorf("taken: %d", p.Taken)
	}
}

// A question may have a sentence behind it; what a person is only to look at isn't asked.
func TestWaitText(t *testing.T) {
	for what, want := range map[string]string{
		"which color?":                          "asks: which color?",
		"Per month or per year? It decides how": "asks: Per month or per year? It decides how",
		`should it say "really?"`:               `asks: should it say "really?"`,
		"a look at /search?q=tea":               "waiting for a look at /search?q=tea",
		"an approval":                           "waiting for an approval",
	} {
		if got := WaitText(what); got != want {
			t.Errorf("%q: %q, want %q", what, got, want)
		}
	}
}

// An agent that sets no step works from its start on.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		st   State
		want string
	}{
		{State{Item: &Item{Status: "pending"}, Attempt: &Attempt{Phase: Preparing}}, "starting"},
		{State{Item: &Item{Status: "pending"}, Attempt: &Attempt{Phase: Started}}, "working"},
		{State{Item: &Item{Status: "implementing"}, Attempt: &Attempt{Phase: Started}}, "implementing"},
	} {
		if got := c.st.Progress(); got != c.want {
			t.Errorf("%s, %v: %q, want %q", c.st.Status, c.st.Attempt.Phase, got, c.want)
		}
	}
}
