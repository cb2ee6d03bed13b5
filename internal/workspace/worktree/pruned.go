package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/workspace/git"
)

// What a prune has taken of a lineage is put back or, of its branch, given up: see
// git.Worktree.LastWhole. Where even its base is gone, nothing of it can be compared or merged any
// more. Then the lineage is over, and the slice's next attempt begins a new one.

// A LostError says that a lineage is over since a prune has taken its base.
type LostError struct {
	Slice, Base string
	Kept        string // where the files are that were there: a snapshot's refs or a directory; "" where there were none
	NotKept     error  // why no snapshot was taken of them
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

// mendBranch moves the lineage's branch to where git has it whole. A lineage whose base is lost
// ends: the error is a *LostError.
func (r *Repo) mendBranch(ctx context.Context, l *Lineage) error {
	if l.IsLane() {
		return nil
	}
	has, err := r.known(ctx)
	if err != nil {
		return err
	}
	from, to, err := r.Worktree(l).LastWhole(ctx, l.Branch, l.Base, has...)
	if errors.Is(err, git.ErrLost) {
		return r.abandon(ctx, l, from)
	}
	if err != nil || to == "" {
		return err
	}
	return r.moveLost(ctx, l, from, to)
}

// moveLost moves the branch, and what else refs have of the lineage and git hasn't got whole. The
// branch is last, so that it tells after a kill.
func (r *Repo) moveLost(ctx context.Context, l *Lineage, from, to string) error {
	refs, err := git.RefsBelow(ctx, r.Common, r.wip(l))
	if err != nil {
		return err
	}
	notes, err := git.RefsBelow(ctx, r.Common, "refs/gl/landing/"+r.slicePart(l.System, l.Slice))
	if err != nil {
		return err
	}
	refs = append(refs, notes...)
	if handed, err := r.HandedOver(ctx, l); err != nil {
		return err
	} else if handed != "" {
		refs = append(refs, git.Ref{Name: r.testsRef(l), Commit: handed})
	}
	for _, ref := range refs {
		if err := git.Rescue(ctx, r.Common, ref, to); err != nil {
			return err
		}
	}
	return r.Worktree(l).MoveLost(ctx, l.Branch, from, to)
}

// abandon ends a lineage whose base is lost. Its branch, which is at tip, moves to where new work
// begins, so that no git fails at it, and what is in its worktree is saved upon that. When it is
// killed, the next Make does it.
func (r *Repo) abandon(ctx context.Context, l *Lineage, tip string) error {
	lost := &LostError{Slice: l.Slice, Base: l.Base}
	base, err := r.Base(ctx)
	if err != nil {
		return err
	}
	if err := git.Whole(ctx, r.Common, base); err != nil { // it isn't the slice's branch that is broken
		return fmt.Errorf("%s: %w", l.Base, err)
	}
	if tip != "" && tip != base {
		if err := r.moveLost(ctx, l, tip, base); err != nil {
			return err
		}
	}
	if (l.Phase == Ready || l.Phase == Filled) && !gone(l.Path) {
		on := *l
		on.Base = base
		kept, err := r.save(ctx, &on, r.Worktree(&on), SnapshotOptions{Last: true, Why: "gl: what was left on a base that git has lost"})
		if err != nil && ctx.Err() != nil {
			return err
		}
		if lost.Kept, lost.NotKept = l.Path, err; err == nil {
			lost.Kept = kept.Prefix
		}
	}
	l.Base = base
	if err := r.step(l, Gone); err != nil {
		return err
	}
	return lost
}

// BaseLost reports whether git has lost the base of a lineage in which no agent has worked yet. Then
// Plan plans a new one. Objects that gl holds are put back first.
func (r *Repo) BaseLost(ctx context.Context, l *Lineage) (bool, error) {
	if l.IsLane() || l.Phase != Planned || l.Again {
		return false, nil
	}
	there, err := git.HasCommit(ctx, r.Common, l.Base)
	if err != nil || there {
		return false, err
	}
	if back, err := git.PutBack(ctx, r.Common); err != nil || !back {
		return !back, err
	}
	there, err = git.HasCommit(ctx, r.Common, l.Base)
	return !there, err
}

// dropBranch deletes the branch of a lineage whose base is lost, if there is one.
func (r *Repo) dropBranch(ctx context.Context, l *Lineage) error {
	has, err := r.known(ctx)
	if err != nil {
		return err
	}
	return git.DropLost(ctx, r.Common, l.Branch, has...)
}

// Broken are the refs of the project's slices that git hasn't got whole: git gc and git log --all
// fail at each.
func (r *Repo) Broken(ctx context.Context) ([]git.Ref, error) {
	var refs []git.Ref
	tops := []string{"refs/heads/" + r.prefix + "/s/", "refs/gl/wip/", "refs/gl/tests/", "refs/gl/landing/", "refs/gl/landed/"}
	for _, top := range tops {
		below, err := git.RefsBelow(ctx, r.Common, top+r.project)
		if err != nil {
			return nil, err
		}
		refs = append(refs, below...)
	}
	has, err := r.known(ctx)
	if err != nil {
		return nil, err
	}
	return git.Broken(ctx, r.Common, refs, has...)
}

// MendBroken mends these refs, as the next attempts would, and those of slices that aren't
// attempted anymore. It returns what it has mended. Where an agent works it leaves them alone.
func (r *Repo) MendBroken(ctx context.Context) (mended []string, err error) {
	if _, err := git.PutBack(ctx, r.Common); err != nil {
		return nil, err
	}
	broken, err := r.Broken(ctx)
	if err != nil || len(broken) == 0 {
		return nil, err
	}
	base, err := r.Base(ctx)
	if err == nil {
		err = git.Whole(ctx, r.Common, base)
	}
	if err != nil {
		return nil, err
	}
	busy, err := r.mendOpen(ctx, broken)
	if err != nil {
		return nil, err
	}
	for _, ref := range broken {
		if slices.ContainsFunc(busy, func(l *Lineage) bool { return r.owns(l, ref.Name) }) {
			continue
		}
		if err := r.mendRef(ctx, ref, base); err != nil {
			return mended, err
		}
		mended = append(mended, ref.Name)
	}
	return mended, nil
}

// mendOpen mends the branches of the open lineages that have any of the refs, and returns those in
// which an agent works.
func (r *Repo) mendOpen(ctx context.Context, broken []git.Ref) (busy []*Lineage, err error) {
	all, _, err := r.All()
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.Phase == Gone || !slices.ContainsFunc(broken, func(ref git.Ref) bool { return r.owns(l, ref.Name) }) {
			continue
		}
		lock, err := durable.TryLock(r.lockFile(l))
		if errors.Is(err, durable.ErrLocked) {
			busy = append(busy, l)
			continue
		}
		if err == nil {
			err = errors.Join(r.mendBranch(git.Inherit(ctx, lock.File()), l), lock.Unlock())
		}
		if err != nil && !errors.As(err, new(*LostError)) {
			return nil, err
		}
	}
	return busy, nil
}

// owns reports whether a ref is of the lineage, or a note of its slice in the queue.
func (r *Repo) owns(l *Lineage, ref string) bool {
	if l.IsLane() {
		return false
	}
	return ref == l.Branch || ref == r.testsRef(l) || strings.HasPrefix(ref, r.wip(l)+"/") ||
		strings.HasPrefix(ref, "refs/gl/landing/"+r.slicePart(l.System, l.Slice)+"/")
}

// mendRef mends a ref if it is still broken.
func (r *Repo) mendRef(ctx context.Context, ref git.Ref, base string) error {
	now, err := git.ResolveCommit(ctx, r.Common, ref.Name)
	if err != nil || now != ref.Commit {
		return err
	}
	if err := git.Rescue(ctx, r.Common, ref, base); err != nil || !strings.HasPrefix(ref.Name, "refs/heads/") {
		return err
	}
	w := git.Worktree{Common: r.Common}
	linked, err := git.ListLinked(r.Common)
	for _, e := range linked {
		if at, err := (git.Worktree{Admin: e.Admin}).Branch(); err == nil && at == ref.Name {
			w.Admin = e.Admin
		}
	}
	return errors.Join(err, w.ForgetLost(ctx, ref.Name, base))
}
