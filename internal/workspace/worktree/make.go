package worktree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/workspace/git"
)

// Making is the part of making a worktree that isn't git's. Every field may be empty.
type Making struct {
	Log func(line string) // is called with a line for each step
	// Include copies ignored files from one top to the other.
	Include func(ctx context.Context, from, to string) error
	Command string // the setup command, as it is recorded
	// Setup runs the setup command; its processes inherit the files.
	Setup func(ctx context.Context, dir string, files []*os.File) error
	// FilesOnly leaves setup to the next Make: no agent works there yet.
	FilesOnly bool
}

// Make makes the lineage's worktree, finishes what an interrupted Make left, or finds the worktree
// ready. It records each step in the lineage and in its file, and waits for the processes of an
// earlier Make that was killed. The caller keeps the Hold for as long as an agent works there.
func (r *Repo) Make(ctx context.Context, l *Lineage, m Making) (*Hold, error) {
	if m.Log == nil {
		m.Log = func(string) {}
	}
	h, err := takeHold(ctx, r.parts, l)
	if err != nil {
		return nil, err
	}
	if err = h.resume(ctx, m); err != nil && ctx.Err() == nil && !errors.As(err, new(*LostError)) {
		if back, _ := git.PutBack(ctx, r.Git.Common); back { // a prune beside it
			err = h.resume(ctx, m)
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.Release())
	}
	return h, nil
}

// resume does the remaining steps.
func (h *Hold) resume(ctx context.Context, m Making) error {
	l := h.lineage
	if err := h.reread(); err != nil {
		return err
	}
	if _, err := h.lineages.tidy(l); err != nil {
		return err
	}
	gitCtx := git.Inherit(ctx, h.File())
	if l.Phase != Planned && lost(l.Path) {
		if err := h.lose(gitCtx); err != nil {
			return err
		}
	}
	if l.Phase == Planned {
		m.Log("git worktree add " + l.Path)
		if err := h.add(gitCtx); err != nil {
			return err
		}
	}
	if err := h.lineages.ours(l); err != nil {
		return err
	}
	if !l.IsLane() {
		// Left by an agent's git that was killed.
		if err := git.UnlockRef(h.common, l.Branch); err != nil {
			return err
		}
	}
	mend := h.mendBranch
	if l.Phase == Added && !l.Again && !l.IsLane() {
		// A person may have deleted it, since git didn't know yet that it was checked out.
		mend = h.makeBranch
	}
	if err := mend(gitCtx); err != nil {
		return err
	}
	if err := h.Worktree().Recover(gitCtx); err != nil { // before any program works there
		return err
	}
	if l.Phase == Added {
		m.Log("checking out " + cmp.Or(short(l.Branch), l.Base))
		if err := h.fill(gitCtx); err != nil {
			return err
		}
	}
	if l.Phase == Filled && !m.FilesOnly {
		return h.setUp(ctx, m)
	}
	return nil
}

// reread updates the lineage from its file. It must be the slice's current one.
func (h *Hold) reread() error {
	l := h.lineage
	now, err := h.lineages.Get(l.System, l.Slice)
	if err != nil {
		return err
	}
	if now.N != l.N {
		return fmt.Errorf("slice %s continues in worktree %d, not in %d", l.Slice, now.N, l.N)
	}
	*l = *now
	if l.Phase == Gone {
		return fmt.Errorf("worktree %d of slice %s was removed", l.N, l.Slice)
	}
	return nil
}

// lockList excludes other changes to the repository's list of worktrees.
func (h *Hold) lockList(ctx context.Context) (*durable.Held, error) {
	return durable.Lock(ctx, filepath.Join(h.common, "gl.lock"))
}

