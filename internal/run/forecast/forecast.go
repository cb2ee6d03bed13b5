// Package forecast predicts which work will conflict before it is complete: it merges, in
// memory, the current contents of the worktrees. It changes no worktree and no ref, launches
// nothing and decides nothing; the plan takes the result as input.
package forecast

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A Work is the work of a slice that the merge queue doesn't have yet.
type Work struct {
	Slice   string
	Lineage *worktree.Lineage
	Running bool // an agent is changing it
}

// A Forecaster caches its results, so that only changes since cost anything.
type Forecaster struct {
	Repo *worktree.Repo
	Age  time.Duration // how long a snapshot of a running slice stays valid

	looked map[string]look // by branch
	// what the second commit has changed since the merge base with the first
	paths  map[[2]string][]string
	merged map[[2]string][]string // the conflicts of two commits
	merger *git.Merger            // for this look, created when needed
	merges int                    // number of merges tried
}

// A look is a snapshot of a worktree.
type look struct {
	commit string
	at     time.Time
}

// most is how many results are cached.
const most = 4096

// Find returns the conflicts: of each running slice with the others, with work that waits in
// the merge queue or continues later, and with what the merge queue has. The collisions are in
// the order of the works.
func (f *Forecaster) Find(ctx context.Context, works []Work) ([]plan.Collision, error) {
	if f.looked == nil || len(f.merged) > most || len(f.paths) > most {
		f.looked, f.paths, f.merged = map[string]look{}, map[[2]string][]string{},
			map[[2]string][]string{}
	}
	base, err := f.Repo.Queue.Base(ctx)
	if err != nil {
		return nil, err
	}
	defer f.close()
	saved, err := f.saved(ctx, works)
	if err != nil {
		return nil, err
	}
	commits, changed := make([]string, len(works)), make([][]string, len(works))
	for i, w := range works {
		// it is being created or removed
		if commits[i], err = f.commit(ctx, w, saved[w.Lineage.Branch]); err != nil ||
			commits[i] == "" {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			commits[i] = ""
			continue
		}
		if changed[i], err = f.changed(ctx, base, commits[i]); err != nil {
			return nil, err
		}
	}
	var list []plan.Collision
	for i, w := range works {
		if w.Running && len(changed[i]) > 0 {
			paths, err := f.withLane(ctx, base, w.Lineage.Base, commits[i], changed[i])
			if err != nil {
				return nil, err
			}
			if len(paths) > 0 {
				list = append(list, plan.Collision{Slice: w.Slice, Paths: paths})
			}
		}
		for j := i + 1; j < len(works); j++ {
			if !w.Running && !works[j].Running || !meet(changed[i], changed[j]) {
				continue
			}
			paths, err := f.conflicts(ctx, base, commits[i], commits[j])
			if err != nil {
				return nil, err
			}
			if len(paths) > 0 {
				list = append(list,
					plan.Collision{Slice: w.Slice, With: works[j].Slice, Paths: paths})
			}
		}
	}
	return list, nil
}

// withLane returns the conflicts of a work with what has landed since it began.
func (f *Forecaster) withLane(ctx context.Context, base, began, commit string,
	changed []string) ([]string, error) {
	if began == base {
		return nil, nil
	}
	landed, err := f.changed(ctx, commit, base)
	if err != nil || !meet(landed, changed) {
		return nil, err
	}
	return f.conflicts(ctx, base, base, commit)
}

// meet reports whether two sorted lists share a path, or one has a directory in place of a file
// of the other.
func meet(a, b []string) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j], strings.HasPrefix(a[i], b[j]+"/"), strings.HasPrefix(b[j], a[i]+"/"):
			return true
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return false
}

// saved returns the snapshots of the works that must be looked at.
func (f *Forecaster) saved(ctx context.Context, works []Work) (map[string]worktree.Saved, error) {
	var lineages []*worktree.Lineage
	for _, w := range works {
		if !w.Running || !f.isNew(f.looked[w.Lineage.Branch]) {
			lineages = append(lineages, w.Lineage)
		}
	}
	return f.Repo.Snapshots.Last(ctx, lineages)
}

// isNew reports whether a look is recent enough.
func (f *Forecaster) isNew(last look) bool {
	return last.commit != "" && time.Since(last.at) < f.Age
}

// commit returns a commit of the work. For running work it is the last snapshot, if that is
// recent enough, or else a look at the worktree.
func (f *Forecaster) commit(ctx context.Context, w Work, saved worktree.Saved) (string, error) {
	if !w.Running {
		return f.Repo.Snapshots.Work(ctx, w.Lineage, saved)
	}
	last := f.looked[w.Lineage.Branch]
	if f.isNew(last) {
		return last.commit, nil
	}
	at := time.Now()
	commit, err := f.Repo.Snapshots.Glance(ctx, w.Lineage, saved, last.commit, f.Age)
	if err != nil {
		return "", err
	}
	f.looked[w.Lineage.Branch] = look{commit, at}
	return commit, nil
}

// changed returns what a commit has changed since it diverged from from, sorted.
func (f *Forecaster) changed(ctx context.Context, from, commit string) ([]string, error) {
	key := [2]string{from, commit}
	if paths, known := f.paths[key]; known {
		return paths, nil
	}
	paths, err := git.ChangedSince(ctx, f.Repo.Git.Common, from, commit, statedir.InState)
	if err == nil {
		f.paths[key] = paths
	}
	return paths, err
}

// close ends the merges of a look. Their output is no longer needed; any remains are cleaned up
// like those of a killed gl.
func (f *Forecaster) close() {
	if f.merger != nil {
		_ = f.merger.Close()
		f.merger = nil
	}
}

// conflicts returns the paths in which merging two commits conflicts, with base's attributes.
func (f *Forecaster) conflicts(ctx context.Context, base, a, b string) ([]string, error) {
	key := [2]string{a, b}
	if paths, known := f.merged[key]; known {
		return paths, nil
	}
	f.merges++
	var err error
	if f.merger == nil {
		if f.merger, err = git.NewMerger(ctx, f.Repo.Git.Common, base); err != nil {
			return nil, err
		}
	}
	paths, err := f.merger.Conflicts(ctx, a, b, statedir.InState)
	if err == nil {
		f.merged[key] = paths
	}
	return paths, err
}

// file is the format of runs/forecast.json.
type file struct {
	SchemaVersion int              `json:"schema_version"`
	At            time.Time        `json:"at"` // when it was computed
	Collisions    []plan.Collision `json:"collisions"`
}

func path(runs string) string { return filepath.Join(runs, "forecast.json") }

// Read returns the last result; nil if it can't be read.
func Read(runs string) []plan.Collision {
	var f file
	if durable.ReadJSON(path(runs), &f) != nil || f.SchemaVersion != 1 {
		return nil
	}
	return f.Collisions
}

// Write stores the result, if it has changed.
func Write(runs string, list []plan.Collision) error {
	same := slices.EqualFunc(Read(runs), list, func(a, b plan.Collision) bool {
		return a.Slice == b.Slice && a.With == b.With && slices.Equal(a.Paths, b.Paths)
	})
	if same {
		return nil
	}
	if len(list) == 0 {
		if err := durable.Unlink(path(runs)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return durable.WriteJSON(path(runs), file{1, time.Now().UTC(), list})
}
