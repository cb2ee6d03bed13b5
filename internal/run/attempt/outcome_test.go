package attempt

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
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

func judged(t *testing.T, r *Record, it plan.Item) Verdict {
	t.Helper()
	v, err := Judge(r, it)
	must(t, err)
	return v
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
		want   outcome.Outcome
		effect tracker.Effect
		detail string // a part of it
		hold   bool
	}{
		// The rows of the table, one by one.
		{"complete", exited(0).with(success), "", complete, outcome.Done, tracker.Complete, "12 tests", false},
		{"complete, with a question", exited(0).with(success), "", plan.Item{Status: "complete", WaitingFor: "which one?"}, outcome.Waiting, tracker.Ask, "which one?", false},
		{"turn limit", exited(1).with(maxTurns), "", working, outcome.Stalled, tracker.Release, "turn limit after 200 turns", false},
		{"budget", exited(1).with(maxMoney), "", working, outcome.Stalled, tracker.Release, "budget", false},
		{"exit 0, not complete", exited(0).with(success), "", working, outcome.Stalled, tracker.Release, "without completing", false},
		{"exit 0 without a result", exited(0), "", working, outcome.Stalled, tracker.Release, "without completing", false},
		{"exit 0 without a turn", exited(0).with(noTurn), "", claimed, outcome.Stalled, tracker.Release, "without a single turn", false},
		{"exit 0 without a turn, and why", exited(0).with(refused), "", claimed, outcome.Stalled, tracker.Release, "turn: a command failed", false},
		{"turn limit as claude counts", exited(1).with(oneMore), "", working, outcome.Stalled, tracker.Release, "after 2 turns", false},
		{"api error in two lines", exited(1).with(twoLines), "", working, outcome.Failed, tracker.Fail, "exit 1: boom, or so", false},
		{"read-only", &Evidence{ExitCode: ptr(0), Result: success, ReadOnly: "git: '/p/x': Read-only file system"}, "", working, outcome.Stalled, tracker.Release, "read-only file system: git", false},
		{"denied", &Evidence{ExitCode: ptr(0), Result: success, Denials: 2}, "", working, outcome.Stalled, tracker.Release, "2 tool calls denied", false},
		{"exit 0, waiting", exited(0).with(success), "", waiting, outcome.Waiting, tracker.Release, "waiting for a look", false},
		{"its agent says failed", exited(0).with(success), "", plan.Item{Status: "failed", Step: "tests"}, outcome.Failed, tracker.Fail, "gave up", false},
		{"the step done, another due", exited(0).with(success), "", plan.Item{Status: "pending", Step: "verifying", Staged: true}, outcome.Advanced, tracker.Release, " done, verifying is next", false},
		{"the step still due", exited(0).with(success), "", plan.Item{Status: "pending", Step: "", Staged: true}, outcome.Stalled, tracker.Release, "without completing", false},
		{"the step done, a person wanted", exited(0).with(success), "", plan.Item{Status: "pending", Step: "ship", Staged: true, WaitingFor: "/sw-ship"}, outcome.Waiting, tracker.Release, "/sw-ship", false},
		{"rate limit", exited(1).with(limitHit).limited(rateLimit), "", working, outcome.Held, tracker.Release, "rate limit", true},
		{"outage", exited(1).with(twoLines).limited(&agent.Limit{Kind: agent.Outage}), "", claimed, outcome.Held, tracker.Restore, "outage", true},
		{"login", exited(1).with(apiError).limited(login), "", claimed, outcome.Held, tracker.Restore, "login", true},
		{"exit 7", &Evidence{ExitCode: ptr(7), Stderr: "boom"}, "", working, outcome.Failed, tracker.Fail, "exit 7: boom", false},
		{"api error with exit 0", exited(0).with(apiError), "", working, outcome.Failed, tracker.Fail, "bad request", false},
		{"success and exit 3", exited(3).with(success), "", working, outcome.Failed, tracker.Fail, "exit 3", false},
		{"killed by somebody", &Evidence{Signal: "killed"}, "", working, outcome.Failed, tracker.Fail, "signal 9", false},
		{"terminated by somebody", &Evidence{Signal: "terminated"}, "", working, outcome.Failed, tracker.Fail, "terminated", false},
		{"stopped, no step", exited(143), EndStop, claimed, outcome.Interrupted, tracker.Restore, "interrupted", false},
		{"stopped in a step", exited(143), EndStop, working, outcome.Interrupted, tracker.Release, "in implementing", false},
		{"stopped before it started", nil, EndStop, claimed, outcome.Interrupted, tracker.Restore, "", false},
		{"unseen end", nil, "", working, outcome.Crashed, tracker.Release, "vanished", false},
		{"silent", &Evidence{Signal: "terminated"}, EndSilence, working, outcome.Hung, tracker.Fail, "why it was ended", false},
		{"not on PATH", &Evidence{Missing: "claude"}, "", claimed, outcome.Failed, tracker.Fail, "claude is not on PATH", false},
		{"can't be started", &Evidence{ExitCode: ptr(127), Exec: "exec format error"}, "", claimed, outcome.Failed, tracker.Fail, "exec format", false},
		{"command not installed", exited(143), EndCommand, claimed, outcome.Failed, tracker.Fail, "why it was ended", false},

		// Two rows at once.
		{"complete beside a limit", exited(1).with(limitHit).limited(rateLimit), "", complete, outcome.Done, tracker.Complete, "", true},
		{"complete beside the turn limit", exited(1).with(maxTurns), "", complete, outcome.Done, tracker.Complete, "", false},
		{"complete and exit 7", exited(7), "", complete, outcome.Done, tracker.Complete, "", false},
		{"complete and killed", &Evidence{Signal: "killed"}, "", complete, outcome.Done, tracker.Complete, "", false},
		{"complete and stopped", exited(143), EndStop, complete, outcome.Done, tracker.Complete, "", false},
		{"complete and silent", &Evidence{Signal: "terminated"}, EndSilence, complete, outcome.Done, tracker.Complete, "", false},
		{"complete, unseen end", nil, "", complete, outcome.Done, tracker.Complete, "", false},
		{"completed, in other words", exited(0), "", plan.Item{Status: "Done"}, outcome.Done, tracker.Complete, "", false},
		{"limit beside the turn limit", exited(1).with(maxTurns).limited(rateLimit), "", working, outcome.Stalled, tracker.Release, "turn limit", true},
		{"limit with exit 0", exited(0).with(limitHit).limited(rateLimit), "", working, outcome.Held, tracker.Release, "", true},
		{"limit, then our stop", exited(143).limited(rateLimit), EndStop, working, outcome.Held, tracker.Release, "", true},
		{"limit, then silence", exited(143).limited(rateLimit), EndSilence, working, outcome.Held, tracker.Release, "", true},
		{"limit while waiting", exited(1).with(limitHit).limited(rateLimit), "", waiting, outcome.Held, tracker.Release, "", true},
		{"turn limit while waiting", exited(1).with(maxTurns), "", waiting, outcome.Stalled, tracker.Release, "turn limit", false},
		{"waiting with exit 1", &Evidence{ExitCode: ptr(1), Stderr: "oops"}, "", waiting, outcome.Failed, tracker.Fail, "exit 1: oops", false},
		{"waiting and stopped", exited(143), EndStop, waiting, outcome.Interrupted, tracker.Release, "", false},
		{"waiting, then our grace", exited(143).with(success), EndGrace, waiting, outcome.Waiting, tracker.Release, "", false},
		{"result, then our grace", exited(143).with(success), EndGrace, working, outcome.Stalled, tracker.Release, "", false},
		{"result, then our KILL", (&Evidence{Signal: "killed"}).with(success), EndGrace, working, outcome.Stalled, tracker.Release, "", false},
		{"result, then stopped", exited(143).with(success), EndStop, working, outcome.Stalled, tracker.Release, "", false},
		{"result, then silence", exited(143).with(success), EndSilence, working, outcome.Stalled, tracker.Release, "", false},
		{"error result, then our TERM", exited(143).with(apiError), EndStop, working, outcome.Failed, tracker.Fail, "bad request", false},
		{"turn limit, then our TERM", exited(143).with(maxTurns), EndStop, working, outcome.Stalled, tracker.Release, "turn limit", false},
		{"command missing, and a result", exited(0).with(success), EndCommand, claimed, outcome.Failed, tracker.Fail, "", false},
		{"result found in the log", (&Evidence{}).with(success), "", working, outcome.Stalled, tracker.Release, "", false},
		{"stopped, unseen end", nil, EndStop, working, outcome.Interrupted, tracker.Release, "", false},
		{"silent, unseen end", nil, EndSilence, working, outcome.Hung, tracker.Fail, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Record{ID: Identity{Slice: "S-1", N: 1}, Judged: Judgement{Evidence: tt.ev}, Life: Life{Ending: tt.ending, EndingDetail: "why it was ended"}}
			v := judged(t, r, tt.it)
			if v.Outcome != tt.want || v.Effect != tt.effect || (v.Limit != nil) != tt.hold {
				t.Errorf("outcome %s, effect %d, hold %v; want %s, %d, %v", v.Outcome, v.Effect, v.Limit != nil, tt.want, tt.effect, tt.hold)
			}
			if !strings.Contains(v.Detail, tt.detail) || tt.want != outcome.Done && v.Detail == "" {
				t.Errorf("detail %q, want one with %q", v.Detail, tt.detail)
			}
		})
	}
}

