package lane

import (
	"context"

	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

// A cleanup removes worktrees whose work has landed or was empty.
type cleanup struct {
	project  *project.Project
	repo     *worktree.Repo
	self     string
	environ  []string
	commands *commands
	tell     func(format string, a ...any)
}

// tidy removes the worktree of work that has landed. If it can't, gl clean says why.
func (c *cleanup) tidy(ctx context.Context, r *attempt.Record) {
	lineage, err := c.repo.Lineages.Get(r.ID.System, r.ID.Work())
	if err != nil || lineage.N != r.Place.Lineage {
		return
	}
	kept, err := c.discard(ctx, lineage)
	if err != nil {
		c.tell("%s: its worktree stays: %v", r.ID.Label(), err)
	} else if kept != "" {
		c.tell("%s: its worktree stays: %s", r.ID.Label(), kept)
	}
}

// discard removes the worktree of a slice that has landed.
func (c *cleanup) discard(ctx context.Context, lineage *worktree.Lineage) (kept string, err error) {
	// Also if something else keeps the worktree: a summary is for people to read now.
	if err := c.repo.Cleaner.TakeDocuments(ctx, lineage); err != nil {
		return "", err
	}
	if config := c.commands.conf.Config.Git; len(config.Teardown) > 0 {
		if err := c.commands.allowed(ctx); err != nil {
			return "", err
		}
		if removable, why, err := c.repo.Cleaner.Removable(ctx, lineage,
			worktree.RemoveOptions{}); err != nil || !removable {
			return why, err
		}
		if err := site.TearDown(ctx, c.project.Root, c.repo, lineage,
			executor.Commands(executor.NewLocal(c.self)), c.environ, config.Teardown,
			config.SetupLimit); err != nil {
			return "", err
		}
	}
	return c.repo.Cleaner.Remove(ctx, lineage, worktree.RemoveOptions{})
}
