package attempt

import (
	"cmp"
	"strings"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
)

// AcceptedBy is whose approval an accepted attempt has.
const AcceptedBy = "a person, by gl accept"

// Ruled is what the gate has answered about the attempt's work. For the record of an older
// version it is what the record tells.
func (r *Record) Ruled() *gate.Ruling {
	if r.Judged.Gate != nil {
		return r.Judged.Gate
	}
	f := gate.Facts{Way: r.way(true), Work: r.ID.Slice, Left: r.Place.Tree, Lands: r.Place.Tree,
		Run: r.testRun("the merge queue's worktree")}
	if g := r.Landing; g != nil && g.Despite != "" && g.Verified == plan.KnownRed {
		f.Found = []gate.Item{{Kind: gate.Marks, Name: g.Despite}}
	}
	if r.Accepted() {
		f.Approval = &gate.Approval{By: AcceptedBy, Items: f.Found}
	}
	return gate.Ask(f)
}

// here are the facts about work that is complete and doesn't go through the merge queue.
func (r *Record) here(lands bool) gate.Facts {
	f := gate.Facts{Way: r.way(lands), Work: r.ID.Slice, Left: r.Place.Tree, Lands: r.Place.Tree,
		Run: r.testRun("the checkout"), Review: r.Conditions.Review}
	f.Compared, f.Found, f.Beforehand = r.Judged.Compared.With, r.Judged.Compared.Found,
		r.Judged.Compared.Allowed
	return f
}

// Approve adds to the facts about work that a person accepts in the checkout what the gate has
// asked about: its tests ran, and it is as it was since.
func (r *Record) Approve(f *gate.Facts) {
	if r.Judged.Gate == nil && r.Conditions.Review == "" || r.Judged.Outcome == outcome.Done {
		return
	}
	if r.Judged.Verdict.Green() {
		f.Run = RunOf(r.Judged.Verdict, "the checkout")
	}
	if r.Judged.Gate != nil {
		tests := r.Judged.Gate.Answer(gate.Tests)
		f.Found, f.Approval.Items = tests.Items, tests.Items
		if tests.Says == gate.Yes {
			f.Compared = atClaim
		}
	}
}

// way is how the attempt's work lands. lands says that gl itself calls its system's items complete.
func (r *Record) way(lands bool) gate.Way {
	switch {
	case r.Accepted():
		return gate.Accepted
	case r.Place.Lineage == 0 && !r.ID.IsTask() && !lands && r.Conditions.Test != nil:
		return gate.Sibling
	case r.Place.Lineage == 0 && (r.ID.IsTask() || !lands):
		return gate.File
	case r.Place.Lineage == 0:
		return gate.Checkout
	case r.ID.IsTask():
		return gate.Task
	case r.Landing != nil && r.Landing.Batch != nil:
		return gate.Batch
	}
	return gate.Single
}

// testRun is what the record tells of the tests.
func (r *Record) testRun(place string) gate.TestRun {
	if r.Judged.Verdict == nil {
		run := gate.TestRun{Why: r.Judged.Unverified}
		if r.Conditions.Test != nil {
			run.Why = cmp.Or(r.Judged.Unverified, "gl never saw its tests end")
		}
		return run
	}
	run := RunOf(r.Judged.Verdict, place)
	run.Known = r.Landing != nil && r.Landing.Verified == plan.KnownRed
	return run
}

// RunOf is a verdict as the gate knows it.
func RunOf(v *testrun.Verdict, place string) gate.TestRun {
	how := strings.TrimPrefix(v.How(plan.Age(v.Duration())), "tests: ")
	if v.Green() && v.Passed != nil {
		how = v.Count() + " passed"
	}
	return gate.TestRun{Command: v.Command, Tree: v.Tree, Place: place, How: how, Green: v.Green()}
}
