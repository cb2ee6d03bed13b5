package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/trust"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/status"
	"greenlight/internal/workspace/worktree"
)

func newLand(app *cmdutil.App) *cobra.Command {
	var reset bool
	c := &cobra.Command{
		Use:   "land [BRANCH...]",
		Short: "Merge what had to wait, or branches of your own",
		Long: `Merge and test the slices in the merge queue, and merge those that pass into the target branch.

A run of gl slice does this by itself. gl land continues where that had to wait: something was uncommitted, a rebase was in
progress, or the target had moved in a way that needs you. With git.deliver pr it pushes the merge queue's branch, opens a pull
request for it, and checks whether that has been merged.

With branches, merge these: a person's, or another tool's. Each is tested and merged like a slice's work; the branch itself
doesn't change. If the tests fail, or it conflicts, it isn't merged: commit to the branch and run gl land again. This works in any
git repository; without a project, the state is kept in .greenlight, where git ignores it.

Exit codes: 0 everything is merged; 1 something isn't, or it failed; 2 wrong usage.`,
		Example:           "  gl land\n  gl land --reset\n  gl land feature fix-login",
		ValidArgsFunction: app.CompleteBranches,
		RunE: func(cmd *cobra.Command, branches []string) error {
			if len(branches) > 0 && reset {
				return cmdutil.Usage("--reset goes without branches")
			}
			if len(branches) > 0 {
				return landBranches(cmd.Context(), app, branches)
			}
			return runLand(cmd.Context(), app, reset)
		},
	}
	c.Flags().BoolVar(&reset, "reset", false, "restart the merge queue's branch at the target branch; work that isn't merged yet stays on the slices' branches")
	return c
}

func runLand(ctx context.Context, app *cmdutil.App, reset bool) error {
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	l, err := permittedLane(ctx, app, pr)
	if err != nil {
		return err
	}
	if p, err := pr.Plan(time.Now(), pr.Options()); err == nil {
		app.About(pr, p, append(slices.Clone(p.Lists.Landing),
			lane.ReadStatus(pr.Runs.Files.Dir()).Undelivered...)...)
	}
	l.Told = func(line string) { app.IO.Message("%s", sanitize.Text(line)) }
	again := false
	if reset {
		dropped, reopened, err := l.Reset(ctx)
		if err != nil {
			return err
		}
		if len(dropped) > 0 {
			app.IO.Message("taken out of the merge queue, and kept on the slices' branches: %s",
				strings.Join(dropped, ", "))
		}
		if len(reopened) > 0 {
			app.IO.Message("to be built again from %s: %s; %s", worktree.Short(l.Repo.Target()),
				strings.Join(reopened, ", "), startText(pr, "that"))
			again = true
		}
	}
	still := ops.LandNow(ctx, l)
	if still != nil && !errors.As(still, new(*lane.Standstill)) {
		return still
	}
	queue, err := pr.Runs.Queue()
	if err != nil {
		return err
	}
	for _, r := range queue {
		app.IO.Printf("%s is in the merge queue: %s\n", r.ID.Slice, sanitize.Text(pr.QueueText(r)))
	}
	status := lane.ReadStatus(pr.Runs.Files.Dir())
	tellUndelivered(app.IO, status)
	if len(queue)+len(status.Waiting()) > 0 {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	if still != nil {
		return still
	}
	if again { // what is to be built again isn't merged
		return nil
	}
	return tellMerged(ctx, app, l, status)
}

// tellMerged says where everything is that has landed.
func tellMerged(ctx context.Context, app *cmdutil.App, l *lane.Queue, status lane.Status) error {
	pr := l.Project
	if err := l.Repo.CheckTarget(ctx); err != nil && !errors.Is(err, worktree.ErrNoCommit) {
		return err
	}
	switch {
	case sibling(pr):
		app.IO.Printf("Nothing to merge: %s's work is committed in the checkout.\n", pr.System().Name)
	case status.PullRequest != nil:
	case pr.Config.Git.Deliver == project.DeliverMerge:
		app.IO.Printf("Everything is merged into %s.\n", worktree.Short(l.Repo.Target()))
		if note := otherBranchText(l.Repo); note != "" {
			app.IO.Message("note: %s", note)
		}
	case pr.Config.Git.Deliver == project.DeliverPR:
		app.IO.Printf("No pull request is open: everything is merged.\n")
	default:
		app.IO.Printf("Everything is merged into %s.\n", worktree.Short(l.Repo.Queue.Ref()))
	}
	return nil
}

// permittedLane opens the project's lane for a command: what it runs must have been allowed.
func permittedLane(ctx context.Context, app *cmdutil.App,
	pr *project.Project) (*lane.Queue, error) {
	commands, err := pr.MustAllow().ForQueue(ctx)
	if err == nil {
		err = permit(ctx, app, pr.Root, commands)
	}
	if err != nil {
		return nil, err
	}
	return openLane(ctx, app, pr, pr.Root)
}

// openLane opens the project's lane. trustRoot is the project whose commands this person has
// allowed.
func openLane(ctx context.Context, app *cmdutil.App, pr *project.Project,
	trustRoot string) (*lane.Queue, error) {
	self, err := cmdutil.Self()
	if err != nil {
		return nil, err
	}
	l, err := ops.OpenQueue(ctx, pr, self, app.Environ, trust.Open(app.Getenv), trustRoot)
	if err != nil {
		return nil, err
	}
	l.Told = func(line string) { app.IO.Detail("%s", sanitize.Text(line)) }
	l.Noted = func(line string) { app.IO.Message("%s", sanitize.Text(line)) }
	return l, nil
}

// tellUndelivered says what has landed and isn't where it belongs, and why.
func tellUndelivered(out *iostreams.Streams, s lane.Status) {
	if pr := s.PullRequest; pr != nil {
		out.Printf("%s\n",
			term.Wrap("  Pull request: "+sanitize.Text(status.Proposed(s)), out.Width(), 4))
	}
	if len(s.Waiting()) == 0 {
		return
	}
	out.Printf("%s\n", term.Wrap("  Not merged yet: "+
		sanitize.Text(words.Some(s.Waiting())+": "+unmergedReason(s)), out.Width(), 4))
}

// unmergedReason says why the target doesn't have what is merged, and which command helps, which
// the reason may name itself.
func unmergedReason(s lane.Status) string {
	reason := cmp.Or(s.Reason, "it hasn't been tried yet")
	if strings.Contains(reason, "gl land") {
		return reason
	}
	return reason + ". Run gl land"
}
