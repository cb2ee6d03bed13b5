package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
)

func newRemove(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a slice from the project",
		Long: `Remove a slice: its file and its entry in GRAPH.json, in one change. A copy of the file is kept in .greenlight/runs/removed, and
work that was built in a worktree stays on its branch: gl salvage lists it.

Exit codes: 0 removed; 1 others need it, or it can't be removed; 2 wrong usage; 3 it is being worked on.`,
		Example:           "  gl remove S-07\n  gl remove S-07 --force",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: app.CompleteFirstID,
		RunE: func(c *cobra.Command, a []string) error {
			return runRemove(c.Context(), app, a[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false,
		"take it out of others' dependencies, and ignore a claim")
	return c
}

func runRemove(ctx context.Context, app *cmdutil.App, id string, force bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	m, err := ops.Remove(ctx, pr, id, force)
	if err != nil {
		return err
	}
	app.IO.Printf("%s is removed\n", id)
	if m.Copy != "" {
		app.IO.Printf("  its file is kept in %s\n", sanitize.Text(m.Copy))
	}
	tellMoved(app, m)
	if m.Landed {
		app.IO.Printf("  what was merged of it stays in the branch: git revert takes it back\n")
	}
	if m.Branch != "" {
		app.IO.Printf("  its work so far stays on %s: gl salvage %s\n", sanitize.Text(m.Branch), id)
	}
	return nil
}

// tellMoved prints what else was changed.
func tellMoved(app *cmdutil.App, m *ops.Moved) {
	if len(m.Deps) > 0 {
		app.IO.Printf("  changed the dependencies of %s\n", strings.Join(m.Deps, ", "))
	}
}

func newRename(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "rename OLD NEW",
		Short: "Give a slice another id",
		Long: `Give a slice another id: its file, its entry in GRAPH.json, and the dependencies of others, in one change. Unmerged work
continues from a new branch under the new id, in a new conversation: clients look conversations up by directory. Its agent is told how the
last attempt ended and what you have said since. Its attempts and what they cost stay its own, and it can have its old id back.
A merged slice keeps its id, which is in git's history.

Exit codes: 0 renamed; 1 NEW is taken, or the slice is merged or awaits review; 2 wrong usage; 3 it is being worked on.`,
		Example:           "  gl rename S-07 S-7.1",
		Args:              cmdutil.Args(cobra.ExactArgs(2)),
		ValidArgsFunction: app.CompleteFirstID,
		RunE: func(c *cobra.Command, a []string) error {
			return runRename(c.Context(), app, a[0], a[1])
		},
	}
}

func runRename(ctx context.Context, app *cmdutil.App, old, id string) error {
	pr, old, err := app.Slice(old)
	if err != nil {
		return err
	}
	m, err := ops.Rename(ctx, pr, old, id)
	if err != nil {
		return err
	}
	app.Made(pr, id)
	app.IO.Printf("%s is %s now\n", old, id)
	tellMoved(app, m)
	if m.Branch != "" {
		app.IO.Printf("  its work continues in a new worktree; the old one is on %s\n",
			sanitize.Text(m.Branch))
	}
	return nil
}
