package attempt

import (
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// When a person accepts what was built in a worktree, it isn't complete yet: it has to land
// like what an agent calls complete. So it is queued as an attempt without an agent.

// Person is the agent of such an attempt.
const Person = "person"

// Accepted reports whether a person has put the attempt into the queue. What the lane finds
// wrong goes back to a person.
func (r *Record) Accepted() bool {
	return r.Job.Agent == Person && r.Job.Program == "" && r.Life.StartedAt == nil
}

// Left is work in the state in which it was left.
type Left struct{ Tree, Head string }

// PutAccepted queues the work on an item that a person accepts, as they saw it, and returns the
// attempt, with the mark that the caller has to give the item next, under the same lock. A kill
// between the two leaves the item as it was: the lane throws the attempt out.
func (w *Writer) PutAccepted(system string, it *plan.Item, l *worktree.Lineage, is Left,
	now time.Time) (*Record, error) {
	if err := w.store.Files.Prepare(); err != nil {
		return nil, err
	}
	n, err := w.store.next(it.ID)
	if err != nil {
		return nil, err
	}
	now = now.UTC()
	r := &Record{
		SchemaVersion: schemaVersion,
		ID: Identity{System: system, Slice: it.ID, Of: it.Of, Title: it.Name, N: n,
			Token: NewToken(now)},
		Job:   Job{Agent: Person},
		Place: Place{Lineage: l.N, Branch: l.Branch, Tree: is.Tree, Head: is.Head},
		Life: Life{Phase: plan.Queued, Before: beforeOf(*it), Launcher: proc.Self(), ClaimedAt: now,
			EndedAt: &now, Log: w.store.Files.Log(it.ID, n)},
		Judged:  Judgement{Evidence: &Evidence{}, Tests: it.Tests},
		Landing: &Landing{Queued: now},
	}
	r.Judged.Seen = &plan.Mark{Status: tracker.Verifying, Step: tracker.Verifying,
		Session: r.ID.Token}
	if last, err := w.store.LastIn(r, func(*Record) bool { return true }); err != nil {
		return nil, err
	} else if last != nil && last.Landing != nil {
		r.Landing.Approved = last.Judged.Gate.Open()
		if last.Accepted() && last.Judged.Gate == nil {
			r.Landing.Despite, r.Landing.Tip = last.Landing.Problem, last.Landing.Tip
		}
	}
	return r, w.putNew(r)
}

// DropAccepted takes the attempt back, whose item couldn't be changed.
func (w *Writer) DropAccepted(r *Record) error { return w.dropLive(r) }
