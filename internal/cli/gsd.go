package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

func newGsd(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "gsd",
		Short: "GSD's .planning/STATE.md: read and change it safely beside GSD's own tools",
		Long: `Work on the state of a GSD project. Its STATE.md is read as GSD reads it and changed under GSD's own lock, so that gl and
GSD may work on one project at the same time; a change touches the bytes it must and no other.` + "\n" + exitHelp,
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
			return usage("unknown command %q for gl gsd%s", a[0], hint)
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newGsdLine(e), newGsdState(e), newGsdSnapshot(e))
	return c
}
