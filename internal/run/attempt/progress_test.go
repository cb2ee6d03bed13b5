package attempt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/state/journal"
)

// The wrapper of an agent that can't write the journal tells each step of the slice once, and nothing after the claim has gone.
func TestFollowTellsStepsOnce(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	f := &follower{claimed: &claimed{settler: b.settler(b.state), rec: b.start(b.claim("S-1"))}}
	now := noon
	look := func(pairs ...string) {
		b.set("S-1", pairs...)
		now = now.Add(progressEvery)
		f.follow(t.Context(), now)
	}
	look()
	look("status", "tests", "step", "tests")
	look()
	b.set("S-1", "status", "implementing", "step", "implementing")
	f.follow(t.Context(), now.Add(time.Millisecond)) // too early
	look("tests", "4")
	look("session", "somebody", "step", "complete")
	var got []string
	for e, err := range b.store.Journal().Events(time.Time{}) {
		must(t, err)
		switch e.Kind {
		case journal.Step:
			got = append(got, e.Slice+" "+e.From+" > "+e.Step)
		case journal.Tests:
			got = append(got, "tests")
		}
	}
	if diff := cmp.Diff([]string{"S-1 none > tests", "S-1 tests > implementing", "tests"}, got); diff != "" {
		t.Error(diff)
	}
}
