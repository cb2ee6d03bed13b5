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

// Making is what belongs to making a worktree and isn't git's. Every field may be empty.
type Making struct {
	Log       func(line string)                                             // is told what is done
	Include   func(ctx context.Context, from, to string) error              // brings ignored files from one top to the other
	Command   string                                                        // the setup command, as it is recorded
	Setup     func(ctx context.Context, dir string, files []*os.File) error // runs it; its processes inherit the files
	FilesOnly bool                                                          // leaves the rest to the next Make: nobody works there yet
}

// A Hold is the kernel lock of a worktree. Whoever inherits its file, the agent and its children, has it, too.
type Hold struct{ lock *durable.Held }

// File is for children to inherit.
func (h *Hold) File() *os.File { return h.lock.File() }

// Release gives the lock back, also for those who inherited it: who is left of them is nobody's concern.
func (h *Hold) Release() error { return h.lock.Unlock() }

// Make makes the lineage's worktree, or finishes what an earlier Make left, or finds that it is ready. Each step is recorded
// in the lineage and in its file. It waits for processes of an earlier Make that was killed. The lock that it returns is
// held as long as an agent works there.
func (r *Repo) Make(ctx context.Context, l *Lineage, m Making) (*Hold, error) {
	if m.Log == nil {
		m.Log = func(string) {}
	}
	if err := durable.MkdirPrivate(r.dir()); err != nil {
		return nil, err
	}
	lock, err := durable.Lock(ctx, r.lockFile(l))
	if err != nil {
		return nil, err
	}
	h := &Hold{lock}
	if err = r.resume(ctx, l, m, h); err != nil && ctx.Err() == nil && !errors.As(err, new(*LostError)) {
		if back, _ := git.PutBack(ctx, r.Common); back { // a prune beside it
			err = r.resume(ctx, l, m, h)
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.Release())
	}
	return h, nil
}

// resume does the steps that are left.
func (r *Repo) resume(ctx context.Context, l *Lineage, m Making, h *Hold) error {
	now, err := r.Get(l.System, l.Slice)
	if err != nil {
		return err
	}
	if now.N != l.N {
		return fmt.Errorf("slice %s goes on in lineage %d, not in %d", l.Slice, now.N, l.N)
	}
	*l = *now
	if l.Phase == Gone {
		return fmt.Errorf("lineage %d of slice %s has come to its end", l.N, l.Slice)
	}
	if _, err := r.tidy(l); err != nil {
		return err
	}
	gitCtx := git.Inherit(ctx, h.File())
	if l.Phase != Planned && lost(l.Path) {
		if err := r.lose(gitCtx, l); err != nil {
			return err
		}
	}
	if l.Phase == Planned {
		m.Log("git worktree add " + l.Path)
		if err := r.add(gitCtx, l); err != nil {
			return err
		}
	}
	if err := r.ours(l); err != nil {
		return err
	}
	if !l.IsLane() {
		if err := git.UnlockRef(r.Common, l.Branch); err != nil { // a git of an agent's that was killed
			return err
		}
	}
	mend := r.mendBranch
	if l.Phase == Added && !l.Again && !l.IsLane() {
		mend = r.makeBranch // a person may have deleted it, since git didn't know yet that it is checked out
	}
	if err := mend(gitCtx, l); err != nil {
		return err
	}
	if err := r.Worktree(l).Recover(gitCtx); err != nil { // before anybody works there
		return err
	}
	if l.Phase == Added {
		m.Log("checking out " + cmp.Or(short(l.Branch), l.Base))
		if err := r.fill(gitCtx, l); err != nil {
			return err
		}
	}
	if l.Phase == Filled && !m.FilesOnly {
		return r.setUp(ctx, l, m, h)
	}
	return nil
}

// step records that the lineage is one phase further.
func (r *Repo) step(l *Lineage, to Phase) error {
	l.Phase = to
	return r.Save(l)
}

