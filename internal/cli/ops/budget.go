package ops

import (
	"context"
	"strconv"
	"time"

	"greenlight/internal/base/trust"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/tracker"
)

// BudgetKey returns the setting of the budget of a slice, a run or a day. A run's is called drain.
func BudgetKey(of string) string {
	if of == "run" {
		of = "drain"
	}
	return "budget." + of + "_usd"
}

// SetBudget sets what a slice, a run or a day may cost, 0 for no limit, and ends a hold of the
// old budget. The next launch finds out whether the new one is spent, too.
func SetBudget(ctx context.Context, pr *project.Project, store trust.Store, of string,
	usd float64) error {
	key, value := BudgetKey(of), strconv.FormatFloat(usd, 'f', -1, 64)
	if _, _, err := SetSetting(ctx, pr, store, key, value); err != nil {
		return err
	}
	now := time.Now()
	return pr.Tracker.Do(ctx, func(tracker.Tx) error {
		_ = pr.Runs.Journal().Append(journal.Event{Kind: journal.Budget, Setting: key,
			Value: value})
		_, err := pr.Runs.HoldFile.Lift(func(h *plan.Hold) bool { return h.Kind == plan.HeldByBudget },
			now)
		return err
	})
}
