package worktree

import (
	"context"
	"fmt"
	"os"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// parts is what operations on worktrees are built from, in the order of their dependencies.
type parts struct {
	at        *Layout
	common    string // the repository's directory
	queue     *Queue
	lineages  *Lineages
	snapshots *Snapshots
}

// A Hold is a lineage whose worktree's kernel lock is held. Everything that requires the lock is a
// method of Hold. Processes that inherit the lock's file, such as the agent and its children, hold
// the lock too.
type Hold struct {
	*parts
	lock    *durable.Held
	lineage *Lineage
}

// takeHold waits for the lock of the lineage's worktree.
func takeHold(ctx context.Context, p *parts, l *Lineage) (*Hold, error) {
	if err := durable.MkdirPrivate(p.at.dir()); err != nil { // runs/ may have been removed
		return nil, err
	}
	lock, err := durable.Lock(ctx, p.at.lockFile(l))
	if err != nil {
		return nil, err
	}
	return &Hold{p, lock, l}, nil
}

// tryHold takes the lock of the lineage's worktree. The error is durable.ErrLocked if another
// process has it.
func tryHold(p *parts, l *Lineage) (*Hold, error) {
	lock, err := durable.TryLock(p.at.lockFile(l))
	if err != nil {
		return nil, err
	}
	return &Hold{p, lock, l}, nil
}

// File returns the lock's file, for children to inherit.
func (h *Hold) File() *os.File { return h.lock.File() }

// Release gives the lock back, also for the processes that inherited it and are still running.
func (h *Hold) Release() error { return h.lock.Unlock() }

// Worktree returns the lineage's worktree for changes.
func (h *Hold) Worktree() git.Exclusive { return h.at.Worktree(h.lineage).Exclusive() }

// Checkout checks a commit out in the lane's worktree: see git.Exclusive.CheckoutDetached.
func (h *Hold) Checkout(ctx context.Context, commit string) error {
	l := h.lineage
	if !l.IsLane() {
		return fmt.Errorf("%s isn't the merge queue's worktree", l.Path)
	}
	if err := h.lineages.ours(l); err != nil {
		return err
	}
	return h.Worktree().CheckoutDetached(git.Inherit(ctx, h.File()), commit, h.at.git.Top)
}

// Continue makes a commit what the lineage's branch and worktree have, unless they have it already:
// the work has gone on elsewhere. What is there otherwise is lost, except ignored files. If it is
// killed, the next call finishes.
func (h *Hold) Continue(ctx context.Context, commit string) error {
	l := h.lineage
	if err := h.lineages.ours(l); err != nil {
		return err
	}
	ctx = git.Inherit(ctx, h.File())
	w := h.at.Worktree(l)
	branch, err := w.Branch()
	if err != nil {
		return err
	}
	head, err := git.ResolveCommit(ctx, l.Admin, "HEAD")
	if err != nil {
		return err
	}
	if branch == l.Branch && head == commit && w.Operation() == "" {
		if changed, err := w.Changed(ctx); err != nil || len(changed) == 0 {
			return err
		}
	}
	if err := w.Exclusive().CheckoutDetached(ctx, commit, h.at.git.Top); err != nil {
		return err
	}
	if err := git.ChangeRefs(ctx, h.common, "gl: slice "+l.Slice+" continues",
		git.RefChange{Name: l.Branch, New: commit, Force: true}); err != nil {
		return err
	}
	return w.Exclusive().Adopt(ctx, l.Branch)
}

// MergeText is the message of a merge of merged work into the lineage's branch.
func (l *Lineage) MergeText() string { return "Merge merged work into " + Short(l.Branch) }

// BeginMerge leaves the merge of a commit to be resolved: see git.Exclusive.MergeConflicted. Files
// of the state stay the branch's.
func (h *Hold) BeginMerge(ctx context.Context, commit, message string) error {
	_, err := h.Worktree().MergeConflicted(git.Inherit(ctx, h.File()), h.lineage.Branch, commit, message,
		statedir.InState)
	return err
}

// SetUp runs setup in a worktree that is ready. If it is killed, the next Make runs setup again.
func (h *Hold) SetUp(ctx context.Context, m Making) error {
	l := h.lineage
	if l.Phase != Ready && l.Phase != Filled {
		return fmt.Errorf("%s isn't ready", l.Path)
	}
	if err := h.lineages.step(l, Filled); err != nil {
		return err
	}
	return h.setUp(ctx, m)
}

// renew takes the lock anew, so that services which setup has left running don't hold it.
func (h *Hold) renew(ctx context.Context, path string) error {
	if err := h.lock.Unlock(); err != nil {
		return err
	}
	lock, err := durable.Lock(ctx, path)
	if err == nil {
		h.lock = lock
	}
	return err
}
