package attempt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

// Slices that fail early and in the same way, one after the other, stop the launching until a
// person lifts the hold. What ends in another way, late, or well breaks the row.
func TestIdenticalEarlyFailuresHold(t *testing.T) {
	b := benchFor(t, nil)
	end := func(slice string, o outcome.Outcome, detail string, after time.Duration) *plan.Hold {
		t.Helper()
		r := &Record{ID: Identity{Slice: slice, N: 1}, Job: Job{Agent: "claude"}, Judged: Judgement{Outcome: o, Detail: detail}, Life: Life{StartedAt: ptr(noon), EndedAt: ptr(noon.Add(after))}}
		must(t, b.store.HoldFile.noteStreak(r, noon))
		return b.store.HoldFile.Everybody()
	}
	fail := func(n int) *plan.Hold {
		return end(fmt.Sprintf("S-%d", n), outcome.Failed, fmt.Sprintf("exit 1: S-%d: no such flag", n), time.Second)
	}
	for n := 1; n < streakLength; n++ {
		fail(n)
		fail(n) // again, by gl retry: the same slice counts once
	}
	end("S-20", outcome.Done, "", time.Hour)
	for n := 1; n < streakLength; n++ {
		fail(n)
	}
	end("S-20", outcome.Failed, "exit 1: something else", time.Second)
	for n := 1; n < streakLength; n++ {
		fail(n)
	}
	end("S-20", outcome.Held, "rate limit", time.Second)
	end("S-21", outcome.Failed, "exit 1: S-21: no such flag", time.Hour) // it has worked
	for n := 1; n < streakLength; n++ {
		if h := fail(n); h != nil {
			t.Fatalf("held after %d: %+v", n, h)
		}
	}
	h := fail(streakLength)
	if !h.Open() || h.Kind != plan.HeldByFailures || !strings.Contains(h.Reason, "S-1, S-2, S-3, S-4, S-5 failed early in the same way: exit 1: S-5: no such flag") {
		t.Fatalf("%+v", h)
	}
	// A limit doesn't shorten it, and it says how to end it.
	must(t, b.store.HoldFile.put(&Record{ID: Identity{Slice: "X"}, Life: Life{StartedAt: ptr(noon)}}, rateLimit, noon, time.Minute))
	if got := b.store.HoldFile.Everybody().Describe(noon); !strings.HasPrefix(got, "until you lift it (") || !strings.HasSuffix(got, "gl hold --lift") {
		t.Error(got)
	}
}
