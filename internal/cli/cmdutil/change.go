package cmdutil

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
)

// A ChangeDoc says what a command has changed. It is printed whether or not that worked.
type ChangeDoc struct {
	SchemaVersion int           `json:"schema_version"`
	Command       string        `json:"command"`                                      // such as gl accept
	ExitCode      int           `json:"exit_code" jsonschema:"minimum=0,maximum=255"` // of the command
	Error         *string       `json:"error"`                                        // as it is also printed to stderr; null for none, or where lines say it
	Slices        []SliceChange `json:"slices"`                                       // those that the command was about
	Lines         []string      `json:"lines"`                                        // what the command prints without --json
}

// A SliceChange is a slice before the command and after it.
type SliceChange struct {
	ID     string      `json:"id"`
	Before *SliceState `json:"before"` // null if there was none of that id
	After  *SliceState `json:"after"`  // null if there is none any more
}

// A SliceState is a slice at a time.
type SliceState struct {
	Class  plan.Class        `json:"class"`
	Fields map[string]string `json:"fields"` // as its file has them
}

// changes gathers what a ChangeDoc says.
type changes struct {
	pr     *project.Project
	slices []SliceChange
}

// Changes makes c a command whose text only tells what it has changed: it is Documented and Telling.
func Changes(app *App, c *cobra.Command) *cobra.Command { return Telling(app, Documented(app, c)) }

// Documented gives c the flag --json, with which it prints a ChangeDoc instead of its text. c must name its slices by App.Slice,
// App.About or App.Made.
func Documented(app *App, c *cobra.Command) *cobra.Command {
	asJSON := false
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document: the slices before and after")
	run := c.RunE
	c.RunE = func(c *cobra.Command, a []string) error {
		if !asJSON {
			return run(c, a)
		}
		app.changes = &changes{}
		text, err := app.IO.Record(func() error { return run(c, a) })
		doc := ChangeDoc{SchemaVersion: 1, Command: c.CommandPath(), Slices: jsondoc.OrEmpty(app.changes.done()), Lines: []string{}}
		if text = strings.TrimSpace(text); text != "" {
			doc.Lines = strings.Split(text, "\n")
		}
		if err != nil {
			doc.ExitCode = codeOf(err)
			if exit := new(ExitError); !errors.As(err, &exit) || exit.Err != nil {
				doc.Error = jsondoc.OrNull(strings.TrimSpace(err.Error()))
			}
		}
		return errors.Join(err, app.IO.JSON(doc))
	}
	return c
}

// Telling makes c a command whose text only tells what it does: with --quiet it prints nothing but documents and errors. What it
// would do is something to be shown.
func Telling(app *App, c *cobra.Command) *cobra.Command {
	run := c.RunE
	c.RunE = func(c *cobra.Command, a []string) error {
		if !c.Flags().Changed("dry-run") {
			app.IO.Hush()
		}
		return run(c, a)
	}
	return c
}

// About says that the command is about these slices, as they are in p, before it changes them.
func (app *App) About(pr *project.Project, p *plan.Plan, ids ...string) {
	if app.changes == nil {
		return
	}
	for _, id := range ids {
		app.changes.add(pr, id, state(pr, p, id))
	}
}

// Made says that the command has made these slices.
func (app *App) Made(pr *project.Project, ids ...string) {
	if app.changes == nil {
		return
	}
	for _, id := range ids {
		app.changes.add(pr, id, nil)
	}
}

func (c *changes) add(pr *project.Project, id string, before *SliceState) {
	c.pr = cmp.Or(c.pr, pr)
	if !slices.ContainsFunc(c.slices, func(s SliceChange) bool { return s.ID == id }) {
		c.slices = append(c.slices, SliceChange{ID: id, Before: before})
	}
}

// done is the slices with what has become of them.
func (c *changes) done() []SliceChange {
	if c.pr == nil {
		return nil
	}
	p, err := c.pr.Plan(time.Now(), c.pr.Options())
	if err != nil {
		return c.slices
	}
	for i := range c.slices {
		c.slices[i].After = state(c.pr, p, c.slices[i].ID)
	}
	return c.slices
}

// state is a slice of a plan, nil for none.
func state(pr *project.Project, p *plan.Plan, id string) *SliceState {
	st := p.State(id)
	if st == nil {
		return nil
	}
	s := &SliceState{Class: st.Class, Fields: map[string]string{}}
	fields, _, err := ops.Contents(pr, st)
	if err != nil { // a file that nobody can read has none
		return s
	}
	for _, f := range fields {
		s.Fields[f.Key] = f.Value
	}
	return s
}
