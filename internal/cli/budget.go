package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/moment"
	"greenlight/internal/base/trust"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/spending"
)

// A budgetDoc is the budgets of agents, and what they have cost.
type budgetDoc struct {
	SchemaVersion int            `json:"schema_version"`
	SliceUSD      *float64       `json:"slice_usd"` // null for no limit
	DrainUSD      *float64       `json:"drain_usd"`
	DayUSD        *float64       `json:"day_usd"`
	Today         spending.Total `json:"today"`
	// slices that aren't launched because they have used up the budget of a slice
	Over []string `json:"over"`
	// nothing is launched until it ends; null if no budget holds launches
	Hold *plan.Hold `json:"hold"`
}

func newBudget(app *cmdutil.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "budget [slice|run|day USD]",
		Short: "Show or set what agents may cost",
		Long: `Show what agents may cost and have cost today, or set what a slice, a run of gl slice or a day may cost. none is no
limit. At a limit nothing more is launched, and running agents continue: a slice at its limit waits for you, at the run's limit
the run ends, at the day's it waits for midnight. A higher limit ends the hold. Cost that an agent doesn't report doesn't count.

The limits are budget.slice_usd, budget.drain_usd and budget.day_usd in .greenlight/config.json. claude itself gets what is left of the
slice's, as --max-budget-usd.

Exit codes: 0 done; 1 it failed; 2 wrong usage.`,
		Example:   "  gl budget\n  gl budget day 20\n  gl budget slice 2.50\n  gl budget run none",
		ValidArgs: []string{"slice", "run", "day"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return cmdutil.Usage("expected no arguments, or a budget and dollars: gl budget day 20")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return runBudget(c.Context(), app, args, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func runBudget(ctx context.Context, app *cmdutil.App, args []string, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	if len(args) == 2 {
		app.IO.Hush()
		usd, err := dollars(args)
		if err != nil {
			return err
		}
		if err := ops.SetBudget(ctx, pr, trust.Open(app.Getenv), args[0], usd); err != nil {
			return settingError(err)
		}
	}
	doc, err := newBudgetDoc(pr, time.Now())
	if err != nil {
		return err
	}
	if asJSON {
		return app.IO.JSON(doc)
	}
	limit := func(of string, usd *float64, note string) {
		text := "no limit"
		if usd != nil {
			text = fmt.Sprintf("$%.2f", *usd)
		}
		app.IO.Printf("%-5s  %9s%s\n", of, text, note)
	}
	over := ""
	if len(doc.Over) > 0 {
		over = ", spent by " + sanitize.Text(strings.Join(doc.Over, ", "))
	}
	if doc.SliceUSD != nil {
		over = "  each" + over
	}
	limit("slice", doc.SliceUSD, over)
	limit("run", doc.DrainUSD, "")
	today := doc.Today.Text() + " spent today"
	if doc.Today.Attempts > 0 && doc.Today.CostUSD == nil {
		today = "cost of today unknown"
	}
	limit("day", doc.DayUSD, "  "+today)
	if doc.Hold != nil {
		app.IO.Printf("held %s\n", heldText(doc.Hold, time.Now()))
	}
	return nil
}

func dollars(args []string) (float64, error) {
	switch args[0] {
	case "slice", "run", "drain", "day": // drain is the setting's name for run
	default:
		return 0, cmdutil.Usage("%s has no budget: expected slice, run or day",
			sanitize.Text(args[0]))
	}
	if args[1] == "none" {
		return 0, nil
	}
	usd, err := strconv.ParseFloat(strings.TrimPrefix(args[1], "$"), 64)
	if err != nil || math.IsNaN(usd) || usd <= 0 || usd > 1e9 {
		return 0, cmdutil.Usage("%s isn't an amount of dollars: expected 20, 2.50 or none",
			sanitize.Text(args[1]))
	}
	return usd, nil
}

func newBudgetDoc(pr *project.Project, now time.Time) (*budgetDoc, error) {
	b := pr.Budget()
	limit := func(usd float64) *float64 {
		if usd <= 0 {
			return nil
		}
		return &usd
	}
	doc := &budgetDoc{SchemaVersion: 1, SliceUSD: limit(b.Slice), DrainUSD: limit(b.Drain),
		DayUSD: limit(b.Day)}
	book, err := spending.Since(pr.Runs.Journal(), moment.Midnight(now))
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	doc.Today = book.Total()
	p, err := pr.Plan(now, pr.Options())
	if err != nil {
		return nil, err
	}
	for i := range p.States {
		if st := &p.States[i]; b.Slice > 0 && p.Snapshot.Cost.Spent[st.ID] >= b.Slice {
			doc.Over = append(doc.Over, st.ID)
		}
	}
	doc.Over = jsondoc.OrEmpty(doc.Over)
	if h := p.Hold; h != nil && h.Kind == plan.HeldByBudget {
		doc.Hold = h
	}
	return doc, nil
}
