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
		Short: "Read and change a GSD project, beside GSD's own tools",
		Long: `Work on the state of a GSD project. gl reads .planning as GSD does and changes it under GSD's own locks, so that both can
work on one project at the same time. A change leaves all other bytes alone.` + "\n" + cmdutil.ExitHelp,
		Example: `  gl gsd line --compact
  gl gsd state json
  gl gsd state add-decision --phase 4 --summary "Tokens are hashed, never stored"
  gl gsd state-snapshot`,
	}
	list := append([]*cobra.Command{newLine(app), newState(app), newSnapshot(app)},
		newPlanning(app)...)
	return cmdutil.Family(c, list...)
}
