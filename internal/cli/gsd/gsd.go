// Package gsd is gl gsd: the commands that read and change a GSD project's STATE.md. What the verbs
// do is in greenlight/internal/state/gsd.
package gsd

import (
	"greenlight/internal/cli/cmdutil"

	"github.com/spf13/cobra"
)

// New returns gl gsd.
func New(app *cmdutil.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "gsd",
		Short: "Read and change GSD's .planning/STATE.md, beside GSD's tools",
		Long: `Work on the state of a GSD project. gl reads STATE.md as GSD does and changes it under GSD's own lock, so that both can
work on one project at the same time. A change leaves all other bytes alone.` + "\n" + cmdutil.ExitHelp,
		Example: `  gl gsd line --compact
  gl gsd state json
  gl gsd state add-decision --phase 4 --summary "Tokens are hashed, never stored"
  gl gsd state-snapshot`,
	}
	return cmdutil.Family(c, newLine(app), newState(app), newSnapshot(app))
}
