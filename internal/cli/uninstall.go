package cli

import (
	"context"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/install"
)

func newUninstall(app *cmdutil.App) *cobra.Command {
	var o placeFlags
	var dryRun bool
	c := &cobra.Command{
		Use:   "uninstall --global|--local",
		Short: "Remove what gl install installed",
		Long: `Remove what gl install installed and restore what was there before: CLAUDE.md, files of yours that had the same names,
and settings.json without our hooks. Files that you changed are kept and listed. Project state (.greenlight) is never
touched.

Exit codes: 0 removed, or nothing was installed; 1 it failed; 2 wrong usage.`,
		Example: "  gl uninstall --local\n  gl uninstall --global --agent codex --dry-run",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runUninstall(c.Context(), app, o, dryRun)
		},
	}
	o.add(c)
	o.addSystem(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done without doing it")
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
		app.IO.Printf("Nothing is installed for %s in %s\n", t.Agent, where)
	case dryRun:
		app.IO.Printf("Would change %s in %s\n", words.Count(r.Changed(), "file"), where)
	default:
		app.IO.Printf("Removed gl from %s (%s)\n", where, words.Count(r.Changed(), "file"))
		if left := t.Backups(); left != "" {
			app.IO.Message("copies of files that you had changed are in %s", short(app, left))
		}
	}
	return nil
}
