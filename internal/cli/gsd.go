package cli

import (
	"strings"

	"greenlight/internal/cli/cmdutil"

	"github.com/spf13/cobra"
)

func newGsd(app *cmdutil.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "gsd",
		Short: "GSD's .planning/STATE.md: read and change it safely beside GSD's own tools",
		Long: `Work on the state of a GSD project. Its STATE.md is read as GSD reads it and changed under GSD's own lock, so that gl and
GSD may work on one project at the same time; a change touches the bytes it must and no other.` + "\n" + cmdutil.ExitHelp,
		Example: `  gl gsd line --compact
  gl gsd state json
  gl gsd state add-decision --phase 4 --summary "Tokens are hashed, never stored"
  gl gsd state-snapshot`,
		Args: func(c *cobra.Command, a []string) error {
			if len(a) == 0 {
				return nil
			}
			hint := ""
			if near := c.SuggestionsFor(a[0]); len(near) > 0 {
				hint = ", did you mean " + strings.Join(near, " or ") + "?"
			}
			return cmdutil.Usage("unknown command %q for gl gsd%s", a[0], hint)
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newGsdLine(app), newGsdState(app), newGsdSnapshot(app))
	return c
}
