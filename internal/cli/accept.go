package cli

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/ops"
	"greenlight/internal/plan"
)

const decideHelp = `

--force also takes a slice that is being verified or has stalled, but never one whose agent is still running.

Exit codes: 0 done; 1 the slice isn't awaiting approval, or can't be written; 2 wrong usage; 3 somebody is working on it.`

func newAccept(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:               "accept ID",
		SuggestFor:        []string{"approve", "ok", "yes", "merge"},
		Short:             "Approve a waiting slice and mark it complete",
		Long:              `Approve a slice that awaits review and mark it complete. The slices that need it can be built then.` + decideHelp,
		Example:           "  gl accept S-07",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cmdutil.CompleteFirst(app.CompleteSome(waiting)),
		RunE: func(c *cobra.Command, a []string) error {
			return runAccept(c.Context(), app, a[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also accept a slice that is being verified or has stalled")
	return c
}

func newReject(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:        "reject ID TEXT",
		SuggestFor: []string{"deny", "no", "refuse"},
		Short:      "Reject a waiting slice with a reason, and put it back",
		Long: `Reject a slice that awaits review. TEXT says what is wrong with it: it is added to the slice's decisions, and the slice is
pending again. The next gl slice, or one that is running, builds it with that in mind.` + decideHelp,
		Example:           `  gl reject S-07 "the mail must not name the customer"`,
		Args:              cmdutil.Args(cobra.MinimumNArgs(2)),
		ValidArgsFunction: cmdutil.CompleteFirst(app.CompleteSome(waiting)),
		RunE: func(c *cobra.Command, a []string) error {
			return runReject(c.Context(), app, a[0], strings.Join(a[1:], " "), force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also reject a slice that is being verified or has stalled")
	return c
}

// waiting are the slices that wait for somebody.
func waiting(p *plan.Plan) []string { return p.Waiting }

func runAccept(ctx context.Context, app *cmdutil.App, id string, force bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	ready, err := ops.Accept(ctx, pr, id, force)
	switch {
	case errors.Is(err, ops.ErrNothingToDo):
		app.IO.Printf("%s is complete already\n", id)
		return nil
	case err != nil:
		return err
	}
	app.IO.Printf("%s is complete\n", id)
	if len(ready) > 0 {
		app.IO.Printf("Ready now: %s\n", strings.Join(ready, ", "))
	}
	return nil
}

func runReject(ctx context.Context, app *cmdutil.App, id, text string, force bool) error {
	if !isLine(text) {
		return cmdutil.Usage("say what is wrong with %s, in one line of text without control characters", id)
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	if err := ops.Reject(ctx, pr, id, strings.TrimSpace(text), force); err != nil {
		return err
	}
	app.IO.Printf("%s is pending again\n", id)
	return nil
}

// isLine says whether text is a line that isn't blank.
func isLine(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.ContainsFunc(text, unicode.IsControl)
}
