package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/agent"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/slice"
	"greenlight/internal/tracker"
)

func newRetry(e *env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "retry ID...",
		Short: "Put a failed or stalled slice back",
		Long: `Put failed and stalled slices back: they are pending, and the next gl slice, or one that runs, launches them. What the
agent wrote stays. A hold because nobody was logged in ends.

Exit codes: 0 they are pending; 1 one is done, or waits for a person, or can't be read; 2 wrong usage; 3 one is being
worked on.`,
		Example:           "  gl retry S-07\n  gl retry --all-failed",
		ValidArgsFunction: e.completeIDs,
		RunE: func(c *cobra.Command, ids []string) error {
			if all && len(ids) > 0 {
				return usage("give ids or --all-failed, not both")
			}
			return runRetry(c.Context(), e, ids, all)
		},
	}
	c.Flags().BoolVar(&all, "all-failed", false, "all that failed or stalled")
	return c
}

func runRetry(ctx context.Context, e *env, ids []string, all bool) error {
	pr, err := e.project()
	if err != nil {
		return err
	}
	dead, err := e.reconcile(ctx, pr)
	if err != nil {
		e.message("warning: %v", err)
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	broken := append(append([]string(nil), p.Failed...), p.Stalled...)
	switch {
	case all && len(broken) == 0:
		e.print("no slice has failed or stalled\n")
	case all:
		ids = broken
	case len(ids) == 0 && len(broken) == 0:
		return usage("which slice? none has failed or stalled")
	case len(ids) == 0:
		return usage("which slice? failed or stalled: %s (gl retry --all-failed takes all)", strings.Join(broken, ", "))
	}
	var errs []error
	for _, id := range ids {
		if id, err = e.resolve(p, id); err == nil {
			err = retry(ctx, e, pr, id)
		}
		errs = append(errs, err)
	}
	if len(dead) > 0 {
		errs = append(errs, pr.Tracker.Refresh(ctx))
	}
	return errors.Join(append(errs, liftLogin(pr))...)
}

// errAvailable ends an edit that has nothing to do.
var errAvailable = errors.New("available already")

func retry(ctx context.Context, e *env, pr *project.Project, id string) error {
	if pr.Slices == nil {
		return retryRecord(ctx, e, pr, id)
	}
	var was plan.State
	err := pr.Slices.Edit(ctx, id, func(f *slice.File) error {
		now := time.Now()
		p, err := pr.Plan(now, pr.Options())
		if err != nil {
			return err
		}
		was = *p.State(id)
		return putBack(p, &was, f, now)
	})
	if errors.Is(err, errAvailable) {
		e.print("%s is pending already\n", id)
		return nil
	}
	if err != nil {
		return err
	}
	// After the slice's file: a kill between the two leaves a slice that is pending, or stalled as before; the other way
	// round it could look as if somebody worked on it.
	if err := pr.Runs.MarkRetried(id); err != nil {
		return err
	}
	e.print("%s\n", agent.Clean(id+" is pending again"+lastAttempt(&was)))
	return nil
}

// retryRecord puts an item back whose file has no word for having failed: only its attempt's record says so.
func retryRecord(ctx context.Context, e *env, pr *project.Project, id string) error {
	var was plan.State
	err := pr.Tracker.Do(ctx, func(tracker.Tx) error {
		now := time.Now()
		p, err := pr.Plan(now, pr.Options())
		if err != nil {
			return err
		}
		was = *p.State(id)
		if err := mayPutBack(p, &was, now); err != nil {
			return err
		}
		return pr.Runs.MarkRetried(id)
	})
	switch {
	case errors.Is(err, errAvailable):
		e.print("%s is pending already\n", id)
	case err == nil:
		e.print("%s\n", agent.Clean(id+" is pending again"+lastAttempt(&was)))
	default:
		return err
	}
	return nil
}

// mayPutBack refuses what isn't to be put back.
func mayPutBack(p *plan.Plan, st *plan.State, now time.Time) error {
	why := p.Why(st.ID, now)
	switch {
	case st.Attempt.Open(), st.Class == plan.Active:
		return taken("%s", why)
	case st.Class == plan.Available:
		return errAvailable
	case st.Class != plan.Failed && st.Class != plan.Stalled:
		return fmt.Errorf("%s can't be put back: %s", st.ID, why)
	}
	return nil
}

// putBack makes a slice pending, if it is one that may be put back.
func putBack(p *plan.Plan, st *plan.State, f *slice.File, now time.Time) error {
	if err := mayPutBack(p, st, now); err != nil {
		return err
	}
	return setFields(f, []setting{{key: "status", value: "pending"}, {key: "step", value: "none"}, {key: "session"}})
}

// lastAttempt tells what is being tried again: " (attempt 2 failed: exit 7)"; "" where no attempt is known.
func lastAttempt(st *plan.State) string {
	a := st.Attempt
	if a == nil {
		return ""
	}
	s := fmt.Sprintf("attempt %d %s", a.N, a.Outcome)
	if a.Detail != "" && a.Detail != string(a.Outcome) {
		s += ": " + a.Detail
	}
	return " (" + s + ")"
}

// liftLogin ends a hold that waits for somebody to log in: whoever retries has done so.
func liftLogin(pr *project.Project) error {
	if h := pr.Runs.Hold(); h != nil && h.Kind == agent.Login {
		return pr.Runs.LiftHold()
	}
	return nil
}
