package attempt

import (
	"strings"
	"testing"
	"time"

	"greenlight/internal/agent"
	"greenlight/internal/plan"
	"greenlight/internal/tracker"
)

// Parts that the rows of the table are made of.
var (
	success   = &agent.Result{Subtype: "success", Turns: 5}
	noTurn    = &agent.Result{Subtype: "success", Text: "Unknown command: /gl:slice"}
	maxTurns  = &agent.Result{Subtype: "error_max_turns", IsError: true, Turns: 200}
	maxMoney  = &agent.Result{Subtype: "error_max_budget_usd", IsError: true, Turns: 9}
	apiError  = &agent.Result{Subtype: "success", IsError: true, APIStatus: 400, Turns: 1, Text: "bad request"}
	refused   = &agent.Result{Subtype: "success", Text: "a command\nfailed."}
	oneMore   = &agent.Result{Subtype: "error_max_turns", IsError: true, Turns: 3, Errors: []string{"Reached maximum number of turns (2)"}}
	twoLines  = &agent.Result{Subtype: "success", IsError: true, APIStatus: 500, Turns: 1, Text: "boom,\nor so."}
	limitHit  = &agent.Result{Subtype: "success", IsError: true, APIStatus: 429, Turns: 1, Text: "limit"}
	rateLimit = &agent.Limit{Kind: agent.RateLimit, Reason: "limit"}
	login     = &agent.Limit{Kind: agent.Login, Reason: "please run /login"}
)

func exited(code int) *Evidence { return &Evidence{ExitCode: &code} }

func (e *Evidence) with(r *agent.Result) *Evidence { e.Result = r; return e }
func (e *Evidence) limited(l *agent.Limit) *Evidence {
	e.Limit = l
	return e
}

