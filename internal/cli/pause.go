package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/slice"
)

func newPause(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "pause [ID]",
		Short: "Set a slice aside, with a hand-off file",
		Long: `Set an open slice aside: where it stands, its last attempt and the files that are changed go into the hand-off file
.greenlight/.continue-here.ID.md, and the slice waits until gl resume. What a person has written into that file stays.
No agent is started or ended, and the status doesn't change. Without ID it is the slice that this session works on.

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
	var asJSON bool
	c := &cobra.Command{
		Use:   "resume [ID]",
		Short: "Take a slice up again: print its hand-off file",
		Long: `Print the hand-off file of a slice that was set aside, and let the slice go on: it is ready, blocked or active again as
its status says. The file stays where it is. Without ID it is the slice that is paused.

Exit codes: 0 printed; 1 it isn't paused and has no hand-off file, or it failed; 2 wrong usage, or it isn't clear which
slice.`,
		Example:           "  gl resume S-07\n  gl resume",
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.CompleteFirstID,
		RunE: func(c *cobra.Command, a []string) error {
			return runResume(c.Context(), app, append(a, "")[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// A pauseDoc is what gl pause and gl resume print as JSON.
type pauseDoc struct {
	SchemaVersion int     `json:"schema_version"`
	ID            *string `json:"id"` // null for a hand-off that names no slice
	Name          string  `json:"name"`
	Status        string  `json:"status"`
	Step          string  `json:"step"`
	Paused        bool    `json:"paused"`    // gl pause: it is now; gl resume: it was
	PausedAt      *string `json:"paused_at"` // null for unknown
	File          *string `json:"file"`      // the hand-off file, relative to the root; null for none
	Text          *string `json:"text"`      // contents of the hand-off file; null for none
}

func newPauseDoc(st *plan.State) pauseDoc {
	return pauseDoc{SchemaVersion: 1, ID: &st.ID, Name: st.Name, Status: st.Status, Step: st.Step}
}

func runPause(ctx context.Context, app *cmdutil.App, id string, asJSON bool) error {
	pr, err := app.Greenlight()
	if err != nil {
		return err
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	if id, err = whichToPause(app, pr, p, id); err != nil {
		return err
	}
	st := p.State(id)
	if st.Class == plan.Done {
		return fmt.Errorf("%s is done: there is nothing to set aside", id)
	}
	now := time.Now()
	h := handoff{pr: pr, p: p, st: st, now: now}
	text, err := h.write(ctx)
	if err != nil {
		return err
	}
	rel := handoffRel(id)
	err = pr.Slices.EditProject(ctx, func(ps *slice.ProjectState) error {
		return errors.Join(ps.Pause(id, st.Step, now, rel), ps.SetLastSession(now), ps.SetResumeFile(rel))
	})
	if err != nil {
		return err
	}
	warnAtWork(app, pr, st)
	if asJSON {
		doc, at := newPauseDoc(st), now.UTC().Format(time.RFC3339)
		doc.Paused, doc.PausedAt, doc.File, doc.Text = true, &at, &rel, &text
		return app.IO.JSON(doc)
	}
	app.IO.Printf("%s is paused, its hand-off is in %s: gl resume %s\n", id, rel, id)
	return nil
}

// warnAtWork says who works on the slice while it is set aside.
func warnAtWork(app *cmdutil.App, pr *project.Project, st *plan.State) {
	if a := st.Attempt; a.Live() {
		app.IO.Message("%s is being worked on by attempt %d (%s), which goes on: gl stop %s ends it", st.ID, a.N, a.Agent, st.ID)
	} else if w := foreignWarning(app, pr, st); w != "" {
		app.IO.Message("%s", w)
	}
}

// whichToPause finds the slice that is meant: the one that was named, that this session works on, that is active.
func whichToPause(app *cmdutil.App, pr *project.Project, p *plan.Plan, id string) (string, error) {
	if id != "" {
		return app.Resolve(p, id)
	}
	if own := app.Getenv("GL_SLICE"); p.State(own) != nil && app.Getenv("GL_SESSION") != "" {
		return own, nil
	}
	var mine, active []string
	for i := range p.States {
		st := &p.States[i]
		if st.Class != plan.Active {
			continue
		}
		active = append(active, st.ID)
		if who := attempt.NewClaimant(app.Getenv, st.ID); !who.IsPerson() && who.Holds(pr.Runs, st) {
			mine = append(mine, st.ID)
		}
	}
	switch {
	case len(mine) == 1:
		return mine[0], nil
	case len(mine) > 1:
		return "", cmdutil.Usage("which slice? this session works on %s", strings.Join(mine, ", "))
	case len(active) == 1:
		return active[0], nil
	case len(active) == 0:
		return "", cmdutil.Usage("which slice? none is being worked on")
	}
	return "", cmdutil.Usage("which slice? active: %s", strings.Join(active, ", "))
}

func runResume(ctx context.Context, app *cmdutil.App, id string, asJSON bool) error {
	pr, err := app.Greenlight()
	if err != nil {
		return err
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	ps, err := pr.Slices.ReadProject()
	if err != nil {
		return err
	}
	if id, err = whichToResume(app, pr, p, ps, id); err != nil {
		return err
	}
	if id == "" {
		return resumeOld(app, pr, asJSON)
	}
	return resume(ctx, app, pr, p.State(id), ps, asJSON)
}

// whichToResume finds the slice that is meant; "" where none is paused and the hand-off of an older Greenlight is all
// there is.
func whichToResume(app *cmdutil.App, pr *project.Project, p *plan.Plan, ps *slice.ProjectState, id string) (string, error) {
	if id != "" {
		return app.Resolve(p, id)
	}
	var paused []string
	for i := range p.States {
		if _, marked := ps.Paused(p.States[i].ID); marked && p.States[i].Class != plan.Done {
			paused = append(paused, p.States[i].ID)
			if p.States[i].ID == app.Getenv("GL_SLICE") {
				return p.States[i].ID, nil
			}
		}
	}
	switch {
	case len(paused) == 1:
		return paused[0], nil
	case len(paused) > 1:
		return "", cmdutil.Usage("which slice? paused: %s", strings.Join(paused, ", "))
	}
	if _, err := os.Stat(filepath.Join(pr.Root, oldHandoff)); err == nil {
		return "", nil
	}
	return "", cmdutil.Usage("which slice? none is paused")
}

// resume prints the hand-off and takes the mark away, in this order: what can't be printed is still paused.
func resume(ctx context.Context, app *cmdutil.App, pr *project.Project, st *plan.State, ps *slice.ProjectState, asJSON bool) error {
	mark, marked := ps.Paused(st.ID)
	file, text, err := findHandoff(pr.Root, st.ID, mark.ResumeFile)
	if err != nil {
		return err
	}
	if !marked && file == "" {
		return fmt.Errorf("%s isn't paused. %s", st.ID, pausedByHand(st))
	}
	if asJSON {
		doc := newPauseDoc(st)
		doc.Paused, doc.PausedAt, doc.File, doc.Text = marked, jsondoc.OrNull(mark.PausedAt), jsondoc.OrNull(file), jsondoc.OrNull(text)
		err = app.IO.JSON(doc)
	} else {
		err = app.IO.PrintText(text)
	}
	if err != nil {
		return err
	}
	aboutResume(app, st, marked, file)
	if !marked {
		return nil
	}
	return pr.Slices.EditProject(ctx, func(ps *slice.ProjectState) error {
		ps.Unpause(st.ID)
		err := ps.SetLastSession(time.Now())
		if ps.ResumeFile() == file {
			err = errors.Join(err, ps.SetResumeFile(""))
		}
		return err
	})
}

// aboutResume tells what is odd about it.
func aboutResume(app *cmdutil.App, st *plan.State, marked bool, file string) {
	switch {
	case !marked:
		app.IO.Message("%s isn't paused any more; this is its last hand-off", st.ID)
	case file == "":
		app.IO.Message("%s has no hand-off file", st.ID)
	case file == oldHandoff:
		app.IO.Message("this is %s, which names no slice", oldHandoff)
	}
	if plan.Classify(st.Status) == plan.Waiting {
		app.IO.Message("%s", pausedByHand(st))
	}
}

// pausedByHand says what else keeps a slice waiting, or how it is.
func pausedByHand(st *plan.State) string {
	if plan.Classify(st.Status) == plan.Waiting {
		return fmt.Sprintf("its status is %s: gl state set %s status=pending lets it go on", st.Status, st.ID)
	}
	return "Its status is " + st.Status
}

// resumeOld prints the hand-off of a Greenlight that had one for the whole project.
func resumeOld(app *cmdutil.App, pr *project.Project, asJSON bool) error {
	data, err := os.ReadFile(filepath.Join(pr.Root, oldHandoff))
	if err != nil {
		return err
	}
	app.IO.Message("no slice is paused; this is %s", oldHandoff)
	if asJSON {
		file, text := oldHandoff, string(data)
		return app.IO.JSON(pauseDoc{SchemaVersion: 1, File: &file, Text: &text})
	}
	return app.IO.PrintText(string(data))
}
