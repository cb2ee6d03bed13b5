package attempt

import (
	"testing"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
)

// What landed is complete whatever its file says, until a person reopens it through gl. Records of
// older versions have no gate's answers.
func TestLanded(t *testing.T) {
	record := func(change func(*Record)) *Record {
		passed := 7
		r := &Record{
			ID:      Identity{Slice: "S-1", Title: "One", N: 1},
			Life:    Life{Phase: plan.Settled},
			Judged:  Judgement{Outcome: outcome.Done, Verified: plan.Green, Tests: 9, Verdict: &testrun.Verdict{Passed: &passed}},
			Landing: &Landing{Commit: "abc"},
		}
		change(r)
		return r
	}
	item := plan.Item{ID: "S-1", Name: "One", Status: "pending", Step: "none", WaitingFor: "review", Failing: 2}
	landed := record(func(*Record) {}).Landed(&item)
	if landed == nil {
		t.Fatal("a pending file of a landed slice counts")
	}
	if landed.Status != "complete" || landed.WaitingFor != "" || landed.Failing != 0 || landed.Verified != plan.Green || landed.Tests != 7 {
		t.Errorf("landed as %+v", landed)
	}
	if want := (plan.Mark{Status: "pending", Step: "none"}); landed.Mark() != want || item.Reverted != nil {
		t.Errorf("the file's mark is %v", landed.Mark())
	}
	for name, change := range map[string]func(*Record){
		"reopened":        func(r *Record) { r.Since.Retried = true },
		"undone":          func(r *Record) { r.Since.Undone = &Undo{} },
		"failed":          func(r *Record) { r.Judged.Outcome = outcome.Failed },
		"open":            func(r *Record) { r.Life.Phase = plan.Queued },
		"in the checkout": func(r *Record) { r.Landing = nil },
		"never landed":    func(r *Record) { r.Landing.Commit = "" },
		"another slice":   func(r *Record) { r.ID.Title = "Two" },
	} {
		if record(change).Landed(&item) != nil {
			t.Errorf("%s: the file doesn't count", name)
		}
	}
	for _, it := range []plan.Item{{Name: "One", Status: "complete"}, {Name: "One", Status: "pending", Corrupt: "conflict marks"}} {
		if record(func(*Record) {}).Landed(&it) != nil {
			t.Errorf("%+v: the file doesn't count", it)
		}
	}
}

// What a stash brings back that an agent called complete, and that wasn't there when the attempt
// was judged, isn't done.
func TestCalled(t *testing.T) {
	left := plan.Mark{Status: "pending", Step: "tests"}
	r := &Record{ID: Identity{Slice: "S-1", N: 1, Token: "T"}, Life: Life{Phase: plan.Settled}, Judged: Judgement{Outcome: outcome.Stalled, After: &left}, Place: Place{Lineage: 1}}
	item := plan.Item{ID: "S-1", Status: "complete", Step: "complete", Session: "T", Verified: plan.Green}
	called := r.Called(&item)
	if called == nil {
		t.Fatal("the file decides")
	}
	if called.Status != "pending" || called.Step != "tests" || called.Verified != "" || called.Mark() != item.Mark() {
		t.Errorf("it is %+v", called)
	}
	byHand := item
	byHand.Session = ""
	if r.Called(&byHand) != nil {
		t.Error("a person can't call it complete")
	}
	landed := *r
	landed.Judged.Outcome = outcome.Done
	if landed.Called(&item) != nil {
		t.Error("what landed isn't done")
	}
	after := plan.Mark{Status: "complete", Step: "complete"}
	undone := &Record{ID: Identity{Slice: "S-1", N: 1, Token: "T"}, Life: Life{Phase: plan.Settled}, Judged: Judgement{Outcome: outcome.Done, After: &after}, Place: Place{Lineage: 1}, Since: Aftermath{Undone: &Undo{}}}
	if called := undone.Called(&item); called == nil || called.Status != "pending" || called.Session != "" {
		t.Errorf("taken back, and its file is there again: %+v", called)
	}
}