func TestJudge(t *testing.T) {
	working := plan.Item{Status: "implementing", Step: "implementing"}
	claimed := plan.Item{Status: "in_progress", Step: "none"}
	complete := plan.Item{Status: "complete", Step: "complete", Tests: 12}
	waiting := plan.Item{Status: "verifying", Step: "verifying", WaitingFor: "a look"}
	tests := []struct {
		name   string
		ev     *Evidence
		ending string
		it     plan.Item
		want   plan.Outcome
		effect tracker.Effect
		detail string // a part of it
		hold   bool
	}{
		// The rows of the table, one by one.
		{"complete", exited(0).with(success), "", complete, plan.Complete, tracker.Release, "12 tests", false},
		{"turn limit", exited(1).with(maxTurns), "", working, plan.StalledOut, tracker.Release, "turn limit after 200 turns", false},
		{"budget", exited(1).with(maxMoney), "", working, plan.StalledOut, tracker.Release, "budget", false},
		{"exit 0, not complete", exited(0).with(success), "", working, plan.StalledOut, tracker.Release, "without completing", false},
		{"exit 0 without a result", exited(0), "", working, plan.StalledOut, tracker.Release, "without completing", false},
		{"exit 0 without a turn", exited(0).with(noTurn), "", claimed, plan.StalledOut, tracker.Release, "without a single turn", false},
		{"exit 0 without a turn, and why", exited(0).with(refused), "", claimed, plan.StalledOut, tracker.Release, "turn: a command failed", false},
		{"turn limit as claude counts", exited(1).with(oneMore), "", working, plan.StalledOut, tracker.Release, "after 2 turns", false},
		{"api error in two lines", exited(1).with(twoLines), "", working, plan.FailedOut, tracker.Fail, "exit 1: boom, or so", false},
		{"denied", &Evidence{ExitCode: ptr(0), Result: success, Denials: 2}, "", working, plan.StalledOut, tracker.Release, "2 tool calls denied", false},
		{"exit 0, waiting", exited(0).with(success), "", waiting, plan.WaitingOut, tracker.Release, "waiting for a look", false},
		{"its agent says failed", exited(0).with(success), "", plan.Item{Status: "failed", Step: "tests"}, plan.FailedOut, tracker.Fail, "gave up", false},
		{"the step done, another due", exited(0).with(success), "", plan.Item{Status: "pending", Step: "verifying", Staged: true}, plan.Advanced, tracker.Release, " done, verifying is next", false},
		{"the step still due", exited(0).with(success), "", plan.Item{Status: "pending", Step: "", Staged: true}, plan.StalledOut, tracker.Release, "without completing", false},
		{"the step done, a person wanted", exited(0).with(success), "", plan.Item{Status: "pending", Step: "ship", Staged: true, WaitingFor: "/sw-ship"}, plan.WaitingOut, tracker.Release, "/sw-ship", false},
		{"rate limit", exited(1).with(limitHit).limited(rateLimit), "", working, plan.HeldOut, tracker.Restore, "rate limit", true},
		{"login", exited(1).with(apiError).limited(login), "", claimed, plan.HeldOut, tracker.Restore, "login", true},
		{"exit 7", &Evidence{ExitCode: ptr(7), Stderr: "boom"}, "", working, plan.FailedOut, tracker.Fail, "exit 7: boom", false},
		{"api error with exit 0", exited(0).with(apiError), "", working, plan.FailedOut, tracker.Fail, "bad request", false},
		{"success and exit 3", exited(3).with(success), "", working, plan.FailedOut, tracker.Fail, "exit 3", false},
		{"killed by somebody", &Evidence{Signal: "killed"}, "", working, plan.FailedOut, tracker.Fail, "signal 9", false},
		{"terminated by somebody", &Evidence{Signal: "terminated"}, "", working, plan.FailedOut, tracker.Fail, "terminated", false},
		{"stopped, no step", exited(143), EndStop, claimed, plan.Interrupted, tracker.Restore, "interrupted", false},
		{"stopped in a step", exited(143), EndStop, working, plan.Interrupted, tracker.Release, "in implementing", false},
		{"stopped before it started", nil, EndStop, claimed, plan.Interrupted, tracker.Restore, "", false},
		{"nobody saw the end", nil, "", working, plan.Crashed, tracker.Release, "vanished", false},
		{"silent", &Evidence{Signal: "terminated"}, EndSilence, working, plan.Hung, tracker.Fail, "why it was ended", false},
		{"not on PATH", &Evidence{Missing: "claude"}, "", claimed, plan.FailedOut, tracker.Fail, "claude is not on PATH", false},
		{"can't be started", &Evidence{ExitCode: ptr(127), Exec: "exec format error"}, "", claimed, plan.FailedOut, tracker.Fail, "exec format", false},
		{"command not installed", exited(143), EndCommand, claimed, plan.FailedOut, tracker.Fail, "why it was ended", false},

		// Two rows at once.
		{"complete beside a limit", exited(1).with(limitHit).limited(rateLimit), "", complete, plan.Complete, tracker.Release, "", true},
		{"complete beside the turn limit", exited(1).with(maxTurns), "", complete, plan.Complete, tracker.Release, "", false},
		{"complete and exit 7", exited(7), "", complete, plan.Complete, tracker.Release, "", false},
		{"complete and killed", &Evidence{Signal: "killed"}, "", complete, plan.Complete, tracker.Release, "", false},
		{"complete and stopped", exited(143), EndStop, complete, plan.Complete, tracker.Release, "", false},
		{"complete and silent", &Evidence{Signal: "terminated"}, EndSilence, complete, plan.Complete, tracker.Release, "", false},
		{"complete and nobody saw it", nil, "", complete, plan.Complete, tracker.Release, "", false},
		{"completed, in other words", exited(0), "", plan.Item{Status: "Done"}, plan.Complete, tracker.Release, "", false},
		{"limit beside the turn limit", exited(1).with(maxTurns).limited(rateLimit), "", working, plan.StalledOut, tracker.Release, "turn limit", true},
		{"limit with exit 0", exited(0).with(limitHit).limited(rateLimit), "", working, plan.HeldOut, tracker.Restore, "", true},
		{"limit, then our stop", exited(143).limited(rateLimit), EndStop, working, plan.HeldOut, tracker.Restore, "", true},
		{"limit, then silence", exited(143).limited(rateLimit), EndSilence, working, plan.HeldOut, tracker.Restore, "", true},
		{"limit while waiting", exited(1).with(limitHit).limited(rateLimit), "", waiting, plan.HeldOut, tracker.Restore, "", true},
		{"turn limit while waiting", exited(1).with(maxTurns), "", waiting, plan.StalledOut, tracker.Release, "turn limit", false},
		{"waiting with exit 1", &Evidence{ExitCode: ptr(1), Stderr: "oops"}, "", waiting, plan.FailedOut, tracker.Fail, "exit 1: oops", false},
		{"waiting and stopped", exited(143), EndStop, waiting, plan.Interrupted, tracker.Release, "", false},
		{"waiting, then our grace", exited(143).with(success), EndGrace, waiting, plan.WaitingOut, tracker.Release, "", false},
		{"result, then our grace", exited(143).with(success), EndGrace, working, plan.StalledOut, tracker.Release, "", false},
		{"result, then our KILL", (&Evidence{Signal: "killed"}).with(success), EndGrace, working, plan.StalledOut, tracker.Release, "", false},
		{"result, then stopped", exited(143).with(success), EndStop, working, plan.StalledOut, tracker.Release, "", false},
		{"result, then silence", exited(143).with(success), EndSilence, working, plan.StalledOut, tracker.Release, "", false},
		{"error result, then our TERM", exited(143).with(apiError), EndStop, working, plan.FailedOut, tracker.Fail, "bad request", false},
		{"turn limit, then our TERM", exited(143).with(maxTurns), EndStop, working, plan.StalledOut, tracker.Release, "turn limit", false},
		{"command missing, and a result", exited(0).with(success), EndCommand, claimed, plan.FailedOut, tracker.Fail, "", false},
		{"result found in the log", (&Evidence{}).with(success), "", working, plan.StalledOut, tracker.Release, "", false},
		{"stopped, and nobody saw the end", nil, EndStop, working, plan.Interrupted, tracker.Release, "", false},
		{"silent, and nobody saw the end", nil, EndSilence, working, plan.Hung, tracker.Fail, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Record{Slice: "S-1", N: 1, Evidence: tt.ev, Ending: tt.ending, EndingDetail: "why it was ended"}
			v := Judge(r, tt.it)
			if v.Outcome != tt.want || v.Effect != tt.effect || (v.Limit != nil) != tt.hold {
				t.Errorf("outcome %s, effect %d, hold %v; want %s, %d, %v", v.Outcome, v.Effect, v.Limit != nil, tt.want, tt.effect, tt.hold)
			}
			if !strings.Contains(v.Detail, tt.detail) || tt.want != plan.Complete && v.Detail == "" {
				t.Errorf("detail %q, want one with %q", v.Detail, tt.detail)
			}
		})
	}
}

