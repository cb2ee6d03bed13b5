package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// Retry puts a failed or stalled item back and returns its old state. The item continues at its
// step, unless it is to start over. The error is ErrNothingToDo if it is already available. The
// caller refreshes the views of the state, once for all items.
func Retry(ctx context.Context, pr *project.Project, id string,
	over bool) (was plan.State, err error) {
	const tries = 3 // against writers that don't take the lock
	err = pr.Tracker.Do(ctx, func(tx tracker.Tx) error {
		for range tries {
			if was, err = putBack(ctx, pr, tx, id, over); !errors.Is(err, tracker.ErrChanged) {
				break
			}
		}
		if err != nil {
			return err
		}
		tell(pr, &was, journal.Event{Kind: journal.Retried, From: string(was.Class)})
		// After the item's file: a kill between the two leaves the item pending, or stalled as
		// before; in the other order it could look claimed.
		for _, name := range append(slices.Clone(was.Was), id) {
			if err := pr.Runs.Within(tx.Held()).MarkRetried(name); err != nil {
				return err
			}
		}
		return nil
	})
	return was, err
}

// PutBackIn puts back, in a copy of a project, items whose attempts failed midway: without the
// attempts, which aren't copied, they would look claimed by a session.
func PutBackIn(ctx context.Context, copied, pr *project.Project) error {
	now := time.Now()
	p, err := pr.Plan(now, pr.Options())
	if err != nil || len(p.Lists.TroubledIDs()) == 0 {
		return err
	}
	return copied.Tracker.Do(ctx, func(tx tracker.Tx) error {
		s, err := copied.Snapshot(tx.Load)
		if err != nil {
			return err
		}
		there := plan.New(s, now, copied.Options())
		for _, id := range p.Lists.TroubledIDs() {
			if st := there.State(id); st != nil && st.Class == plan.Active {
				err = errors.Join(err, tx.PutBack(id, st.Mark(), false))
			}
		}
		return err
	})
}

// Abandon gives up the open attempts at an item or task that no signal from here can reach,
// because, as the caller asserts, their host or container is gone. It returns the settled records.
// The error is ErrNothingToDo if no attempt is open.
func Abandon(ctx context.Context, pr *project.Project,
	id string) (settled []*attempt.Record, err error) {
	live, err := Running(pr)
	if err != nil {
		return nil, err
	}
	none := true
	for _, r := range live {
		if r.ID.Slice != id && (!r.ID.IsTask() || r.ID.Name() != id) || !r.ID.IsTask() && !pr.Has(r) {
			continue
		}
		none = false
		s := pr.Whose(r).Settler()
		final, abandonErr := s.Abandon(ctx, r)
		if errors.Is(abandonErr, attempt.ErrReachable) {
			abandonErr = taken("attempt %d of %s isn't abandoned: %v here. Run gl stop %s", r.ID.N,
				r.ID.Slice, abandonErr, r.ID.Label())
		}
		err = errors.Join(err, abandonErr)
		if final != nil {
			settled = append(settled, final)
		}
	}
	if none {
		return nil, ErrNothingToDo
	}
	return settled, err
}

// putBack makes an item available if that is allowed.
func putBack(ctx context.Context, pr *project.Project, tx tracker.Tx, id string,
	over bool) (was plan.State, err error) {
	now := time.Now()
	s, err := pr.Snapshot(tx.Load)
	if err != nil {
		return was, err
	}
	p := plan.New(s, now, pr.Options())
	st := p.State(id)
	if st == nil {
		return was, notFound(id)
	}
	if err := cmp.Or(unchanged(ctx, st), mayRetry(p, st, now)); err != nil {
		return *st, err
	}
	if st.HeldBack { // only its attempt's record holds it back
		return *st, nil
	}
	return *st, tx.PutBack(id, st.Mark(), over)
}

// mayRetry refuses an item whose last attempt didn't fail.
func mayRetry(p *plan.Plan, st *plan.State, now time.Time) error {
	why := p.Why(st.ID, now)
	switch {
	case st.Attempt.Open(), st.Class == plan.Active:
		return taken("%s", why)
	case st.Class == plan.Available:
		return ErrNothingToDo
	case st.HeldBack, st.SentBack() != "":
		return nil
	case st.Reverted != nil && st.Class == plan.Done:
		// both its file and the person say that it isn't done
		return nil
	case !st.Class.Troubled():
		return fmt.Errorf("%s can't be put back: %s", st.ID, why)
	}
	return nil
}

// Abandoned is the earlier work that the next attempt at an item begins without.
type Abandoned struct {
	Branch string // it isn't merged; "" for none
	Undone bool   // it was merged and taken back
}

// Fresh makes the next attempt at an item begin a new lineage. The item must be available.
func Fresh(ctx context.Context, pr *project.Project, id string) (was Abandoned, err error) {
	repo, err := pr.Worktrees(ctx)
	if none := new(worktree.Unavailable); errors.As(err, &none) {
		// there is nothing to continue from either
		return was, nil
	}
	if err != nil {
		return was, err
	}
	// Before taking the lock: an exact snapshot may take seconds. A lineage that doesn't exist or
	// can't be read has nothing to keep.
	if l, err := repo.Lineages.Get(pr.Key(), id); err == nil && l.Phase != worktree.Gone {
		if _, err := repo.Snapshots.Take(ctx, l, worktree.SnapshotOptions{Last: true,
			Why: "gl: snapshot of " + id + " before it begins anew"}); err != nil {
			return was, fmt.Errorf("the work so far can't be kept: %w", err)
		}
	}
	err = pr.Tracker.Do(ctx, func(tx tracker.Tx) error {
		s, err := pr.Snapshot(tx.Load)
		if err != nil {
			return err
		}
		p, now := plan.New(s, time.Now(), pr.Options()), time.Now()
		st := p.State(id)
		if st == nil {
			return notFound(id)
		}
		if err := mayRetry(p, st, now); err != nil && !errors.Is(err, ErrNothingToDo) {
			return err
		}
		if was.Undone, err = pr.Runs.Within(tx.Held()).MarkAnew(id); err != nil {
			return err
		}
		l, err := repo.Lineages.Get(pr.Key(), id)
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*worktree.BadLineage)) {
			return nil
		}
		if err == nil && l.Phase != worktree.Gone {
			was.Branch = worktree.Short(l.Branch)
			err = repo.Lineages.Retire(l.System, l.Slice, l.N)
		}
		return err
	})
	return was, err
}

// LiftLogin ends a hold that waits for a login: a person who retries has logged in.
func LiftLogin(pr *project.Project) error {
	_, err := pr.Runs.HoldFile.Lift(func(h *plan.Hold) bool { return h.Kind == agent.Login },
		time.Now())
	return err
}