// add has git add the worktree. What changes the list of worktrees excludes others who do, in any project of the repository,
// also while a git lives on whose gl was killed.
func (r *Repo) add(ctx context.Context, l *Lineage) error {
	lock, err := durable.Lock(ctx, filepath.Join(r.Common, "gl.lock"))
	if err != nil {
		return err
	}
	defer lock.Unlock()
	ctx = git.Inherit(ctx, lock.File())
	state, err := r.look(ctx, l)
	if err != nil {
		return err
	}
	switch state {
	case taken:
		return &Refused{fmt.Sprintf("the branch %s or the directory %s has come to be another's", short(l.Branch), l.Path), "gl slice --fresh " + l.Slice}
	case half:
		if err := r.clear(l); err != nil {
			return err
		}
		fallthrough
	case nothing:
		if err := r.addNew(ctx, l); err != nil {
			return err
		}
		if state, err = r.look(ctx, l); err != nil || state != whole {
			return errors.Join(err, fmt.Errorf("git worktree add didn't make a whole worktree in %s", l.Path))
		}
	}
	return r.step(l, Added)
}

func (r *Repo) addNew(ctx context.Context, l *Lineage) error {
	if err := r.checkFree(ctx, l); err != nil {
		return err
	}
	if !l.IsLane() {
		if err := r.makeBranch(ctx, l); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o755); err != nil {
		return err
	}
	r.tidyAll()
	return git.AddWorktree(ctx, r.GitDir, l.Path, cmp.Or(l.Branch, l.Base), lockReason(l.Path))
}

// makeBranch makes the lineage's branch, or sees to it that the one which is there is whole. Its
// base may be a commit that no ref has yet: see lane.Redo.
func (r *Repo) makeBranch(ctx context.Context, l *Lineage) error {
	tip, err := git.ResolveCommit(ctx, r.Common, l.Branch)
	if err != nil {
		return err
	}
	if tip != "" {
		return r.mendBranch(ctx, l)
	}
	has, err := r.known(ctx)
	if err != nil {
		return err
	}
	// We hold the lock of this worktree, and no agent has worked on the branch yet.
	if err := git.UnlockRef(r.Common, l.Branch); err != nil {
		return err
	}
	change := git.RefChange{Name: l.Branch, New: l.Base}
	if slices.Contains(has, l.Base) {
		return git.ChangeRefs(ctx, r.Common, "gl: slice "+l.Slice, change)
	}
	if err = git.ChangeWhole(ctx, r.Common, "gl: slice "+l.Slice, has, change); errors.Is(err, git.ErrLost) {
		return r.abandon(ctx, l, "")
	}
	return err
}

// checkFree refuses a branch that is checked out elsewhere.
func (r *Repo) checkFree(ctx context.Context, l *Lineage) error {
	if l.IsLane() {
		return nil
	}
	refuse := func(where string) error {
		return &Refused{fmt.Sprintf("the branch %s is checked out in %s", short(l.Branch), where), "check out another one there"}
	}
	switch branch, err := git.SymbolicRef(ctx, r.Common, "HEAD"); {
	case err != nil:
		return err
	case branch == l.Branch && !git.Bare(r.Common):
		return refuse(git.MainCheckout(r.Common))
	}
	linked, err := git.ListLinked(r.Common)
	for _, e := range linked {
		w := git.Worktree{Common: r.Common, Admin: e.Admin, Path: e.Path}
		if branch, err := w.Branch(); err == nil && branch == l.Branch && paths.Exists(e.Path) {
			return refuse(e.Path)
		}
	}
	return err
}

// What look finds.
type found int

const (
	nothing found = iota // neither a directory nor an entry
	half                 // a part of what git worktree add makes, and nothing else
	whole                // a worktree without files, or with them
	taken                // something else
)

