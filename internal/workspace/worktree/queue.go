package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"greenlight/internal/core/gate"
	"greenlight/internal/workspace/git"
)

// LaneSlice is the slice of the lineage that has the lane's worktree. No slice has such an id.
const LaneSlice = "@lane"

// carPrefix begins the slices of the lineages that have the lane's further worktrees: see
// Lineages.Car.
const carPrefix = LaneSlice + "-"

// IsLane reports whether the worktree is one of the lane's. Its HEAD is detached, and it contains
// no work of its own.
func (l *Lineage) IsLane() bool { return l.System == "" && isLane(l.Slice) }

func isLane(slice string) bool {
	return slice == LaneSlice || strings.HasPrefix(slice, carPrefix)
}

// A Queue is the merge queue as git has it: its branch (the lane), on which the target's work is
// merged and tested, and the refs, marks and notes beside it.
type Queue struct {
	at     *Layout
	common string
	target target
}

// Ref returns the full name of the lane, "" if no target is known.
func (q *Queue) Ref() string {
	if q.at.target == "" {
		return ""
	}
	return q.at.lanes() + "/" + part(short(q.at.target))
}

// tip returns the lane's commit, "" if there is no lane.
func (q *Queue) tip(ctx context.Context) (string, error) {
	if q.at.target == "" {
		return "", nil
	}
	return git.ResolveCommit(ctx, q.common, q.Ref())
}

// Tip returns the lane's commit. A missing lane is made at the target's tip, and a deleted one
// where gl left it, if git still has that commit.
func (q *Queue) Tip(ctx context.Context) (string, error) {
	tip, err := q.tip(ctx)
	if err != nil || tip != "" {
		return tip, err
	}
	if tip, err = q.target.record(ctx); err != nil {
		return "", err
	}
	err = git.ErrLost
	if left := q.Mark().Tip; left != "" {
		if err = git.ChangeWhole(ctx, q.common, "gl: deleted merge queue", []string{q.at.target},
			git.RefChange{Name: q.Ref(), New: left}); err == nil {
			return left, nil
		}
	}
	if errors.Is(err, git.ErrLost) {
		err = git.ChangeRefs(ctx, q.common, "gl: merge queue", git.RefChange{Name: q.Ref(), New: tip})
	}
	if errors.Is(err, git.ErrRefExists) { // another process has just made it
		if tip, err := q.tip(ctx); err != nil || tip != "" {
			return tip, err
		}
		return "", &Refused{fmt.Sprintf("a branch is in the way of %s", short(q.Ref())),
			"git branch -m it"}
	}
	return tip, err
}

// KeepNext protects a commit to which the lane is about to move from git prune, before a record
// names it.
func (q *Queue) KeepNext(ctx context.Context, commit string) error {
	has, err := q.known(ctx)
	if err != nil {
		return err
	}
	return git.ChangeWhole(ctx, q.common, "gl: about to merge", has, q.next(commit))
}

// DropLostNext forgets the commit that was about to land if it has been pruned.
func (q *Queue) DropLostNext(ctx context.Context) error {
	has, err := q.known(ctx)
	if err != nil {
		return err
	}
	return git.DropLost(ctx, q.common, q.at.nextRef(), has...)
}

// Move moves the lane from one commit to another, which the pass must permit. The error is
// git.ErrRefMoved if the lane is elsewhere. The caller holds the lane's lock.
func (q *Queue) Move(ctx context.Context, from, to, reason string, pass gate.Pass) error {
	if err := pass.Moves(to); err != nil {
		return err
	}
	if err := q.SetMark(LaneMark{Tip: from, Next: to}); err != nil {
		return err
	}
	if err := git.ChangeRefs(ctx, q.common, "gl: "+reason,
		git.RefChange{Name: q.Ref(), New: to, Old: from}); err != nil {
		return err
	}
	return q.SetMark(LaneMark{Tip: to})
}

// LockFile returns the file whose kernel lock makes one process the lane's worker. It isn't in
// runs/, which may be removed.
func (q *Queue) LockFile() string {
	return filepath.Join(q.common, "gl-lane."+q.at.project+".lock")
}

// next returns the change of nextRef to a commit.
func (q *Queue) next(commit string) git.RefChange {
	return git.RefChange{Name: q.at.nextRef(), New: commit, Force: true}
}

// holders returns the branches that may have a slice's work: the target and the lane. One of them
// may be missing.
func (q *Queue) holders(ctx context.Context) ([]git.Ref, error) {
	target, err := q.target.tip(ctx)
	if err != nil && !errors.As(err, new(*Refused)) {
		return nil, err
	}
	lane, laneErr := q.tip(ctx)
	if laneErr != nil {
		return nil, laneErr
	}
	var list []git.Ref
	if target != "" {
		list = append(list, git.Ref{Name: q.at.target, Commit: target})
	}
	if lane != "" && lane != target {
		list = append(list, git.Ref{Name: q.Ref(), Commit: lane})
	}
	if len(list) > 0 {
		err = nil
	}
	return list, err
}

// known returns the commits of the target and the lane, which git has whatever is broken of the
// slices' branches.
func (q *Queue) known(ctx context.Context) (commits []string, err error) {
	holders, err := q.holders(ctx)
	if errors.As(err, new(*Refused)) {
		return nil, nil
	}
	for _, h := range holders {
		commits = append(commits, h.Commit)
	}
	return commits, err
}

// Base returns the commit at which new work begins: the lane's tip, or the target's if there is no
// lane or the target has all of it. It records the target.
func (q *Queue) Base(ctx context.Context) (string, error) {
	tip, err := q.target.record(ctx)
	if err != nil {
		return "", err
	}
	lane, err := q.tip(ctx)
	if err != nil || lane == "" || lane == tip {
		return tip, err
	}
	if q.Mark().Moved(lane) { // nothing there was tested
		return tip, nil
	}
	if base, err := git.MergeBase(ctx, q.common, lane, tip); err != nil || base == lane {
		return tip, err
	}
	return lane, nil
}
