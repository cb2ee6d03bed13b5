package scheduler

import (
	"context"
	"io/fs"
	"testing"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/tracker"
)

// A run that doesn't refill has one round; a slice that is due again continues it.
func TestTurnsOfOneRound(t *testing.T) {
	turns := newTurns(Mode{})
	if turns.roundOver() {
		t.Error("the round is over before anything was launched")
	}
	turns.took(&attempt.Record{ID: attempt.Identity{Slice: "S-1"}})
	if !turns.roundOver() || !turns.tried["S-1"] {
		t.Error("the round isn't over after a launch")
	}
	turns.again("S-1")
	if turns.roundOver() || turns.tried["S-1"] {
		t.Error("a slice that is due again doesn't continue the round")
	}
	turns.took(&attempt.Record{ID: attempt.Identity{Slice: "S-1"}})
	if !turns.roundOver() {
		t.Error("the round isn't over after the second launch")
	}
	if refill := newTurns(Mode{Refill: true, Attend: true}); refill.roundOver() {
		t.Error("a run that refills has a last round")
	}
}

// A refreshed counts how often STATE.md is written.
type refreshed struct {
	tracker.Tracker
	times int
}

func (r *refreshed) Refresh(context.Context) error { r.times++; return nil }

// STATE.md waits for a pass without launches, but not for long.
func TestStateFileWaits(t *testing.T) {
	state := &refreshed{}
	f := stateFile{tracker: state}
	pass := func(launched bool, want int) {
		t.Helper()
		if err := f.refresh(t.Context(), launched); err != nil || state.times != want {
			t.Errorf("written %d times, not %d: %v", state.times, want, err)
		}
	}
	pass(true, 0) // it is up to date
	f.dirty = true
	if due := f.due(time.Hour); due < calm || due > behind {
		t.Errorf("due in %v", due)
	}
	pass(true, 0)
	pass(false, 1)
	f.dirty = true
	f.upToDate = f.upToDate.Add(-2 * behind)
	pass(true, 2)
	if f.due(time.Hour) != time.Hour {
		t.Error("due although it is up to date")
	}
}

// A graph that can't be read may be read a moment later. After that, slices are launched only if
// some name what they need.
func TestPictureDoubts(t *testing.T) {
	p := newPicture(Scope{})
	p.plan = &plan.Plan{Snapshot: &plan.Snapshot{Unsure: "half written"}}
	if p.trusted() || !p.unsettled() {
		t.Error("a graph is trusted in the moment in which it can't be read")
	}
	p.unsure = p.unsure.Add(-settleTime)
	if p.trusted() || p.unsettled() || !p.distrusted() {
		t.Error("slices without dependencies are trusted")
	}
	items := []*plan.Item{{ID: "S-1"}, {ID: "S-2", Deps: []string{"S-1"}}}
	p.plan = plan.New(&plan.Snapshot{Items: items, Unsure: "half written"}, time.Now(), plan.Options{})
	if !p.trusted() || p.distrusted() {
		t.Error("slices that name their dependencies aren't trusted")
	}
	p.plan.Snapshot.Unsure = ""
	if !p.trusted() || !p.unsure.IsZero() {
		t.Error("a graph that can be read again isn't trusted")
	}
	task := newPicture(Scope{Task: &attempt.Task{}})
	task.plan = &plan.Plan{Snapshot: &plan.Snapshot{Unsure: "half written"}}
	if !task.trusted() {
		t.Error("a task needs a graph")
	}
}

// A run that builds one slice at a time has no second slot, however many are free.
func TestSlotsFree(t *testing.T) {
	p := &plan.Plan{}
	p.Taken = 1
	all, one := slots{Slots: Slots{Max: 4}}, slots{Slots: Slots{Max: 4, Serial: true}}
	if n := all.free(p, 1); n != 3 {
		t.Errorf("%d slots, not 3", n)
	}
	if n := one.free(p, 1); n != 0 {
		t.Errorf("%d slots beside its own attempt", n)
	}
	if n := one.free(p, 0); n != 1 {
		t.Errorf("%d slots, not 1", n)
	}
}

// A claim that fails because runs/ is being removed is tried again, but not for ever.
func TestRemovedClaims(t *testing.T) {
	m := removed{}
	for range cleanTries {
		if !m.again("S-1", fs.ErrNotExist) {
			t.Fatal("given up too soon")
		}
	}
	if m.again("S-1", fs.ErrNotExist) {
		t.Error("never given up")
	}
	if m.again("S-2", tracker.ErrNotFound) || m.again("S-2", context.Canceled) {
		t.Error("another error is taken for a directory that was removed")
	}
}
