package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/show/view"
	"greenlight/internal/state/eta"
)

var now = time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC)

// night is a plan with an item in each group.
func night() *plan.Plan {
	s := &plan.Snapshot{Noun: plan.Slice, Attempts: map[string]*plan.Attempt{
		"S-3": {N: 1, Phase: plan.Started, Agent: "claude", Started: now.Add(-4 * time.Minute), Heard: now.Add(-5 * time.Second)},
		"S-4": {N: 1, Phase: plan.Queued, Agent: "claude", Landing: "testing"},
		"S-7": {N: 2, Phase: plan.Settled, After: plan.Mark{Status: "pending"}, Outcome: plan.Outcome{Available: plan.Red}, Detail: "tests: exit 1: 2 failed", Agent: "codex"},
	}, Used: map[string]int{"S-7": 2}}
	for _, it := range []plan.Item{
		{ID: "S-1", Status: "complete", Verified: plan.Green, Tests: 12},
		{ID: "S-2", Status: "complete", Verified: plan.Unverified},
		{ID: "S-3", Name: "Basket", Status: "implementing"},
		{ID: "S-4", Status: "in_progress"},
		{ID: "S-5", Status: "pending"},
		{ID: "S-6", Status: "pending", Deps: []string{"S-5"}},
		{ID: "S-7", Status: "pending"},
		{ID: "S-8", Status: "failed"},
		{ID: "S-9", Status: "verifying", WaitingFor: "a look at the colors"},
		{ID: "S-10", Status: "pending", Corrupt: "line 1: no front matter", File: "S-10.md"},
	} {
		it.Changed = now
		s.Items = append(s.Items, &it)
	}
	return plan.New(s, now, plan.Options{})
}

func TestModel(t *testing.T) {
	p := night()
	m := view.New(p, view.Facts{Lane: lane.Status{Known: true, Undelivered: []string{"S-1"}}}, now)
	var got []string
	for _, r := range m.Rows {
		got = append(got, fmt.Sprintf("%s %s (%s)", r.Group, r.ID, r.Text))
	}
	want := []string{
		"Needs you S-9 (waiting for a look at the colors)", "Needs you S-10 (corrupt: S-10.md: line 1: no front matter)",
		"Failed S-8 (failed)", "Failed S-7 (red: tests: exit 1: 2 failed)",
		"Running S-3 (implementing)", "Merging S-4 (testing)", "Ready S-5 ()", "Blocked S-6 (needs S-5)",
		"Done S-1 (12 tests reported, verified)", "Done S-2 (no tests reported, unverified)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for g, id := range map[view.Group]string{view.NeedsYou: "gl accept S-9", view.Failed: "gl retry S-8"} {
		if got := m.In(g)[0].Command; got != id {
			t.Errorf("%s: %q, want %q", g, got, id)
		}
	}
	if row := m.In(view.Running)[0]; row.By.Agent != "claude" || row.Step != "implementing" {
		t.Errorf("running: %+v", row)
	} else if age, ok := row.Age(now); !ok || age != 5*time.Second {
		t.Errorf("last heard %s ago", age)
	}
	if !m.In(view.Done)[0].Undelivered || m.In(view.Done)[1].Undelivered {
		t.Error("S-1 alone isn't delivered")
	}
	hold := &plan.Hold{Until: now.Add(time.Hour).Local()}
	held := plan.New(&plan.Snapshot{Hold: hold}, now, plan.Options{})
	if got, want := m.Counts.Bar(held, now), "2/10 done | 1 running | 1 merging | 2 failed | 2 need you | 1 not merged yet | held until "+
		hold.Until.Format("15:04"); got != want {
		t.Errorf("bar: %q, want %q", got, want)
	}
	if got, want := m.Counts.Sentence("Stopped", "slice"), "Stopped: 2 done (1 unverified), 2 failed, 2 need you, 1 running, 1 merging, 1 ready, 1 blocked, 1 not merged yet."; got != want {
		t.Errorf("sentence: %q, want %q", got, want)
	}
	if got := (view.Counts{Total: 2, Done: 2}).Sentence("Stopped", "unit"); got != "All units complete: 2 done." {
		t.Error(got)
	}
	if got := (view.Counts{Total: 1, NeedsYou: 1}).Bar(&plan.Plan{}, now); got != "0/1 done | 0 running | 1 needs you" {
		t.Error(got)
	}
}

