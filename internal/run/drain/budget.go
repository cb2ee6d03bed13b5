package drain

import (
	"fmt"
	"math"
	"time"

	"greenlight/internal/base/text/moment"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/spending"
)

// heedBudget holds everybody if the drain's or the day's budget is spent. What runs goes on. The lock must be held, and the
// plan be made under it.
func (d *drain) heedBudget(now time.Time) error {
	b := d.Project.Budget()
	if d.ignoresHold() {
		return nil
	}
	midnight := moment.Midnight(now)
	for _, l := range []struct {
		name        string
		usd         float64
		from, until time.Time
	}{{"drain", b.Drain, d.began, plan.UntilLifted}, {"day", b.Day, midnight, midnight.AddDate(0, 0, 1)}} {
		if l.usd <= 0 {
			continue
		}
		book, err := spending.Since(d.Project.Runs.Journal(), l.from)
		if err != nil {
			return fmt.Errorf("the budget can't be checked, so nothing is launched: %w", err)
		}
		spent := book.Total().USD()
		if spent < l.usd {
			continue
		}
		reason := fmt.Sprintf("$%.2f spent of the %s's $%.2f; raise it with gl budget %s %g%s", spent, l.name, l.usd, l.name, math.Ceil(2*spent), d.Project.Flags())
		if err := d.Project.Runs.PutBudgetHold(l.until, reason, now); err != nil {
			return err
		}
		d.plan.HoldAll(d.Project.Runs.Hold())
	}
	return nil
}

// tellBudgets writes which slices a person is to raise the budget of: no attempt of theirs ends with it, so nobody else does.
func (d *drain) tellBudgets() {
	if !d.leads || d.Task != nil || d.plan == nil {
		return
	}
	for i := range d.plan.States {
		st := &d.plan.States[i]
		if !st.OverBudget || !st.InScope || d.overBudget[st.ID] == st.WaitingFor {
			continue
		}
		d.overBudget[st.ID] = st.WaitingFor
		e := journal.Event{Kind: journal.NeedsYou, System: d.Project.Key(), Slice: st.ID, Reason: plan.WaitText(st.WaitingFor)}
		if e.Key = fmt.Sprintf("%s.budget.%.2f.%g", st.ID, d.plan.Snapshot.Cost.Spent[st.ID], d.plan.Snapshot.Cost.Limit); st.Attempt != nil {
			e.Attempt = st.Attempt.N
		}
		_ = d.Project.Runs.Journal().AppendOnce(e)
	}
}
