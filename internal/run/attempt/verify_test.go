package attempt

import (
	"os"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
)

func TestJudgeVerdict(t *testing.T) {
	code := func(n int) *int { return &n }
	test := &testrun.Command{Line: "make test", Argv: []string{"make", "test"}}
	green := &testrun.Verdict{ExitCode: code(0), Passed: code(42)}
	complete := plan.Item{Status: "complete", Tests: 3}
	for _, c := range []struct {
		name     string
		test     *testrun.Command
		verdict  *testrun.Verdict
		why      string
		it       plan.Item
		want     outcome.Outcome
		verified plan.Verified
		detail   string
	}{
		{"green", test, green, "", complete, outcome.Done, plan.Green, "42 tests"},
		{"green, and nobody knows how many", test, &testrun.Verdict{ExitCode: code(0)}, "", complete, outcome.Done, plan.Green, "tests passed"},
		{"red", test, &testrun.Verdict{ExitCode: code(2), Reason: "FAIL a"}, "", complete, outcome.Red, "", "tests: exit status 2: FAIL a"},
		{"time over", test, &testrun.Verdict{TimedOut: true, Signal: "terminated", Seconds: 1800}, "", complete, outcome.Red, "", "tests: not done after 30m"},
		{"ended by a signal", test, &testrun.Verdict{Signal: "killed"}, "", complete, outcome.Red, "", "tests: signal: killed"},
		{"beside another", test, nil, "another worked there", complete, outcome.Done, plan.Unverified, "3 tests, unverified: another worked there"},
		{"never seen to end", test, nil, "", complete, outcome.Done, plan.Unverified, "3 tests, unverified: gl never saw its tests end"},
		{"no command", nil, nil, "", complete, outcome.Done, plan.Unverified, "3 tests"},
		{"reset meanwhile", test, &testrun.Verdict{ExitCode: code(1)}, "", plan.Item{Status: "pending"}, outcome.Stalled, "", "ended without completing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Record{ID: Identity{Slice: "S-1", N: 1}, Conditions: Conditions{Test: c.test}, Judged: Judgement{Verdict: c.verdict, Unverified: c.why, Evidence: &Evidence{ExitCode: code(0)}}}
			if v := judged(t, r, c.it); v.Outcome != c.want || v.Verified != c.verified || v.Detail != c.detail {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A red attempt in the checkout is followed by one that is told why, and nothing else of what has
// happened there.
func TestClaimHandsOverHere(t *testing.T) {
	claude, _ := agent.Find("claude", agent.Config{})
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	test, _ := testrun.ParseCommand("make test")
	req := Request{ID: "S-1", Agent: claude, Test: test, Job: agent.Job{Prompt: "/gl:slice S-1", Dir: b.root}}
	settle := func(r *Record, o outcome.Outcome) {
		t.Helper()
		code := 1
		r.Life.Phase, r.Judged.Outcome, r.Judged.Detail, r.Talk.Conversation = plan.Settled, o, "tests: exit status 1", "c-1"
		r.Judged.Verdict = &testrun.Verdict{Command: "make test", ExitCode: &code, Last: []string{"ok", "FAIL a"}}
		must(t, b.store.unlocked().finish(r))
		b.write("S-1", "pending", "none", "")
	}
	r := b.goOn(req)
	if r.Talk.Continues != nil || r.Conditions.Test == nil || r.Conditions.Test.Line != "make test" {
		t.Errorf("%+v", r)
	}
	settle(r, outcome.Failed)
	if r = b.goOn(req); r.Talk.Continues != nil {
		t.Errorf("after a failure: %+v", r.Talk.Continues)
	}
	settle(r, outcome.Red)
	r = b.goOn(req)
	if c := r.Talk.Continues; c == nil || c.Mends != outcome.Red || c.After != 2 || !strings.Contains(c.Why, "make test") || c.Output != "ok\nFAIL a" || r.Talk.Resumes() {
		t.Errorf("after red: %+v", c)
	}
	settle(r, outcome.Red)
	if r.Relaunch() == outcome.Again {
		t.Error("it goes on for ever")
	}
	if r = b.goOn(req); r.Talk.Continues != nil {
		t.Errorf("after a person has retried it: %+v", r.Talk.Continues)
	}
}

func TestBesideInTheCheckout(t *testing.T) {
	for _, c := range []struct {
		name    string
		lineage int
		phase   plan.Phase
		ended   time.Duration // after this one's start
		want    bool
	}{
		{"running", 0, plan.Started, 0, true},
		{"running in a worktree", 1, plan.Started, 0, false},
		{"claimed", 0, plan.Claimed, 0, false},
		{"ended before", 0, plan.Settled, -time.Second, false},
		{"ended meanwhile", 0, plan.Settled, time.Second, true},
		{"ended meanwhile in a worktree", 1, plan.Settled, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none", "S-2": "pending/none"})
			mine := b.start(b.claim("S-1"))
			other := b.claim("S-2")
			if c.phase != plan.Claimed {
				other = b.start(other)
			}
			other.Place.Lineage = c.lineage
			must(t, b.store.unlocked().Put(other))
			if c.phase == plan.Settled {
				ended := mine.Life.StartedAt.Add(c.ended)
				other.Life.Phase, other.Judged.Outcome, other.Life.EndedAt = plan.Settled, outcome.Done, &ended
				must(t, b.store.unlocked().finish(other))
				must(t, os.Chtimes(b.store.Files.donePath("S-2", 1, outcome.Done), ended, ended))
			}
			if got, err := b.store.Beside(mine); err != nil || got != c.want {
				t.Error(got, err)
			}
		})
	}
}
