package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/attempt"
)

func newAssess(app *cmdutil.App) *cobra.Command {
	var o taskOptions
	return o.flags(app, &cobra.Command{
		Use:   "assess [part]",
		Short: "Find gaps and risks in existing code, and what to wrap",
		Long: `Run an agent that looks for gaps and risks in the code, or one part of it, and says what to wrap first: /gl:assess. It
works in any git repository. It is done when the agent has written .greenlight/ASSESS.md.`,
		Example: "  gl assess\n  gl assess internal/payment",
		RunE: func(c *cobra.Command, a []string) error {
			return runLook(c, app, a, attempt.Want(".greenlight/ASSESS.md"), o)
		},
	})
}

// runLook runs an agent that examines the code and writes documents about it, for gl assess and gl
// map.
func runLook(c *cobra.Command, app *cmdutil.App, words []string, wants *attempt.Wants,
	o taskOptions) error {
	t, err := newTask(c.Name(), words)
	if err != nil {
		return err
	}
	t.Beside, t.Wants = attempt.None, wants
	return anywhere(c.Context(), app, t, "part", o)
}
