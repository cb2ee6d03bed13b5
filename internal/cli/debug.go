package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/git"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/term"
)

func newDebug(app *cmdutil.App) *cobra.Command {
	var asJSON, runTests bool
	c := &cobra.Command{
		Use:   "debug [id]",
		Short: "Report all there is to know about a slice, or about this project's set-up",
		Long: `Report all there is to know about a slice: its fields, why it is where it is, who has claimed it, its attempts and the
end of the last log, the project's test command, the last commits and the changed files among its own, its checkpoints,
and its contracts. Without an id: the tools and their versions, the settings that aren't the default, who drains the
project, which attempts run, and until when nothing is launched.

Nothing is changed. --run-tests runs the test command (test.command in config.json) in the project's root; no shell has
a part in that.

Exit codes: 0 reported, also where the tests fail; 1 there is no such slice, or no project; 2 wrong usage.`,
		Example: `  gl debug
  gl debug S-07
  gl debug S-07 --run-tests
  gl debug @quick              the last quick tasks
  gl debug S-07 --json > report.json`,
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.Complete(completeFirstAttempt),
		RunE: func(c *cobra.Command, a []string) error {
			return runDebug(c.Context(), app, append(a, "")[0], runTests, asJSON)
		},
	}
	c.Flags().BoolVar(&runTests, "run-tests", false, "run the project's test command, too")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// A debugDoc is what gl debug reports; its text is made from it.
type debugDoc struct {
	SchemaVersion int           `json:"schema_version"`
	Root          string        `json:"root"`    // absolute path of the project
	Slice         *debugSlice   `json:"slice"`   // null without the id of a slice
	Task          *debugTask    `json:"task"`    // null without the id of a task, such as @quick
	Project       *debugProject `json:"project"` // null with an id
	Tests         debugTests    `json:"tests"`
	Git           debugGit      `json:"git"`
	Hold          *plan.Hold    `json:"hold"` // null if nothing holds launches
}

// debugGit is what git knows; for a slice, about its files if it names any.
type debugGit struct {
	Error   *string      `json:"error"`   // why nothing is known
	Branch  *string      `json:"branch"`  // null if none is checked out
	Paths   []string     `json:"paths"`   // those that commits and dirty are about; empty for the whole project
	Commits []git.Commit `json:"commits"` // the newest first
	Dirty   []string     `json:"dirty"`   // lines of git status --porcelain
	Tags    []git.Tag    `json:"tags"`    // those that name the slice
}

func runDebug(ctx context.Context, app *cmdutil.App, id string, runTests, asJSON bool) error {
	if task, n, ok := attempt.SplitTask(id); ok {
		if runTests {
			return cmdutil.Usage("--run-tests goes with a slice, or without an id")
		}
		return runDebugTask(ctx, app, task, n, asJSON)
	}
	pr, err := app.Project()
	if err != nil {
		return err
	}
	now := time.Now()
	p, err := shownPlan(pr, now, "")
	if err != nil {
		return err
	}
	if id != "" {
		if id, err = app.Resolve(p, id); err != nil {
			return err
		}
	} else {
		app.Warn(p)
	}
	x := &debugging{app: app, pr: pr, p: p, now: now}
	doc, err := x.doc(ctx, id)
	switch {
	case err != nil:
		return err
	case asJSON:
		if runTests {
			busy := app.IO.Progress("running the tests")
			doc.Tests.run(ctx, app, pr.Root, func(line string) { busy.Step("running the tests: " + line) })
			busy.Done()
		}
		return app.IO.JSON(doc)
	}
	x.tell(ctx, doc, runTests)
	return nil
}

// debugging is one gl debug.
type debugging struct {
	app *cmdutil.App
	pr  *project.Project
	p   *plan.Plan
	now time.Time
}

// doc gathers what there is to know of a slice, or of the project where id is "".
func (x *debugging) doc(ctx context.Context, id string) (*debugDoc, error) {
	doc := &debugDoc{SchemaVersion: 1, Root: x.pr.Root, Hold: x.p.Hold, Tests: x.testCommand()}
	var files []string
	var err error
	if id == "" {
		doc.Project, err = x.project(ctx)
	} else if doc.Slice, err = x.slice(id); err == nil {
		files = doc.Slice.Files
	}
	if err != nil {
		return nil, err
	}
	doc.Git = x.git(ctx, id, files)
	return doc, nil
}

// tell writes the report as text.
func (x *debugging) tell(ctx context.Context, doc *debugDoc, runTests bool) {
	if doc.Slice != nil {
		x.tellSlice(doc.Slice)
	} else {
		x.tellProject(doc.Project)
	}
	if doc.Hold != nil {
		x.section("Held")
		x.line("%s", heldText(doc.Hold, x.now))
	}
	x.tellTests(ctx, doc, runTests)
	x.tellGit(doc)
	if doc.Slice != nil {
		x.tellContracts(doc.Slice.Contracts)
	}
}

func (x *debugging) section(title string) {
	x.app.IO.Printf("\n%s\n", x.app.IO.Paint(term.Bold, title))
}

// line writes one line of a section.
func (x *debugging) line(format string, a ...any) {
	text := "  " + strings.ReplaceAll(sanitize.Text(fmt.Sprintf(format, a...)), "\n", `\n`)
	x.app.IO.Printf("%s\n", term.Wrap(text, x.app.IO.Width(), 6))
}

// maxDirty is how many changed files are told as text.
const maxDirty = 50

func (x *debugging) tellGit(doc *debugDoc) {
	g := doc.Git
	x.section("Git")
	if g.Error != nil {
		x.line("%s", *g.Error)
		return
	}
	if g.Branch != nil {
		x.line("branch %s", *g.Branch)
	} else {
		x.line("no branch is checked out")
	}
	x.tellChanges(g)
	for _, t := range g.Tags {
		x.line("checkpoint %s: %s %s", t.Name, t.Hash, t.Date)
	}
	if len(g.Tags) == 0 && doc.Slice != nil {
		x.line("no checkpoint: no tag names %s", doc.Slice.ID)
	}
}

// tellChanges tells what was committed of the files, and what is not yet.
func (x *debugging) tellChanges(g debugGit) {
	of := "the project"
	if len(g.Paths) > 0 {
		of = "its files"
	}
	if len(g.Commits) == 0 {
		x.line("no commits of %s", of)
	} else {
		x.line("last commits of %s:", of)
	}
	for _, c := range g.Commits {
		x.line("  %s %s %s", c.Hash, c.Date, c.Subject)
	}
	if len(g.Dirty) == 0 {
		x.line("nothing is changed in %s since the last commit", of)
	} else {
		x.line("changed since the last commit:")
	}
	for i, f := range g.Dirty {
		if i == maxDirty {
			x.line("  … and %d more", len(g.Dirty)-i)
			break
		}
		x.line("  %s", f)
	}
}
