package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
)

func newQuick(app *cmdutil.App) *cobra.Command {
	o := taskOptions{builds: true}
	return o.flags(app, &cobra.Command{
		Use:   "quick TEXT",
		Short: "Run an agent on a small task, test first, without a slice",
		Long: `Run an agent on a small task that isn't a slice, test first: /gl:quick TEXT. It works in any git repository, and several
can run at a time. In a project, gl changelog lists what it did.

It has a worktree of its own if slices have one (git.isolation), and is merged like one: gl merges its work, runs the tests, and
moves your branch. If the tests fail or it conflicts, the same agent continues once.

In a project of Specwright or GSD it works in the checkout, as units and phases do: the agent commits, and gl neither tests nor merges its
work. What it leaves uncommitted is named at the end.`,
		Example: `  gl quick "the login page says 500 when the password is empty"
  gl quick --dry-run "rename User.name to User.fullName"
  gl logs -f @quick`,
		RunE: func(c *cobra.Command, a []string) error {
			t, err := newTask("quick", a)
			if err != nil {
				return err
			}
			if t.Text == "" && !app.Inside() {
				return cmdutil.Usage(`what should the agent do? gl quick "…"`)
			}
			t.Summary, t.Builds = true, true
			return anywhere(c.Context(), app, t, "text", o)
		},
	})
}
