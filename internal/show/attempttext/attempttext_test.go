package attempttext

import (
	"slices"
	"testing"
	"time"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// The gate's answers are sentences; defects, which AtGate names, aren't repeated.
func TestGate(t *testing.T) {
	facts := gate.Facts{Way: gate.Single, Left: "1c6f6e56c8aa", Lands: "1c6f6e56c8aa",
		Compared: "the base 9b8db09569",
		Run:      gate.TestRun{Command: "go test ./...", Tree: "1c6f6e56c8aa", Place: "a clone", How: "2 tests passed", Green: true}}
	for name, c := range map[string]struct {
		change func(*gate.Facts)
		want   string
	}{
		"as it must be": {func(*gate.Facts) {}, "checked: it is what its agent left (tree 1c6f6e56c8); the merge has no conflict marks; " +
			"no test is missing and the test runner is unchanged (compared with the base 9b8db09569); " +
			"tested with go test ./... on tree 1c6f6e56c8 in a clone: 2 tests passed; review: not asked for"},
		"defects": {func(f *gate.Facts) {
			f.Found, f.Run = []gate.Item{{Kind: gate.Removed, Name: "a_test.go"}}, gate.TestRun{}
		}, "checked: it is what its agent left (tree 1c6f6e56c8); the merge has no conflict marks; " +
			"changes of tests: for a person to decide; the tests' result: unknown (no test.command); review: not asked for"},
		"a task": {func(f *gate.Facts) { f.Way, f.Left, f.Run.Pending = gate.Task, "", true },
			"checked: what its agent left: unknown (no record of the tree that its agent left); the merge has no conflict marks; " +
				"no test is missing and the test runner is unchanged (compared with the base 9b8db09569); " +
				"the tests' result: not checked yet; review: not checked (a person started the task)"},
		"nothing": {func(f *gate.Facts) { f.Way, f.Left, f.Compared, f.Run = gate.Checkout, "", "", gate.TestRun{} },
			"checked: nothing (no test.command)"},
	} {
		f := facts
		c.change(&f)
		if got := Gate(gate.Ask(f)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	if got := Gate(nil); got != "" {
		t.Error(got)
	}
}

// An attempt that is tested side by side with others has a place, or was set aside.
func TestInTrain(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	for want, where := range map[string]*plan.InTrain{
		"place 2 of the merges that are tested side by side, since 03:04": {Position: 2, On: []string{"S-1"}, Since: at},
		"those behind it have been tested without it since 03:04":         {Since: at, Aside: "it doesn't merge with S-1"},
	} {
		r := &attempt.Record{Life: attempt.Life{Phase: plan.Queued}, Landing: &attempt.Landing{Train: where}}
		if got := Work(r); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
