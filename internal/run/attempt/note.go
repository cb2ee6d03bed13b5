package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// Note keeps in git that an attempt awaits the merge queue, since runs/ may be removed. The
// note is only a backup, so errors are ignored.
func (s *Settler) Note(ctx context.Context, r *Record) {
	if r == nil || r.Life.Phase != plan.Queued || r.ID.IsTask() || s.Worktrees == nil {
		return
	}
	repo, err := s.Worktrees(ctx)
	if err != nil {
		return
	}
	l, err := repo.Lineages.Get(r.ID.System, r.ID.Slice)
	if err != nil || l.N != r.Place.Lineage {
		return
	}
	data, err := json.Marshal(r)
	if err == nil {
		_ = repo.Queue.NoteQueued(ctx, l, r.ID.N, data)
	}
}

// unnote forgets the note of an attempt that is through. One that stays is found out by Restore.
func (s *Settler) unnote(ctx context.Context, r *Record) {
	if r == nil || s.Worktrees == nil {
		return
	}
	if repo, err := s.Worktrees(ctx); err == nil {
		_ = repo.Queue.DropNote(ctx, r.ID.System, r.ID.Slice, r.ID.N)
	}
}

// Restore puts attempts back into the queue whose records have been removed while they awaited
// the lane, if their slices are as they were. It returns their slices.
func (s *Settler) Restore(ctx context.Context) (ids []string, err error) {
	repo, err := s.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	notes, err := repo.Queue.Notes(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		var r Record
		if json.Unmarshal(n.Attempt, &r) != nil || r.ID.System != n.Lineage.System ||
			r.ID.Slice != n.Lineage.Slice || r.Judged.Seen == nil || r.Life.Phase != plan.Queued {
			continue
		}
		switch back, err := s.putBack(ctx, repo, n, &r); {
		case err != nil:
			return ids, err
		case back:
			ids = append(ids, r.ID.Slice)
		}
	}
	return ids, nil
}

// putBack puts one back, or forgets it.
func (s *Settler) putBack(ctx context.Context, repo *worktree.Repo, n worktree.Note,
	r *Record) (back bool, err error) {
	over := false
	err = s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		have, err := s.Store.Get(r.ID.Slice, r.ID.N)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			over = err == nil && have.Life.Phase == plan.Settled
			return nil
		}
		it, err := tx.Item(r.ID.Slice)
		if errors.Is(err, tracker.ErrNotFound) || err == nil &&
			(plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}) != *r.Judged.Seen {
			over = true
			return nil
		}
		if err != nil || it.Corrupt != "" {
			return err
		}
		if err := s.Store.Files.Prepare(); err != nil {
			return err
		}
		if err := repo.Lineages.PutBack(n); err != nil {
			return err
		}
		if err := s.Store.Within(tx.Held()).Put(r); err != nil {
			return err
		}
		if _, err := s.Store.Get(r.ID.Slice, r.ID.N); err != nil { // not what gl has written
			return errors.Join(err, s.Store.Within(tx.Held()).dropLive(r))
		}
		back = true
		return nil
	})
	if err == nil && over {
		err = repo.Queue.DropNote(ctx, r.ID.System, r.ID.Slice, r.ID.N)
	}
	return back, err
}
