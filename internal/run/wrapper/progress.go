package wrapper

import (
	"context"
	"time"

	"greenlight/internal/state/journal"
)

// progressEvery is how often a wrapper looks at the slice of an agent that can't write the journal.
const progressEvery = 2 * time.Second

// A follower writes the events of a confined agent's progress: its own gl state set can change the
// slice but not the journal. The events follow from the slice alone, so the agent can't tell of
// anything else.
type follower struct {
	*claimed
	last *journal.Progress // nil before the first look
	next time.Time
}

// follow tells what has changed since the last look. What can't be read now is read at the next
// one.
func (f *follower) follow(ctx context.Context, now time.Time) {
	if now.Before(f.next) {
		return
	}
	f.next = now.Add(progressEvery)
	it, err := f.item(ctx)
	if err != nil || it.Corrupt != "" || it.Session != f.rec.ID.Token {
		return
	}
	is := journal.Progress{
		Status: it.Status, Step: it.Step, Tests: it.Tests, SecurityTests: it.SecurityTests,
		Failing: it.Failing,
	}
	if f.last != nil {
		e := journal.Event{System: f.rec.ID.System, Slice: f.rec.ID.Slice, Attempt: f.rec.ID.N}
		_ = f.settler.Store.Journal().Append(is.Since(*f.last, e)...)
	}
	f.last = &is
	f.noteHanded(ctx)
}

// noteHanded notes what a sandboxed agent has handed over: its own gl can't write the records.
func (f *follower) noteHanded(ctx context.Context) {
	if f.rec.Place.Lineage == 0 || f.settler.Worktrees == nil ||
		f.settler.Store.Proofs.Handed(f.rec.ID.System, f.rec.ID.Slice, f.rec.Place.Lineage) != "" {
		return
	}
	repo, err := f.settler.Worktrees(ctx)
	if err != nil {
		return
	}
	l, err := f.rec.LineageIn(repo)
	if err != nil {
		return
	}
	if commit, err := repo.Snapshots.HandedOver(ctx, l); err == nil {
		// if it fails, git's note counts
		_ = f.settler.Store.Proofs.NoteHanded(l.System, l.Slice, l.N, commit)
	}
}
