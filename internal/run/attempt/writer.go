package attempt

import (
	"errors"
	"io/fs"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/statedir"
)

// A Writer changes the records of a store. Within makes one from the project's lock: of two changes
// of one record at the same time, one would be lost.
type Writer struct{ store *Store }

// Within returns the writer of the records, which is valid as long as the project's lock is held.
func (s *Store) Within(held statedir.Held) *Writer {
	if !held.Valid() {
		panic("attempt: the project's lock isn't held")
	}
	return &Writer{s}
}

// Put writes a record that isn't settled.
func (w *Writer) Put(r *Record) error {
	return durable.WriteJSON(w.store.Files.livePath(r.ID.Slice, r.ID.N), r.document())
}

func (w *Writer) putDone(r *Record) error {
	return durable.WriteJSON(w.store.Files.donePath(r.ID.Slice, r.ID.N, r.Judged.Outcome),
		r.document())
}

// finish makes a judged record a settled one. For an instant there are two files; the settled
// one wins (sweep).
func (w *Writer) finish(r *Record) error {
	r.Life.Phase = plan.Settled
	if err := w.putDone(r); err != nil {
		return err
	}
	w.store.diary.tell(r, false)
	return w.dropLive(r)
}

// dropLive needn't be durable: a record that a power cut brings back is the leftover of a
// settled one, or the claim of a launcher that is dead, and is swept as such.
func (w *Writer) dropLive(r *Record) error {
	_ = durable.Unlink(w.store.Files.envPath(r))
	if err := durable.Unlink(w.store.Files.livePath(r.ID.Slice, r.ID.N)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// MarkRetried notes in the slice's last settled record that the slice was put back since, so
// that it counts as pending and is launched again. A slice without a settled record needs no
// note.
func (w *Writer) MarkRetried(slice string) error {
	return w.markLast(slice, func(r *Record) bool {
		was := r.Since.Retried
		r.Since.Retried, r.Since.At = true, time.Now().UTC()
		return !was
	})
}

// MarkRejected is MarkRetried for work that a person has sent back, for the reason and with
// comments on lines.
func (w *Writer) MarkRejected(slice, why string, comments []Comment) error {
	return w.markLast(slice, func(r *Record) bool {
		r.Since.Rejected, r.Since.Comments = why, comments
		r.Since.Retried, r.Since.At = true, time.Now().UTC()
		return true
	})
}

// MarkAnswered is MarkRetried for an attempt that ended with a question.
func (w *Writer) MarkAnswered(slice string, a Answer) error {
	return w.markLast(slice, func(r *Record) bool {
		r.Since.Retried, r.Since.Answered, r.Since.At = true, &a, time.Now().UTC()
		return true
	})
}

// MarkApproved notes what the gate has answered when a person accepted what the slice's last
// attempt had left in the checkout.
func (w *Writer) MarkApproved(slice string, ruling *gate.Ruling) error {
	return w.markLast(slice, func(r *Record) bool {
		w.store.Proofs.ForgetBaseline(r)
		if r.Judged.Verdict.Green() {
			// its tests are what later ones are compared with
			_ = w.store.Proofs.PutSuite(r.Judged.Verdict, "")
		}
		was := r.Judged.Gate != nil
		r.Judged.Gate = ruling
		return was
	})
}

// MarkFixed notes tests that pass now, in place of those that held the slice's last attempt back.
func (w *Writer) MarkFixed(slice string, v *testrun.Verdict) error {
	return w.markLast(slice, func(r *Record) bool {
		r.Since.Fixed, r.Judged.Verdict = true, v
		return true
	})
}

// MarkUndone is MarkRetried for a slice whose landed work was taken back: that of attempt n, 0 for
// unknown. A task is never retried.
func (w *Writer) MarkUndone(slice string, n int, u Undo) error {
	err := w.markSettled(slice, n, func(r *Record) { r.Since.Undone, r.Since.Retried = &u, true })
	if err != nil || IsTask(slice) {
		return err
	}
	return w.MarkRetried(slice)
}

// MarkRedone takes MarkUndone back for attempt n: the target has its work again, and it stays.
func (w *Writer) MarkRedone(slice string, n int) error {
	return w.markSettled(slice, n, func(r *Record) { r.Since.Undone, r.Since.Retried = nil, false })
}

// MarkAnew has the next attempt at a slice that was taken back begin without its earlier work. It
// reports whether the slice was.
func (w *Writer) MarkAnew(slice string) (undone bool, err error) {
	err = w.markEach(slice, func(r *Record) bool {
		if r.Since.Undone == nil {
			return false
		}
		r.Since.Undone.Anew, undone = true, true
		return true
	})
	return undone, err
}

// markSettled changes the settled record of the slice's attempt n.
func (w *Writer) markSettled(slice string, n int, change func(*Record)) error {
	return w.markEach(slice, func(r *Record) bool {
		if r.ID.N != n {
			return false
		}
		change(r)
		return true
	})
}

// markEach changes those of the slice's settled records for which change says so.
func (w *Writer) markEach(slice string, change func(*Record) bool) error {
	all, err := w.store.Index()
	if err != nil {
		return err
	}
	for _, e := range all[slice] {
		if e.Outcome == "" {
			continue
		}
		r, err := w.store.get(e)
		if err != nil {
			return err
		}
		if !change(r) {
			continue
		}
		if err := w.putDone(r); err != nil {
			return err
		}
	}
	return nil
}

// markLast changes the slice's last settled record, if change says so. One without needs no mark.
func (w *Writer) markLast(slice string, change func(*Record) bool) error {
	all, err := w.store.Index()
	if err != nil {
		return err
	}
	entries := all[slice]
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		if e.Outcome == "" {
			continue
		}
		r, err := w.store.get(e)
		if err != nil {
			return err
		}
		if !change(r) {
			return nil
		}
		return w.putDone(r)
	}
	return nil
}