// A step that the slice had reached before this attempt isn't this attempt's work.
func TestJudgeInterruptedInAnOldStep(t *testing.T) {
	r := &Record{Ending: EndStop, Before: tracker.Before{Mark: plan.Mark{Status: "failed", Step: "tests"}}}
	if v := Judge(r, plan.Item{Status: "in_progress", Step: "tests"}); v.Effect != tracker.Restore {
		t.Errorf("effect %d, want Restore", v.Effect)
	}
	if v := Judge(r, plan.Item{Status: "in_progress", Step: "security"}); v.Effect != tracker.Release {
		t.Errorf("effect %d, want Release", v.Effect)
	}
}

func TestHold(t *testing.T) {
	b := benchFor(t, nil)
	first := 300 * time.Second
	rec := func(id string, started time.Time) *Record { return &Record{Slice: id, N: 1, StartedAt: &started} }
	put := func(r *Record, l *agent.Limit, now time.Time) *plan.Hold {
		t.Helper()
		must(t, b.store.putHold(r, l, now, first))
		return b.store.Hold()
	}
	check := func(h *plan.Hold, until time.Time, count int) {
		t.Helper()
		if !h.Until.Equal(until) || h.Count != count {
			t.Errorf("until %v, count %d; want %v, %d", h.Until, h.Count, until, count)
		}
	}

	now := noon
	check(put(rec("A", now.Add(-time.Minute)), rateLimit, now), now.Add(first), 1)
	// Those beside it meet the same limit: it counts once, and only its end moves.
	check(put(rec("B", now.Add(-time.Second)), rateLimit, now.Add(time.Second)), now.Add(first+time.Second), 1)
	check(put(rec("C", now.Add(-time.Second)), &agent.Limit{Kind: agent.RateLimit, Reset: ptr(now.Add(2 * time.Second))}, now.Add(time.Second)),
		now.Add(first+time.Second), 1)

	// Each hold that follows at once is twice as long, to an hour.
	wait := first
	for count := 2; count < 9; count++ {
		now = b.store.Hold().Until.Add(time.Second)
		wait = min(2*wait, time.Hour)
		check(put(rec("A", now), rateLimit, now.Add(time.Second)), now.Add(time.Second+wait), count)
	}
	// The agent's word counts where it says when.
	now = b.store.Hold().Until.Add(time.Second)
	check(put(rec("A", now), &agent.Limit{Kind: agent.RateLimit, Reset: ptr(now.Add(3 * time.Hour))}, now), now.Add(3*time.Hour), 9)

	// An attempt that was on its way before the hold proves nothing; nor does one while it lasts.
	must(t, b.store.endHold(rec("B", noon), now.Add(4*time.Hour)))
	must(t, b.store.endHold(rec("B", now.Add(time.Minute)), now.Add(time.Hour)))
	if b.store.Hold() == nil {
		t.Fatal("the hold was forgotten too early")
	}
	must(t, b.store.endHold(rec("B", now.Add(4*time.Hour)), now.Add(5*time.Hour)))
	if h := b.store.Hold(); h != nil {
		t.Fatalf("the hold is still there: %+v", h)
	}
}

