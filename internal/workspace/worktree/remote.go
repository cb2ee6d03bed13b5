package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"greenlight/internal/workspace/git"
)

// A lineage whose work is done on other machines has a branch here and no worktree. The branch is
// where the last of them left it, everything committed: each snapshot moves it. Make makes a
// worktree of it as soon as anything here needs files. Once an agent or a person has worked
// there, the work is done here; a worktree that only the merge queue has used goes again when
// another machine is to continue.

// IsHere reports whether the lineage has a worktree on this machine, or begun one. Then no other
// machine goes on with it.
func (l *Lineage) IsHere() bool { return l.Phase != Planned || l.Again && !l.Remote }

// HereError means that a lineage's work is done on this machine.
type HereError struct{ Path string }

func (e *HereError) Error() string { return "its worktree is here: " + e.Path }

// Begin makes the branch of a lineage whose work is to be done on another machine, and returns the
// commit to start from. The error is a *HereError if the lineage has a worktree.
func (r *Repo) Begin(ctx context.Context, l *Lineage) (tip string, err error) {
	err = r.away(ctx, l, true, func(h *Hold) error {
		if tip, err = git.ResolveCommit(ctx, h.common, l.Branch); err != nil {
			return err
		}
		if tip == "" {
			l.Again = false // until there is a branch
			if err := h.makeBranch(ctx); err != nil {
				return err
			}
			tip = l.Base
		}
		if l.Again && l.Remote {
			return nil
		}
		l.Again, l.Remote = true, true // look expects the branch to have work
		return h.lineages.Save(l)
	})
	return tip, err
}

// Carry moves the lineage's branch to a commit that another machine has made of the work, and
// keeps that as a snapshot. The commit is in the repository.
func (r *Repo) Carry(ctx context.Context, l *Lineage, commit, why string) error {
	return r.away(ctx, l, false, func(h *Hold) error {
		tip, err := git.ResolveCommit(ctx, h.common, l.Branch)
		if err != nil || tip == commit {
			return err
		}
		err = h.snapshots.numbered(ctx, l, func(k int, all wips) error {
			change := git.RefChange{Name: h.at.wip(l) + "/" + strconv.Itoa(k) + "/" + Tree, New: commit}
			err := git.ChangeRefs(ctx, h.common, why, change)
			if err == nil {
				_ = h.snapshots.thin(ctx, all) // the next one deletes what can't be deleted now
			}
			return err
		})
		if err != nil {
			return err
		}
		return git.ChangeRefs(ctx, h.common, why,
			git.RefChange{Name: l.Branch, New: commit, Old: tip})
	})
}

// away runs f with the lock of a lineage that has no worktree here, or none that is needed.
func (r *Repo) away(ctx context.Context, l *Lineage, leave bool, f func(*Hold) error) error {
	h, err := takeHold(ctx, r.parts, l)
	if err != nil {
		return err
	}
	defer h.Release()
	if err := h.reread(); err != nil {
		return err
	}
	if leave && l.isCopy() {
		if err := h.leave(ctx); err != nil {
			return err
		}
	}
	if l.IsHere() {
		return &HereError{l.Path}
	}
	return f(h)
}

// isCopy reports whether the lineage's worktree was made of another machine's work, and neither
// set up nor given to an agent since.
func (l *Lineage) isCopy() bool { return l.Phase == Filled && l.Again }

// Needless reports whether the lineage's worktree has nothing but what is on its branch, so that
// another machine may go on: Begin removes it then.
func (r *Repo) Needless(ctx context.Context, l *Lineage) (bool, error) {
	return r.parts.needless(ctx, l)
}

func (p *parts) needless(ctx context.Context, l *Lineage) (bool, error) {
	if !l.isCopy() {
		return false, nil
	}
	if lost(l.Path) { // Begin was killed
		return true, nil
	}
	w := p.at.Worktree(l)
	if err := p.lineages.ours(l); err != nil {
		return false, nil //nolint:nilerr // what isn't ours stays there
	}
	branch, err := w.Branch()
	if err != nil || branch != l.Branch || w.Operation() != "" || inUse(l.Path) {
		return false, err
	}
	u, err := w.Unsaved(ctx, l.Ignored)
	return err == nil && unsavedText(u) == "", err
}

// leave removes a needless worktree. What is written there meanwhile is put back. After a kill the
// next call finishes, and Make makes the worktree again.
func (h *Hold) leave(ctx context.Context) error {
	l := h.lineage
	needless, err := h.needless(ctx, l)
	if err != nil || !needless {
		return err
	}
	aside := h.at.asideOf(l)
	if !lost(l.Path) {
		if err := os.Rename(l.Path, aside); err != nil {
			return err
		}
		w := git.Worktree{Common: h.common, Admin: l.Admin, Path: aside}
		if u, err := w.Unsaved(ctx, l.Ignored); err != nil || unsavedText(u) != "" {
			return errors.Join(err, os.Rename(aside, l.Path))
		}
	}
	if err := removeTree(aside); err != nil {
		return err
	}
	if err := h.forgetEntry(ctx); err != nil {
		return err
	}
	l.Again, l.Remote, l.Admin = true, true, ""
	return h.lineages.step(l, Planned)
}

// Spare keeps a commit that isn't the lineage's work, since another machine had taken that over,
// under a WIP ref of its own. It returns the ref's directory.
func (ss *Snapshots) Spare(ctx context.Context, l *Lineage, commit, why string) (prefix string,
	err error) {
	err = ss.numbered(ctx, l, func(k int, _ wips) error {
		prefix = ss.at.wip(l) + "/" + strconv.Itoa(k)
		return git.ChangeRefs(ctx, ss.common, why,
			git.RefChange{Name: prefix + "/spare", New: commit})
	})
	return prefix, err
}

// carried returns the work of a lineage that is done on other machines.
func (ss *Snapshots) carried(ctx context.Context, l *Lineage) (*Snapshot, error) {
	s := &Snapshot{}
	tip, err := git.ResolveCommit(ctx, ss.common, l.Branch)
	if err != nil || tip == "" {
		return nil, err
	}
	all, err := ss.wipRefs(ctx, l)
	if err != nil {
		return nil, err
	}
	if k, _ := all.latest(); k > 0 {
		s.Prefix = ss.at.wip(l) + "/" + strconv.Itoa(k)
	}
	if s.Whole, err = git.TreeOf(ctx, ss.common, tip); err != nil {
		return nil, fmt.Errorf("read %s: %w", short(l.Branch), err)
	}
	s.Tip = tip
	return s, nil
}
