package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/project"
	"greenlight/internal/state/issues"
)

type importOptions struct {
	prefix    string
	milestone string
	noDeps    bool
	dryRun    bool
	json      bool
}

func newImport(app *cmdutil.App) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Make slices of issues or of a task list",
		Long: `Add a slice for each open issue in FILE, or on standard input. FILE is

  what gh issue list --json number,title,body,state,milestone prints,
  the .beads/issues.jsonl of beads, or
  Markdown with tasks: "- [ ] what to do", with more about it indented below.

The id of a slice follows from its issue: GH-12 for issue 12 (--prefix for another word), the issue's own id in beads, and for a task
the id that it begins with (T001) or, without one, a hash of its words. So importing again adds only what is new. A slice that is there
stays as it is, whatever its issue says now.

An issue that says "blocked by #12" or "depends on T001", and a dependency of beads that blocks, become dependencies. Issues that
block each other are refused. Closed issues and finished tasks are left out, and so is a dependency on them.

Agents read the text of their issues. Read the issues of strangers before you import them.

Exit codes: 0 imported, or nothing was new; 1 it failed; 2 wrong usage, or a list that can't be imported.`,
		Example: `  gh issue list --limit 200 --json number,title,body,state,milestone | gl import -
  gl import .beads/issues.jsonl --dry-run
  gl import TODO.md --milestone v2`,
		Args: cmdutil.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			return runImport(c.Context(), app, a[0], o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.prefix, "prefix", "GH-", "begin the ids of GitHub's issues with `WORD`")
	f.StringVar(&o.milestone, "milestone", "", "put all of them into milestone `M` (default: the issue's own)")
	f.BoolVar(&o.noDeps, "no-deps", false, "leave out what the issues depend on")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show what would be added")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	cmdutil.CompleteFlag(c, "milestone", app.Milestones)
	return c
}

type importDoc struct {
	SchemaVersion int    `json:"schema_version"`
	Format        string `json:"format" jsonschema:"enum=GitHub issues,enum=beads,enum=Markdown tasks"`
	// in an order in which they can be built
	Added   []ops.ImportedSlice `json:"added"`
	Present []string            `json:"present"` // slices of issues imported before
	Closed  int                 `json:"closed"`  // issues that were left out
	Notes   []string            `json:"notes"`
	DryRun  bool                `json:"dry_run"` // nothing was added
}

func runImport(ctx context.Context, app *cmdutil.App, file string, o importOptions) error {
	list, err := readIssues(app, file, o)
	if err != nil {
		return err
	}
	pr, err := app.Greenlight()
	if err != nil {
		return err
	}
	return importList(ctx, app, pr, list, o)
}

// readIssues reads a list from a file, or from standard input for "-".
func readIssues(app *cmdutil.App, file string, o importOptions) (*issues.List, error) {
	if !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,20}$`).MatchString(o.prefix) {
		return nil, cmdutil.Usage("--prefix must begin with a letter and have at most 21 letters, digits, - and _")
	}
	if strings.ContainsFunc(o.milestone, unicode.IsControl) {
		return nil, cmdutil.Usage("--milestone must be one line of text without control characters")
	}
	in, name := app.IO.In, "standard input"
	if file != "-" {
		dir, err := app.Dir()
		if err != nil {
			return nil, err
		}
		path := file
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, file)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, sanitize.Line(file)
	}
	data, err := io.ReadAll(io.LimitReader(in, issues.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	list, err := issues.Read(data, o.prefix, !o.noDeps)
	if errors.Is(err, issues.ErrCycle) {
		return nil, cmdutil.Usage("%s: %w. Change one of them, or add --no-deps", name, err)
	}
	if err != nil {
		return nil, cmdutil.Usage("%s: %w", name, err)
	}
	return list, nil
}

// importList adds the slices and says so.
func importList(ctx context.Context, app *cmdutil.App, pr *project.Project, list *issues.List,
	o importOptions) error {
	done, err := ops.Import(ctx, pr, list, o.milestone, o.dryRun)
	if done == nil {
		return err
	}
	notes := slices.Concat(list.Notes, done.Notes)
	for _, note := range notes {
		app.IO.Message("note: %s", sanitize.Line(note))
	}
	if o.json && err == nil {
		for i := range done.Added {
			done.Added[i].Deps = jsondoc.OrEmpty(done.Added[i].Deps)
		}
		return app.IO.JSON(importDoc{SchemaVersion: 1, Format: list.Format,
			Added: jsondoc.OrEmpty(done.Added), Present: jsondoc.OrEmpty(done.Present),
			Closed: list.Closed, Notes: jsondoc.OrEmpty(notes), DryRun: o.dryRun})
	}
	for _, a := range done.Added {
		line := a.ID + "  " + sanitize.Line(a.Name)
		if len(a.Deps) > 0 {
			line += " (needs " + strings.Join(a.Deps, ", ") + ")"
		}
		app.IO.Printf("%s\n", line)
	}
	app.IO.Message("%s", importedText(list, done, o.dryRun))
	return err
}

// importedText sums up an import.
func importedText(list *issues.List, done *ops.Imported, dryRun bool) string {
	text := words.Count(len(done.Added), "slice") + " added from " + list.Format
	if dryRun {
		text = words.Count(len(done.Added), "slice") + " to add from " + list.Format
	}
	if n := len(done.Present); n > 0 {
		text += fmt.Sprintf("; %d already in the project", n)
	}
	if list.Closed > 0 {
		text += fmt.Sprintf("; %d closed", list.Closed)
	}
	return text
}
