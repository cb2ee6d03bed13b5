package lane

import (
	"context"

	"greenlight/internal/base/durable"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// Stuck returns why the queue can't move until a person acts, as far as the branches alone tell; ""
// for no reason. It changes nothing, and says nothing of a queue that a process is moving.
func Stuck(ctx context.Context, pr *project.Project, repo *worktree.Repo) (reason string, err error) {
	if who, err := durable.Holder(repo.Queue.LockFile()); err == nil && who != "" {
		return "", nil
	}
	f, err := readFile(pr.Runs.Files.Dir())
	if err != nil || f.Target != repo.Target() { // the next turn takes all of it from git
		return "", nil
	}
	tip, err := git.ResolveCommit(ctx, repo.Git.Common, repo.Queue.Ref())
	if err != nil {
		return "", err
	}
	if still, err := strayed(ctx, repo, f, tip); err != nil {
		return "", err
	} else if still != nil {
		return still.Reason, nil
	}
	return Lost(ctx, pr, repo)
}

// Lost says that the target no longer contains what was merged into it, because it was reset; ""
// if it does.
func Lost(ctx context.Context, pr *project.Project, repo *worktree.Repo) (reason string, err error) {
	f, err := readFile(pr.Runs.Files.Dir())
	if err != nil || f.Target != repo.Target() {
		return "", nil
	}
	target, err := git.ResolveCommit(ctx, repo.Git.Common, f.Target)
	if err != nil || target == "" {
		return "", err
	}
	lost, err := lostBy(ctx, repo, f, target)
	if err != nil || !lost || git.LostByReset(ctx, repo.Git.Common, f.Target, f.Seen) {
		return "", err
	}
	return rewound(repo, f).Reason, nil
}

// strayed returns the standstill of a queue's branch that isn't where the file says, nil if it is.
// The next turn makes a deleted branch again where gl left it, if git still has that commit.
func strayed(ctx context.Context, repo *worktree.Repo, f *file, tip string) (*Standstill, error) {
	if f.Tip == "" || tip == f.Tip || tip != "" && tip == f.Next {
		return nil, nil
	}
	name, target := worktree.Short(repo.Queue.Ref()), worktree.Short(repo.Target())
	has, err := git.HasCommit(ctx, repo.Git.Common, f.Tip)
	switch {
	case err != nil:
		return nil, err
	case !has:
		return standstill("git no longer has %s, where gl left the branch %s (git prune, git gc --prune=now). Run gl land --reset to start over from %s",
			short(f.Tip), name, target), nil
	case tip == "":
		return nil, nil
	}
	return standstill("the branch %s isn't where gl left it (%s): it was moved. Move it back, or run gl land --reset to start over from %s",
		name, short(f.Tip), target), nil
}

// lostBy reports whether the target no longer contains what was merged into it.
func lostBy(ctx context.Context, repo *worktree.Repo, f *file, target string) (bool, error) {
	if f.Seen == "" || f.Seen == target {
		return false, nil
	}
	in, err := git.IsAncestor(ctx, repo.Git.Common, f.Seen, target)
	return err == nil && !in, err
}

// rewound is the standstill of a target that has lost merged work on purpose.
func rewound(repo *worktree.Repo, f *file) *Standstill {
	name := worktree.Short(repo.Target())
	return standstill("%s no longer contains %s: it was reset or rebased. Run gl land --reset to start over from %s as it is now",
		name, short(f.Seen), name)
}
