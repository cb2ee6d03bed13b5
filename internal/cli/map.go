package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
)

func newMap(app *cmdutil.App) *cobra.Command {
	var o taskOptions
	return o.flags(app, &cobra.Command{
		Use:   "map [part]",
		Short: "Describe the code base for agents that will work on it",
		Long: `Run an agent that describes the code, or one part of it, for the agents that will work on it: /gl:map. It works in any
git repository.`,
		Example: "  gl map",
		RunE:    func(c *cobra.Command, a []string) error { return runLook(c, app, a, o) },
	})
}
