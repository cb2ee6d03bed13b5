package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/tracker"
)

// A Stop holds the attempts that are about to be ended.
type Stop struct {
	Attempts []*attempt.Record

	// Settled are the attempts, named or not, whose gl process was found dead. SettleErr is about
	// those that can't be settled; the others are still ended.
	Settled   []*attempt.Record
	SettleErr error

	Notes []string
	Err   error // about named slices that aren't running

	pr *project.Project
}

// PrepareStop finds the attempts of the named slices and tasks, or all of them. Stopping all also
// ends every run.
func PrepareStop(ctx context.Context, pr *project.Project, ids []string, all bool) (*Stop, error) {
	if all { // first: a run could launch while the dead attempts are settled
		if err := endDrains(ctx, pr); err != nil {
			return nil, err
		}
	}
	s := &Stop{pr: pr}
	r, err := scheduler.Reconcile(ctx, pr)
	s.Settled, s.SettleErr = r.Settled, err
	for _, a := range r.Aside {
		s.Notes = append(s.Notes, "warning: "+a.Error())
	}
	live, err := Running(pr)
	switch {
	case err != nil:
		return nil, err
	case all:
		s.Attempts = live
	default:
		s.choose(ctx, ids, live)
	}
	return s, nil
}

// endDrains ends all runs. Claims check the mark under the same lock, so no attempt starts after
// it.
func endDrains(ctx context.Context, pr *project.Project) error {
	return pr.Tracker.Do(ctx, func(tracker.Tx) error {
		if err := pr.Runs.Files.Prepare(); err != nil {
			return err
		}
		return pr.Runs.Control.PutStopMark(time.Now())
	})
}

// Running returns the open attempts, without leftovers of settled ones.
func Running(pr *project.Project) ([]*attempt.Record, error) {
	recs, _, err := pr.Runs.Live()
	var live []*attempt.Record
	for _, r := range recs {
		if now, err := pr.Runs.Get(r.ID.Slice, r.ID.N); err == nil && now.Life.Phase != plan.Settled {
			live = append(live, now)
		}
	}
	return live, err
}

// choose finds the attempts of the ids. Those whose gl process was just found dead have ended
// already.
func (s *Stop) choose(ctx context.Context, ids []string, live []*attempt.Record) {
	p, err := s.pr.Plan(time.Now(), s.pr.Options())
	if err != nil {
		s.Err = err
		return
	}
	live = slices.DeleteFunc(slices.Clone(live), func(r *attempt.Record) bool {
		// another system's attempt of the same id
		return !s.pr.Has(r) && p.State(r.ID.Slice) != nil
	})
	for _, id := range ids {
		if attempt.IsTask(id) {
			mine := tasksCalled(id, live)
			if len(mine)+len(tasksCalled(id, s.Settled)) == 0 {
				s.refuse(fmt.Errorf("%s isn't running", id))
			}
			s.Attempts = append(s.Attempts, mine...)
			continue
		}
		id, note, err := resolveRunning(p, id, live)
		if note != "" {
			s.Notes = append(s.Notes, note)
		}
		switch {
		case err != nil:
			s.refuse(err)
		case recordOf(s.Attempts, id) != nil || recordOf(s.Settled, id) != nil:
		case recordOf(live, id) == nil:
			s.refuse(fmt.Errorf("%s isn't running. %s", id, p.Why(id, time.Now())))
		case unchanged(ctx, p.State(id)) != nil:
			s.refuse(unchanged(ctx, p.State(id)))
		default:
			s.Attempts = append(s.Attempts, recordOf(live, id))
		}
	}
}

func (s *Stop) refuse(err error) { s.Err = errors.Join(s.Err, err) }

// tasksCalled returns the attempts at tasks that the id means: one by its name, or all of a kind.
func tasksCalled(id string, recs []*attempt.Record) []*attempt.Record {
	var mine []*attempt.Record
	for _, r := range recs {
		if r.ID.IsTask() && (r.ID.Slice == id || r.ID.Name() == id) {
			mine = append(mine, r)
		}
	}
	return mine
}

// resolveRunning also knows agents whose slice was removed from the project.
func resolveRunning(p *plan.Plan, id string,
	live []*attempt.Record) (match, note string, err error) {
	ids := p.IDs()
	for _, r := range live {
		if p.State(r.ID.Slice) == nil {
			ids = append(ids, r.ID.Slice)
		}
	}
	return sliceid.Resolve(id, ids)
}

// recordOf returns the record of the slice among recs, nil for none.
func recordOf(recs []*attempt.Record, id string) *attempt.Record {
	for _, r := range recs {
		if r.ID.Slice == id {
			return r
		}
	}
	return nil
}

// A Stopped is how an attempt ended, possibly on its own.
type Stopped struct {
	Attempt *attempt.Record // before it ended
	// settled; nil if it couldn't be ended, or another process is settling it
	Final *attempt.Record
	Err   error
}

// End ends the attempts concurrently, since each may take its grace period, and calls each as soon
// as one is over. Then it refreshes the views of the state. The error joins what went wrong with
// single attempts and with the refresh.
func (s *Stop) End(ctx context.Context, each func(Stopped)) error {
	results := make(chan Stopped)
	for _, r := range s.Attempts {
		settler := s.pr.Whose(r).Settler()
		go func() {
			final, err := settler.Stop(ctx, r)
			if err != nil {
				final = nil
			}
			results <- Stopped{r, final, err}
		}()
	}
	var errs []error
	for range s.Attempts {
		r := <-results
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", r.Attempt.ID.Label(), r.Err))
		}
		each(r)
	}
	return errors.Join(append(errs, s.pr.Tracker.Refresh(ctx))...)
}
