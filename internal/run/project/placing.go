package project

import (
	"context"
	"slices"

	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/workers"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// Take reports whether workers may get items of a tracker at all: slices in worktrees may.
func (w *Workers) Take(t tracker.Traits) bool { return w.Where != WhereHere && t.Lands }

// Here reports whether slices with these labels may be built on this machine.
func (w *Workers) Here(labels []string) bool {
	return w.Where == WhereHere || w.Where == WhereAuto && len(labels) == 0
}

// WorkerNeeds returns what a worker must have to build any of the project's slices.
func (c *Config) WorkerNeeds(ctx context.Context, repo *worktree.Repo) (n remote.Needs, err error) {
	if box := c.Sandbox; box != SandboxOff {
		n.Sandbox = box
	}
	n.Files, err = workers.Files(ctx, repo.Git.Top)
	return n, err
}

// addUnplaced adds the items that only workers may build, and that none of them can get.
func addUnplaced(p *Project, s *plan.Snapshot) {
	if !p.Config.Workers.Take(p.Tracker.Traits()) {
		return
	}
	var o *obstacles
	for _, it := range s.Items {
		if p.Config.Workers.Here(it.Labels) || plan.Classify(it.Status) == plan.Done ||
			s.Attempts[it.ID].Open() {
			continue
		}
		if o == nil {
			if o = newObstacles(p); o == nil {
				return
			}
			s.Outlook.Unplaced = map[string]plan.Obstacle{}
		}
		if found := o.of(it); found.Cause != "" && !(s.Used[it.ID] > 0 && o.isHere(p.Key(), it.ID)) {
			s.Outlook.Unplaced[it.ID] = found
		}
	}
}

// obstacles finds out whether workers can get items.
type obstacles struct {
	repo   *worktree.Repo
	list   *workers.List
	needs  remote.Needs
	agents []string
}

// newObstacles returns nil if items are built without workers, or if that can't be told.
func newObstacles(p *Project) *obstacles {
	ctx := context.Background()
	repo, err := p.Worktrees(ctx)
	if err != nil {
		return nil
	}
	o := &obstacles{repo: repo, agents: p.Config.Agent}
	if o.needs, err = p.Config.WorkerNeeds(ctx, repo); err != nil {
		return nil
	}
	o.list, err = workers.Read(p.Runs.Files.Dir())
	if err != nil {
		return nil
	}
	return o
}

// of returns what keeps an item from all workers. It may be built by any of the agents.
func (o *obstacles) of(it *plan.Item) (first plan.Obstacle) {
	agents := o.agents
	if it.Agent != "" {
		agents = []string{it.Agent}
	}
	needs := o.needs
	needs.Labels = it.Labels
	for _, needs.Agent = range slices.Backward(agents) {
		if first = o.list.Obstacle(needs); first.Cause == "" {
			return first
		}
	}
	return first
}

// isHere reports whether the item's worktree is on this machine, where its work goes on.
func (o *obstacles) isHere(system, id string) bool {
	l, err := o.repo.Lineages.Get(system, id)
	return err == nil && l.Phase != worktree.Gone && l.IsHere()
}
