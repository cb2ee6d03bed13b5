package wrapper

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/slice"
)

// The wrapper of an agent that can't write the journal tells each step of the slice once, and
// nothing after the claim has gone.
func TestFollowTellsStepsOnce(t *testing.T) {
	root := testfiles.Make(t, map[string]string{".greenlight/slices/S-1.md": `---
id: S-1
status: in_progress
step: none
tests: 0
session: token
---
# S-1
`})
	state, store := slice.Open(root), attempt.OpenStore(filepath.Join(root, ".greenlight", "runs"))
	f := &follower{claimed: &claimed{
		settler: &attempt.Settler{Store: store, Tracker: state},
		rec:     &attempt.Record{ID: attempt.Identity{Slice: "S-1", N: 1, Token: "token"}},
	}}
	set := func(pairs ...string) {
		testfiles.Check(t, state.Edit(t.Context(), "S-1", func(f *slice.File) (err error) {
			for i := 0; i < len(pairs) && err == nil; i += 2 {
				err = f.Set(pairs[i], pairs[i+1])
			}
			return err
		}))
	}
	now := time.Now()
	look := func(pairs ...string) {
		set(pairs...)
		now = now.Add(progressEvery)
		f.follow(t.Context(), now)
	}
	look()
	look("status", "tests", "step", "tests")
	look()
	set("status", "implementing", "step", "implementing")
	f.follow(t.Context(), now.Add(time.Millisecond)) // too early
	look("tests", "4")
	look("session", "another", "step", "complete")
	var got []string
	for e, err := range store.Journal().Events(time.Time{}) {
		testfiles.Check(t, err)
		switch e.Kind {
		case journal.Step:
			got = append(got, e.Slice+" "+e.From+" > "+e.Step)
		case journal.Tests:
			got = append(got, "tests")
		}
	}
	want := []string{"S-1 none > tests", "S-1 tests > implementing", "tests"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