// look says what is there of a worktree in which no agent has been yet, and sets Admin if it is whole.
func (r *Repo) look(ctx context.Context, l *Lineage) (found, error) {
	if !l.IsLane() {
		tip, err := git.ResolveCommit(ctx, r.Common, l.Branch)
		if err != nil {
			return 0, err
		}
		if tip != "" && tip != l.Base && !l.Again || tip == "" && l.Again {
			return taken, nil
		}
	}
	linked, foreign, err := r.entries(l)
	switch {
	case err != nil:
		return 0, err
	case foreign:
		return taken, nil
	}
	for _, e := range linked {
		w := git.Worktree{Common: r.Common, Admin: e.Admin, Path: l.Path}
		if branch, err := w.Branch(); err == nil && w.Check() == nil && branch == l.Branch {
			if l.IsLane() { // git writes zeros before the commit
				if head, err := git.ResolveCommit(ctx, e.Admin, "HEAD"); err != nil || head == "" {
					continue
				}
			}
			l.Admin = e.Admin
			return whole, nil
		}
	}
	files, err := durable.ReadDir(l.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(linked) == 0:
		return nothing, nil
	case errors.Is(err, fs.ErrNotExist), err == nil && len(files) == 0:
		return half, nil
	case err == nil && len(files) == 1 && files[0].Name() == ".git" && r.halfFile(l):
		return half, nil
	}
	return taken, nil
}

// halfFile says whether the .git file of the lineage's directory is what a git worktree add left that was killed: it names
// an entry of this repository, or isn't written yet.
func (r *Repo) halfFile(l *Lineage) bool {
	data, err := durable.ReadFile(filepath.Join(l.Path, ".git"))
	if err != nil {
		return false
	}
	admin := git.GitFile(l.Path)
	return len(data) == 0 || filepath.Dir(admin) == filepath.Join(r.Common, "worktrees")
}

// entries are git's entries of the lineage's worktree, half made ones among them: they have gl's lock before anything else.
// A person's entry of the same path is foreign.
func (r *Repo) entries(l *Lineage) (mine []git.Linked, foreign bool, err error) {
	all, err := git.ListLinked(r.Common)
	for _, e := range all {
		switch {
		case e.Path != "" && e.Path != l.Path && paths.Exists(e.Path): // also ours, if somebody has moved it
		case e.Lock == lockReason(l.Path) || e.Path == "" && blank(e.Admin, filepath.Base(l.Path)):
			mine = append(mine, e)
		case e.Path == l.Path:
			foreign = true
		}
	}
	return mine, foreign, err
}

// blank says whether the admin directory is one for a worktree of that name, and git was killed before it wrote anything.
func blank(admin, name string) bool {
	if !strings.HasPrefix(filepath.Base(admin), name) {
		return false
	}
	files, err := durable.ReadDir(admin)
	if err != nil || len(files) > 1 {
		return false
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || f.Name() != "locked" || info.Size() > 0 {
			return false
		}
	}
	return true
}

// clear removes what look has found to be half a worktree. In each directory it removes only what is in there by look.
func (r *Repo) clear(l *Lineage) error {
	linked, _, err := r.entries(l)
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
func (r *Repo) fill(ctx context.Context, l *Lineage) error {
	w := r.Worktree(l)
	steps := []func() error{
		func() error { return w.Fill(ctx) },
		func() error { return r.overlay(ctx, l) },
		func() error { return w.FillSubmodules(ctx, r.Top) },
		func() error { return w.FillLFS(ctx) },
	}
	if l.IsLane() {
		steps = []func() error{func() error { return w.CheckoutDetached(ctx, l.Base, r.Top) }}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(r.Dir(l), 0o755); err != nil { // of a project that isn't in git
		return err
	}
	return r.step(l, Filled)
}

// setUp does what isn't git's. It runs again after a kill.
func (r *Repo) setUp(ctx context.Context, l *Lineage, m Making, h *Hold) error {
	if m.Include != nil {
		if err := m.Include(ctx, r.Top, l.Path); err != nil {
			return err
		}
	}
	l.Setup = ""
	if m.Setup != nil {
		if err := m.Setup(ctx, r.Dir(l), []*os.File{h.File()}); err != nil {
			return err
		}
		l.Setup = hash(m.Command)
		if err := h.renew(ctx, r.lockFile(l)); err != nil {
			return err
		}
	}
	ignored, err := r.Worktree(l).Ignored(ctx)
	if err != nil {
		return err
	}
	for i, p := range ignored {
		ignored[i] = strings.ToValidUTF8(p, "\uFFFD")
	}
	l.Ignored, l.Again = ignored, false
	if err := r.noteSetup(l); err != nil {
		return err
	}
	return r.step(l, Ready)
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

func hash(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