// add has git add the worktree. The list is locked also while a git whose gl was killed is still
// running.
func (h *Hold) add(ctx context.Context) error {
	l := h.lineage
	lock, err := h.lockList(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	ctx = git.Inherit(ctx, lock.File())
	state, err := h.lineages.look(ctx, l)
	if err != nil {
		return err
	}
	switch state {
	case taken:
		return &Refused{fmt.Sprintf("the branch %s or the directory %s has another owner now",
			short(l.Branch), l.Path), "gl slice --fresh " + l.Slice}
	case half:
		if err := h.clear(); err != nil {
			return err
		}
		fallthrough
	case nothing:
		if err := h.addNew(ctx); err != nil {
			return err
		}
		if state, err = h.lineages.look(ctx, l); err != nil || state != whole {
			return errors.Join(err,
				fmt.Errorf("git worktree add didn't make a whole worktree in %s", l.Path))
		}
	}
	l.Remote = false
	return h.lineages.step(l, Added)
}

func (h *Hold) addNew(ctx context.Context) error {
	l := h.lineage
	if err := h.checkFree(ctx); err != nil {
		return err
	}
	if !l.IsLane() {
		if err := h.makeBranch(ctx); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o755); err != nil {
		return err
	}
	h.lineages.tidyAll()
	return git.AddWorktree(ctx, h.at.git.GitDir, l.Path, cmp.Or(l.Branch, l.Base),
		git.LockReason(l.Path))
}

// makeBranch makes the lineage's branch, or ensures that an existing one is whole. Its base may be
// a commit that no ref has yet: see lane.Redo.
func (h *Hold) makeBranch(ctx context.Context) error {
	l := h.lineage
	tip, err := git.ResolveCommit(ctx, h.common, l.Branch)
	if err != nil {
		return err
	}
	if tip != "" {
		return h.mendBranch(ctx)
	}
	has, err := h.queue.known(ctx)
	if err != nil {
		return err
	}
	// The Hold has the lock of this worktree, and no agent has worked on the branch yet.
	if err := git.UnlockRef(h.common, l.Branch); err != nil {
		return err
	}
	change := git.RefChange{Name: l.Branch, New: l.Base}
	if slices.Contains(has, l.Base) {
		return git.ChangeRefs(ctx, h.common, "gl: slice "+l.Slice, change)
	}
	if err = git.ChangeWhole(ctx, h.common, "gl: slice "+l.Slice, has,
		change); errors.Is(err, git.ErrLost) {
		return h.abandon(ctx, "")
	}
	return err
}

// checkFree refuses a branch that is checked out elsewhere.
func (h *Hold) checkFree(ctx context.Context) error {
	l := h.lineage
	if l.IsLane() {
		return nil
	}
	refuse := func(where string) error {
		return &Refused{fmt.Sprintf("the branch %s is checked out in %s", short(l.Branch), where),
			"check out another one there"}
	}
	switch branch, err := git.SymbolicRef(ctx, h.common, "HEAD"); {
	case err != nil:
		return err
	case branch == l.Branch && !git.Bare(h.common):
		return refuse(git.MainCheckout(h.common))
	}
	linked, err := git.ListLinked(h.common)
	for _, e := range linked {
		w := git.Worktree{Common: h.common, Admin: e.Admin, Path: e.Path}
		if branch, err := w.Branch(); err == nil && branch == l.Branch && paths.Exists(e.Path) {
			return refuse(e.Path)
		}
	}
	return err
}

// clear removes what look has found to be half a worktree. Directories that contain anything else
// stay.
func (h *Hold) clear() error {
	l := h.lineage
	linked, _, err := h.lineages.entries(l)
	if err != nil {
		return err
	}
	for _, e := range linked {
		if err := os.RemoveAll(e.Admin); err != nil {
			return err
		}
	}
	for _, path := range []string{filepath.Join(l.Path, ".git"), l.Path} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// fill writes the files.
func (h *Hold) fill(ctx context.Context) error {
	l := h.lineage
	w := h.Worktree()
	steps := []func() error{
		func() error { return w.Fill(ctx) },
		func() error { return h.overlay(ctx) },
		func() error { return w.FillSubmodules(ctx, h.at.git.Top) },
		func() error { return w.FillLFS(ctx) },
	}
	if l.IsLane() {
		steps = []func() error{
			func() error { return w.CheckoutDetached(ctx, l.Base, h.at.git.Top) },
		}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(h.at.Dir(l), 0o755); err != nil { // of a project that isn't in git
		return err
	}
	return h.lineages.step(l, Filled)
}

// setUp does what isn't git's. It runs again after a kill.
func (h *Hold) setUp(ctx context.Context, m Making) error {
	l := h.lineage
	if m.Include != nil {
		if err := m.Include(ctx, h.at.git.Top, l.Path); err != nil {
			return err
		}
	}
	l.Setup = ""
	if m.Setup != nil {
		if err := m.Setup(ctx, h.at.Dir(l), []*os.File{h.File()}); err != nil {
			return err
		}
		l.Setup = hash(m.Command)
		if err := h.renew(ctx, h.at.lockFile(l)); err != nil {
			return err
		}
	}
	ignored, err := h.at.Worktree(l).Ignored(ctx)
	if err != nil {
		return err
	}
	for i, p := range ignored {
		ignored[i] = strings.ToValidUTF8(p, "\uFFFD")
	}
	l.Ignored, l.Again = ignored, false
	if err := h.noteSetup(); err != nil {
		return err
	}
	return h.lineages.step(l, Ready)
}

func hash(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// lose begins to make a deleted worktree again.
func (h *Hold) lose(ctx context.Context) error {
	l := h.lineage
	linked, err := git.ListLinked(h.common)
	if err != nil {
		return err
	}
	for _, e := range linked {
		if e.Admin == l.Admin && e.Path != l.Path && paths.Exists(e.Path) {
			return &Refused{fmt.Sprintf("the worktree %s was moved to %s", l.Path, e.Path),
				"move it back with git worktree move -f -f"}
		}
	}
	if !l.IsLane() {
		if _, err := h.snapshots.keepLost(ctx, l, SnapshotOptions{Last: true,
			Why: "gl: what was left of a deleted worktree"}); err != nil {
			return err
		}
	}
	l.Again = true
	return h.lineages.step(l, Planned)
}

// overlay writes the last snapshot over the files of a worktree that is made again. It only does so
// if that snapshot is of the branch's current commit: else its files would undo later commits.
func (h *Hold) overlay(ctx context.Context) error {
	l := h.lineage
	all, err := h.snapshots.wipRefs(ctx, l)
	if err != nil {
		return err
	}
	_, tree := all.latest()
	if tree == "" {
		return nil
	}
	parent, err := git.ResolveCommit(ctx, h.common, tree+"^")
	if err != nil {
		return err
	}
	tip, err := git.ResolveCommit(ctx, h.common, l.Branch)
	if err != nil || parent != tip {
		return err
	}
	return h.Worktree().Overlay(ctx, tree)
}
