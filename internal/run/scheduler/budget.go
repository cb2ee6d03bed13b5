package scheduler

import (
	"fmt"
	"math"
	"time"

	"greenlight/internal/base/text/moment"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/spending"
)

// holdForBudget holds all launches if the budget of the run, which began at that time, or of the
// day is spent. Attempts that run continue. The project's lock must be held, and p be made under
// it.
func holdForBudget(pr *project.Project, p *plan.Plan, began, now time.Time) error {
	b := pr.Budget()
	midnight := moment.Midnight(now)
	for _, l := range []struct {
		name        string
		usd         float64
		from, until time.Time
	}{
		{"run", b.Drain, began, plan.UntilLifted},
		{"day", b.Day, midnight, midnight.AddDate(0, 0, 1)},
	} {
		if l.usd <= 0 {
			continue
		}
		book, err := spending.Since(pr.Runs.Journal(), l.from)
		if err != nil {
			return fmt.Errorf("the budget can't be checked, so nothing is launched: %w", err)
		}
		spent := book.Total().USD()
		if spent < l.usd {
			continue
		}
		reason := fmt.Sprintf("$%.2f spent of the %s's $%.2f; raise it with gl budget %s %g%s",
			spent, l.name, l.usd, l.name, math.Ceil(2*spent), pr.Flags())
		if err := pr.Runs.HoldFile.PutBudget(l.until, reason, now); err != nil {
			return err
		}
		p.HoldAll(pr.Runs.HoldFile.Everybody())
	}
	return nil
}
