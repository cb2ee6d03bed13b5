package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// decideHelp is the help text shared by gl accept and gl reject.
const decideHelp = `

--force also takes a slice that is being verified or has stalled, but never one whose agent is still running.

Exit codes: 0 done; 1 the slice isn't awaiting approval%s; 2 wrong usage; 3 it is being worked on.`

func newAccept(app *cmdutil.App) *cobra.Command {
	var how ops.Approval
	c := &cobra.Command{
		Use:   "accept ID",
		Short: "Approve a slice that awaits your review",
		Long: `Approve a slice that awaits review and mark it complete. Slices that depend on it can then be built.

A slice that was built in a worktree is complete once it is merged: gl merges and tests it now. If the tests fail, or it
conflicts, it awaits review again, with the reason: gl retry has its agent put that right, or you do, and accept it again. Tests that
it removes or skips, and changes of what the test command runs, are named first; they are merged once you have accepted them.

A GSD phase or Specwright unit that waits because its tests failed is tested again in the checkout, where you may have fixed it, and is
done if they pass. gl retry has an agent do that.

--tests takes a slice that is red because its tests were changed after they were handed over: it shows the difference, and the
slice is merged if the tests pass. To start over instead: gl retry --fresh ID.

--note adds a line to the slice's decisions.` + fmt.Sprintf(decideHelp, ", can't be written, fails the tests, or isn't merged yet (gl land continues)"),
		Example:           "  gl accept S-07\n  gl accept S-07 --note 'good enough for the pilot'",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: cmdutil.CompleteFirst(app.CompleteSome(waiting)),
		RunE: func(c *cobra.Command, a []string) error {
			if err := refuseTask(app, a[0]); err != nil {
				return err
			}
			if how.Text != "" && !ops.IsLine(how.Text) {
				return cmdutil.Usage("--note must be one line of text without control characters")
			}
			if how.Tests {
				if err := showTests(c.Context(), app, a[0]); err != nil {
					return err
				}
			}
			return runAccept(c.Context(), app, a[0], how)
		},
	}
	c.Flags().BoolVar(&how.Force, "force", false,
		"also accept a slice that is being verified or has stalled")
	c.Flags().BoolVar(&how.Tests, "tests", false,
		"show how the tests of a red slice were changed, and accept that")
	c.Flags().StringVar(&how.Text, "note", "", "add `TEXT` to the slice's decisions")
	return c
}

// refuseTask refuses a task, which can't be accepted, and explains how its work is merged.
func refuseTask(app *cmdutil.App, name string) error {
	id, n, ok := attempt.SplitTask(name)
	if !ok {
		return nil
	}
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	recs, err := pr.Runs.History(id)
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(recs) {
		if n != 0 && r.ID.N != n {
			continue
		}
		if way := attempttext.ToAccept(r); way != "" {
			return fmt.Errorf("%s is a task, not a slice: %s", r.ID.Name(), sanitize.Line(way))
		}
		break
	}
	return fmt.Errorf("%s is a task, not a slice, and awaits no approval", sanitize.Line(name))
}

// waiting returns the slices that wait for a person.
func waiting(p *plan.Plan) []string { return p.Lists.Waiting }

// showTests prints how a red slice's agent changed the tests after the hand-over.
func showTests(ctx context.Context, app *cmdutil.App, id string) error {
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	if built, err := ops.Built(ctx, pr, id); err != nil || built == nil {
		return cmp.Or(err, showTestsHere(app, pr, id))
	}
	l, err := openLane(ctx, app, pr, pr.Root)
	if err != nil {
		return err
	}
	d, paths, err := l.Reader.TestsDiff(ctx, id)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("the tests of %s are unchanged since the hand-over, so there is nothing to accept: run gl why %s", id, id)
	}
	var text bytes.Buffer
	if err := git.Diff(ctx, l.Repo.Git.Common, d.From, d.To, git.DiffOptions{Paths: paths},
		&text); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		app.IO.Printf("%s\n", sanitize.Text(strings.TrimSuffix(line, "\n")))
	}
	return nil
}

// showTestsHere names the differing tests of a slice that was built in the checkout.
func showTestsHere(app *cmdutil.App, pr *project.Project, id string) error {
	if err := ops.TestsToAccept(pr, id); err != nil {
		return err
	}
	recs, err := pr.Runs.Last(id)
	if err == nil {
		app.IO.Printf("%s\n",
			sanitize.Line(gate.ItemsText(recs[id][0].Judged.Gate.Answer(gate.Tests).Items)))
	}
	return err
}