// A step that the slice had reached before this attempt isn't this attempt's work.
func TestJudgeInterruptedInAnOldStep(t *testing.T) {
	r := &Record{Life: Life{Ending: EndStop, Before: tracker.Before{Mark: plan.Mark{Status: "failed", Step: "tests"}}}}
	if v := judged(t, r, plan.Item{Status: "in_progress", Step: "tests"}); v.Effect != tracker.Restore {
		t.Errorf("effect %d, want Restore", v.Effect)
	}
	if v := judged(t, r, plan.Item{Status: "in_progress", Step: "security"}); v.Effect != tracker.Release {
		t.Errorf("effect %d, want Release", v.Effect)
	}
}

// What each outcome leads to. A new one gets a row here, and a case in TestJudge.
var after = map[outcome.Outcome]struct {
	text      string // with the detail "why"
	available plan.Class
	active    plan.Class
	used      int
}{
	outcome.Done:        {"done: why", plan.Stalled, plan.Active, 1},
	outcome.Advanced:    {"advanced: why", plan.Available, plan.Active, 0},
	outcome.Stalled:     {"stalled: why", plan.Stalled, plan.Stalled, 1},
	outcome.Waiting:     {"waiting: why", plan.Available, plan.Stalled, 1},
	outcome.Held:        {"held: why", plan.Available, plan.Available, 0},
	outcome.Failed:      {"failed: why", plan.Failed, plan.Failed, 1},
	outcome.Interrupted: {"interrupted: why", plan.Available, plan.Stalled, 1},
	outcome.Crashed:     {"crashed: why", plan.Stalled, plan.Stalled, 1},
	outcome.Hung:        {"hung: why", plan.Failed, plan.Failed, 1},
	outcome.Red:         {"red: why", plan.Red, plan.Red, 1},
	outcome.Conflict:    {"in conflict: why", plan.Conflict, plan.Conflict, 1},
	outcome.Empty:       {"empty: why", plan.Available, plan.Stalled, 1},
}

