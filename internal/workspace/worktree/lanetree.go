package worktree

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/workspace/git"
)

// Lane returns the lineage of the lane's worktree, for Make. If its file is gone, a worktree that
// git lists is taken up again. The caller holds the lane's lock.
func (ls *Lineages) Lane(ctx context.Context) (*Lineage, error) {
	return ls.bench(ctx, LaneSlice)
}

// Car is Lane for the worktree in which the lane tests one of several merges side by side, from 1
// on.
func (ls *Lineages) Car(ctx context.Context, k int) (*Lineage, error) {
	return ls.bench(ctx, carPrefix+strconv.Itoa(k))
}

// bench returns the lineage of one of the lane's worktrees.
func (ls *Lineages) bench(ctx context.Context, slice string) (*Lineage, error) {
	tip, err := ls.queue.Tip(ctx)
	if err != nil {
		return nil, err
	}
	_, err = ls.Get("", slice)
	if bad := new(BadLineage); errors.Is(err, fs.ErrNotExist) || errors.As(err, &bad) && !bad.Keep {
		if l, err := ls.findLane(slice, tip); err != nil || l != nil {
			return l, err
		}
	}
	return ls.Plan(ctx, "", slice, tip, false)
}

// findLane takes up a worktree of the lane that git lists, nil for none.
func (ls *Lineages) findLane(slice, tip string) (*Lineage, error) {
	linked, err := git.ListLinked(ls.common)
	if err != nil {
		return nil, err
	}
	for _, e := range linked {
		n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(e.Path), "."))
		l := &Lineage{SchemaVersion: schemaVersion, Slice: slice, N: n, Path: e.Path,
			Admin: e.Admin, Base: tip, Phase: Added}
		if ls.at.isLanePath(e.Path) && ls.ours(l) == nil && ls.at.check(l) == nil {
			return l, ls.Save(l)
		}
	}
	return nil, nil
}

// CleanableLanes returns the lineages of the lane's worktrees that Remove may remove. No person
// works in these worktrees, and they are made again when they are needed.
func (ls *Lineages) CleanableLanes() (list []*Lineage, err error) {
	all, _, err := ls.All()
	for _, l := range all {
		if l.IsLane() && l.Admin != "" && paths.Exists(l.Admin) {
			list = append(list, l)
		}
	}
	return list, err
}