func runAccept(ctx context.Context, app *cmdutil.App, id string, how ops.Approval) error {
	if f, err := fixed(app, id); err != nil || f != nil {
		if err == nil {
			err = acceptFixed(ctx, app, f)
		}
		return err
	}
	named := id
	pr, id, err := app.Slice(id)
	if err != nil {
		return cmdutil.Instead(err, "in other projects it only tests again what waits because its tests "+
			"failed; gl why "+sanitize.Line(named)+" says what this one waits for")
	}
	built, err := ops.Built(ctx, pr, id)
	if err != nil {
		return err
	}
	var l *lane.Queue
	if built != nil {
		if l, err = permittedLane(ctx, app, pr); err != nil {
			return err
		}
	}
	a, err := ops.Accept(ctx, pr, id, built, how)
	switch {
	case errors.Is(err, ops.ErrNothingToDo):
		app.IO.Printf("%s is complete already\n", id)
		return nil
	case err != nil:
		return err
	case a.Queued == nil:
		app.IO.Printf("%s is complete\n", id)
		return tellReady(app, a)
	}
	if err = landAccepted(ctx, app, l, built, a); err != nil {
		tellSentBack(app, pr, id)
	}
	return err
}

// tellSentBack says what helps a slice whose approved work couldn't be merged.
func tellSentBack(app *cmdutil.App, pr *project.Project, id string) {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return
	}
	if st := p.State(id); st != nil && st.SentBack() != "" {
		app.IO.Message("gl retry %s has its agent put that right. If you have done that yourself, gl accept %[1]s merges it", id)
	}
}

// fixed returns another system's item that is held back because its tests failed; nil for any
// other, about which app.Slice says more.
func fixed(app *cmdutil.App, id string) (*ops.Fixed, error) {
	pr, err := app.Project()
	if err != nil || pr.Tracker.Traits().Completes {
		return nil, nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, err
	}
	if id, _, err = project.Resolve(p, id); err != nil {
		return nil, nil
	}
	return ops.HeldBack(pr, id)
}

// acceptFixed tests what a person may have fixed in the checkout.
func acceptFixed(ctx context.Context, app *cmdutil.App, f *ops.Fixed) error {
	if err := permit(ctx, app, f.Project.Root, f.Commands); err != nil {
		return err
	}
	self, err := cmdutil.Self()
	if err != nil {
		return err
	}
	before, err := f.Project.Plan(time.Now(), f.Project.Options())
	if err != nil {
		return err
	}
	busy := app.IO.Progress("running the tests of " + f.ID)
	v, err := f.Test(ctx, self, app.Environ)
	busy.Done()
	if err != nil {
		return err
	}
	if !v.Green() {
		app.IO.Printf("%s\n", sanitize.Line(f.ID+" isn't done: its tests fail ("+v.How(plan.Age(f.Limit()))+")"))
		for _, line := range v.Shown() {
			app.IO.Printf("    %s\n", sanitize.Line(line))
		}
		app.IO.Printf("all of it is in %s\n", sanitize.Line(v.Log))
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	app.IO.Printf("%s is done: its tests pass (%.1fs)\n", f.ID, v.Seconds)
	return tellReady(app, ops.After(f.Project, before))
}

// tellReady prints what became ready because of it.
func tellReady(app *cmdutil.App, a *ops.Acceptance) error {
	ready, err := a.Ready()
	if len(ready) > 0 {
		app.IO.Printf("Ready now: %s\n", strings.Join(ready, ", "))
	}
	return err
}

// landAccepted works the lane for a slice that was accepted, unless a run does, and says how that
// ended.
func landAccepted(ctx context.Context, app *cmdutil.App, l *lane.Queue, built *worktree.Lineage,
	a *ops.Acceptance) error {
	id, pr := a.Queued.ID.Slice, l.Project
	if change, err := l.Reader.Changes(ctx, built); err == nil {
		// else the lane says what is the matter
		app.IO.Printf("%s: %s\n", id, changeText(change))
	}
	busy := app.IO.Progress("merging " + id)
	l.Told = func(line string) {
		busy.Step(sanitize.Text(line))
		app.IO.Detail("%s", sanitize.Text(line))
	}
	leader, err := ops.WorkQueue(ctx, l)
	busy.Done()
	if err != nil {
		return err
	}
	if leader != "" {
		app.IO.Printf("%s is accepted, and the running gl slice merges it: %s\n", id,
			sanitize.Text(leader))
		return nil
	}
	final, err := pr.Runs.Get(id, a.Queued.ID.N)
	if err != nil {
		return err
	}
	app.IO.Printf("%s\n", term.Wrap(sanitize.Text(attempttext.Ended(final, pr.Flags())), app.IO.Width(), 2))
	status := lane.ReadStatus(pr.Runs.Files.Dir())
	tellUndelivered(app.IO, status)
	if !final.Judged.Outcome.Traits().Success {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	if err := tellReady(app, a); err != nil || status.Has(id) {
		return err
	}
	return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
}

// changeText describes a change as git does: "2 files changed, 10 insertions, 1 deletion".
func changeText(c git.DiffStat) string {
	text := words.Count(c.Files, "file") + " changed"
	if c.Insertions > 0 {
		text += ", " + words.Count(c.Insertions, "insertion")
	}
	if c.Deletions > 0 {
		text += ", " + words.Count(c.Deletions, "deletion")
	}
	return text
}
