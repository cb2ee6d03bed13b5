package view

import "greenlight/internal/core/plan"

// Tests returns the numbers of tests: "29 passing, 0 failing, 4 security (12 new)". They are from
// gl's last run of the whole suite, and new ones are those that done items brought. If gl hasn't
// run it, they are the sum of what the slices recorded, and none are called new. It returns "" for
// a format that counts no tests.
func Tests(p *plan.Plan) string {
	if p.Snapshot.Noun != "" && p.Snapshot.Noun != plan.Slice && p.Tests == (plan.TestCounts{}) {
		return ""
	}
	return p.Tests.Text()
}
