package cli

import (
	"context"
	"errors"
	"fmt"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/sandbox"
	"greenlight/internal/workspace/worktree"
)

// isolate applies --isolation to the configuration of this run.
func isolate(pr *project.Project, isolation string) error {
	switch {
	case isolation == "":
	case isolation != project.IsolationShared && isolation != project.IsolationWorktree:
		return cmdutil.Usage("--isolation must be %s",
			cmdutil.MustBe(isolation, project.Isolations()))
	default:
		pr.Config.Git.Isolation, pr.Config.Git.Asked = isolation, true
	}
	return nil
}

// A workplaces opens what a run's agents work in: worktrees, or the checkout.
type workplaces struct {
	app    *cmdutil.App
	pr     *project.Project
	task   bool // instead of slices
	force  bool // start even if the agents won't see everything
	copied bool // pr is a scratch copy, whose agent is gl's own
}

// open returns the repository for the slices' worktrees; nil if they are built in the
// checkout.
func (w *workplaces) open(ctx context.Context) (*worktree.Repo, error) {
	if w.pr.Config.Git.Isolation != project.IsolationWorktree {
		return nil, w.unconfined("git.isolation is " + project.IsolationShared)
	}
	if !w.pr.Tracker.Traits().Lands && !w.pr.Stateless() {
		if err := w.unconfined(w.pr.System().Name +
			" slices are built in the checkout"); err != nil {
			return nil, err
		}
		if w.pr.Config.Git.Asked {
			w.app.IO.Message("isolation is shared: %s slices are built in the checkout",
				w.pr.System().Name)
		}
		w.noteBranch(ctx)
		w.noteTheirs(ctx)
		return nil, nil
	}
	repo, err := w.pr.OpenWorktrees(ctx)
	if none := new(worktree.Unavailable); errors.As(err, &none) {
		if err := w.unconfined(none.Reason); err != nil {
			return nil, err
		}
		w.noteCheckout(none)
		return nil, nil
	}
	if errors.Is(err, worktree.ErrNoCommit) && !w.pr.Config.Git.Asked {
		if err := w.unconfined(worktree.ErrNoCommit.Reason); err != nil {
			return nil, err
		}
		w.app.IO.Message("isolation is shared: %s. To have %s in a worktree of its own, %s",
			worktree.ErrNoCommit.Reason, w.each(), worktree.ErrNoCommit.Help)
		return nil, nil
	}
	if err != nil {
		return nil, w.orShared(err)
	}
	if w.pr.Config.Sandbox == project.SandboxBwrap {
		if err := sandbox.Check(ctx); err != nil {
			return nil, fmt.Errorf("sandbox is bwrap, so nothing was started: %w, or gl settings set sandbox off", err)
		}
	}
	if w.copied { // its agents read no documents
		return repo, nil
	}
	if note := otherBranchText(repo); note != "" && w.pr.Config.Git.Deliver == project.DeliverMerge {
		w.app.IO.Message("note: %s", note)
	}
	if err := git.Mend(repo.Git.Common); err != nil {
		return nil, err
	}
	return repo, w.noteUnseen(ctx, repo)
}

// orShared adds to a refusal that slices can be built in the checkout.
func (w *workplaces) orShared(err error) error {
	if refused := new(worktree.Refused); !errors.As(err, &refused) || w.pr.Config.Git.Asked {
		return err
	}
	return fmt.Errorf("%w, or build in the checkout: gl settings set git.isolation %s",
		err, project.IsolationShared)
}

// inTheWay returns what open would refuse worktrees for, without making anything.
func (w *workplaces) inTheWay(ctx context.Context) error {
	if w.pr.Config.Git.Isolation != project.IsolationWorktree || !w.pr.Tracker.Traits().Lands {
		return nil
	}
	repo, err := w.pr.Worktrees(ctx)
	if err != nil { // then they are built in the checkout
		return nil
	}
	err = repo.CheckNew(ctx)
	if errors.Is(err, worktree.ErrNoCommit) && !w.pr.Config.Git.Asked {
		return nil
	}
	return w.orShared(err)
}

// noteBranch says, once, that agents commit to the branch that is checked out.
func (w *workplaces) noteBranch(ctx context.Context) {
	top, err := git.Root(ctx, w.pr.Root)
	if w.copied || err != nil || top == "" {
		return
	}
	text := fmt.Sprintf("note: agents work in %s itself", w.pr.Root)
	if branch, err := git.Branch(ctx, top); err == nil && branch != "" {
		text += ", and commit to its branch, " + branch
	} else {
		text += ", and commit there"
	}
	if text += ": gl merges nothing"; w.pr.Runs.Files.FirstTime(text) {
		w.app.IO.Message("%s", sanitize.Text(text))
	}
}

