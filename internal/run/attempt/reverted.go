package attempt

import (
	"context"
	"errors"
	"fmt"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// A slice file is in the person's checkout, so git stash, git checkout and git reset take it
// back to what was committed. What has landed is still in the merge queue's branch or the
// target. So the record decides: a slice whose last attempt landed is complete until a person
// reopens it through gl, which notes that in the record (Retried, Undone).

// Landed is the item as it landed by the attempt, the slice's last one, if its file says that
// it isn't done, or that it is by the claim of an earlier attempt; else nil.
func (r *Record) Landed(it *plan.Item) *plan.Item {
	landed := r.Life.Phase == plan.Settled && r.Judged.Outcome == outcome.Done &&
		r.Landing != nil && r.Landing.Commit != ""
	if !landed || r.Since.Undone != nil || r.Since.Retried || it.Corrupt != "" ||
		plan.Classify(it.Status) == plan.Done && it.Session == "" {
		return nil
	}
	if r.ID.Title != it.Name { // it may be another slice that has got the id
		return nil
	}
	mark, done := it.Mark(), *it
	done.Reverted = &mark
	done.Status, done.Step, done.Session = "complete", "complete", ""
	done.WaitingFor, done.WaitKind, done.Paused, done.Failing = "", "", false, 0
	done.Verified, done.Tests = r.Judged.Verified, r.Judged.Tests
	if n := r.counted(); n != nil {
		done.Tests = *n
	}
	if n := r.Landing.gained(); n != nil {
		done.NewTests, done.Counted = *n, true
	}
	return &done
}

// Called is the item as the settled attempt left it, if its file has that attempt's claim and
// says that it is done: its agent has called it complete, nothing of it has landed, or that was
// taken out again, and git has brought the file back (a stash, while the attempt was judged).
// Otherwise it is nil.
func (r *Record) Called(it *plan.Item) *plan.Item {
	out := r.Since.Undone != nil || r.Since.Retried
	if r.Life.Phase != plan.Settled || r.Judged.Outcome == outcome.Done && !out ||
		r.Place.Lineage == 0 || r.Judged.After == nil || it.Session == "" ||
		it.Session != r.ID.Token {
		return nil
	}
	mark, left := it.Mark(), *it
	left.Reverted = &mark
	left.Status, left.Step, left.Session, left.Verified = r.Judged.After.Status,
		r.Judged.After.Step, r.Judged.After.Session, ""
	if plan.Classify(left.Status) != plan.Done {
		return &left
	}
	if !out {
		return nil
	}
	left.Status, left.Step, left.Tests, left.NewTests = "pending", "none", 0, 0
	return &left
}

// calledBefore is the item as one of its settled attempts left it: see Called. It is nil where
// none did.
func (s *Store) calledBefore(system string, it *plan.Item) *plan.Item {
	records, err := s.History(it.ID)
	if err != nil {
		return nil
	}
	for _, r := range records {
		if called := r.Called(it); called != nil && r.ID.System == system {
			return called
		}
	}
	return nil
}

// Rewrite writes the file of a slice again that has landed by the settled attempt. It reports
// whether there was anything to write.
func (s *Settler) Rewrite(ctx context.Context, r *Record) (wrote bool, err error) {
	err = s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		tx = r.Tx(tx)
		lander, lands := tx.(tracker.Lander)
		now, err := s.Store.Get(r.ID.Slice, r.ID.N) // a person may have reopened it
		if err != nil || !lands {
			return err
		}
		it, err := tx.Item(r.ID.Slice)
		if errors.Is(err, tracker.ErrNotFound) || err == nil && now.Landed(&it) == nil {
			return nil
		}
		if err != nil {
			return err
		}
		pass, err := now.Ruled().Pass("")
		if err != nil {
			return fmt.Errorf("%s can't be written again: %w", it.File, err)
		}
		if _, err := lander.Enqueue(r.ID.Slice); err != nil {
			// a kill here leaves a file that still isn't done
			return err
		}
		tests := now.Landed(&it).Tests
		_, err = lander.Land(r.ID.Slice,
			tracker.Landed{Pass: pass, Tests: &tests, New: now.Landing.gained()})
		wrote = err == nil
		return err
	})
	return wrote, err
}
