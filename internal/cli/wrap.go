package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/attempt"
)

func newWrap(app *cmdutil.App) *cobra.Command {
	o := taskOptions{builds: true}
	return o.flags(app, &cobra.Command{
		Use:   "wrap [boundary]",
		Short: "Add contracts and locking tests around existing code",
		Long: `Run an agent that adds contracts and locking tests around one boundary of existing code: /gl:wrap BOUNDARY. Without a
boundary it chooses the most important one. It works in any git repository. Different boundaries can be wrapped at the
same time, the same one can't. It is done when the agent has written contracts into .greenlight/CONTRACTS.md and a summary. It
has a worktree of its own if slices have one (git.isolation), and is merged like one.`,
		Example: "  gl wrap\n  gl wrap internal/payment",
		RunE: func(c *cobra.Command, a []string) error {
			t, err := newTask("wrap", a)
			if err != nil {
				return err
			}
			t.Beside, t.Builds, t.Summary = attempt.Others, true, true
			t.Wants = attempt.Want(".greenlight/CONTRACTS.md")
			return anywhere(c.Context(), app, t, "boundary", o)
		},
	})
}
