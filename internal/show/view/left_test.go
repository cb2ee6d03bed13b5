package view_test

import (
	"testing"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/show/view"
)

// What the time left doesn't count is named with it.
func TestLeft(t *testing.T) {
	quiet := &plan.Attempt{N: 1, Phase: plan.Started, Started: now.Add(-time.Hour), Heard: now.Add(-9 * time.Minute)}
	stopped := &plan.Attempt{N: 1, Phase: plan.Settled, Outcome: outcome.Interrupted.Traits().Plan(), After: plan.Mark{Status: "tests"}}
	for want, items := range map[string][]*plan.Item{
		"about 12m": {{ID: "S-1"}, {ID: "S-2", Deps: []string{"S-1"}}},
		"about 12m, not counting 1 that needs you, 1 failed, 2 blocked": {{ID: "S-1"}, {ID: "S-2", Status: "failed"}, {ID: "S-3", Deps: []string{"S-2"}},
			{ID: "S-4", Deps: []string{"S-1", "S-3"}}, {ID: "S-5", Deps: []string{"S-1"}}, {ID: "S-6", Status: "tests", WaitingFor: "which color?"}},
		"at least about 12m":                {{ID: "quiet", Status: "tests"}, {ID: "S-2", Deps: []string{"quiet"}}},
		"about 12m, not counting 1 stopped": {{ID: "S-1"}, {ID: "stopped", Status: "tests"}},
	} {
		s := &plan.Snapshot{Noun: plan.Slice, Items: items, Attempts: map[string]*plan.Attempt{}}
		for _, it := range items {
			it.Changed = now
			switch it.ID {
			case "quiet":
				s.Attempts[it.ID] = quiet
			case "stopped":
				s.Attempts[it.ID] = stopped
			}
		}
		if got := view.Left(plan.New(s, now, plan.Options{}), 12*time.Minute, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