// Each outcome is in the table once, can be reached by a rule, and does what it promises, from its
// file's name to the class of its item.
func TestOutcomes(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for i, o := range outcome.All() {
		t.Run(string(o), func(t *testing.T) {
			if !name.MatchString(string(o)) || slices.Index(outcome.All(), o) != i || !o.Known() {
				t.Error("a name is lower-case words with underscores, and has one row")
			}
			if !o.Traits().Claimed && !slices.ContainsFunc(rules[:], func(r rule) bool { return r.outcome == o }) {
				t.Error("no rule gives it")
			}
			want, ok := after[o]
			if !ok {
				t.Fatal("the test's table has no row for it")
			}
			if got := o.Text("why"); got != want.text {
				t.Errorf("text %q, want %q", got, want.text)
			}
			testRoundTrip(t, o, want.used)
			for status, class := range map[string]plan.Class{"pending": want.available, "tests": want.active, "complete": plan.Done} {
				if got := classAfter(o, status); got != class {
					t.Errorf("an item that it left %s is %s, want %s", status, got, class)
				}
			}
		})
	}
	for _, r := range rules {
		if !r.outcome.Known() {
			t.Errorf("a rule gives %q, which the table doesn't have", r.outcome)
		}
	}
	if len(after) != len(outcome.All()) {
		t.Errorf("%d outcomes are tested, the table has %d", len(after), len(outcome.All()))
	}
}

