// Package forecast finds out whose work will conflict before it is called complete: it merges, in memory, what is in the worktrees now. It
// changes no worktree and no ref, launches nothing and decides nothing; the plan takes what it finds as input.
package forecast

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/git"
	"greenlight/internal/plan"
	"greenlight/internal/statedir"
	"greenlight/internal/worktree"
)

// A Work is what there is of a slice that isn't in the lane yet.
type Work struct {
	Slice   string
	Lineage *worktree.Lineage
	Running bool // an agent changes it
}

// A Forecaster keeps what it has found out, so that only what has changed since costs anything.
type Forecaster struct {
	Repo *worktree.Repo
	Age  time.Duration // a snapshot of a running slice is as good as new for so long

	looked map[string]look        // by branch
	paths  map[[2]string][]string // what the second commit has changed since the merge base with the first
	merged map[[2]string][]string // the conflicts of two commits
	merger *git.Merger            // of this look, once it is needed
	merges int                    // how many were tried
}

// A look is what was in a worktree.
type look struct {
	commit string
	at     time.Time
}

// most is how many results are kept.
const most = 4096

// Find finds out what conflicts: each running slice with the others, with what waits in the lane or goes on later, and with what the lane
// has. The collisions are in the order of the works.
func (f *Forecaster) Find(ctx context.Context, works []Work) ([]plan.Collision, error) {
	if f.looked == nil || len(f.merged) > most || len(f.paths) > most {
		f.looked, f.paths, f.merged = map[string]look{}, map[[2]string][]string{}, map[[2]string][]string{}
	}
	base, err := f.Repo.Base(ctx)
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
		if commits[i], err = f.commit(ctx, w, saved[w.Lineage.Branch]); err != nil || commits[i] == "" { // being made, or removed
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
				list = append(list, plan.Collision{Slice: w.Slice, With: works[j].Slice, Paths: paths})
			}
		}
	}
	return list, nil
}

// withLane are the conflicts of a work with what has landed since it began.
func (f *Forecaster) withLane(ctx context.Context, base, began, commit string, changed []string) ([]string, error) {
	if began == base {
		return nil, nil
	}
	landed, err := f.changed(ctx, commit, base)
	if err != nil || !meet(landed, changed) {
		return nil, err
	}
	return f.conflicts(ctx, base, base, commit)
}

// meet says whether two sorted lists have a path in common, or one a directory where the other has a file.
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

// saved are the snapshots of the works that have to be looked at.
func (f *Forecaster) saved(ctx context.Context, works []Work) (map[string]worktree.Saved, error) {
	var lineages []*worktree.Lineage
	for _, w := range works {
		if !w.Running || !f.isNew(f.looked[w.Lineage.Branch]) {
			lineages = append(lineages, w.Lineage)
		}
	}
	return f.Repo.LastSaved(ctx, lineages)
}

// isNew says whether what was seen in a worktree is as good as new.
func (f *Forecaster) isNew(last look) bool { return last.commit != "" && time.Since(last.at) < f.Age }

// commit is one of what there is of the work. Of a running one it is the last snapshot, if that is new enough, else a look at the worktree.
func (f *Forecaster) commit(ctx context.Context, w Work, saved worktree.Saved) (string, error) {
	if !w.Running {
		return f.Repo.Work(ctx, w.Lineage, saved)
	}
	last := f.looked[w.Lineage.Branch]
	if f.isNew(last) {
		return last.commit, nil
	}
	at := time.Now()
	commit, err := f.Repo.Glance(ctx, w.Lineage, saved, last.commit, f.Age)
	if err != nil {
		return "", err
	}
	f.looked[w.Lineage.Branch] = look{commit, at}
	return commit, nil
}

// changed lists what a commit has changed since it left from, sorted.
func (f *Forecaster) changed(ctx context.Context, from, commit string) ([]string, error) {
	key := [2]string{from, commit}
	if paths, known := f.paths[key]; known {
		return paths, nil
	}
	paths, err := git.ChangedSince(ctx, f.Repo.Common, from, commit, statedir.InState)
	if err == nil {
		f.paths[key] = paths
	}
	return paths, err
}

// close ends the merges of a look. What they have written is nobody's, and what is left goes the way of what a killed gl leaves.
func (f *Forecaster) close() {
	if f.merger != nil {
		_ = f.merger.Close()
		f.merger = nil
	}
}

// conflicts are the paths in which two commits don't merge, by the attributes that base has.
func (f *Forecaster) conflicts(ctx context.Context, base, a, b string) ([]string, error) {
	key := [2]string{a, b}
	if paths, known := f.merged[key]; known {
		return paths, nil
	}
	f.merges++
	var err error
	if f.merger == nil {
		if f.merger, err = git.NewMerger(ctx, f.Repo.Common, base); err != nil {
			return nil, err
		}
	}
	paths, err := f.merger.Conflicts(ctx, a, b, statedir.InState)
	if err == nil {
		f.merged[key] = paths
	}
	return paths, err
}

// file is runs/forecast.json.
type file struct {
	SchemaVersion int              `json:"schema_version"`
	At            time.Time        `json:"at"` // when it was found out
	Collisions    []plan.Collision `json:"collisions"`
}

func path(runs string) string { return filepath.Join(runs, "forecast.json") }

// Read is what was found out last; nothing where that can't be read.
func Read(runs string) []plan.Collision {
	data, err := durable.ReadFile(path(runs))
	var f file
	if err != nil || json.Unmarshal(data, &f) != nil || f.SchemaVersion != 1 {
		return nil
	}
	return f.Collisions
}

// Write keeps what was found out, if it isn't what is there.
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
	data, err := json.MarshalIndent(file{1, time.Now().UTC(), list}, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(path(runs), append(data, '\n'), 0o600)
}
