package ops

import (
	"context"
	"errors"
	"strconv"
	"time"

	"greenlight/internal/journal"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/tracker"
	"greenlight/internal/trust"
)

// SetBudget sets what a slice, a drain or a day may cost, 0 for no limit, and ends a hold of the old one. Whether the new one is
// spent, too, who launches next finds out.
func SetBudget(ctx context.Context, pr *project.Project, store trust.Store, session *project.Session, of string, usd float64) error {
	if session != nil {
		return errors.New("a session that gl started can't change its budget: ask a person to do it with gl budget")
	}
	key, value := "budget."+of+"_usd", strconv.FormatFloat(usd, 'f', -1, 64)
	if _, _, err := SetSetting(ctx, pr, store, session, key, value); err != nil {
		return err
	}
	now := time.Now()
	return pr.Tracker.Do(ctx, func(tracker.Tx) error {
		_ = pr.Runs.Journal().Append(journal.Event{Kind: journal.Budget, Setting: key, Value: value})
		_, err := pr.Runs.LiftHolds(func(h *plan.Hold) bool { return h.Kind == plan.HeldByBudget }, now)
		return err
	})
}
