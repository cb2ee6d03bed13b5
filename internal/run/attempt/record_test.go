package attempt

import (
	"testing"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// An agent that has something in the background is waited for as long as its item is unfinished.
func TestUnfinished(t *testing.T) {
	r := &Record{Life: Life{Before: tracker.Before{Mark: plan.Mark{Step: "building"}}}}
	for it, want := range map[*plan.Item]bool{
		{Status: "in_progress"}:                              true,
		{Status: "pending"}:                                  false,
		{Status: "complete"}:                                 false,
		{Staged: true, Status: "pending", Step: "building"}:  true,
		{Staged: true, Status: "pending", Step: "verifying"}: false,
		{Staged: true, Status: "complete", Step: "building"}: false,
	} {
		if got := r.Life.Unfinished(*it); got != want {
			t.Errorf("%+v: %v", *it, got)
		}
	}
}
