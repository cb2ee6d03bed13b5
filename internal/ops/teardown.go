package ops

import (
	"context"
	"fmt"
	"path/filepath"

	"greenlight/internal/command"
	"greenlight/internal/isolation"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/worktree"
)

// tearDown runs git.teardown in a worktree that is about to be removed: it stops what git.setup has started. It has as long as
// setup has. self is the path of gl.
func tearDown(ctx context.Context, pr *project.Project, repo *worktree.Repo, l *worktree.Lineage, self string, environ []string) error {
	argv, limit := pr.Config.Git.Teardown, pr.Config.Git.SetupLimit
	if len(argv) == 0 {
		return nil
	}
	own := isolation.Worktree{Root: pr.Root, Project: filepath.Base(pr.Root), System: l.System, Slice: l.Slice, N: l.N, Ports: l.Ports}
	res, err := command.Run(ctx, command.Spec{
		Self: self, Argv: argv, Dir: repo.Dir(l), Env: own.Env(append(environ, "GREENLIGHT_ROOT="+pr.Root)), Limit: limit,
	})
	switch {
	case err != nil:
		return fmt.Errorf("git.teardown: %w", err)
	case !res.OK():
		return fmt.Errorf("git.teardown failed: %s", res.How(plan.Age(limit)))
	}
	return nil
}
