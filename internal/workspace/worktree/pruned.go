package worktree

import (
	"context"
	"errors"
	"fmt"

	"greenlight/internal/workspace/git"
)

// What a prune has taken of a lineage is restored or, of its branch, given up: see
// git.Worktree.LastWhole. If even its base is gone, its work can no longer be compared or merged.
// Then the lineage ends, and the slice's next attempt begins a new one.

// A LostError reports that a lineage has ended because a prune has taken its base.
type LostError struct {
	Slice, Base string
	// Kept is where its files are: a snapshot's refs or a directory; "" if there were none.
	Kept    string
	NotKept error // why no snapshot was taken of them
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("git has lost %.10s, at which its branch began (git prune, git gc --prune=now), so the next attempt begins anew", e.Base)
	switch {
	case e.NotKept != nil:
		text += fmt.Sprintf("; its files are in %s: %v", e.Kept, e.NotKept)
	case e.Kept != "":
		text += "; its files are kept: gl salvage " + e.Slice
	}
	return text
}

// mendBranch moves the lineage's branch to the last commit that git has whole. If the base is lost
// the lineage ends, and the error is a *LostError.
func (h *Hold) mendBranch(ctx context.Context) error {
	l := h.lineage
	if l.IsLane() {
		return nil
	}
	has, err := h.queue.known(ctx)
	if err != nil {
		return err
	}
	from, to, err := h.at.Worktree(l).LastWhole(ctx, l.Branch, l.Base, has...)
	if errors.Is(err, git.ErrLost) {
		return h.abandon(ctx, from)
	}
	if err != nil || to == "" {
		return err
	}
	return h.moveLost(ctx, from, to)
}

// moveLost moves the branch, and the other refs of the lineage that git doesn't have whole. The
// branch moves last, so that it still shows the damage after a kill.
func (h *Hold) moveLost(ctx context.Context, from, to string) error {
	l := h.lineage
	refs, err := git.RefsBelow(ctx, h.common, h.at.wip(l))
	if err != nil {
		return err
	}
	notes, err := git.RefsBelow(ctx, h.common, "refs/gl/landing/"+h.at.slicePart(l.System, l.Slice))
	if err != nil {
		return err
	}
	refs = append(refs, notes...)
	if handed, err := h.snapshots.HandedOver(ctx, l); err != nil {
		return err
	} else if handed != "" {
		refs = append(refs, git.Ref{Name: h.at.testsRef(l), Commit: handed})
	}
	for _, ref := range refs {
		if err := git.Rescue(ctx, h.common, ref, to); err != nil {
			return err
		}
	}
	return h.Worktree().MoveLost(ctx, l.Branch, from, to)
}

// abandon ends a lineage whose base is lost. It moves its branch, which is at tip, to where new
// work begins, so that git can read it again, and saves what is in its worktree on top of that. If
// it is killed, the next Make does it.
func (h *Hold) abandon(ctx context.Context, tip string) error {
	l := h.lineage
	lost := &LostError{Slice: l.Slice, Base: l.Base}
	base, err := h.queue.Base(ctx)
	if err != nil {
		return err
	}
	if err := git.Whole(ctx, h.common, base); err != nil { // more is broken than the slice's branch
		return fmt.Errorf("%s: %w", l.Base, err)
	}
	if tip != "" && tip != base {
		if err := h.moveLost(ctx, tip, base); err != nil {
			return err
		}
	}
	if (l.Phase == Ready || l.Phase == Filled) && !gone(l.Path) {
		on := *l
		on.Base = base
		kept, err := h.snapshots.save(ctx, &on, h.at.Worktree(&on),
			SnapshotOptions{Last: true, Why: "gl: what was left on a base that git has lost"})
		if err != nil && ctx.Err() != nil {
			return err
		}
		if lost.Kept, lost.NotKept = l.Path, err; err == nil {
			lost.Kept = kept.Prefix
		}
	}
	l.Base = base
	if err := h.lineages.step(l, Gone); err != nil {
		return err
	}
	return lost
}

// BaseLost reports whether git has lost the base of a lineage in which no agent has worked yet.
// Then Plan plans a new one. Objects that gl holds are put back first.
func (ls *Lineages) BaseLost(ctx context.Context, l *Lineage) (bool, error) {
	if l.IsLane() || l.Phase != Planned || l.Again {
		return false, nil
	}
	there, err := git.HasCommit(ctx, ls.common, l.Base)
	if err != nil || there {
		return false, err
	}
	if back, err := git.PutBack(ctx, ls.common); err != nil || !back {
		return !back, err
	}
	there, err = git.HasCommit(ctx, ls.common, l.Base)
	return !there, err
}

// dropBranch deletes the branch of a lineage whose base is lost, if there is one.
func (ls *Lineages) dropBranch(ctx context.Context, l *Lineage) error {
	has, err := ls.queue.known(ctx)
	if err != nil {
		return err
	}
	return git.DropLost(ctx, ls.common, l.Branch, has...)
}