// testRoundTrip writes a settled record and finds it again by its file's name.
func testRoundTrip(t *testing.T, o outcome.Outcome, used int) {
	t.Helper()
	b := benchFor(t, map[string]string{"S-1.2": "pending/none"})
	r := b.claim("S-1.2")
	r.Judged.Outcome = o
	must(t, b.store.unlocked().finish(r))
	if got := b.get(r); got.Judged.Outcome != o || got.Life.Phase != plan.Settled {
		t.Errorf("read back as %s, %s", got.Judged.Outcome, got.Life.Phase)
	}
	index, err := b.store.Index()
	must(t, err)
	entries := index["S-1.2"]
	if len(entries) != 1 || entries[0] != (Entry{"S-1.2", 1, o}) {
		t.Fatalf("the index has %+v", index)
	}
	if n := tally(entries).Used; n != used {
		t.Errorf("%d attempts used up, want %d", n, used)
	}
	if next := b.claim("S-1.2"); next.ID.N != 2 {
		t.Errorf("the next attempt is number %d", next.ID.N)
	}
}

// classAfter is the class of an item that a settled attempt has left with the status.
func classAfter(o outcome.Outcome, status string) plan.Class {
	s := &plan.Snapshot{
		Items:    []*plan.Item{{ID: "S-1", Status: status}},
		Attempts: map[string]*plan.Attempt{"S-1": {N: 1, Phase: plan.Settled, Outcome: o.Traits().Plan(), After: plan.Mark{Status: status}}},
	}
	return plan.New(s, noon, plan.Options{}).State("S-1").Class
}

// A verdict follows from the outcome's row: the effect, the hold, and the words where the rule has
// none.
func TestVerdict(t *testing.T) {
	r := &Record{ID: Identity{Slice: "S-1", N: 1}, Judged: Judgement{Evidence: exited(1).limited(rateLimit)}}
	untouched, begun := plan.Item{Status: "in_progress", Step: "none"}, plan.Item{Status: "tests", Step: "tests"}
	for _, o := range outcome.All() {
		traits := o.Traits()
		for _, it := range []plan.Item{untouched, begun} {
			v, err := judge([]rule{{o, func(*Record, plan.Item) (string, bool) { return "", true }}}, r, it)
			must(t, err)
			want := traits.Effect
			if traits.KeepsWork && it.Step == "tests" {
				want = tracker.Release
			}
			if v.Outcome != o || v.Effect != want || (v.Limit != nil) != traits.Holds || (v.Detail == "") != traits.Success {
				t.Errorf("%s, %s: %+v", o, it.Status, v)
			}
		}
	}
	for _, o := range []outcome.Outcome{outcome.Done, outcome.Stalled, outcome.Held} { // complete beside a rate limit is done, and still holds everybody
		if !o.Traits().Holds {
			t.Errorf("%s doesn't hold", o)
		}
	}
}

