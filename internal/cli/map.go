package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/attempt"
)

func newMap(app *cmdutil.App) *cobra.Command {
	var o taskOptions
	return o.flags(app, &cobra.Command{
		Use:   "map [part]",
		Short: "Describe the code base for agents that will work on it",
		Long: `Run an agent that describes the code, or one part of it, for the agents that will work on it: /gl:map. It works in any
git repository. It is done when the agent has written STACK.md, ARCHITECTURE.md, CONVENTIONS.md and CONCERNS.md in
.greenlight/codebase.`,
		Example: "  gl map",
		RunE: func(c *cobra.Command, a []string) error {
			const dir = ".greenlight/codebase/"
			return runLook(c, app, a, attempt.Want(dir+"STACK.md", dir+"ARCHITECTURE.md",
				dir+"CONVENTIONS.md", dir+"CONCERNS.md"), o)
		},
	})
}
