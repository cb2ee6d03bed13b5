package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/show/board"
)

func newBoard(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "board",
		Short: "Show a live board of the slices",
		Long: `Show the slices by where they stand, while that changes: the board, the graph, the timeline, the merge queue and the costs (Tab). On the
selected slice a key runs the gl command for it; ? lists the keys. Its diff, log, tests and reasons open in a panel that q closes; n starts what
is ready, once it has said with which agent; : takes any gl command, which Tab completes. From 160 columns on, the selected slice's log is beside
the list. The board is only a view: closing it stops nothing.

Exit codes: 0 closed; 1 there is no project, or no terminal; 2 wrong usage.`,
		Example: `  gl board`,
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			pr, err := app.Project()
			if err != nil {
				return err
			}
			in, ok := app.IO.In.(*os.File)
			out := app.IO.Terminal()
			switch {
			case !ok || !app.IO.Interactive():
				return errors.New("gl board needs a terminal; gl status shows the same elsewhere")
			case out == nil:
				return fmt.Errorf("gl board needs a terminal that can move its cursor, which TERM=%s can't; gl status shows the same",
					app.Getenv("TERM"))
			}
			self, err := cmdutil.Self()
			if err != nil {
				return err
			}
			flags := []string{"-C", pr.Root}
			if app.SystemFlag != "" {
				flags = append(flags, "--system", app.SystemFlag)
			}
			paint := func(_ term.Color, text string) string { return text }
			if app.IO.Colors() { // asked once: a frame has a thousand painted words
				paint = term.Color.Paint
			}
			return board.Run(c.Context(), board.Config{
				Project:  pr,
				Plan:     func(now time.Time) (*plan.Plan, error) { return shownPlan(pr, now, "") },
				Commands: boardCommands(c.Root(), pr), Self: self, Flags: flags,
				Environ: app.Environ, Paint: paint, In: in, Out: out,
			})
		},
	}
}

// boardCommands returns the commands that the board offers: another system's items can't be
// accepted, sent back or undone by gl, and their changes are the checkout's.
func boardCommands(root *cobra.Command, pr *project.Project) []string {
	foreign := pr.RequireGreenlight() != nil
	var names []string
	for _, c := range root.Commands() {
		name := c.Name()
		if !foreign || !slices.Contains([]string{"accept", "reject", "undo", "diff"}, name) {
			names = append(names, name)
		}
	}
	return names
}
