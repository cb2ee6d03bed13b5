package facts

import (
	"testing"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/state/journal"
)

// A run's own number of slots counts as long as it leads; otherwise the configuration's.
func TestSlots(t *testing.T) {
	pr := projecttest.Open(t, map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: pending\n---\n", "config.json": `{"parallel": {"max": 7}}`})
	if err := pr.Runs.Files.Prepare(); err != nil {
		t.Fatal(err)
	}
	r := NewReader(pr)
	t.Cleanup(r.pacer.Close)
	is := func(what string, want int) {
		t.Helper()
		p, err := pr.Plan(time.Now(), plan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f, err := r.All(p); err != nil || f.Slots != want {
			t.Errorf("%s: %d slots, want %d: %v", what, f.Slots, want, err)
		}
	}
	start := func(e journal.Event) {
		t.Helper()
		e.Kind = journal.DrainStarted
		if err := pr.Runs.Journal().Append(e); err != nil {
			t.Fatal(err)
		}
	}
	is("no drain", 7)
	lock, err := durable.TryLock(pr.Runs.Control.LeaderLock())
	if err != nil {
		t.Fatal(err)
	}
	start(journal.Event{Max: 3, Fixed: true})
	is("with --max", 3)
	if err := pr.Runs.Control.PutSlotsSet(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	is("with --max, after an earlier word", 3)
	if err := pr.Runs.Control.PutSlotsSet(time.Now()); err != nil {
		t.Fatal(err)
	}
	is("with --max, and a later word", 7)
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	is("killed", 7)
	if lock, err = durable.TryLock(pr.Runs.Control.LeaderLock()); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	start(journal.Event{Max: 5})
	is("without --max, and the configuration has changed since", 7)
}
