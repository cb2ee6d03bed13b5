package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
)

const claimHelp = `
Exit codes: 0 it is yours; 1 it is complete, or can't be written; 2 wrong usage; 3 claimed by another session.`

func newStateClaim(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "claim ID",
		Short: "Claim a slice to work on and print the session token",
		Long: `Claim a slice to work on it. Its status becomes in_progress, and its session becomes the token, which gl prints. If
several sessions claim a slice at the same time, one wins. Claiming again from the same session prints the same token.

gl refuses a slice that another session has claimed; on a terminal it asks whether to take it over. In yolo mode
(config.json) it takes over a stale claim without asking.` + "\n" + claimHelp,
		Example: `  gl state claim S-07
  TOKEN=$(gl state claim S-07) || exit
  gl state claim S-07 --force   even if another session has it or it is complete, but never beside a running attempt`,
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: app.CompleteIDs,
		RunE: func(c *cobra.Command, a []string) error {
			return runClaim(c.Context(), app, a[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false,
		"take over another session's claim; also claim a complete slice")
	return c
}

func runClaim(ctx context.Context, app *cmdutil.App, id string, force bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	if pr.ConfigErr != nil {
		app.IO.Message("warning: %v", pr.ConfigErr)
	}
	o := ops.ClaimOptions{Who: app.Claimant(id), Force: force}
	c, err := ops.Claim(ctx, pr, id, o)
	if held := takeable(err); held != nil &&
		app.Confirm(held.ClaimText(time.Now())+". Take it over?") {
		o.Over = &held.Session
		c, err = ops.Claim(ctx, pr, id, o)
	}
	if err != nil {
		return err
	}
	messages(app.IO, c.Notes)
	if err := pr.Tracker.Refresh(ctx); err != nil {
		app.IO.Message("warning: %v", err) // the claim holds
	}
	app.IO.Printf("%s\n", c.Token)
	return nil
}

// takeable returns the claim that a person may agree to take over, if err is about one.
func takeable(err error) *plan.State {
	var taken *ops.TakenError
	if errors.As(err, &taken) {
		return taken.Claim
	}
	return nil
}

func newStateRelease(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "release ID",
		Short: "Release a claim",
		Long: `Release a claim: clear the session, and if no step was reached, make the slice pending again. Any session can release a
stale claim, but only its holder a fresh one. To end a running attempt, use gl stop instead.

Exit codes: 0 it is no longer claimed; 1 it failed; 2 wrong usage; 3 another session has claimed it.`,
		Example:           "  gl state release S-07\n  gl state release S-07 --force   another session's claim",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: app.CompleteIDs,
		RunE: func(c *cobra.Command, a []string) error {
			return runRelease(c.Context(), app, a[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also release another session's claim")
	return c
}

func runRelease(ctx context.Context, app *cmdutil.App, id string, force bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	status, err := ops.Release(ctx, pr, id, app.Claimant(id), force)
	switch {
	case errors.Is(err, ops.ErrNothingToDo):
		app.IO.Message("%s isn't claimed", id)
	case err != nil:
		return err
	case plan.Classify(status) == plan.Active:
		app.IO.Message("%s is released, and its status is still %s: gl state claim %s continues it, gl state set %s status=pending puts it back",
			id, status, id, id)
	default:
		app.IO.Message("%s is released, and its status is %s", id, status)
	}
	return nil
}
