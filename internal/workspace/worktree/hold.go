package worktree

import (
	"context"
	"fmt"
	"greenlight/internal/base/durable"
	"greenlight/internal/workspace/git"
	"os"
)

// parts are what work on the worktrees is done with, from the lowest up.
type parts struct {
	at        *Layout
	common    string // the repository's directory
	queue     *Queue
	lineages  *Lineages
	snapshots *Snapshots
}

// A Hold is a lineage whose worktree's kernel lock is held. What only the lock's holder may do is
// done by a Hold. A process that inherits the lock's file, the agent and its children, holds the
// lock, too.
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

// Checkout makes the lane's worktree a commit's: see git.Worktree.CheckoutDetached.
func (h *Hold) Checkout(ctx context.Context, commit string) error {
	l := h.lineage
	if !l.IsLane() {
		return fmt.Errorf("%s isn't the lane's worktree", l.Path)
	}
	if err := h.lineages.ours(l); err != nil {
		return err
	}
	return h.at.Worktree(l).CheckoutDetached(git.Inherit(ctx, h.File()), commit, h.at.git.Top)
}

// SetUp runs setup in a worktree that is ready. When it is killed, Make does it.
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

// renew takes the lock anew: services that setup has started may go on, and don't hold it.
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
