package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
	"greenlight/internal/workspace/worktree"
)

// A frontDoc is what gl alone shows: where it was called, and what comes next.
type frontDoc struct {
	SchemaVersion int    `json:"schema_version"`
	Place         string `json:"place" jsonschema:"enum=project,enum=repository,enum=directory"`
	// of the project; null elsewhere
	Root *string `json:"root"`
	// of the project's first system; null elsewhere, or if they can't be read
	Counts *view.Counts `json:"counts"`
	// why the project can't be read; null if it can
	Problem *string `json:"problem"`
	// the state in words, the most urgent first
	Lines []string `json:"lines"`
	// commands to go on with, at most three, the likeliest first
	Next []nextCommand `json:"next"`
}

// A nextCommand is a command to go on with.
type nextCommand struct {
	Command string `json:"command"`
	Why     string `json:"why"` // what it does here
}

// The values of frontDoc.Place.
const (
	inProject    = "project"
	inRepository = "repository"
	inDirectory  = "directory"
)

// withFront makes gl alone show where a person is and what comes next.
func withFront(app *cmdutil.App, root *cobra.Command) {
	asJSON := false
	root.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	root.RunE = func(c *cobra.Command, _ []string) error {
		doc := readFront(c.Context(), app, time.Now())
		if asJSON {
			return app.IO.JSON(doc)
		}
		printFront(app.IO, doc)
		return nil
	}
}

// readFront looks where gl was called. It writes nothing, and what can't be read is a problem to
// show.
func readFront(ctx context.Context, app *cmdutil.App, now time.Time) *frontDoc {
	doc := &frontDoc{SchemaVersion: 1, Place: inDirectory, Lines: []string{}, Next: []nextCommand{}}
	dir, err := app.Dir()
	if err != nil {
		doc.problem(err)
		return doc
	}
	if project.Checkout(dir, app.Getenv("HOME")) != "" {
		doc.Place = inRepository
	}
	root, err := project.Find(dir, app.Getenv)
	if err != nil && !errors.Is(err, project.ErrNoProject) {
		doc.problem(err)
		return doc
	}
	if err == nil {
		err = doc.project(ctx, app, root, now)
	}
	switch {
	case err == nil:
	case errors.Is(err, project.ErrNoProject), errors.Is(err, project.ErrNoState):
		doc.Next = begin(doc.Place, app.Inside())
		if doc.Place == inRepository && !app.Inside() {
			doc.firstOf(ctx, app)
		}
	default:
		doc.Place, doc.Root = inProject, &root
		doc.problem(err)
		doc.Next = []nextCommand{{"gl doctor", "says what is wrong and what helps"}}
	}
	return doc
}

// firstOf puts what gl do would be refused for in a repository before the commands to begin with.
func (d *frontDoc) firstOf(ctx context.Context, app *cmdutil.App) {
	err := worktree.CheckGit(ctx)
	if err == nil {
		var pr *project.Project
		if pr, err = taskProject(ctx, app); err == nil {
			_, err = pr.OpenWorktrees(ctx)
		}
	}
	if err != nil {
		d.Lines = append(d.Lines, sanitize.Line("before gl do: "+err.Error()))
	}
}

func (d *frontDoc) problem(err error) {
	text := sanitize.Line(err.Error())
	d.Problem = &text
}

// project adds the state of a project. Without any state it adds the tasks that run there.
func (d *frontDoc) project(ctx context.Context, app *cmdutil.App, root string, now time.Time) error {
	pr, err := app.Project()
	if errors.Is(err, project.ErrNoState) {
		if tasks, openErr := app.AnyProject(); openErr == nil {
			if p, planErr := tasks.Plan(now, tasks.Options()); planErr == nil {
				d.Lines = append(d.Lines, working(p, now)...)
			}
		}
		return err
	}
	if err != nil {
		return err
	}
	for i, v := range pr.Views() {
		p, err := shownPlan(v, now, "")
		if err != nil {
			return err
		}
		queue := facts.Lane(v, p)
		counts := view.Count(p, queue)
		d.Lines = append(d.Lines, summary(v, p, counts))
		if i > 0 {
			continue
		}
		d.Place, d.Root, d.Counts = inProject, &root, &counts
		d.Lines = append(d.Lines, urgent(p, now)...)
		if text := halfDone(ctx, v, p); text != "" {
			d.Lines = append(d.Lines, text)
		}
		leader, err := pr.Runs.Control.Leader()
		if err == nil && leader != "" {
			d.Lines = append(d.Lines, "built by "+sanitize.Line(leader))
		}
		s := standing{p: p, counts: counts, archive: archiveCommand(app, pr), own: pr.Slices != nil, inside: app.Inside(),
			builds: app.Getenv("GL_SLICE"), launching: err == nil && leader != "",
			refuses: pr.ConfigErr != nil, noGit: inNoRepository(ctx, v), land: queue.Command(), slots: pr.Slots(), agents: pr.Config.Agent}
		d.Next = s.next()
	}
	return nil
}

