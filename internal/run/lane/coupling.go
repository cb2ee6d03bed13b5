package lane

import (
	"context"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/train"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A coupling merges what is in the queue on top of each other, in memory, as package train asks.
// It remembers what it has merged: the same commits merge in the same way.
type coupling struct {
	project *project.Project
	repo    *worktree.Repo
	trees   *trees
	line    *line
	merging *merging

	queue  map[string]*attempt.Record // by the names of records
	works  map[string]*work           // taken in this turn
	known  map[joint]train.Merged
	base   string           // the merged base
	failed map[string]error // by the entries that gl or the machine couldn't merge
}

// A joint is one merge: what into what.
type joint struct{ on, what string }

// fit merges the work and asks the gate before its tests run: what else keeps it from merging?
func (m *merging) fit(ctx context.Context, w *work) (train.Fit, []string, error) {
	if other, err := m.revives(ctx, w); err != nil || other != "" {
		return train.Settles, nil, err
	}
	changed, conflicts, err := m.trees.merge(ctx, w)
	switch {
	case err != nil:
		return train.Conflicts, nil, err
	case len(conflicts) > 0:
		return train.Conflicts, nil, nil
	case len(changed) == 0:
		return train.Settles, nil, nil
	}
	if err := m.inspect.survey(ctx, w, changed); err != nil {
		return train.Settles, nil, err
	}
	switch r := w.askGate(gate.TestRun{Pending: true}); {
	case r.Refused() != "":
		return train.Settles, changed, nil
	case r.Asks() != "":
		return train.Asks, changed, nil
	}
	return train.Fits, changed, nil
}

// merge merges an entry onto a tip. What the queue judges without tests settles.
func (c *coupling) merge(ctx context.Context, on train.Tip, e train.Entry) train.Merged {
	what := e.Name
	var w *work
	var err error
	if !e.Target {
		r := c.queue[e.Name]
		if r.Landing.Commit != "" { // a worker that was killed had all but merged it
			return train.Merged{Fit: train.Settles}
		}
		if w, err = c.work(ctx, r); err != nil || w == nil {
			c.fail(e, err)
			return train.Merged{Fit: train.Settles}
		}
		what = w.tip
	}
	if m, known := c.known[joint{on.Commit, what}]; known {
		return m
	}
	var m train.Merged
	if e.Target {
		m, err = c.mergeTarget(ctx, on, e.Name)
	} else {
		m, err = c.mergeWork(ctx, on, w)
	}
	if err != nil {
		c.fail(e, err)
		return train.Merged{Fit: train.Settles}
	}
	c.known[joint{on.Commit, what}] = m
	return m
}

func (c *coupling) fail(e train.Entry, err error) {
	if err != nil {
		c.failed[e.Name] = err
	}
}

// work takes an attempt's work, and gives its worktree back at once. It is nil if that settles the
// attempt.
func (c *coupling) work(ctx context.Context, r *attempt.Record) (*work, error) {
	name := r.ID.Name()
	if w := c.works[name]; w != nil {
		w.rec = r
		return w, nil
	}
	w, err := c.merging.take(ctx, r)
	if w == nil || err != nil {
		return nil, err
	}
	w.release()
	w.unlocks = c.merging.inspect.unlocksOf(r)
	c.works[name] = w
	return w, nil
}

// forget has an attempt's work taken anew: the queue has done something with it.
func (c *coupling) forget(name string) { delete(c.works, name) }

// mergeWork merges an attempt's work onto a tip.
func (c *coupling) mergeWork(ctx context.Context, on train.Tip, of *work) (train.Merged, error) {
	w := *of
	w.base = on.Commit
	fit, changed, err := c.merging.fit(ctx, &w)
	if err != nil || fit == train.Settles || fit == train.Conflicts {
		return train.Merged{Fit: fit}, err
	}
	if on.Commit == c.base {
		if other, err := c.line.resolver(ctx, &w, changed); err != nil || other != "" {
			return train.Merged{Fit: train.Settles}, err
		}
	}
	// The shape of what merges in the end, so that the next merges into it in the same way.
	parents := []string{on.Commit}
	if c.project.Config.Git.Land == project.LandMerge {
		parents = append(parents, w.tip)
	}
	tip, err := c.commit(ctx, w.tree, parents, "gl: candidate "+w.rec.ID.Work())
	return train.Merged{Fit: fit, Tip: tip}, err
}

// mergeTarget merges a commit of the target onto a tip; see branchTip.towards. It settles if
// that needs no tests.
func (c *coupling) mergeTarget(ctx context.Context, on train.Tip, target string) (
	train.Merged, error) {
	if in, err := git.IsAncestor(ctx, c.repo.Git.Common, on.Commit, target); err != nil || in {
		return train.Merged{Fit: train.Settles}, err
	}
	tree, conflicts, err := git.MergeTree(ctx, c.repo.Git.Common, target, on.Commit,
		statedir.InState)
	if err != nil {
		return train.Merged{}, err
	}
	if len(conflicts) > 0 {
		return train.Merged{Fit: train.Conflicts}, nil
	}
	tip, err := c.commit(ctx, tree, []string{on.Commit, target}, "gl: candidate")
	if err != nil || tip.Tree == on.Tree {
		return train.Merged{Fit: train.Settles}, err
	}
	return train.Merged{Tip: tip}, nil
}

// commit makes the commit of a merge.
func (c *coupling) commit(ctx context.Context, tree string, parents []string, message string) (
	train.Tip, error) {
	commit, err := git.CommitTree(ctx, c.repo.Git.Common,
		git.NewCommit{Tree: tree, Parents: parents, Message: message})
	if err != nil {
		return train.Tip{}, err
	}
	c.trees.sameFiles(commit, tree)
	content, err := c.trees.contentOf(ctx, commit)
	return train.Tip{Commit: commit, Tree: content}, err
}
