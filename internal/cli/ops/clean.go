package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"greenlight/internal/base/paths"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

// A Cleanable is a worktree, and whether Clean may remove it. Branches and snapshots always stay.
type Cleanable struct {
	System, Slice string // "" if git doesn't know it
	N             int
	Path          string
	Remove        bool
	Why           string

	lineage *worktree.Lineage
	given   worktree.RemoveOptions
}

// Cleanables examines the worktrees of the named slices, or of all: only those of complete slices
// may be removed, and only if what o doesn't give up of their content exists elsewhere. It changes
// nothing.
func Cleanables(ctx context.Context, pr *project.Project, ids []string,
	o worktree.RemoveOptions) ([]Cleanable, error) {
	repo, kept, err := KeptWork(ctx, pr, "")
	if err != nil {
		return nil, err
	}
	plans := map[string]*plan.Plan{}
	for _, view := range pr.Views() {
		if plans[view.Key()], err = view.Plan(time.Now(), view.Options()); err != nil {
			return nil, err
		}
	}
	var list []Cleanable
	for _, k := range kept {
		if k.Admin == "" || len(ids) > 0 && !slices.ContainsFunc(ids, k.IsOfID) {
			continue
		}
		c := Cleanable{System: k.System, Slice: k.Slice, N: k.N, Path: k.Place(), given: o}
		if attempt.IsTask(k.Slice) {
			c.Why, err = openTask(pr, k.Slice)
		} else {
			c.Why = unfinished(plans[k.System], k.Slice)
		}
		if err != nil {
			return nil, err
		}
		if c.Why == "" {
			if err := c.look(ctx, repo, k); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	for _, id := range ids {
		if !slices.ContainsFunc(kept, func(k *worktree.Kept) bool { return k.IsOfID(id) }) {
			return nil, fmt.Errorf("there is no kept work of %s: gl salvage lists what there is",
				id)
		}
	}
	if len(ids) > 0 {
		return list, nil
	}
	lanes, err := repo.Lineages.CleanableLanes()
	if err != nil {
		return nil, err
	}
	for _, l := range lanes {
		c := Cleanable{N: l.N, Path: l.Path, lineage: l}
		if c.Remove, c.Why, err = repo.Cleaner.Removable(ctx, l, o); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	left, err := repo.Cleaner.Leftovers(ctx)
	for _, l := range left {
		if l.Kind == worktree.LeftDirectory {
			list = append(list, Cleanable{Path: l.Path, Why: "git doesn't list it, so its content is unknown: check it, and remove it yourself"})
		}
	}
	return list, err
}

// unfinished returns why Clean must not remove a slice's worktrees; "" for a complete slice.
func unfinished(p *plan.Plan, id string) string {
	var st *plan.State
	if p != nil && id != "" {
		st = p.State(id)
	}
	switch {
	case st == nil && id == "":
		return "git doesn't tell which slice it is of"
	case st == nil:
		return "there is no slice " + id + " any more"
	case st.Attempt.Open():
		return "an attempt at " + id + " isn't over"
	case st.Class != plan.Done:
		return id + " isn't complete"
	}
	return ""
}

// openTask returns why Clean must not remove a task's worktree; "" once its attempts are over,
// because tasks aren't continued.
func openTask(pr *project.Project, work string) (string, error) {
	all, err := pr.Runs.AttemptsAt(work)
	if err == nil && slices.ContainsFunc(all, func(r *attempt.Record) bool {
		return r.Life.Phase != plan.Settled
	}) {
		return "an attempt at " + work + " isn't over", nil
	}
	return "", err
}

func (c *Cleanable) look(ctx context.Context, repo *worktree.Repo, k *worktree.Kept) (err error) {
	if c.lineage, err = repo.Archive.LineageOf(ctx, k); err != nil {
		return err
	}
	if c.lineage == nil {
		c.Why = "its branch is gone, so its content is unknown"
		return nil
	}
	c.Remove, c.Why, err = repo.Cleaner.Removable(ctx, c.lineage, c.given)
	return err
}

// Clean removes a worktree that Cleanables found removable, after git.teardown, which gets environ;
// self is the path of gl. It checks again, and returns what keeps the worktree, if anything.
func Clean(ctx context.Context, pr *project.Project, c Cleanable, self string,
	environ []string) (kept string, err error) {
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return "", err
	}
	if c.lineage.IsLane() {
		if paths.IsDir(c.Path) {
			if err := site.TearDown(ctx, pr.Root, repo, c.lineage,
				executor.Commands(executor.NewLocal(self)), environ, pr.Config.Git.Teardown,
				pr.Config.Git.SetupLimit); err != nil {
				return err.Error(), nil
			}
		}
		return repo.Cleaner.Remove(ctx, c.lineage, c.given)
	}
	if attempt.IsTask(c.Slice) {
		err = pr.Tracker.Do(ctx, func(tracker.Tx) (err error) {
			if kept, err = openTask(pr, c.Slice); err != nil || kept != "" {
				return err
			}
			return repo.Lineages.Retire(c.System, c.Slice, c.N)
		})
		if err != nil || kept != "" {
			return kept, err
		}
		return c.remove(ctx, pr, repo, self, environ)
	}
	// The next claim of the slice begins a new lineage.
	kept, err = whileComplete(ctx, pr, c.System, c.Slice, func() error {
		return repo.Lineages.Retire(c.System, c.Slice, c.N)
	})
	if err != nil || kept != "" {
		return kept, err
	}
	return c.remove(ctx, pr, repo, self, environ)
}

// whileComplete calls do under the project's lock if the slice is still complete; otherwise it
// returns the reason to keep the worktree.
func whileComplete(ctx context.Context, pr *project.Project, system, id string,
	do func() error) (kept string, err error) {
	at := slices.IndexFunc(pr.Views(), func(v *project.Project) bool { return v.Key() == system })
	if at < 0 {
		return "its system isn't there any more", nil
	}
	view := pr.Views()[at]
	err = view.Tracker.Do(ctx, func(tx tracker.Tx) error {
		s, err := view.Snapshot(tx.Load)
		if err != nil {
			return err
		}
		if kept = unfinished(plan.New(s, time.Now(), view.Options()), id); kept != "" {
			return nil
		}
		return do()
	})
	return kept, err
}

// remove removes the worktree, whose slice can no longer be claimed.
func (c *Cleanable) remove(ctx context.Context, pr *project.Project, repo *worktree.Repo,
	self string, environ []string) (kept string, err error) {
	if err := site.TearDown(ctx, pr.Root, repo, c.lineage,
		executor.Commands(executor.NewLocal(self)), environ, pr.Config.Git.Teardown,
		pr.Config.Git.SetupLimit); err != nil {
		return err.Error(), nil
	}
	return repo.Cleaner.Remove(ctx, c.lineage, c.given)
}
