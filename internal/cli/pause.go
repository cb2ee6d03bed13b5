package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
)

func newPause(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "pause [ID]",
		Short: "Set a slice aside, with a hand-off file",
		Long: `Set an open slice aside. Its progress, its last attempt and the changed files are written to the hand-off file
.greenlight/.continue-here.ID.md, and the slice waits until gl resume. Notes that people have added to that file stay.
gl pause starts and ends no agent and doesn't change the status. Without ID it pauses the slice that this session is
working on.

Exit codes: 0 set aside; 1 it failed, or the slice is done; 2 wrong usage, or it isn't clear which slice.`,
		Example:           "  gl pause S-07\n  gl pause",
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.CompleteFirstID,
		RunE: func(c *cobra.Command, a []string) error {
			return runPause(c.Context(), app, append(a, "")[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func newResume(app *cmdutil.App) *cobra.Command {
	var asJSON, done bool
	c := &cobra.Command{
		Use:   "resume [ID]",
		Short: "Continue a paused slice and print its hand-off file",
		Long: `Print the hand-off file of a slice that was set aside, and end the pause: the slice is ready, blocked or active again,
depending on its status. The file stays where it is; --done removes it when what it describes is done. Without ID gl resume takes the only
paused slice.

Exit codes: 0 printed; 1 it isn't paused and has no hand-off file, or it failed; 2 wrong usage, or it isn't clear which
slice.`,
		Example:           "  gl resume S-07\n  gl resume",
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.CompleteFirstID,
		RunE: func(c *cobra.Command, a []string) error {
			return runResume(c.Context(), app, append(a, "")[0], asJSON, done)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.Flags().BoolVar(&done, "done", false, "remove the hand-off file afterwards")
	return c
}

// A pauseDoc is what gl pause and gl resume print as JSON.
type pauseDoc struct {
	SchemaVersion int     `json:"schema_version"`
	ID            *string `json:"id"` // null for a hand-off without a slice
	Name          string  `json:"name"`
	Status        string  `json:"status"`
	Step          string  `json:"step"`
	Paused        bool    `json:"paused"`    // after gl pause, it is; before gl resume, it was
	PausedAt      *string `json:"paused_at"` // null for unknown
	// the hand-off file, relative to the root; null for none
	File *string `json:"file"`
	Text *string `json:"text"` // contents of the hand-off file; null for none
}

func newPauseDoc(st *plan.State) pauseDoc {
	return pauseDoc{SchemaVersion: 1, ID: &st.ID, Name: st.Name, Status: st.Status, Step: st.Step}
}

func runPause(ctx context.Context, app *cmdutil.App, id string, asJSON bool) error {
	pr, id, err := toPause(app, id)
	if err != nil {
		return err
	}
	p, err := ops.Pause(ctx, pr, id, app.Claimant(id))
	if err != nil {
		return err
	}
	messages(app.IO, p.Notes)
	if asJSON {
		doc, at := newPauseDoc(p.State), p.At.UTC().Format(time.RFC3339)
		doc.Paused, doc.PausedAt, doc.File, doc.Text = true, &at, &p.File, &p.Text
		return app.IO.JSON(doc)
	}
	app.IO.Printf("%s is paused, its hand-off is in %s: gl resume %s\n", id, p.File, id)
	return nil
}

// toPause finds the slice that id means or, without an id, the slice that this session works on.
func toPause(app *cmdutil.App, id string) (*project.Project, string, error) {
	if id = cmp.Or(id, ownSlice(app)); id != "" {
		return app.Slice(id)
	}
	pr, err := app.Greenlight()
	if err != nil {
		return nil, "", err
	}
	id, err = ops.ToPause(pr, app.Environ)
	return pr, id, err
}

// ownSlice returns the slice of the calling attempt, "" for a person.
func ownSlice(app *cmdutil.App) string {
	if c := app.Caller(); c != nil && !c.Alone {
		return c.ID
	}
	return ""
}

// messages prints notes to stderr.
func messages(io *iostreams.Streams, notes []string) {
	for _, note := range notes {
		io.Message("%s", note)
	}
}

func runResume(ctx context.Context, app *cmdutil.App, id string, asJSON, done bool) error {
	h, err := findHandoff(app, id)
	if err != nil {
		return err
	}
	if asJSON {
		err = app.IO.JSON(newResumeDoc(h))
	} else {
		err = app.IO.PrintText(h.Text)
	}
	if err != nil {
		return err
	}
	messages(app.IO, h.Notes)
	if err := h.Resume(ctx); err != nil || !done {
		return err
	}
	return h.Retire()
}

func findHandoff(app *cmdutil.App, id string) (*ops.Handoff, error) {
	if id = cmp.Or(id, ownSlice(app)); id == "" {
		pr, err := app.Greenlight()
		if err != nil {
			return nil, err
		}
		return ops.OnlyHandoff(pr, app.Getenv("GL_SLICE"))
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return nil, err
	}
	return ops.FindHandoff(pr, id)
}

func newResumeDoc(h *ops.Handoff) pauseDoc {
	doc := pauseDoc{SchemaVersion: 1}
	if h.State != nil {
		doc = newPauseDoc(h.State)
	}
	doc.Paused, doc.PausedAt, doc.File, doc.Text = h.Paused, jsondoc.OrNull(h.PausedAt),
		jsondoc.OrNull(h.File), jsondoc.OrNull(h.Text)
	return doc
}