// A limit makes no hold if the outcome makes none, and doesn't end the hold before it either.
func TestOutcomeThatHoldsNobody(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.start(b.claim("S-1"))
	old := noon.Add(-time.Hour)
	must(t, durable.WriteJSON(b.store.HoldFile.path(), plan.Hold{Since: old, Until: old.Add(time.Minute), Count: 3}))
	r.Life.Ending, r.Life.EndingDetail = EndCommand, "no such command"
	must(t, b.store.unlocked().Put(r))
	r.Judged.Evidence = exited(1).limited(rateLimit)
	final, err := b.settler(b.state).Settle(t.Context(), r)
	must(t, err)
	if h := b.store.HoldFile.Everybody(); final.Judged.Outcome != outcome.Failed || h == nil || h.Count != 3 || !h.Since.Equal(old) {
		t.Errorf("%s, and the hold is %+v", final.Judged.Outcome, h)
	}
}

// An outcome that the table doesn't have is refused before anything is written.
func TestUnknownOutcomeIsRefused(t *testing.T) {
	r := &Record{ID: Identity{Slice: "S-1", N: 1}}
	for name, rules := range map[string][]rule{
		"not in the table": {{"out_of_paper", func(*Record, plan.Item) (string, bool) { return "", true }}},
		"no rule":          nil,
	} {
		if v, err := judge(rules, r, plan.Item{}); err == nil || !strings.Contains(err.Error(), "S-1.1") {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// A record with an outcome that the table doesn't have is named, keeps its number, and isn't judged
// again.
func TestRecordOfUnknownOutcome(t *testing.T) {
	for name, spoil := range map[string]func(b *bench, r *Record) string{
		"in the file's name": func(b *bench, r *Record) string {
			r.Judged.Outcome = "out_of_paper"
			must(t, b.store.unlocked().finish(r))
			return b.store.Files.donePath("S-1", 1, "out_of_paper")
		},
		"in the record": func(b *bench, r *Record) string {
			must(t, b.store.unlocked().dropLive(r))
			r.Judged.Outcome, r.Life.Phase = "out_of_paper", plan.Settled
			path := b.store.Files.donePath("S-1", 1, outcome.Failed)
			must(t, durable.WriteJSON(path, r))
			return path
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none"})
			r := b.start(b.claim("S-1"))
			path := spoil(b, r)
			_, err := b.store.Get("S-1", 1)
			var bad *BadRecord
			if !errors.As(err, &bad) || !bad.Settled || bad.Path != path || !strings.Contains(err.Error(), "out_of_paper") {
				t.Errorf("read: %v", err)
			}
			before, err := filepath.Glob(filepath.Join(b.store.Files.doneDir(), "*"))
			must(t, err)
			if final, err := b.settler(b.state).Settle(t.Context(), r); !errors.As(err, &bad) {
				t.Errorf("settled again as %+v, %v", final, err)
			}
			if err := b.store.unlocked().MarkRetried("S-1"); !errors.As(err, &bad) {
				t.Errorf("marked: %v", err)
			}
			if now, err := filepath.Glob(filepath.Join(b.store.Files.doneDir(), "*")); err != nil || !slices.Equal(now, before) {
				t.Errorf("%v became %v, %v", before, now, err)
			}
			if next := b.claim("S-1"); next.ID.N != 2 {
				t.Errorf("the next attempt is number %d", next.ID.N)
			}
		})
	}
}

// One that is judged and not settled is named with those that run.
func TestLiveRecordOfUnknownOutcome(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	r := b.start(b.claim("S-1"))
	r.Life.Phase, r.Judged.Outcome = plan.Ended, "out_of_paper"
	must(t, b.store.unlocked().Put(r))
	live, bad, err := b.store.Live()
	must(t, err)
	if len(live) != 0 || len(bad) != 1 || bad[0].Settled || !strings.Contains(bad[0].Error(), "out_of_paper") {
		t.Errorf("live %v, bad %v", live, bad)
	}
}