// inNoRepository reports whether a project's slices are built in the checkout because there is no
// repository.
func inNoRepository(ctx context.Context, pr *project.Project) bool {
	if pr.Slices == nil {
		return false
	}
	_, err := pr.Worktrees(ctx)
	none := new(worktree.Unavailable)
	return errors.As(err, &none) && none.NoRepository
}

// summary returns the counts of one system in a line: "shop: 5 done, 1 failed, 3 ready.".
func summary(pr *project.Project, p *plan.Plan, c view.Counts) string {
	name := sanitize.Line(filepath.Base(pr.Root))
	if len(pr.Keys()) > 1 {
		name += ", " + pr.System().Name
	}
	if p.Total == 0 {
		return name + " has no " + p.Snapshot.Noun + "s yet."
	}
	text := c.Sentence(name, p.Snapshot.Noun)
	if c.Done == c.Total { // "All slices complete: 12 done."
		text = name + ": a" + text[1:]
	}
	return text
}

// mostUrgent limits the lines about single items.
const mostUrgent = 3

// urgent returns what stops the project, what waits for a person, and what is under way.
func urgent(p *plan.Plan, now time.Time) []string {
	lines := slices.Concat(status.Blockers(p), status.Holds(p, now))
	if red := plan.RedBase(p); red != nil {
		lines = append(lines, red.Text)
	}
	ids := pending(p)
	for _, id := range ids[:min(len(ids), mostUrgent)] {
		r := p.Why(id, now)
		r.Next = nil
		lines = append(lines, sanitize.Line(r.String()))
	}
	if more := words.More(len(ids) - mostUrgent); more != "" {
		lines = append(lines, strings.TrimSpace(more))
	}
	return slices.Concat(lines, working(p, now), warnings(p))
}

// shownFirst limits the warnings of gl alone.
const shownFirst = 2

// warnings returns the first warnings of a plan.
func warnings(p *plan.Plan) (lines []string) {
	for _, w := range p.Warnings[:min(len(p.Warnings), shownFirst)] {
		lines = append(lines, "warning: "+sanitize.Line(cmdutil.WarningText(w)))
	}
	return lines
}

// working returns what agents and the merge queue are at.
func working(p *plan.Plan, now time.Time) (lines []string) {
	for _, l := range atWork(p, now) {
		lines = append(lines, l[0]+" "+l[1])
	}
	return lines
}

// intros are the first lines where no project is.
var intros = map[string]string{
	inRepository: "gl runs coding agents in this repository, and merges what passes your tests.",
	inDirectory:  tagline,
}

// printFront prints the document for people.
func printFront(out *iostreams.Streams, d *frontDoc) {
	lines := d.Lines
	switch {
	case d.Problem != nil && d.Root != nil:
		out.Printf("%s\n", wrapped(out, term.Red, filepath.Base(*d.Root)+" can't be read: "+
			*d.Problem, 2))
	case d.Problem != nil:
		out.Printf("%s\n", wrapped(out, term.Red, *d.Problem, 2))
	case len(lines) > 0 && d.Root != nil:
		out.Printf("%s\n", out.Paint(term.Bold, term.Wrap(lines[0], out.Width(), 2)))
		lines = lines[1:]
	default:
		out.Printf("%s\n", term.Wrap(intros[d.Place], out.Width(), 0))
	}
	for _, l := range lines {
		out.Printf("%s\n", term.Wrap("  "+l, out.Width(), 4))
	}
	width := 0
	for _, n := range d.Next {
		width = max(width, term.Width(n.Command))
	}
	if width > 0 {
		out.Printf("\n")
	}
	for _, n := range d.Next {
		head := "  " + term.Pad(n.Command, width) + "  "
		text := term.WrapColumn(head, n.Why, out.Width())
		out.Printf("  %s%s\n", out.Paint(term.Green, n.Command), text[2+len(n.Command):])
	}
	out.Printf("\n%s\n", out.Paint(term.Dim, "gl help lists the commands."))
}
