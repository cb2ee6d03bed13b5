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

// A ChangeDoc is what a command has changed. It is printed whether or not the command succeeded.
type ChangeDoc struct {
	SchemaVersion int `json:"schema_version"`
	// such as gl accept
	Command string `json:"command"`
	// exit code of the command
	ExitCode int `json:"exit_code" jsonschema:"minimum=0,maximum=255"`
	// also printed to stderr; null for none, or if lines contain it
	Error *string `json:"error"`
	// the command's slices
	Slices []SliceChange `json:"slices"`
	// what the command prints without --json
	Lines []string `json:"lines"`
}

// A SliceChange is a slice before and after the command.
type SliceChange struct {
	ID     string      `json:"id"`
	Before *SliceState `json:"before"` // null if it didn't exist
	After  *SliceState `json:"after"`  // null if it no longer exists
}

// A SliceState is the state of a slice.
type SliceState struct {
	Class  plan.Class        `json:"class"`
	Fields map[string]string `json:"fields"` // as in its file
}

// changes collects the content of a ChangeDoc.
type changes struct {
	pr     *project.Project
	slices []SliceChange
}

// Changes makes c a command whose text only reports its changes: it is Documented and Telling.
func Changes(app *App, c *cobra.Command) *cobra.Command { return Telling(app, Documented(app, c)) }

// Documented gives c the flag --json, which prints a ChangeDoc instead of the text. c must name its
// slices by App.Slice, App.About or App.Made.
func Documented(app *App, c *cobra.Command) *cobra.Command {
	asJSON := false
	c.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON document: the slices before and after")
	run := c.RunE
	c.RunE = func(c *cobra.Command, a []string) error {
		if !asJSON {
			return run(c, a)
		}
		app.changes = &changes{}
		text, err := app.IO.Record(func() error { return run(c, a) })
		doc := ChangeDoc{SchemaVersion: 1, Command: c.CommandPath(),
			Slices: jsondoc.OrEmpty(app.changes.done()), Lines: []string{}}
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

// Telling makes c a command whose text only reports its actions: with --quiet it prints only
// documents and errors. A dry run prints its text anyway.
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

// About records that the command is about these slices of p, before it changes them.
func (app *App) About(pr *project.Project, p *plan.Plan, ids ...string) {
	if app.changes == nil {
		return
	}
	for _, id := range ids {
		app.changes.add(pr, id, state(pr, p, id))
	}
}

// Made records that the command has created these slices.
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

// done returns the slices with their new states.
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

// state returns a slice of a plan, nil for none.
func state(pr *project.Project, p *plan.Plan, id string) *SliceState {
	st := p.State(id)
	if st == nil {
		return nil
	}
	s := &SliceState{Class: st.Class, Fields: map[string]string{}}
	fields, _, err := ops.Contents(pr, st)
	if err != nil { // an unreadable file has no fields
		return s
	}
	for _, f := range fields {
		s.Fields[f.Key] = f.Value
	}
	return s
}
