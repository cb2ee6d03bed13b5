package view

import "greenlight/internal/core/plan"

// Tests is how many tests there are: "29 passing, 0 failing, 4 security (12 new)". They are those of the whole suite, as gl ran it last,
// and new are the ones that done items brought. Where gl hasn't run it, they are what the slices have recorded, added up, and nothing is
// called new. It is "" for a format that counts no tests.
func Tests(p *plan.Plan) string {
	if p.Snapshot.Noun != "" && p.Snapshot.Noun != plan.Slice && p.Tests == (plan.TestCounts{}) {
		return ""
	}
	return p.Tests.Text()
}
