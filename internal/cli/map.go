package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
)

func newMap(app *cmdutil.App) *cobra.Command {
	var o taskOptions
	return o.flags(app, &cobra.Command{
		Use:   "map [part]",
		Short: "Describe the code base, for the agents that will work on it",
		Long: `Have an agent describe the code, all of it or one part, so that those that work on it know their way: /gl:map.
It works in any git repository.`,
		Example: "  gl map",
		RunE:    func(c *cobra.Command, a []string) error { return runLook(c, app, a, o) },
	})
}
