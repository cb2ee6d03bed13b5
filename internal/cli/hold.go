package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/ops"
	"greenlight/internal/plan"
)

func newHold(app *cmdutil.App) *cobra.Command {
	var o holdOptions
	c := &cobra.Command{
		Use:        "hold",
		SuggestFor: []string{"wait", "suspend", "cooldown"},
		Short:      "Pause launching, or lift a hold",
		Long: `Show whether launching is paused, pause it until a time, or lift the hold. While the project is held, nothing is launched;
agents that run go on. gl itself holds the project when an agent meets a rate limit, an empty account, a failed login or a service
that doesn't answer. After such a hold one agent is launched first; the others follow when it has met no limit for a minute. When
five slices in a row fail within two minutes of their start and in the same way, the project is held until you lift the hold.

Exit codes: 0 done; 1 it failed; 2 wrong usage.`,
		Example: "  gl hold\n  gl hold --until 18:30\n  gl hold --until 2h\n  gl hold --lift",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.lift && c.Flags().Changed("until") {
				return cmdutil.Usage("give --until or --lift, not both")
			}
			return runHold(c.Context(), app, o, c.Flags().Changed("until"))
		},
	}
	c.Flags().StringVar(&o.until, "until", "", "launch nothing until `T`: 18:30, 2h, or 2026-03-01T18:30")
	c.Flags().BoolVar(&o.lift, "lift", false, "end the hold")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	return c
}

type holdOptions struct {
	until      string
	lift, json bool
}

// A holdDoc is the project's hold as the command leaves it.
type holdDoc struct {
	SchemaVersion int        `json:"schema_version"`
	Hold          *plan.Hold `json:"hold"` // nothing is launched until it ends; null if nothing holds launches
}

func runHold(ctx context.Context, app *cmdutil.App, o holdOptions, put bool) error {
	now := time.Now()
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	var lifted *plan.Hold
	switch {
	case put:
		var until time.Time
		if until, err = ops.ParseUntil(o.until, now); err == nil {
			err = ops.PutHold(ctx, pr, until, now)
		}
	case o.lift:
		lifted, err = ops.LiftHold(ctx, pr, now)
	}
	if err != nil {
		return err
	}
	h, err := pr.Runs.ReadHold()
	if h != nil && !now.Before(h.Until) {
		h = nil
	}
	switch {
	case o.json:
		return app.IO.JSON(holdDoc{1, h})
	case err != nil:
		return err
	case lifted != nil:
		app.IO.Printf("lifted: held %s\n", heldText(lifted, now))
	case h != nil:
		app.IO.Printf("held %s\n", heldText(h, now))
	default:
		app.IO.Printf("nothing is held\n")
	}
	return nil
}
