package site

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/environ"
	"greenlight/internal/core/plan"
	"greenlight/internal/workspace/isolation"
	"greenlight/internal/workspace/worktree"
)

// TearDown runs a project's teardown command in a worktree that is about to be removed, to stop
// what setup has started. Without a command it does nothing.
func TearDown(
	ctx context.Context, root string, repo *worktree.Repo, l *worktree.Lineage,
	run Runner, env, argv []string, limit time.Duration,
) error {
	if len(argv) == 0 {
		return nil
	}
	own := isolation.Worktree{
		Root: root, Project: filepath.Base(root), System: l.System, Slice: l.Slice, N: l.N,
		Ports: l.Ports,
	}
	env = append(own.Env(append(env, "GREENLIGHT_ROOT="+root)), environ.SetupMark(root))
	res, err := run(ctx, command.Spec{Argv: argv, Dir: repo.Layout.Dir(l), Env: env, Limit: limit})
	switch {
	case err != nil:
		return fmt.Errorf("git.teardown: %w", err)
	case !res.OK():
		return fmt.Errorf("git.teardown failed: %s", res.How(plan.Age(limit)))
	}
	return nil
}
