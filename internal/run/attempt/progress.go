package attempt

import (
	"context"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/tracker"
)

// progressEvery is how often a wrapper looks at the slice of an agent that can't write the journal.
const progressEvery = 2 * time.Second

// A follower writes the events of a confined agent's progress: its own gl state set can change the slice and not the journal,
// which is gl's. They follow from the slice alone, so that the agent can't tell of anything else.
type follower struct {
	last *journal.Progress // nil: never looked
	next time.Time
}

// follow tells what has changed since the last look. What can't be read now can be at the next one.
func (w *Wrapper) follow(ctx context.Context, now time.Time) {
	f := &w.follower
	if now.Before(f.next) {
		return
	}
	f.next = now.Add(progressEvery)
	var it plan.Item
	err := w.Tracker.Do(ctx, func(tx tracker.Tx) (err error) {
		it, err = w.rec.of(tx).Item(w.rec.ID.Slice)
		return err
	})
	if err != nil || it.Corrupt != "" || it.Session != w.rec.ID.Token {
		return
	}
	is := journal.Progress{Status: it.Status, Step: it.Step, Tests: it.Tests, SecurityTests: it.SecurityTests, Failing: it.Failing}
	if f.last != nil {
		_ = w.Store.Journal().Append(is.Since(*f.last, journal.Event{System: w.rec.ID.System, Slice: w.rec.ID.Slice, Attempt: w.rec.ID.N})...)
	}
	f.last = &is
	w.noteHanded(ctx)
}

// noteHanded notes what a sandboxed agent has handed over: its own gl can't write the records.
func (w *Wrapper) noteHanded(ctx context.Context) {
	if w.rec.Place.Lineage == 0 || w.Worktrees == nil || w.Store.Proofs.Handed(w.rec.ID.System, w.rec.ID.Slice, w.rec.Place.Lineage) != "" {
		return
	}
	repo, err := w.Worktrees(ctx)
	if err != nil {
		return
	}
	l, err := lineageOf(w.rec, repo)
	if err != nil {
		return
	}
	if commit, err := repo.HandedOver(ctx, l); err == nil {
		_ = w.Store.Proofs.NoteHanded(l.System, l.Slice, l.N, commit) // without it git's note counts
	}
}
