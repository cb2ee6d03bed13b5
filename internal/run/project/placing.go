package project

import (
	"context"
	"fmt"
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
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

// A Before is what an item's next attempt goes on with.
type Before struct {
	Here    bool      // in its worktree on this machine, and nowhere else
	Worker  string    // the worker that had its last attempt; "" for none
	Lineage string    // its worktree's name there
	Since   time.Time // when the next attempt could begin
}

// BeforeOf returns what an item's next attempt goes on with. An agent's conversation is with who
// built it, not with who accepted that. What can't be read has no worker.
func BeforeOf(ctx context.Context, p *Project, repo *worktree.Repo, system, id string) (b Before) {
	l, err := repo.Lineages.Get(system, id)
	if err != nil || l.Phase == worktree.Gone {
		return Before{}
	}
	of := &attempt.Record{}
	of.ID.System, of.ID.Slice, of.Place.Lineage = system, id, l.N
	last, err := p.Runs.LastIn(of, func(r *attempt.Record) bool { return !r.Accepted() })
	remote := err == nil && last != nil && last.Life.Remote != nil
	if b.Here = l.IsHere(); b.Here && remote {
		needless, err := repo.Needless(ctx, l)
		b.Here = err != nil || !needless
	}
	if b.Here || !remote {
		return b
	}
	b.Worker, b.Lineage = last.Life.Remote.Worker, workers.LineageName(l.System, l.Slice, l.N)
	if last.Life.SettledAt != nil {
		b.Since = *last.Life.SettledAt
	}
	if last.Since.At.After(b.Since) {
		b.Since = last.Since.At
	}
	return b
}

// Wish returns what a job needs, and what it goes on with, for the choice of its worker.
func (b Before) Wish(needs remote.Needs) remote.Wish {
	return remote.Wish{Needs: needs, Lineage: b.Lineage, Before: b.Worker, Waited: time.Since(b.Since)}
}

// Waits says that the next attempt waits for the worker, why, and how long.
func (b Before) Waits(why string) string {
	return fmt.Sprintf("waits until %s for worker %s, which has its conversation: %s",
		plan.At(b.Since.Add(remote.DefaultPolicy.Return), time.Now(), "15:04"), b.Worker, why)
}

// addUnplaced adds the items that wait for a worker: the one that has their agents' conversation,
// or any where only workers may build them.
func addUnplaced(p *Project, s *plan.Snapshot, live []*attempt.Record) {
	if !p.Config.Workers.Take(p.Tracker.Traits()) {
		return
	}
	o := &obstacles{project: p, live: live}
	for _, it := range s.Items {
		here, again := p.Config.Workers.Here(it.Labels), s.Used[it.ID] > 0
		if here && !again || plan.Classify(it.Status) == plan.Done || s.Attempts[it.ID].Open() {
			continue
		}
		if o.list == nil && !o.read() {
			return
		}
		if here && len(o.list.Workers) == 0 {
			continue
		}
		if o.repo == nil && !o.prepare() {
			return
		}
		b := Before{}
		if again {
			b = BeforeOf(context.Background(), p, o.repo, p.Key(), it.ID)
		}
		if b.Here || here && b.Worker == "" {
			continue
		}
		if found := o.of(it, b, here); found.Cause != "" {
			if s.Outlook.Unplaced == nil {
				s.Outlook.Unplaced = map[string]plan.Obstacle{}
			}
			s.Outlook.Unplaced[it.ID] = found
		}
	}
}

// obstacles finds out whether workers can get items.
type obstacles struct {
	project *Project
	live    []*attempt.Record
	list    *workers.List  // nil until read
	repo    *worktree.Repo // nil until prepared
	busy    map[string]int
	needs   remote.Needs
}

// read reads which workers there are, and reports whether that could be told.
func (o *obstacles) read() bool {
	var err error
	o.list, err = workers.Read(o.project.Runs.Files.Dir())
	return err == nil
}

// prepare finds out what any item needs. It reports false if items are built without workers, or if
// that can't be told.
func (o *obstacles) prepare() bool {
	ctx := context.Background()
	repo, err := o.project.Worktrees(ctx)
	if err != nil {
		return false
	}
	if o.needs, err = o.project.Config.WorkerNeeds(ctx, repo); err != nil {
		return false
	}
	o.repo, o.busy = repo, workers.Busy(o.project.Runs.Files.Dir(), o.live)
	return true
}

// of returns what keeps an item from all workers, or from all but the one that has its agent's
// conversation. It may be built by any of the agents, and here if here is set.
func (o *obstacles) of(it *plan.Item, b Before, here bool) (first plan.Obstacle) {
	agents := o.project.Config.Agent
	if it.Agent != "" {
		agents = []string{it.Agent}
	}
	needs := o.needs
	needs.Labels = it.Labels
	for _, needs.Agent = range slices.Backward(agents) {
		if _, c := o.list.Choose(b.Wish(needs), o.busy); c.Waits != "" {
			return plan.Obstacle{Cause: b.Waits(string(c.Waits)), Next: "gl workers"}
		}
	}
	if here {
		return plan.Obstacle{}
	}
	for _, needs.Agent = range slices.Backward(agents) {
		if first = o.list.Obstacle(needs); first.Cause == "" {
			return first
		}
	}
	return first
}
