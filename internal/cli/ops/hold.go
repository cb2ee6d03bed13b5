package ops

import (
	"context"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
)

// PutHold stops the launches of an agent until a time, at a person's request; "" means all agents.
func PutHold(ctx context.Context, pr *project.Project, agent string, until, now time.Time) error {
	if !until.After(now) {
		return badArgument("%s is over: nothing is held", plan.At(until, now, "15:04"))
	}
	return pr.Tracker.Do(ctx, func(tracker.Tx) error {
		if err := pr.Runs.Files.Prepare(); err != nil {
			return err
		}
		return pr.Runs.HoldFile.PutPersons(plan.Account{Agent: agent}, until, now)
	})
}

// LiftHolds ends all holds, or those of an account, of any origin, and returns them. It also drops
// expired ones, so that no probe is sent first.
func LiftHolds(ctx context.Context, pr *project.Project, of *plan.Account,
	now time.Time) (was []*plan.Hold, err error) {
	err = pr.Tracker.Do(ctx, func(tracker.Tx) (err error) {
		was, err = pr.Runs.HoldFile.Lift(func(h *plan.Hold) bool {
			return of == nil || h.Agent != "" && (h.Agent == of.Agent || h.Holds(*of))
		}, now)
		return err
	})
	return was, err
}
