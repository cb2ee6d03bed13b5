package plan_test

import (
	"testing"

	"greenlight/internal/core/plan"
)

// Unknown isn't a number: neither 0 nor new.
func TestTestCounts(t *testing.T) {
	counted := &plan.Item{Tests: 4, NewTests: 4, Counted: true}
	claimed := &plan.Item{Tests: 9, SecurityTests: 2}
	red := &plan.Item{Tests: 9, Failing: 3}
	unknown := &plan.Item{Tests: 9, Failing: plan.Uncounted}
	untested := &plan.Item{Tests: 9, Verified: plan.Unverified}
	suite := &plan.Suite{Passed: 1829}
	for _, c := range []struct {
		done, open         []*plan.Item
		suite              *plan.Suite
		text, state, brief string
	}{
		{nil, nil, nil, "0 passing, 0 failing, 0 security", "0 passing, 0 failing, 0 security", "no tests run"},
		{[]*plan.Item{claimed}, []*plan.Item{red}, nil, "9 passing, 3 failing, 2 security", "9 passing, 3 failing, 2 security", "9 tests, 3 failing"},
		{[]*plan.Item{untested}, nil, nil, "9 passing, 0 failing, 0 security (reported by agents; gl ran no tests)",
			"9 passing, 0 failing, 0 security", "no tests run"},
		{[]*plan.Item{untested}, []*plan.Item{red}, nil, "9 passing, 3 failing, 0 security (reported by agents; gl ran no tests)",
			"9 passing, 3 failing, 0 security", "9 tests, 3 failing"},
		{[]*plan.Item{counted}, nil, suite, "1,829 passing, 0 failing, 0 security (4 new)", "1829 passing, 0 failing, 0 security", "1,829 tests"},
		{[]*plan.Item{counted, claimed}, []*plan.Item{red}, suite,
			"1,829 passing, 3 failing, 2 security (4 or more new)", "1829 passing, 3 failing, 2 security", "1,829 tests, 3 failing"},
		{[]*plan.Item{claimed}, nil, suite, "1,829 passing, 0 failing, 2 security", "1829 passing, 0 failing, 2 security", "1,829 tests"},
		{nil, []*plan.Item{unknown}, suite, "1,829 passing, 0 failing, 0 security (0 new); 1 slice failed without counts",
			"1829 passing, 0 failing, 0 security; 1 slice failed without counts", "1,829 tests; 1 slice failed without counts"},
		{[]*plan.Item{claimed}, nil, &plan.Suite{Uncounted: true}, "passed (no counts), 2 security; agents report 9", "passed (no counts), 2 security",
			"tests passed (no counts)"},
		{nil, []*plan.Item{red}, &plan.Suite{Uncounted: true, Red: true}, "failed (no counts), 3 failing", "failed (no counts), 3 failing",
			"tests failed (no counts), 3 failing"},
	} {
		sums := plan.TestCounts{Ran: plan.LastRun{Suite: c.suite}}
		for _, it := range c.done {
			sums.Add(it, true, 1)
		}
		for _, it := range c.open {
			sums.Add(it, false, 1)
		}
		if got := sums.Text(); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
		if got := sums.String(); got != c.state {
			t.Errorf("in STATE.md %q, want %q", got, c.state)
		}
		if got := sums.Brief(); got != c.brief {
			t.Errorf("at the end %q, want %q", got, c.brief)
		}
	}
}
