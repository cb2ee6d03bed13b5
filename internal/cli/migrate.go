package cli

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
)

func newMigrate(app *cmdutil.App) *cobra.Command {
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Convert STATE.md to slice files",
		Long: `Convert the table of a legacy project's STATE.md to one file per slice, all or nothing: if a row can't be read, gl names
its line and changes nothing. The old STATE.md is kept as STATE.md.backup, or under the next free name. If gl is killed,
the project is either unchanged or migrated; the next gl that writes finishes the rest.

Exit codes: 0 migrated, or nothing to migrate; 1 can't be migrated, or attempts are running; 2 wrong usage.`,
		Example: "  gl migrate --dry-run\n  gl migrate",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return runMigrate(c.Context(), app, dryRun, asJSON)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be written without writing it")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

type migrateDoc struct {
	SchemaVersion int  `json:"schema_version"`
	DryRun        bool `json:"dry_run"`
	// false if there was nothing to migrate; in a dry run, whether it would be
	Migrated  bool     `json:"migrated"`
	Slices    int      `json:"slices" jsonschema:"minimum=0"`
	Files     []string `json:"files"`  // relative to the root
	Backup    *string  `json:"backup"` // relative to the root; null if nothing is migrated
	Decisions int      `json:"decisions" jsonschema:"minimum=0"`
	Warnings  []string `json:"warnings"`
}

func runMigrate(ctx context.Context, app *cmdutil.App, dryRun, asJSON bool) error {
	pr, err := app.Greenlight()
	if err != nil {
		return err
	}
	busy := app.IO.Progress("migrating " + pr.Root)
	m, err := ops.Migrate(ctx, pr, dryRun)
	busy.Done()
	already := errors.Is(err, ops.ErrNothingToDo)
	switch {
	case already:
		m = &ops.Migration{}
		app.IO.Message("nothing to migrate: this project has a file for each slice already")
	case err != nil:
		return err
	}
	for _, w := range m.Warnings {
		app.IO.Message("warning: %s", w)
	}
	if asJSON {
		doc := migrateDoc{1, dryRun, !already, m.Slices, jsondoc.OrEmpty(m.Files), nil, m.Decisions,
			jsondoc.OrEmpty(m.Warnings)}
		if m.Backup != "" {
			doc.Backup = &m.Backup
		}
		return app.IO.JSON(doc)
	}
	if !already {
		app.IO.Printf("%s", sanitize.Text(migrateText(m, dryRun)))
	}
	return nil
}

// migrateText returns the report of a migration, done or planned.
func migrateText(m *ops.Migration, dryRun bool) string {
	var b strings.Builder
	verb := "Migrated"
	if dryRun {
		verb = "Would migrate"
	}
	b.WriteString(verb + " " + words.Count(m.Slices, "slice") +
		" to file-per-slice format. Backup: " + path.Base(m.Backup) + "\n")
	if m.Decisions > 0 {
		b.WriteString(words.Count(m.Decisions, "decision") + " in DECISIONS.md\n")
	}
	if dryRun {
		for _, f := range m.Files {
			b.WriteString("  " + f + "\n")
		}
	}
	return b.String()
}
