package attempt

import (
	"os"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

func TestHold(t *testing.T) {
	b := benchFor(t, nil)
	first := 300 * time.Second
	rec := func(id string, started time.Time) *Record {
		return &Record{ID: Identity{Slice: id, N: 1}, Life: Life{StartedAt: &started}}
	}
	put := func(r *Record, l *agent.Limit, now time.Time) *plan.Hold {
		t.Helper()
		must(t, b.store.HoldFile.put(r, l, now, first))
		return b.store.HoldFile.Everybody()
	}
	check := func(h *plan.Hold, until time.Time, count int) {
		t.Helper()
		if !h.Until.Equal(until) || h.Count != count {
			t.Errorf("until %v, count %d; want %v, %d", h.Until, h.Count, until, count)
		}
	}

	now := noon
	check(put(rec("A", now.Add(-time.Minute)), rateLimit, now), now.Add(first), 1)
	// Those beside it meet the same limit: it counts once, and only a later reset moves its end.
	beside := now.Add(time.Second)
	check(put(rec("B", now.Add(-time.Second)), rateLimit, beside), now.Add(first), 1)
	check(put(rec("C", now.Add(-time.Second)), &agent.Limit{Kind: agent.RateLimit, Reset: ptr(now.Add(2 * time.Second))}, beside), now.Add(first), 1)
	check(put(rec("D", now.Add(-time.Second)), &agent.Limit{Kind: agent.RateLimit, Reset: ptr(now.Add(2 * first))}, beside), now.Add(2*first), 1)

	// Each hold that follows at once is twice as long, to an hour.
	wait := first
	for count := 2; count < 9; count++ {
		now = b.store.HoldFile.Everybody().Until.Add(time.Second)
		wait = min(2*wait, time.Hour)
		check(put(rec("A", now), rateLimit, now.Add(time.Second)), now.Add(time.Second+wait), count)
	}
	// The agent's word counts where it says when.
	now = b.store.HoldFile.Everybody().Until.Add(time.Second)
	check(put(rec("A", now), &agent.Limit{Kind: agent.RateLimit, Reset: ptr(now.Add(3 * time.Hour))}, now), now.Add(3*time.Hour), 9)

	// An attempt that was on its way before the hold proves nothing; nor does one while it lasts.
	must(t, b.store.HoldFile.end(rec("B", noon), now.Add(4*time.Hour)))
	must(t, b.store.HoldFile.end(rec("B", now.Add(time.Minute)), now.Add(time.Hour)))
	if h := b.store.HoldFile.Everybody(); h == nil || h.Proven != 0 {
		t.Fatalf("%+v", h)
	}
	// Then each counts. The next hold begins small.
	must(t, b.store.HoldFile.end(rec("B", now.Add(4*time.Hour)), now.Add(5*time.Hour)))
	if h := b.store.HoldFile.Everybody(); h == nil || h.Proven != 1 {
		t.Fatalf("%+v", h)
	}
	now = now.Add(6 * time.Hour)
	check(put(rec("A", now), rateLimit, now), now.Add(first), 1)
	for range provenEnough {
		must(t, b.store.HoldFile.end(rec("B", now.Add(time.Hour)), now.Add(2*time.Hour)))
	}
	if h := b.store.HoldFile.All(); len(h) != 0 {
		t.Fatalf("the hold is still there: %+v", h[0])
	}
}

// A reset that passed while the agent was ending needs a short wait; one that passed long ago says
// nothing.
func TestHoldResetInThePast(t *testing.T) {
	for _, tt := range []struct{ ago, want time.Duration }{{time.Second, 6 * time.Second}, {time.Hour, time.Minute}} {
		b := benchFor(t, nil)
		r := &Record{ID: Identity{Slice: "A", N: 1}, Life: Life{StartedAt: ptr(noon.Add(-time.Hour))}}
		must(t, b.store.HoldFile.put(r, &agent.Limit{Kind: agent.RateLimit, Reset: ptr(noon.Add(-tt.ago))}, noon, time.Minute))
		if h := b.store.HoldFile.Everybody(); !h.Until.Equal(noon.Add(tt.want)) {
			t.Errorf("reset %s ago: until %v, want %s from now", tt.ago, h.Until, tt.want)
		}
	}
}

// A reset time that is always just over makes no loop: each hold is at least twice as long as the
// last.
func TestHoldAlwaysJustOver(t *testing.T) {
	b := benchFor(t, nil)
	now, starts := noon, 0
	for ; now.Before(noon.Add(time.Hour)); starts++ {
		r := &Record{ID: Identity{Slice: "A", N: 1}, Life: Life{StartedAt: ptr(now)}}
		now = now.Add(500 * time.Millisecond)
		must(t, b.store.HoldFile.put(r, &agent.Limit{Kind: agent.RateLimit, Reset: ptr(now.Add(-time.Second))}, now, 300*time.Second))
		now = b.store.HoldFile.Everybody().Until
	}
	if starts > 8 {
		t.Errorf("%d starts in an hour", starts)
	}
}

// A reset time in 2100 isn't obeyed blindly, and is kept for people.
func TestHoldUntil2100(t *testing.T) {
	b := benchFor(t, nil)
	far := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	must(t, b.store.HoldFile.put(&Record{ID: Identity{Slice: "A", N: 1}, Life: Life{StartedAt: &noon}}, &agent.Limit{Kind: agent.Quota, Reset: &far}, noon, time.Minute))
	h := b.store.HoldFile.Everybody()
	if !h.Until.Equal(noon.Add(blindHold)) || h.Reset == nil || !h.Reset.Equal(far) {
		t.Errorf("%+v", h)
	}
}

// What a person has said no limit shortens or lengthens.
func TestPersonsHold(t *testing.T) {
	b := benchFor(t, nil)
	must(t, b.store.HoldFile.PutPersons(plan.Account{}, noon.Add(100*time.Hour), noon))
	must(t, b.store.HoldFile.put(&Record{ID: Identity{Slice: "A", N: 1}, Life: Life{StartedAt: &noon}}, rateLimit, noon, time.Minute))
	if h := b.store.HoldFile.Everybody(); h.Kind != plan.HeldByPerson || !h.Until.Equal(noon.Add(100*time.Hour)) {
		t.Errorf("%+v", h)
	}
}

// Each agent and account has a hold of its own, beside everybody's. The file of an earlier version
// is everybody's.
func TestHoldsOfAccounts(t *testing.T) {
	b := benchFor(t, nil)
	must(t, os.WriteFile(b.store.HoldFile.path(), []byte(`{"until": "2099-01-01T00:00:00Z", "kind": "quota", "by": "S-9", "count": 2}`), 0o600))
	if h := b.store.HoldFile.Everybody(); h == nil || h.Kind != "quota" || h.Count != 2 || len(b.store.HoldFile.All().Single()) != 0 {
		t.Fatalf("an earlier version's: %+v", h)
	}
	put := func(agent, account string) {
		must(t, b.store.HoldFile.put(&Record{ID: Identity{Slice: "S-1", N: 1}, Job: Job{Agent: agent, Account: account}, Life: Life{StartedAt: &noon}}, rateLimit, noon, time.Minute))
	}
	put("claude", "claude HOME=/a")
	put("work", "claude CLAUDE_CONFIG_DIR=/b")
	put("quick", "claude HOME=/a") // the same account by another name
	put("codex", "codex HOME=/a")
	if all := b.store.HoldFile.All(); len(all) != 4 || all.Everybody() == nil {
		t.Fatalf("%d holds", len(all))
	}
	lifted, err := b.store.HoldFile.Lift(func(h *plan.Hold) bool { return h.Agent == "codex" }, noon)
	must(t, err)
	if len(lifted) != 1 || len(b.store.HoldFile.All()) != 3 {
		t.Errorf("lifted %d, left %d", len(lifted), len(b.store.HoldFile.All()))
	}
	// What one account has proved says nothing of the others.
	later := noon.Add(20 * time.Minute)
	must(t, b.store.HoldFile.end(&Record{ID: Identity{Slice: "S-2", N: 1}, Job: Job{Agent: "claude", Account: "claude HOME=/a"}, Life: Life{StartedAt: &later}}, later.Add(time.Minute)))
	for _, h := range b.store.HoldFile.All() {
		if want := map[string]int{"claude HOME=/a": 1}[h.Account]; h.Proven != want {
			t.Errorf("%s: %d, want %d", h.Account, h.Proven, want)
		}
	}
}

// A slice whose client ends in words that sound like a limit, while others succeed with the same
// agent, has failed: its words hold no other slice again.
func TestWordsOfALimitAreRefuted(t *testing.T) {
	words := &agent.Limit{Kind: agent.RateLimit, Reason: "Error: rate limit test failed", Text: true}
	for name, c := range map[string]struct {
		other string // the agent of the other attempt
		ended time.Duration
		text  bool
		want  outcome.Outcome
	}{
		"others succeed":           {"tool", time.Minute, true, outcome.Failed},
		"with another agent":       {"else", time.Minute, true, outcome.Held},
		"succeeded before":         {"tool", -time.Minute, true, outcome.Held},
		"the client's own event":   {"tool", time.Minute, false, outcome.Held},
		"nobody else was at work":  {"", 0, true, outcome.Held},
		"others, since the last":   {"tool", -30 * time.Minute, true, outcome.Failed},
		"others, before that, too": {"tool", -90 * time.Minute, true, outcome.Held},
	} {
		t.Run(name, func(t *testing.T) {
			b := benchFor(t, map[string]string{"S-1": "pending/none", "S-2": "pending/none"})
			limit := *words
			limit.Text = c.text
			settled := func(slice string, n int, agentName string, o outcome.Outcome, from, to time.Time, l *agent.Limit) {
				r := &Record{
					ID:            Identity{Slice: slice, N: n, Token: "t"},
					Job:           Job{Agent: agentName},
					Life:          Life{Phase: plan.Settled, ClaimedAt: from, StartedAt: &from, EndedAt: &to, SettledAt: &to},
					Judged:        Judgement{Outcome: o, Evidence: &Evidence{Limit: l}},
					SchemaVersion: 1,
				}
				must(t, durable.WriteJSON(b.store.Files.donePath(slice, n, o), r))
			}
			if c.other != "" {
				settled("S-2", 1, c.other, outcome.Done, noon.Add(-2*time.Hour), noon.Add(c.ended), nil)
			}
			r := &Record{ID: Identity{Slice: "S-1", N: 1}, Job: Job{Agent: "tool"}, Life: Life{StartedAt: &noon}, Judged: Judgement{Evidence: exited(1).limited(&limit)}}
			if strings.HasPrefix(name, "others, ") {
				r.ID.N = 2
				settled("S-1", 1, "tool", outcome.Held, noon.Add(-time.Hour), noon.Add(-time.Hour), &limit)
			}
			must(t, refute(b.store, r))
			v, err := Judge(r, plan.Item{Status: "in_progress"})
			must(t, err)
			if v.Outcome != c.want || (v.Limit != nil) != (c.want == outcome.Held) {
				t.Errorf("%s (%s), refuted by %q", v.Outcome, v.Detail, r.Judged.Evidence.Refuted)
			}
		})
	}
}
