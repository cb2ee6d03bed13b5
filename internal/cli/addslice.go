package cli

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/state/sliceid"
)

type addOptions struct {
	ops.NewSlice
	json bool
}

func newAddSlice(app *cmdutil.App) *cobra.Command {
	var o addOptions
	c := &cobra.Command{
		Use:   "add-slice NAME",
		Short: "Add a slice: its file and its entry in GRAPH.json",
		Long: `Add a slice to the project: an entry in GRAPH.json, in that file's own style, and the slice's file, under one lock. In a
legacy project, add a row to STATE.md. The id is the next free S-{n}. It is printed to stdout, with nothing else.

Exit codes: 0 added; 1 it failed, or the id is taken; 2 wrong usage, an unknown dependency or a cycle.`,
		Example: `  gl add-slice "Password reset" --deps S-03,S-07
  ID=$(gl add-slice "Search" --milestone v2 --what "Full text over the catalog") || exit`,
		Args: cmdutil.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			o.Name = a[0]
			return runAdd(c.Context(), app, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.ID, "id", "", "use this `ID` (default: the next free one)")
	f.StringSliceVar(&o.Deps, "deps", nil, "slices it needs, `A,B`")
	f.StringVar(&o.Milestone, "milestone", "", "put it into milestone `M`")
	f.StringSliceVar(&o.Contracts, "contracts", nil, "its contracts, `C-1,C-2`")
	f.StringVar(&o.Why, "why", "", "`TEXT`: why to build it")
	f.StringVar(&o.What, "what", "", "`TEXT`: what it does")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	cmdutil.CompleteFlag(c, "milestone", app.Milestones)
	// It fails only if the flag doesn't exist.
	_ = c.RegisterFlagCompletionFunc("deps", app.CompleteIDs)
	return c
}

type addDoc struct {
	SchemaVersion int      `json:"schema_version"`
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Deps          []string `json:"deps"`
	// relative to the root: the slice's file, or the STATE.md of a legacy project
	File  string `json:"file"`
	Graph bool   `json:"graph"` // it has an entry in GRAPH.json
}

func runAdd(ctx context.Context, app *cmdutil.App, o addOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	pr, err := app.Greenlight()
	if err != nil {
		return err
	}
	added, err := ops.Add(ctx, pr, o.NewSlice)
	var bad *ops.ArgumentError
	switch {
	case errors.As(err, &bad):
		return cmdutil.Usage("--deps: %w", err)
	case err != nil:
		return err
	}
	messages(app.IO, added.Notes)
	if added.Tried {
		app.IO.Message("warning: a slice %s was attempted before and may count as stalled: gl why %s", added.ID, added.ID)
	}
	if len(added.Lost) > 0 {
		app.IO.Message("warning: the table of a legacy project has no place for --%s: gl migrate makes slice files",
			strings.Join(added.Lost, ", --"))
	}
	app.IO.Message("%s", addedText(o, added))
	if o.json {
		return app.IO.JSON(addDoc{1, added.ID, o.Name, jsondoc.OrEmpty(added.Deps),
			added.File, added.Graph})
	}
	if app.IO.Terminal() != nil { // where the message above is seen, too
		app.IO.Message("%s", startText(pr, "it"))
		return nil
	}
	app.IO.Printf("%s\n", added.ID)
	return nil
}

// check refuses texts that can't be written, before anything is read.
func (o *addOptions) check() error {
	texts := map[string]string{"the name": o.Name, "--milestone": o.Milestone, "--why": o.Why,
		"--what": o.What}
	for _, what := range []string{"the name", "--milestone", "--why", "--what"} {
		if strings.ContainsFunc(texts[what], unicode.IsControl) {
			return cmdutil.Usage("%s must be one line of text without control characters", what)
		}
	}
	if strings.TrimSpace(o.Name) == "" {
		return cmdutil.Usage("the name must not be empty: say in a few words what is built")
	}
	for _, c := range o.Contracts {
		if strings.ContainsFunc(c, unicode.IsControl) || strings.TrimSpace(c) == "" {
			return cmdutil.Usage("--contracts must be a list like C-1,C-2")
		}
	}
	for i, d := range o.Deps {
		o.Deps[i] = strings.TrimSpace(d)
		if err := sliceid.Valid(o.Deps[i]); err != nil {
			return cmdutil.Usage("--deps: %w", err)
		}
	}
	if o.ID == "" {
		return nil
	}
	if err := sliceid.Valid(o.ID); err != nil {
		return cmdutil.Usage("--id: %w", err)
	}
	return nil
}

// addedText describes what was added, and where.
func addedText(o addOptions, added *ops.Added) string {
	text := added.ID + " added: " + strings.TrimSpace(o.Name)
	if len(added.Deps) > 0 {
		text += ", needs " + strings.Join(added.Deps, ", ")
	}
	text += " (" + added.File
	if added.Graph {
		text += ", .greenlight/GRAPH.json"
	}
	return text + ")"
}
