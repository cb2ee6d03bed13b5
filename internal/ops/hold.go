package ops

import (
	"context"
	"fmt"
	"time"

	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/tracker"
)

// PutHold stops the launches of an agent until a time, because a person says so; all of the project for "".
func PutHold(ctx context.Context, pr *project.Project, agent string, until, now time.Time) error {
	if !until.After(now) {
		return badArgument("%s is over: nothing is held", plan.At(until, now, "15:04"))
	}
	return pr.Tracker.Do(ctx, func(tracker.Tx) error {
		if err := pr.Runs.Prepare(); err != nil {
			return err
		}
		return pr.Runs.PutPersonsHold(plan.Account{Agent: agent}, until, now)
	})
}

// LiftHolds ends all holds, or those of an account, whoever put them, and returns them. Those that were over are forgotten, too: then no
// probe is sent first.
func LiftHolds(ctx context.Context, pr *project.Project, of *plan.Account, now time.Time) (was []*plan.Hold, err error) {
	err = pr.Tracker.Do(ctx, func(tracker.Tx) (err error) {
		was, err = pr.Runs.LiftHolds(func(h *plan.Hold) bool {
			return of == nil || h.Agent != "" && (h.Agent == of.Agent || h.Holds(*of))
		}, now)
		return err
	})
	return was, err
}

// ParseUntil reads when something is to end: "2h", "18:30" (the next time that the clock shows it), "2026-03-01 18:30", or
// RFC 3339.
func ParseUntil(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	if t, err := time.ParseInLocation("15:04", text, time.Local); err == nil {
		local := now.Local()
		t = time.Date(local.Year(), local.Month(), local.Day(), t.Hour(), t.Minute(), 0, 0, time.Local)
		if !t.After(now) {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &ArgumentError{fmt.Errorf("%q is no time: use 2h, 18:30, or 2026-03-01T18:30", text)}
}