// A reset that passed while the agent was ending needs no wait; one that passed long ago says nothing.
func TestHoldResetInThePast(t *testing.T) {
	for _, tt := range []struct{ ago, want time.Duration }{{time.Second, time.Second}, {time.Hour, time.Minute}} {
		b := benchFor(t, nil)
		r := &Record{Slice: "A", N: 1, StartedAt: ptr(noon.Add(-time.Hour))}
		must(t, b.store.putHold(r, &agent.Limit{Kind: agent.RateLimit, Reset: ptr(noon.Add(-tt.ago))}, noon, time.Minute))
		if h := b.store.Hold(); !h.Until.Equal(noon.Add(tt.want)) {
			t.Errorf("reset %s ago: until %v, want %s from now", tt.ago, h.Until, tt.want)
		}
	}
}

// An agent that has something in the background is waited for as long as its item is unfinished.
func TestUnfinished(t *testing.T) {
	r := &Record{Before: tracker.Before{Mark: plan.Mark{Step: "building"}}}
	for it, want := range map[*plan.Item]bool{
		{Status: "in_progress"}:                              true,
		{Status: "pending"}:                                  false,
		{Status: "complete"}:                                 false,
		{Staged: true, Status: "pending", Step: "building"}:  true,
		{Staged: true, Status: "pending", Step: "verifying"}: false,
		{Staged: true, Status: "complete", Step: "building"}: false,
	} {
		if got := r.unfinished(*it); got != want {
			t.Errorf("%+v: %v", *it, got)
		}
	}
}