// noteTheirs names what a person hasn't committed in the checkout that agents are to work in: they
// may change it, and commit it with their own work.
func (w *workplaces) noteTheirs(ctx context.Context) {
	if w.copied {
		return
	}
	if files, err := ops.Uncommitted(ctx, w.pr); err == nil && len(files) > 0 {
		w.app.IO.Message("agents work in %s itself, and may commit what you haven't: %s", w.pr.Root,
			sanitize.Text(words.Some(files)))
	}
}

// noteCheckout says that agents work in the checkout, and why. Without a repository, once is
// enough.
func (w *workplaces) noteCheckout(none *worktree.Unavailable) {
	switch text := fmt.Sprintf("note: agents work in %s itself, which is in no git repository: nothing is tested on a merge, and there is no diff and no undo", w.pr.Root); {
	case w.pr.Config.Git.Asked || !none.NoRepository:
		w.app.IO.Message("isolation is shared: %s", none.Reason)
	case !w.copied && w.pr.Runs.Files.FirstTime(text):
		w.app.IO.Message("%s", sanitize.Text(text))
	}
}

// each names what has its own worktree.
func (w *workplaces) each() string {
	if w.task {
		return "the task"
	}
	return "each slice"
}

// unconfined refuses to run agents in a checkout if they should be confined, which works only in
// worktrees. The agent of a scratch copy is gl's own.
func (w *workplaces) unconfined(why string) error {
	if w.pr.Config.Sandbox != project.SandboxBwrap || w.copied {
		return nil
	}
	return fmt.Errorf("sandbox is bwrap, and it confines agents in worktrees only, but %s. "+
		"Run gl settings set git.isolation worktree, or gl settings set sandbox off", why)
}

// unseenText lists the documents that agents won't see.
func unseenText(documents []string) string {
	n := len(documents)
	return fmt.Sprintf("%s not committed, so agents in worktrees won't see %s: %s%s",
		words.Count(n, "document")+map[bool]string{true: " is", false: " are"}[n == 1],
		map[bool]string{true: "it", false: "them"}[n == 1], sanitize.Text(documents[0]),
		words.More(n-1))
}

// noteUnseen prints what agents won't see in their worktrees because it isn't committed. If slices
// are built from it, it asks before starting.
func (w *workplaces) noteUnseen(ctx context.Context, repo *worktree.Repo) error {
	unseen, err := ops.FindUnseen(ctx, w.pr)
	if err != nil || len(unseen.Documents)+len(unseen.Files) == 0 {
		return err
	}
	if n := len(unseen.Files); n > 0 {
		until := "until you commit " + map[bool]string{true: "it", false: "them"}[n == 1]
		if otherBranchText(repo) != "" {
			until = "of this checkout, since they start from " + worktree.Short(repo.Target())
		}
		w.app.IO.Message("agents won't see %s %s: %s", words.Count(n, "uncommitted file"), until,
			sanitize.Text(words.Some(unseen.Files)))
	}
	if len(unseen.Documents) == 0 {
		return nil
	}
	what := unseenText(unseen.Documents)
	if w.force || w.app.Confirm(what+". Start anyway?") {
		return nil
	}
	if w.task {
		return errors.New(what +
			". Run git add and git commit first, or work in the checkout: --isolation shared")
	}
	return errors.New(what + ". Run git add and git commit first")
}

// otherBranchText notes that merged work doesn't reach this checkout, because its branch isn't the
// one that the project's work is merged into, or because HEAD is detached; "" if it does.
func otherBranchText(repo *worktree.Repo) string {
	branch, err := (git.Worktree{Common: repo.Git.Common, Admin: repo.Git.GitDir,
		Path: repo.Git.Top}).Branch()
	if err != nil || branch == repo.Target() || repo.Target() == "" {
		return ""
	}
	target := worktree.Short(repo.Target())
	if branch == "" {
		return fmt.Sprintf("HEAD is detached in %s: merged work goes to %s, and these files don't change until git switch %s", repo.Git.Top, target, target)
	}
	branch = worktree.Short(branch)
	return fmt.Sprintf("merged work goes to %s, and %s is checked out: gl settings set git.target %s has it merged there",
		target, branch, shellwords.Quote(branch))
}
