package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/slice"
	"greenlight/internal/tracker"
)

func newState(app *cmdutil.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Read and change the state of single slices, safely beside any number of sessions",
		Long: `Read and change the state of single slices. Every change is one durable write under the project's lock: of changes at
the same time none is lost, and STATE.md follows.` + "\n" + cmdutil.ExitHelp,
		Example: `  gl state show S-07 status
  gl state claim S-07
  gl state set S-07 status=implementing step=implementing tests=12`,
	}
	return cmdutil.Family(c, newStateShow(app), newStateClaim(app), newStateSet(app), newStateNote(app), newStateRelease(app), newStateRender(app))
}

// change edits a slice's file under the lock; f sees what the slice is at that moment, and may be called again where
// somebody without the lock wrote the file meanwhile.
func change(ctx context.Context, pr *project.Project, id string, f func(*plan.State, *slice.File) error) error {
	return pr.Slices.Edit(ctx, id, func(file *slice.File) error {
		p, err := pr.Plan(time.Now(), pr.Options())
		if err != nil {
			return err
		}
		st := p.State(id)
		if st == nil {
			return fmt.Errorf("%s: %w", id, tracker.ErrNotFound)
		}
		return f(st, file)
	})
}

func newStateShow(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:        "show ID [KEY]",
		SuggestFor: []string{"show", "get", "cat", "view", "inspect"},
		Short:      "Print a slice's fields, or the value of one",
		Long: `Print the fields of a slice's file as key: value lines, with the file's path; or the value of one key alone. Of a slice
that is only in the graph it prints what is known: its status, name, milestone and dependencies.

Exit codes: 0 printed; 1 there is no such slice, or the key has no value; 2 wrong usage.`,
		Example: `  gl state show S-07
  gl state show S-07 status
  gl state show S-07 --json`,
		Args:              cmdutil.Args(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: app.Complete(completeShow),
		RunE: func(_ *cobra.Command, a []string) error {
			return runShow(app, a[0], append(a[1:], "")[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// completeShow completes a slice id, and then the fields that this slice has.
func completeShow(app *cmdutil.App, c *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(have) != 1 {
		return app.CompleteFirstID(c, have, word)
	}
	pr, id, err := app.Slice(have[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := []string{"file"}
	if f, err := pr.Slices.Read(id); err == nil {
		list = append(list, keys(f)...)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// A keyValue is one line of gl state show.
type keyValue struct{ key, value string }

type showDoc struct {
	SchemaVersion int               `json:"schema_version"`
	ID            string            `json:"id"`
	File          *string           `json:"file"`   // relative to the root; null for a slice that is only in the graph
	Fields        map[string]string `json:"fields"` // as the file has them
}

func runShow(app *cmdutil.App, id, key string, asJSON bool) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	st := p.State(id)
	fields, err := fieldsOf(pr, st)
	if err != nil {
		return err
	}
	if key != "" {
		if fields, err = only(fields, st, key); err != nil {
			return err
		}
	}
	if asJSON {
		return app.IO.JSON(newShowDoc(st, fields))
	}
	if key != "" {
		app.IO.Printf("%s\n", sanitize.Text(fields[0].value))
		return nil
	}
	if st.File != "" {
		fields = append(fields, keyValue{"file", st.File})
	}
	for _, f := range fields {
		app.IO.Printf("%s\n", sanitize.Text(strings.TrimRight(f.key+": "+f.value, " ")))
	}
	return nil
}

func newShowDoc(st *plan.State, fields []keyValue) showDoc {
	doc := showDoc{SchemaVersion: 1, ID: st.ID, Fields: make(map[string]string, len(fields))}
	if st.File != "" {
		doc.File = &st.File
	}
	for _, f := range fields {
		doc.Fields[f.key] = f.value
	}
	return doc
}

// only returns the one field that was asked for.
func only(fields []keyValue, st *plan.State, key string) ([]keyValue, error) {
	for _, f := range append(fields, keyValue{"file", st.File}) {
		if f.key == key && f.value != "" {
			return []keyValue{f}, nil
		}
	}
	return nil, fmt.Errorf("%s has no value for %q: gl state show %s lists what it has", st.ID, key, st.ID)
}

// fieldsOf returns the fields of the slice's file in the file's order, or what the plan knows where there is no file.
func fieldsOf(pr *project.Project, st *plan.State) ([]keyValue, error) {
	known := []keyValue{
		{"id", st.ID}, {"name", st.Name}, {"status", st.Status}, {"milestone", st.Milestone},
		{"deps", strings.Join(st.Deps, ", ")},
	}
	if pr.Slices == nil { // another system's
		return append(known, keyValue{"step", st.Step}), nil
	}
	f, err := pr.Slices.Read(st.ID)
	if errors.Is(err, tracker.ErrNotFound) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	var fields []keyValue
	for _, key := range keys(f) {
		value, _ := f.Get(key)
		if key == "deps" {
			value = strings.Join(f.List(key), ", ")
		}
		fields = append(fields, keyValue{key, value})
	}
	return fields, nil
}

// keys lists the keys of a file's frontmatter in its order. What looks like a key but is none (a comment, the item of
// a list) has no value there.
func keys(f *slice.File) []string {
	var list []string
	seen := map[string]bool{}
	open := false
	for line := range strings.Lines(string(f.Bytes())) {
		line = strings.TrimPrefix(strings.TrimRight(line, " \t\r\n"), "\ufeff")
		if line == "---" {
			if open {
				break
			}
			open = true
			continue
		}
		key, _, _ := strings.Cut(line, ":")
		key = strings.TrimRight(key, " \t")
		if _, ok := f.Get(key); ok && !seen[key] {
			seen[key] = true
			list = append(list, key)
		}
	}
	return list
}

// A noteSection is a flag of gl state note and the section that its text goes to.
type noteSection struct {
	flag, section, arg, help string
	lines                    []string
}

func newStateNote(app *cmdutil.App) *cobra.Command {
	notes := []*noteSection{
		{flag: "decision", section: "Decisions", arg: "TEXT", help: "a decision; today's date is put before it"},
		{flag: "file", section: "Files", arg: "PATH", help: "a file of the slice"},
		{flag: "why", section: "Why", arg: "TEXT", help: "why the slice is built"},
		{flag: "what", section: "What", arg: "TEXT", help: "what it does"},
	}
	c := &cobra.Command{
		Use:   "note ID",
		Short: "Write a decision, a file, a why or a what into a slice's file",
		Long: `Append to the sections of a slice's file, in one write. Each flag may be given several times; a line that is there
already is not written again.

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

func runNote(ctx context.Context, app *cmdutil.App, id string, notes []*noteSection) error {
	given := 0
	for _, n := range notes {
		for _, line := range n.lines {
			given++
			if strings.TrimSpace(line) == "" || strings.ContainsFunc(line, unicode.IsControl) {
				return cmdutil.Usage("--%s must be one line of text without control characters", n.flag)
			}
		}
	}
	if given == 0 {
		return cmdutil.Usage("nothing to note: give --decision, --file, --why or --what")
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	warning := ""
	today := time.Now().UTC().Format(time.DateOnly)
	err = change(ctx, pr, id, func(st *plan.State, f *slice.File) error {
		warning = foreignWarning(app, pr, st)
		for _, n := range notes {
			if err := n.write(f, today); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && warning != "" {
		app.IO.Message("%s", warning)
	}
	return err
}

func (n *noteSection) write(f *slice.File, today string) error {
	for _, line := range n.lines {
		if n.flag == "decision" {
			line = today + ": " + strings.TrimSpace(line)
		}
		if err := f.AppendToSection(n.section, line); err != nil {
			return err
		}
	}
	return nil
}

// foreignWarning is for a change of a slice that somebody else works on; "" for none.
func foreignWarning(app *cmdutil.App, pr *project.Project, st *plan.State) string {
	if !attempt.NewClaimant(app.Getenv, st.ID).OtherHolds(pr.Runs, st) {
		return ""
	}
	return "warning: " + st.ClaimText(time.Now()) + ": changed all the same"
}

func newStateRender(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "render",
		Short: "Write STATE.md from the slice files",
		Long: `Write STATE.md from the slice files, where it isn't as it should be. One that was written by hand is saved first, as
STATE.md.backup.

Exit codes: 0 it is as it should be; 1 it failed; 2 wrong usage.`,
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
