package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/briefing"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
)

func newState(app *cmdutil.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Read and change a slice's state, for agents and scripts",
		Long: `Read and change the state of single slices. Every change is one durable write under the project's lock. Concurrent
changes don't overwrite each other, and STATE.md is updated.` + "\n" + cmdutil.ExitHelp,
		Example: `  gl state show S-07 status
  gl state claim S-07
  gl state set S-07 status=implementing step=implementing tests=12`,
	}
	return cmdutil.Family(c, newStateShow(app), cmdutil.Documented(app, newStateClaim(app)),
		cmdutil.Changes(app, newStateSet(app)), cmdutil.Changes(app, newStateNote(app)),
		newStateOverview(app), cmdutil.Changes(app, newStateRelease(app)),
		cmdutil.Changes(app, newStateRender(app)))
}

func newStateShow(app *cmdutil.App) *cobra.Command {
	var asJSON, whole bool
	c := &cobra.Command{
		Use:   "show ID [KEY]",
		Short: "Print a slice's fields, the value of one, or the whole slice",
		Long: `Print the fields of a slice's file as key: value lines, with the file's path, or only the value of one key. For a slice
that is only in the graph, print what is known: its status, name, milestone and dependencies. A key that gl knows and that
has no value prints nothing.

With --text, also print the text of its file (why, what, decisions, answers, rejections), what came of earlier attempts, what
is built in its worktree and isn't merged, the hand-off file, and its contracts from CONTRACTS.md. All of it is the project's current state, also in a slice's worktree,
whose own copies of these files are as old as the commit they are from.

Exit codes: 0 printed; 1 there is no such slice, or no such key; 2 wrong usage.`,
		Example: `  gl state show S-07
  gl state show S-07 status
  gl state show S-07 --text
  gl state show S-07 --json`,
		Args:              cmdutil.Args(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: app.Complete(completeShow),
		RunE: func(c *cobra.Command, a []string) error {
			if whole && len(a) > 1 {
				return cmdutil.Usage("--text prints the whole slice: leave out %q", a[1])
			}
			if whole {
				return runShowText(c.Context(), app, a[0], asJSON)
			}
			return runShow(app, a[0], append(a[1:], "")[0], asJSON)
		},
	}
	c.Flags().BoolVar(&whole, "text", false,
		"print the whole slice, with earlier attempts and its contracts")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// completeShow completes a slice id, and then the fields that this slice has.
func completeShow(app *cmdutil.App, c *cobra.Command, have []string,
	word string) ([]string, cobra.ShellCompDirective) {
	if len(have) != 1 {
		return app.CompleteFirstID(c, have, word)
	}
	pr, id, err := app.Slice(have[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := []string{"file"}
	if shown, err := ops.Show(pr, id); err == nil && shown.File != "" {
		for _, f := range shown.Fields {
			list = append(list, f.Key)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// A keyValue is a line of a list.
type keyValue struct{ key, value string }

type showDoc struct {
	SchemaVersion int    `json:"schema_version"`
	ID            string `json:"id"`
	// relative to the root; null for a slice that is only in the graph
	File   *string           `json:"file"`
	Fields map[string]string `json:"fields"` // as in the file
	// the whole slice, as --text prints it below the fields; null without --text
	Text *string `json:"text"`
}

func runShow(app *cmdutil.App, id, key string, asJSON bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	shown, err := ops.Show(pr, id)
	if err != nil {
		return err
	}
	if key != "" {
		if shown.Fields, err = only(shown, key); err != nil {
			return err
		}
	}
	if asJSON {
		return app.IO.JSON(newShowDoc(shown))
	}
	if key != "" {
		if value := shown.Fields[0].Value; value != "" {
			app.IO.Printf("%s\n", sanitize.Text(value))
		}
		return nil
	}
	if shown.File != "" {
		shown.Fields = append(shown.Fields, ops.Field{Key: "file", Value: shown.File})
	}
	for _, f := range shown.Fields {
		app.IO.Printf("%s\n", sanitize.Text(strings.TrimRight(f.Key+": "+f.Value, " ")))
	}
	return showVerdict(app, pr, shown)
}

// showVerdict notes that gl hasn't verified a complete slice, even if its file claims so.
func showVerdict(app *cmdutil.App, pr *project.Project, shown *ops.Shown) error {
	done := slices.ContainsFunc(shown.Fields, func(f ops.Field) bool {
		return f.Key == "status" && plan.Classify(f.Value) == plan.Done
	})
	if !done {
		return nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err == nil && slices.Contains(p.Lists.Unverified, shown.ID) {
		app.IO.Printf("verdict: complete (unverified): gl verify %s tests it\n", shown.ID)
	}
	return err
}

// runShowText runs gl state show --text.
func runShowText(ctx context.Context, app *cmdutil.App, id string, asJSON bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	b, err := briefing.Of(ctx, pr, id)
	if err == nil {
		err = b.WithWork(ctx, pr)
	}
	if err != nil {
		return err
	}
	if asJSON {
		doc, text := newShowDoc(&ops.Shown{ID: b.ID, File: b.File, Fields: b.Fields}),
			strings.TrimLeft(b.Sections(), "\n")
		doc.Text = &text
		return app.IO.JSON(doc)
	}
	app.IO.Printf("%s", b.Text())
	return nil
}

func newShowDoc(s *ops.Shown) showDoc {
	doc := showDoc{SchemaVersion: 1, ID: s.ID, File: jsondoc.OrNull(s.File),
		Fields: make(map[string]string, len(s.Fields))}
	for _, f := range s.Fields {
		doc.Fields[f.Key] = f.Value
	}
	return doc
}

// only returns the requested field.
func only(s *ops.Shown, key string) ([]ops.Field, error) {
	for _, f := range append(s.Fields, ops.Field{Key: "file", Value: s.File}) {
		if f.Key == key && f.Value != "" {
			return []ops.Field{f}, nil
		}
	}
	if key == "file" || slices.Contains(ops.Keys(), key) { // known, but without a value
		return []ops.Field{{Key: key}}, nil
	}
	return nil, fmt.Errorf("%s has no value for %q: gl state show %s lists what it has",
		s.ID, key, s.ID)
}

// A noteSection is a flag of gl state note and the section for its text.
type noteSection struct {
	flag, section, arg, help string
	lines                    []string
}

func newStateNote(app *cmdutil.App) *cobra.Command {
	notes := []*noteSection{
		{flag: "decision", section: "Decisions", arg: "TEXT",
			help: "a decision; gl puts today's date before it"},
		{flag: "file", section: "Files", arg: "PATH", help: "a file of the slice"},
		{flag: "why", section: "Why", arg: "TEXT", help: "why to build the slice"},
		{flag: "what", section: "What", arg: "TEXT", help: "what it does"},
	}
	c := &cobra.Command{
		Use:   "note ID",
		Short: "Add decisions, files, reasons or descriptions to a slice's file",
		Long: `Append to the sections of a slice's file, in one write. Each flag can be repeated. A line that is already there isn't
added again.

Exit codes: 0 written; 1 it failed; 2 wrong usage.`,
		Example: `  gl state note S-07 --decision "Tokens are hashed, never stored"
  gl state note S-07 --file src/auth.go --file src/auth_test.go`,
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: app.CompleteFirstID,
		RunE: func(c *cobra.Command, a []string) error {
			return runNote(c.Context(), app, a[0], notes)
		},
	}
	for _, n := range notes {
		c.Flags().StringArrayVar(&n.lines, n.flag, nil, "`"+n.arg+"`: "+n.help)
	}
	return c
}

func runNote(ctx context.Context, app *cmdutil.App, id string, sections []*noteSection) error {
	var notes []ops.Note
	for _, s := range sections {
		for _, line := range s.lines {
			if !isLine(line) {
				return cmdutil.Usage("--%s must be one line of text without control characters",
					s.flag)
			}
			notes = append(notes, ops.Note{Section: s.section, Text: line})
		}
	}
	if len(notes) == 0 {
		return cmdutil.Usage("nothing to note: give --decision, --file, --why or --what")
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	warnings, err := ops.AddNotes(ctx, pr, id, notes, app.Claimant(id))
	messages(app.IO, warnings)
	return err
}

func newStateRender(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "render",
		Short: "Write STATE.md from the slice files",
		Long: `Write STATE.md from the slice files, unless it is up to date. A STATE.md that was written by hand is first saved as
STATE.md.backup.

Exit codes: 0 it is up to date; 1 it failed; 2 wrong usage.`,
		Example: "  gl state render",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			pr, err := app.Greenlight()
			if err != nil {
				return err
			}
			app.IO.Detail("render .greenlight/STATE.md in %s", pr.Root)
			return pr.Tracker.Refresh(c.Context())
		},
	}
}
