package attempt

import (
	"testing"
	"time"

	"greenlight/internal/agent"
	"greenlight/internal/plan"
)

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

// A reset that passed while the agent was ending needs a short wait; one that passed long ago says nothing.
func TestHoldResetInThePast(t *testing.T) {
	for _, tt := range []struct{ ago, want time.Duration }{{time.Second, 6 * time.Second}, {time.Hour, time.Minute}} {
		b := benchFor(t, nil)
		r := &Record{Slice: "A", N: 1, StartedAt: ptr(noon.Add(-time.Hour))}
		must(t, b.store.putHold(r, &agent.Limit{Kind: agent.RateLimit, Reset: ptr(noon.Add(-tt.ago))}, noon, time.Minute))
		if h := b.store.Hold(); !h.Until.Equal(noon.Add(tt.want)) {
			t.Errorf("reset %s ago: until %v, want %s from now", tt.ago, h.Until, tt.want)
		}
	}
}

// A reset time that is always just over makes no loop: each hold is at least twice as long as the last.
func TestHoldAlwaysJustOver(t *testing.T) {
	b := benchFor(t, nil)
	now, starts := noon, 0
	for ; now.Before(noon.Add(time.Hour)); starts++ {
		r := &Record{Slice: "A", N: 1, StartedAt: ptr(now)}
		now = now.Add(500 * time.Millisecond)
		must(t, b.store.putHold(r, &agent.Limit{Kind: agent.RateLimit, Reset: ptr(now.Add(-time.Second))}, now, 300*time.Second))
		now = b.store.Hold().Until
	}
	if starts > 8 {
		t.Errorf("%d starts in an hour", starts)
	}
}

// A reset time in 2100 isn't obeyed blindly, and is kept for people.
func TestHoldUntil2100(t *testing.T) {
	b := benchFor(t, nil)
	far := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	must(t, b.store.putHold(&Record{Slice: "A", N: 1, StartedAt: &noon}, &agent.Limit{Kind: agent.Quota, Reset: &far}, noon, time.Minute))
	h := b.store.Hold()
	if !h.Until.Equal(noon.Add(blindHold)) || h.Reset == nil || !h.Reset.Equal(far) {
		t.Errorf("%+v", h)
	}
}

// What a person has said no limit shortens or lengthens.
func TestPersonsHold(t *testing.T) {
	b := benchFor(t, nil)
	must(t, b.store.PutPersonsHold(noon.Add(100*time.Hour), noon))
	must(t, b.store.putHold(&Record{Slice: "A", N: 1, StartedAt: &noon}, rateLimit, noon, time.Minute))
	if h := b.store.Hold(); h.Kind != plan.HeldByPerson || !h.Until.Equal(noon.Add(100*time.Hour)) {
		t.Errorf("%+v", h)
	}
}
