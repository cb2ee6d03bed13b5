package cli

import (
	"context"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/install"
	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
)

func newUninstall(app *cmdutil.App) *cobra.Command {
	var o placeFlags
	var dryRun bool
	c := &cobra.Command{
		Use:   "uninstall --global|--local",
		Short: "Take out what gl install put in",
		Long: `Take out what gl install put in, and put back what was there before: CLAUDE.md without our part, or yours as it was; files
of yours that had the names of ours; settings.json without our hooks. What you have changed stays, and is named. State of
projects (.greenlight) is never touched.

Exit codes: 0 taken out, or nothing was installed; 1 it failed; 2 wrong usage.`,
		Example: "  gl uninstall --local\n  gl uninstall --global --agent codex --dry-run",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return runUninstall(c.Context(), app, o, dryRun) },
	}
	o.add(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be done, and do nothing")
	return c
}

func runUninstall(ctx context.Context, app *cmdutil.App, o placeFlags, dryRun bool) error {
	t, err := o.target(ctx, app, "uninstall")
	if err != nil {
		return err
	}
	r, err := t.Uninstall(ctx, dryRun)
	if err != nil {
		return err
	}
	where := sanitize.Text(short(app, t.Dir()))
	for _, s := range r.Steps {
		if s.Do == install.Remove && !dryRun && !app.IO.Verbose {
			continue
		}
		line := string(s.Do) + " " + short(app, t.Path(s.Path))
		if s.Note != "" {
			line += ": " + s.Note
		}
		app.IO.Printf("%s\n", sanitize.Text(line))
	}
	switch {
	case !r.Found:
		app.IO.Printf("Nothing of gl is installed for %s in %s\n", t.Agent, where)
	case dryRun:
		app.IO.Printf("Would change %s in %s\n", plan.Count(r.Changed(), "file"), where)
	default:
		app.IO.Printf("Took gl out of %s (%s)\n", where, plan.Count(r.Changed(), "file"))
		if left := t.Backups(); left != "" {
			app.IO.Message("copies of what you had changed are left in %s", short(app, left))
		}
	}
	return nil
}
