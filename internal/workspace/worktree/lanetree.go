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
	tip, err := ls.queue.Tip(ctx)
	if err != nil {
		return nil, err
	}
	_, err = ls.Get("", LaneSlice)
	if bad := new(BadLineage); errors.Is(err, fs.ErrNotExist) || errors.As(err, &bad) && !bad.Keep {
		if l, err := ls.findLane(tip); err != nil || l != nil {
			return l, err
		}
	}
	return ls.Plan(ctx, "", LaneSlice, tip, false)
}

// findLane takes up a worktree of the lane that git lists, nil for none.
func (ls *Lineages) findLane(tip string) (*Lineage, error) {
	linked, err := git.ListLinked(ls.common)
	if err != nil {
		return nil, err
	}
	for _, e := range linked {
		n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(e.Path), "."))
		l := &Lineage{SchemaVersion: schemaVersion, Slice: LaneSlice, N: n, Path: e.Path,
			Admin: e.Admin, Base: tip, Phase: Added}
		if ls.at.isLanePath(e.Path) && ls.ours(l) == nil && ls.at.check(l) == nil {
			return l, ls.Save(l)
		}
	}
	return nil, nil
}

// CleanableLane returns the lineage of the lane's worktree if Remove may remove it, nil for none.
// No person works in that worktree, and it is made again when it is needed.
func (ls *Lineages) CleanableLane() (*Lineage, error) {
	l, err := ls.Get("", LaneSlice)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*BadLineage)) ||
		err == nil && (l.Admin == "" || !paths.Exists(l.Admin)) {
		return nil, nil
	}
	return l, err
}
