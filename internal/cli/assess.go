package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
)

func newAssess(app *cmdutil.App) *cobra.Command {
	var o taskOptions
	return o.flags(app, &cobra.Command{
		Use:   "assess [part]",
		Short: "Look for gaps, risks and what to wrap first",
		Long: `Have an agent look at the code, all of it or one part, for gaps and risks, and say what to wrap first: /gl:assess.
It works in any git repository.`,
		Example: "  gl assess\n  gl assess internal/payment",
		RunE:    func(c *cobra.Command, a []string) error { return runLook(c, app, a, o) },
	})
}

// runLook runs an agent that looks at the code, as gl assess and gl map do.
func runLook(c *cobra.Command, app *cmdutil.App, words []string, o taskOptions) error {
	t, err := newTask(c.Name(), words)
	if err != nil {
		return err
	}
	t.Beside = attempt.None
	return anywhere(c.Context(), app, t, "part", o)
}
