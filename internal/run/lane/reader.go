package lane

import (
	"context"

	"greenlight/internal/run/project"
	"greenlight/internal/workspace/worktree"
)

// A Reader answers questions about the work on slices, and about what has landed, without the
// queue's lock. It changes nothing but git's objects.
type Reader struct {
	project *project.Project
	repo    *worktree.Repo
	history history
	trees   *trees
	inspect *inspector
}

// OpenReader returns the reader of a project. The error is a *worktree.Unavailable where the
// project can't have worktrees.
func OpenReader(ctx context.Context, pr *project.Project) (*Reader, error) {
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	files := &trees{repo: repo}
	return &Reader{
		project: pr, repo: repo, history: history{project: pr, repo: repo},
		trees: files, inspect: &inspector{project: pr, repo: repo, trees: files},
	}, nil
}