// Where there isn't room for all counts, what a person can do nothing about goes first, and what
// needs them stays whole.
func TestFit(t *testing.T) {
	c := view.Counts{Total: 40, Done: 22, Running: 3, Merging: 1, Failed: 5, NeedsYou: 3, Undelivered: 2, InReview: 4}
	hold := &plan.Hold{Until: now.Add(time.Hour).Local()}
	held := plan.New(&plan.Snapshot{Hold: hold}, now, plan.Options{})
	until := " | held until " + hold.Until.Format("15:04")
	for width, want := range map[int]string{
		200:                       c.Bar(held, now),
		len(c.Bar(held, now)) - 1: "22/40 | 3 running | 1 merging | 5 failed | 3 need you | 2 not merged yet | 4 in review" + until,
		80:                        "22/40 | 3 running | 5 failed | 3 need you | 2 not merged yet" + until,
		70:                        "22/40 | 5 failed | 3 need you | 2 not merged yet" + until,
		60:                        "22/40 | 3 running | 5 failed | 3 need you | 2 not merged yet",
		40:                        "22/40 | 5 failed | 3 need you",
		24:                        "5 failed | 3 need you",
		12:                        "3 need you",
		3:                         "3 need you",
	} {
		if got := c.Fit(held, now, func(s string) bool { return len(s) <= width }); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

// What work changes is shown as long as a person looks: the last look at what has landed since was
// at something else.
func TestDiffs(t *testing.T) {
	p := plan.New(&plan.Snapshot{Noun: plan.Slice, Items: []*plan.Item{{ID: "S-1", Status: "complete"}, {ID: "S-2", Status: "tests", Changed: now}}}, now, plan.Options{})
	m := view.New(p, view.Facts{Diffs: map[string]view.Diff{"S-1": {}, "S-2": {Files: 1, Added: 3}}}, now)
	if r := m.In(view.Done)[0]; r.Diff != nil {
		t.Errorf("done: %s", r.Diff)
	}
	if r := m.In(view.Running)[0]; r.Diff == nil || r.Diff.Added != 3 {
		t.Errorf("running: %v", r.Diff)
	}
	m = view.New(p, view.Facts{Diffs: map[string]view.Diff{"S-2": {}}}, now)
	if r := m.In(view.Running)[0]; r.Diff != nil {
		t.Errorf("nothing changed yet: %s", r.Diff)
	}
}

// An agent that has said nothing for a minute is shown as silent, without an end; one that waits
// for a tool is shown with the tool and its end.
func TestSilence(t *testing.T) {
	for _, c := range []struct {
		quiet time.Duration
		tool  string
		text  string
		ends  bool
	}{
		{0, "", "implementing", true},
		{plan.QuietAfter - time.Second, "", "implementing", true},
		{plan.QuietAfter, "", "implementing, silent for 1m", false},
		{3 * time.Minute, "", "implementing, silent for 3m", false},
		{3 * time.Minute, "Bash: go test ./...", "implementing, for 3m in Bash: go test ./...", true},
	} {
		p := plan.New(&plan.Snapshot{Noun: plan.Slice, Items: []*plan.Item{{ID: "S-1", Status: "implementing", Changed: now}}, Attempts: map[string]*plan.Attempt{
			"S-1": {N: 1, Phase: plan.Started, Agent: "claude", Started: now.Add(-10 * time.Minute), Heard: now.Add(-c.quiet), Tool: c.tool},
		}}, now, plan.Options{})
		row := view.New(p, view.Facts{Pace: eta.Of(time.Hour, time.Hour, time.Hour), Slots: 1}, now).In(view.Running)[0]
		if row.Text != c.text || (row.ETA != nil) != c.ends {
			t.Errorf("after %s, tool %q: %q, end %v", c.quiet, c.tool, row.Text, row.ETA)
		}
	}
}

// Every item in scope is in one group, and the counts say so.
func TestGroupsCoverAll(t *testing.T) {
	statuses := []string{"", "pending", "tests", "in_progress", "complete", "failed", "paused", "nonsense"}
	rapid.Check(t, func(t *rapid.T) {
		s := &plan.Snapshot{Attempts: map[string]*plan.Attempt{}}
		for i := range rapid.IntRange(0, 12).Draw(t, "items") {
			it := plan.Item{ID: fmt.Sprint("S-", i), Status: rapid.SampledFrom(statuses).Draw(t, "status"), Changed: now}
			if i > 0 && rapid.Bool().Draw(t, "dep") {
				it.Deps = []string{fmt.Sprint("S-", rapid.IntRange(0, 13).Draw(t, "on"))}
			}
			it.WaitingFor = rapid.SampledFrom([]string{"", "", "you"}).Draw(t, "waiting")
			switch rapid.IntRange(0, 3).Draw(t, "attempt") {
			case 0:
				s.Attempts[it.ID] = &plan.Attempt{N: 1, Phase: plan.Started, Started: now}
			case 1:
				s.Attempts[it.ID] = &plan.Attempt{N: 1, Phase: plan.Queued}
			}
			s.Items = append(s.Items, &it)
		}
		p := plan.New(s, now, plan.Options{})
		m := view.New(p, view.Facts{Pace: eta.Of(time.Minute, time.Minute, time.Minute), Slots: 2}, now)
		seen, sum := map[string]bool{}, 0
		for _, g := range view.Groups() {
			if n := len(m.In(g)); n != m.Counts.Of(g) {
				t.Fatalf("%d rows in %s, counted %d", n, g, m.Counts.Of(g))
			}
			sum += m.Counts.Of(g)
			for _, r := range m.In(g) {
				if seen[r.ID] || view.GroupOf(p.State(r.ID)) != g {
					t.Fatalf("%s is in %s", r.ID, g)
				}
				seen[r.ID] = true
			}
		}
		if sum != p.Total || len(m.Rows) != p.Total {
			t.Fatalf("%d in groups, %d rows, %d in all", sum, len(m.Rows), p.Total)
		}
	})
}

func record(slice string, n int, started time.Time, took time.Duration, o outcome.Outcome, usd float64) *attempt.Record {
	ended := started.Add(took)
	r := &attempt.Record{ID: attempt.Identity{Slice: slice, N: n}, Life: attempt.Life{StartedAt: &started, EndedAt: &ended, Phase: plan.Settled}, Judged: attempt.Judgement{Outcome: o}}
	if usd >= 0 {
		r.Judged.Evidence = &attempt.Evidence{Result: &agent.Result{CostUSD: &usd}}
	}
	return r
}

func TestCost(t *testing.T) {
	var c view.Cost
	if c.String() != "" {
		t.Error(c)
	}
	c.Add(record("S-1", 1, now, time.Minute, outcome.Failed, -1))
	if c.String() != "unknown" {
		t.Error(c)
	}
	c.Add(record("S-1", 2, now, time.Minute, outcome.Done, 0.42))
	if c.String() != "$0.42 + 1 unknown" {
		t.Error(c)
	}
	c.Add(&attempt.Record{ID: attempt.Identity{Slice: "S-1", N: 3}, Life: attempt.Life{StartedAt: &now}}) // runs
	if c.Unknown != 1 {
		t.Error(c)
	}
}

// What another system's own commands answer isn't a question for gl answer or gl accept.
func TestForeignItemsAskNothing(t *testing.T) {
	s := &plan.Snapshot{Noun: "unit", Items: []*plan.Item{
		{ID: "form", Status: "pending", WaitingFor: "its spec, to be approved", Next: []string{"/sw-plan"}}}}
	m := view.New(plan.New(s, now, plan.Options{}), view.Facts{}, now)
	if got := m.In(view.NeedsYou)[0].Asks; got != view.AskOther {
		t.Errorf("it asks for %d", got)
	}
	s.Items[0].Next = nil
	m = view.New(plan.New(s, now, plan.Options{}), view.Facts{}, now)
	if got := m.In(view.NeedsYou)[0].Asks; got != view.AskAnswer {
		t.Errorf("without a system's own commands it asks for %d", got)
	}
}
