package away

import (
	"strings"
	"testing"

	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/workers"
)

// Tests that a worker ended count only if they are of the commit that it was given.
func TestTestingEnd(t *testing.T) {
	asked, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	order := &workers.Testing{Worker: "w1", Job: remote.Job{Commit: asked}}
	for name, c := range map[string]struct {
		result *remote.Result
		err    error
		lost   string
	}{
		"the commit":        {result: &remote.Result{How: remote.Exited, Tested: asked}},
		"red":               {result: &remote.Result{How: remote.Exited, Tested: asked, ExitCode: 1}},
		"another commit":    {result: &remote.Result{How: remote.Exited, Tested: other}, lost: "it tested another commit"},
		"none":              {result: &remote.Result{How: remote.Exited}, lost: "it tested another commit"},
		"a failed worktree": {result: &remote.Result{How: remote.Failed, Reason: "no room"}},
		"lost":              {err: &executor.LostError{Where: "worker w1", Why: "it is silent"}, lost: "it is silent"},
		"given up":          {lost: "it was given up"},
	} {
		told := ""
		s := &server{cfg: Config{Tell: func(line string) { told += line }}}
		r := newRun(s, "tests", nil)
		r.result, r.err = c.result, c.err
		got := r.testingEnd(order)
		if got.Lost != c.lost || c.lost == "" && got.Result != c.result ||
			(told != "") != (c.lost == "it tested another commit") {
			t.Errorf("%s: %+v, told %q", name, got, told)
		}
	}
}
