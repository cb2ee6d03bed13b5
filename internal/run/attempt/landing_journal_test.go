package attempt

import (
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

// Any process may finish a landing, even twice: the journal has each of its events once, in order.
func TestJournalOfALanding(t *testing.T) {
	for _, tt := range []struct {
		name    string
		outcome outcome.Outcome
		commit  string
		mends   bool
		want    string
	}{
		{"landed", outcome.Done, strings.Repeat("a", 40), false, "claimed launched queued landed ended settled"},
		{"nothing to merge", outcome.Done, "", false, "claimed launched queued ended settled"},
		{"sent back", outcome.Red, "", false, "claimed launched queued ended settled"},
		{"red again", outcome.Red, "", true, "claimed launched queued ended settled needs_you"},
		{"empty", outcome.Empty, "", false, "claimed launched queued ended settled needs_you"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), map[string]string{"S-1": "pending/none"})
			r := b.start(b.claim("S-1"))
			b.store.diary.tell(r, false)
			now := time.Now().UTC()
			r.Life.Phase, r.Landing, r.Life.EndedAt = plan.Queued, &Landing{Queued: now, Commit: tt.commit}, &now
			if tt.mends {
				r.Talk.Continues = &Continuation{Mends: outcome.Red}
			}
			b.store.diary.tell(r, false)
			b.store.diary.tell(r, true)
			r.Life.Phase, r.Judged.Outcome, r.Life.SettledAt = plan.Settled, tt.outcome, &now
			b.store.diary.tell(r, false)
			b.store.diary.retell(r)
			if got := b.told(); !slices.Equal(got, strings.Fields(tt.want)) {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}
