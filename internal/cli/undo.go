package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/workspace/worktree"
)

func newUndo(app *cmdutil.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "undo ID [TEXT]",
		Short: "Take back a merged slice or task",
		Long: `Take back a merged slice: gl reverts its merge, tests what is left, merges that into the target branch, and makes the slice pending
again. TEXT says why: it is added to the slice's decisions, and its next agent reads it. That agent starts on a new branch, with the
earlier work. A merged task, such as @quick.1, is taken back in the same way, and isn't done again.

A slice that other finished slices need is taken back after them. Where the tests fail without it, it stays.

Exit codes: 0 taken back; 1 it isn't merged, is needed, conflicts with later work, or the tests fail without it; 2 wrong usage.`,
		Example: `  gl undo S-07 "it must not send mail to test accounts"
  gl undo @quick               the last quick task`,
		Args:              cmdutil.Args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: cmdutil.CompleteFirst(completeTasks(app, app.CompleteSome(done), false)),
		RunE: func(c *cobra.Command, a []string) error {
			return runUndo(c.Context(), app, a[0],
				strings.TrimSpace(strings.Join(a[1:], " ")), force)
		},
	}
	c.Flags().BoolVar(&force, "force", false,
		"take it back although finished slices need it, or the tests fail without it")
	return c
}

// done selects the finished slices.
func done(p *plan.Plan) []string {
	var ids []string
	for i := range p.States {
		if p.States[i].Class == plan.Done {
			ids = append(ids, p.States[i].ID)
		}
	}
	return ids
}

func runUndo(ctx context.Context, app *cmdutil.App, id, text string, force bool) error {
	if text != "" && !ops.IsLine(text) {
		return cmdutil.Usage("say why in one line of text without control characters")
	}
	pr, id, err := app.Work(id)
	if err != nil {
		return cmdutil.Instead(err, committedHere+"git revert COMMIT takes one back")
	}
	l, err := permittedLane(ctx, app, pr)
	if err != nil {
		return err
	}
	busy := app.IO.Progress("taking back " + id)
	l.Told = func(line string) {
		busy.Step(sanitize.Text(line))
		app.IO.Detail("%s", sanitize.Text(line))
	}
	u, err := l.Undo(ctx, id, text, force)
	busy.Done()
	if err != nil {
		return err
	}
	if err := pr.Tracker.Refresh(ctx); err != nil {
		return err
	}
	tests := "no tests were run"
	if v := u.Verdict; v != nil {
		if tests = "without it, the tests pass"; !v.Green() {
			tests = "without it, the tests fail (" +
				strings.TrimPrefix(lane.How(v, pr.Config.Test.Limit), "tests: ") + ")"
		}
	}
	if attempt.IsTask(id) {
		app.IO.Printf("%s is taken back; %s\n", id, tests)
	} else {
		app.IO.Printf("%s is taken back and pending again; %s\n", id, tests)
		app.IO.Message("%s again, with this work to put right; gl retry --fresh%s %[3]s begins without it, gl remove%[2]s %[3]s drops it",
			startText(pr, "it"), pr.Flags(), id)
	}
	status := lane.ReadStatus(pr.Runs.Files.Dir())
	if len(status.Waiting()) == 0 {
		app.IO.Printf("The revert is merged into %s\n", worktree.Short(l.Repo.Target()))
	}
	tellUndelivered(app.IO, status)
	return nil
}
