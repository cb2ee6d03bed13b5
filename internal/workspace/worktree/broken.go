package worktree

import (
	"context"
	"errors"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/workspace/git"
)

// Broken returns the refs of the project's slices that git doesn't have whole. git gc and git log
// --all fail at each of them.
func (c *Cleaner) Broken(ctx context.Context) ([]git.Ref, error) {
	var refs []git.Ref
	tops := []string{"refs/heads/" + c.at.prefix + "/s/", "refs/gl/wip/", "refs/gl/tests/",
		"refs/gl/landing/", "refs/gl/landed/"}
	for _, top := range tops {
		below, err := git.RefsBelow(ctx, c.common, top+c.at.project)
		if err != nil {
			return nil, err
		}
		refs = append(refs, below...)
	}
	has, err := c.queue.known(ctx)
	if err != nil {
		return nil, err
	}
	return git.Broken(ctx, c.common, refs, has...)
}

// MendBroken mends these refs, as the next attempts would, and also those of slices that are no
// longer attempted. It returns the names of the mended refs. Refs of a worktree in which an agent
// works are left alone.
func (c *Cleaner) MendBroken(ctx context.Context) (mended []string, err error) {
	if _, err := git.PutBack(ctx, c.common); err != nil {
		return nil, err
	}
	broken, err := c.Broken(ctx)
	if err != nil || len(broken) == 0 {
		return nil, err
	}
	base, err := c.queue.Base(ctx)
	if err == nil {
		err = git.Whole(ctx, c.common, base)
	}
	if err != nil {
		return nil, err
	}
	busy, err := c.mendOpen(ctx, broken)
	if err != nil {
		return nil, err
	}
	for _, ref := range broken {
		if slices.ContainsFunc(busy, func(l *Lineage) bool { return c.at.owns(l, ref.Name) }) {
			continue
		}
		if err := c.mendRef(ctx, ref, base); err != nil {
			return mended, err
		}
		mended = append(mended, ref.Name)
	}
	return mended, nil
}

// mendOpen mends the branches of the open lineages that have any of the refs, and returns those in
// which an agent works.
func (c *Cleaner) mendOpen(ctx context.Context, broken []git.Ref) (busy []*Lineage, err error) {
	all, _, err := c.lineages.All()
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.Phase == Gone ||
			!slices.ContainsFunc(broken, func(ref git.Ref) bool { return c.at.owns(l, ref.Name) }) {
			continue
		}
		h, err := tryHold(c.parts, l)
		if errors.Is(err, durable.ErrLocked) {
			busy = append(busy, l)
			continue
		}
		if err == nil {
			err = errors.Join(h.mendBranch(git.Inherit(ctx, h.File())), h.Release())
		}
		if err != nil && !errors.As(err, new(*LostError)) {
			return nil, err
		}
	}
	return busy, nil
}

// mendRef mends a ref if it is still broken.
func (c *Cleaner) mendRef(ctx context.Context, ref git.Ref, base string) error {
	now, err := git.ResolveCommit(ctx, c.common, ref.Name)
	if err != nil || now != ref.Commit {
		return err
	}
	if err := git.Rescue(ctx, c.common, ref, base); err != nil ||
		!strings.HasPrefix(ref.Name, "refs/heads/") {
		return err
	}
	w := git.Worktree{Common: c.common}
	linked, err := git.ListLinked(c.common)
	for _, e := range linked {
		if at, err := (git.Worktree{Admin: e.Admin}).Branch(); err == nil && at == ref.Name {
			w.Admin = e.Admin
		}
	}
	return errors.Join(err, w.ForgetLost(ctx, ref.Name, base))
}
