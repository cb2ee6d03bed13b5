package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/worktree"
)

type cleanOptions struct{ ignored, dryRun, yes, json bool }

func newClean(app *cmdutil.App) *cobra.Command {
	var o cleanOptions
	c := &cobra.Command{
		Use:   "clean [ID...]",
		Short: "Remove worktrees whose work is contained elsewhere",
		Long: `List the worktrees of slices with the reason to remove or keep each, and remove those that aren't needed: the slice is complete,
the target has the work of its branch, the worktree has no uncommitted, staged or ignored files except those that setup made, and
it isn't in use. An interrupted removal is completed. Branches stay: gl salvage lists them. Worktrees of slices that aren't complete
are never touched.

--ignored removes worktrees with their ignored files, too, such as node_modules or dist: they exist nowhere else, and no snapshot
has them. Worktrees with changes or untracked files stay, and those in which an ignored directory is a git repository.

Snapshots and handed-over tests (refs/gl/wip, refs/gl/tests) of a complete slice are removed once its worktree is gone, the target
has the work of its branch, and each is the tree of a commit of the branch or the target. The others are listed, with the reason.

On a terminal it asks first. Without one, --yes is needed.

Exit codes: 0 removed, or nothing to remove; 1 it failed, or you didn't say yes; 2 wrong usage.`,
		Example:           "  gl clean --dry-run\n  gl clean\n  gl clean S-07 --yes\n  gl clean --ignored --dry-run",
		ValidArgsFunction: app.CompleteIDs,
		RunE: func(c *cobra.Command, ids []string) error {
			return runClean(c.Context(), app, ids, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.ignored, "ignored", false, "remove worktrees with their ignored files, too")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "show what would be removed without removing it")
	f.BoolVarP(&o.yes, "yes", "y", false, "remove without asking")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	return c
}

// A cleanDoc is what happens to each worktree.
type cleanDoc struct {
	SchemaVersion int            `json:"schema_version"`
	DryRun        bool           `json:"dry_run"`
	Worktrees     []cleanedEntry `json:"worktrees"`
	Refs          []cleanedRefs  `json:"refs"` // of complete slices
}

// cleanedRefs are the snapshots and handed-over tests of a branch and worktree.
type cleanedRefs struct {
	System  string `json:"system"`
	Slice   string `json:"slice"`
	Number  int    `json:"number" jsonschema:"minimum=1"`
	Removed int    `json:"removed" jsonschema:"minimum=0"` // with --dry-run, they would be
	Kept    int    `json:"kept" jsonschema:"minimum=0"`
	Why     string `json:"why"` // why they are removed, or kept
}

type cleanedEntry struct {
	System *string `json:"system"` // null if git doesn't know it
	Slice  *string `json:"slice"`  // null if git doesn't know it
	// a slice that was restarted has several; 0 if git doesn't know it
	Number  int    `json:"number" jsonschema:"minimum=0"`
	Path    string `json:"path"`
	Removed bool   `json:"removed"` // with --dry-run, it would be
	Why     string `json:"why"`     // why it is removed, or kept
}

func runClean(ctx context.Context, app *cmdutil.App, ids []string, o cleanOptions) error {
	if o.yes && !o.dryRun {
		app.IO.Hush()
	}
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	list, err := cleanable(ctx, app, pr, ids, worktree.RemoveOptions{Ignored: o.ignored})
	if err != nil {
		return err
	}
	going := 0
	for _, c := range list {
		if c.Remove {
			going++
		}
	}
	refs, err := ops.CleanableSpent(ctx, pr, ids)
	if err != nil && !errors.As(err, new(*worktree.Unavailable)) {
		return err
	}
	spent := 0
	for _, c := range refs {
		spent += len(c.Refs)
	}
	if !o.json {
		tellCleanable(app, list, refs)
	}
	if going+spent > 0 && !o.dryRun && !o.yes {
		if err := agreeToClean(app, going, spent, o); err != nil {
			return err
		}
	}
	doc := cleanDoc{1, o.dryRun, []cleanedEntry{}, []cleanedRefs{}}
	var errs []error
	for _, c := range list {
		e := cleanedEntry{jsondoc.OrNull(c.System), jsondoc.OrNull(c.Slice), c.N, c.Path,
			c.Remove, c.Why}
		if c.Remove && !o.dryRun {
			errs = append(errs, clean(ctx, app, pr, c, &e, o.json))
		}
		doc.Worktrees = append(doc.Worktrees, e)
	}
	for _, c := range refs {
		e := cleanedRefs{c.System, c.Slice, c.N, len(c.Refs), c.Left, c.Text()}
		if len(c.Refs) > 0 && !o.dryRun {
			errs = append(errs, cleanRefs(ctx, app, pr, c, &e, o.json))
		}
		doc.Refs = append(doc.Refs, e)
	}
	if o.json {
		errs = append(errs, app.IO.JSON(doc))
	}
	return errors.Join(errs...)
}

// cleanRefs removes refs, and records the result in e.
func cleanRefs(ctx context.Context, app *cmdutil.App, pr *project.Project, c ops.CleanableRefs,
	e *cleanedRefs, asJSON bool) error {
	what := fmt.Sprintf("%s of %s, branch %d", words.Count(len(c.Refs), "ref"), c.Slice, c.N)
	kept, err := ops.CleanRefs(ctx, pr, c)
	switch {
	case err != nil:
		e.Removed, e.Kept, e.Why = 0, e.Kept+e.Removed, err.Error()
		return fmt.Errorf("%s: %w", what, err)
	case kept != "":
		e.Removed, e.Kept, e.Why = 0, e.Kept+e.Removed, kept
		app.IO.Message("%s", sanitize.Text(what+" are kept: "+kept))
	case !asJSON:
		app.IO.Printf("%s\n", sanitize.Text("removed "+what))
	}
	return nil
}

// cleanable returns the worktrees and whether they can be removed. The project's commands that this
// runs must be allowed.
func cleanable(ctx context.Context, app *cmdutil.App, pr *project.Project, ids []string,
	o worktree.RemoveOptions) ([]ops.Cleanable, error) {
	commands, err := pr.MustAllow().ForClean(ctx)
	if err == nil {
		err = permit(ctx, app, pr.Root, commands)
	}
	if err != nil {
		return nil, err
	}
	list, err := ops.Cleanables(ctx, pr, ids, o)
	if none := new(worktree.Unavailable); errors.As(err, &none) && len(ids) == 0 {
		app.IO.Message("%s", sanitize.Text(none.Reason))
		return list, nil
	}
	return list, err
}

// tellCleanable prints what is kept and what is removed.
func tellCleanable(app *cmdutil.App, list []ops.Cleanable, refs []ops.CleanableRefs) {
	going := 0
	for _, c := range list {
		verb := "keep"
		if c.Remove {
			verb = "remove"
			going++
		}
		app.IO.Printf("%s\n", sanitize.Text(fmt.Sprintf("%s %s: %s", verb, c.Path, c.Why)))
	}
	for _, c := range refs {
		verb, n := "keep", c.Left
		if len(c.Refs) > 0 {
			verb, n = "remove", len(c.Refs)
			going++
		}
		app.IO.Printf("%s\n", sanitize.Text(fmt.Sprintf("%s %s of %s, branch %d: %s", verb,
			words.Count(n, "ref"), c.Slice, c.N, c.Text())))
	}
	if going == 0 {
		app.IO.Printf("there is nothing to remove\n")
	}
}

// agreeToClean asks a person, and returns the refusal.
func agreeToClean(app *cmdutil.App, going, spent int, o cleanOptions) error {
	what := words.Count(going, "worktree")
	if spent > 0 {
		what += " and " + words.Count(spent, "ref")
	}
	switch {
	case app.Confirm("Remove " + what + "?"):
		return nil
	case !app.IO.Interactive():
		command := "gl clean"
		if o.ignored {
			command += " --ignored"
		}
		return fmt.Errorf("%s asks a question and needs a terminal: %[1]s --yes removes without asking", command)
	}
	return errors.New("nothing was removed")
}

// clean removes a worktree, and records the result in e.
func clean(ctx context.Context, app *cmdutil.App, pr *project.Project, c ops.Cleanable,
	e *cleanedEntry, asJSON bool) error {
	self, err := cmdutil.Self()
	if err != nil {
		return err
	}
	kept, err := ops.Clean(ctx, pr, c, self, app.Environ)
	switch {
	case err != nil:
		e.Removed, e.Why = false, err.Error()
		return fmt.Errorf("%s: %w", c.Path, err)
	case kept != "":
		e.Removed, e.Why = false, kept
		app.IO.Message("%s", sanitize.Text(c.Path+" is kept: "+kept))
	case !asJSON:
		app.IO.Printf("%s\n", sanitize.Text("removed "+c.Path))
	}
	return nil
}
