package worktree

import (
	"context"
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

// A Cleaner removes worktrees that are no longer needed, lists what is left over of others, and
// mends refs that git doesn't have whole.
type Cleaner struct{ *parts }

// RemoveOptions are what else may go with a worktree.
type RemoveOptions struct {
	Ignored bool // files that git ignores: they exist nowhere else
}

// Remove ends the lineage, and removes its worktree if the target contains everything in it that o
// doesn't give up; otherwise kept says what it doesn't contain. The branch and the WIP refs stay.
// Remove also finishes an interrupted removal.
func (c *Cleaner) Remove(ctx context.Context, l *Lineage, o RemoveOptions) (kept string,
	err error) {
	if err := durable.MkdirPrivate(c.at.dir()); err != nil { // runs/ may have been removed
		return "", err
	}
	h, err := tryHold(c.parts, l)
	if errors.Is(err, durable.ErrLocked) {
		return "an agent or a person is at work in " + l.Path, nil
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.Release()) }()
	ctx = git.Inherit(ctx, h.File())
	if l.Phase != Gone { // of a lineage without a file of its own it says so
		if err := c.lineages.step(l, Gone); err != nil {
			return "", err
		}
	}
	if _, err := c.lineages.tidy(l); err != nil {
		return "", err
	}
	aside := c.at.asideOf(l)
	switch {
	case aside != "" && paths.Exists(aside): // by an earlier call
	case lost(l.Path) && l.IsLane():
		return "", h.forget(ctx)
	case lost(l.Path):
		if _, err := c.snapshots.keepLost(ctx, l, SnapshotOptions{Last: true,
			Why: "gl: what was left of a deleted worktree"}); err != nil {
			return "", err
		}
		return "", h.forget(ctx)
	default:
		if kept, _, err = c.inTheWay(ctx, l, o); err != nil || kept != "" {
			return kept, err
		}
		// No process finds the directory by its path now.
		if err := os.Rename(l.Path, aside); err != nil {
			return "", err
		}
	}
	return h.finishRemoval(ctx, aside, o)
}

// Discard removes the lineage with its worktree, its branch and its snapshots, whatever they have:
// the work is kept elsewhere. If it is killed, the next call finishes. The error is
// durable.ErrLocked while a process works there.
func (c *Cleaner) Discard(ctx context.Context, l *Lineage) (err error) {
	if err := durable.MkdirPrivate(c.at.dir()); err != nil {
		return err
	}
	h, err := tryHold(c.parts, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Release()) }()
	ctx = git.Inherit(ctx, h.File())
	if err := c.lineages.step(l, Gone); err != nil {
		return err
	}
	if _, err := c.lineages.tidy(l); err != nil {
		return err
	}
	aside := c.at.asideOf(l)
	if aside != "" && !lost(l.Path) && !paths.Exists(aside) {
		if err := os.Rename(l.Path, aside); err != nil {
			return err
		}
	}
	if aside != "" {
		if err := removeTree(aside); err != nil {
			return err
		}
	}
	if err := h.forget(ctx); err != nil {
		return err
	}
	return c.discardRefs(ctx, l)
}

// discardRefs removes what git still has of a lineage without a worktree, and then its file.
func (c *Cleaner) discardRefs(ctx context.Context, l *Lineage) error {
	var changes []git.RefChange
	for _, dir := range []string{c.at.branches(l.System, l.Slice), c.at.wips(l.System, l.Slice),
		c.at.tests(l.System, l.Slice)} {
		refs, err := git.RefsBelow(ctx, c.common, dir)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			if c.at.owns(l, ref.Name) {
				changes = append(changes, git.RefChange{Name: ref.Name, Old: ref.Commit})
			}
		}
	}
	if len(changes) > 0 {
		if err := git.ChangeRefs(ctx, c.common, "gl: "+l.Slice+" is done", changes...); err != nil {
			return err
		}
	}
	err := durable.Unlink(c.at.file(l.System, l.Slice))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Removable reports whether Remove would remove the lineage's worktree, and why, or why it would be
// kept. It changes nothing.
func (c *Cleaner) Removable(ctx context.Context, l *Lineage,
	o RemoveOptions) (yes bool, _ string, err error) {
	if file := c.at.lockFile(l); paths.Exists(file) {
		lock, err := durable.TryLock(file)
		if errors.Is(err, durable.ErrLocked) {
			return false, "an agent or a person is at work there", nil
		}
		if err != nil {
			return false, "", err
		}
		defer lock.Unlock()
	}
	aside := c.at.asideOf(l)
	switch {
	case aside != "" && paths.Exists(aside):
		return true, "its removal was begun", nil
	case lost(l.Path):
		return true, "its directory is gone, and git still lists it", nil
	}
	kept, why, err := c.inTheWay(ctx, l, o)
	switch {
	case err != nil || kept != "":
		return false, kept, err
	case l.IsLane():
		return true, "it is made again when it is needed", nil
	}
	return true, why, nil
}

// inTheWay describes what would be lost with the worktree, "" for nothing; then why says which
// branch has all of it. Nothing in the lane's worktree is work.
func (c *Cleaner) inTheWay(ctx context.Context, l *Lineage,
	o RemoveOptions) (kept, why string, err error) {
	if err := c.lineages.ours(l); err != nil {
		return err.Error(), "", nil
	}
	w := c.at.Worktree(l)
	branch, err := w.Branch()
	if err != nil {
		return "", "", err
	}
	switch op := w.Operation(); {
	case inUse(l.Path):
		return "a process has its directory there", "", nil
	case l.IsLane():
		return "", "", nil
	case op != "":
		return "a " + op + " isn't finished there", "", nil
	case branch != l.Branch:
		return "the branch " + short(l.Branch) + " isn't checked out there", "", nil
	}
	tip, err := git.ResolveCommit(ctx, c.common, l.Branch)
	if err != nil || tip == "" {
		return "its branch has no commit", "", err
	}
	holders, err := c.queue.holders(ctx)
	if refused := new(Refused); errors.As(err, &refused) {
		return refused.Reason, "", nil
	}
	if err != nil {
		return "", "", err
	}
	if holders, err = c.queue.joined(ctx, l.System, l.Slice, l.N, holders); err != nil {
		return "", "", err
	}
	kept, holder, err := c.uncontained(ctx, l, tip, holders)
	if err != nil || kept != "" {
		return kept, "", err
	}
	kept, given, err := c.unsaved(ctx, w, l, o)
	why = holder + " has all that is in it"
	if len(given) > 0 {
		why += ", except ignored files: " + sample(given)
	}
	return kept, why, err
}

// uncontained describes what the branch, which is at tip, has and the holders don't, "" for
// nothing; then holder is the one that has all of it.
func (c *Cleaner) uncontained(ctx context.Context, l *Lineage, tip string,
	holders []git.Ref) (kept, holder string, err error) {
	// In most cases the lane has it, and is checked first.
	for _, h := range slices.Backward(holders) {
		if in, err := git.IsAncestor(ctx, c.common, tip, h.Commit); err != nil {
			return "", "", err
		} else if in {
			return "", short(h.Name), nil
		}
	}
	var first string
	for _, h := range holders {
		contained, why, err := git.Contained(ctx, c.common, tip, l.Base, h.Commit)
		if err != nil {
			return "", "", err
		}
		if contained {
			return "", short(h.Name), nil
		}
		if first == "" {
			first = fmt.Sprintf("the branch %s %s", short(l.Branch),
				strings.ReplaceAll(why, h.Commit, short(h.Name)))
		}
	}
	return first, "", nil
}

// unsaved describes what is in the worktree and in no commit, and lists what o gives up of that.
func (c *Cleaner) unsaved(ctx context.Context, w git.Worktree, l *Lineage,
	o RemoveOptions) (kept string, given []string, err error) {
	u, err := w.Unsaved(ctx, l.Ignored)
	if err != nil {
		return "", nil, err
	}
	return c.keeps(ctx, l, l.Path, u, o)
}

func unsavedText(u *git.Unsaved) string {
	for _, c := range []struct {
		what string
		list []string
		help string
	}{{"changes that aren't committed", u.Changed, onceGone},
		{"staged changes", u.Staged, onceGone},
		{"ignored files that setup didn't make", u.Ignored, "gl clean --ignored removes it with them"}} {
		if len(c.list) > 0 {
			return fmt.Sprintf("it has %s: %s; %s", c.what, sample(c.list), c.help)
		}
	}
	return ""
}

// onceGone says how a person gets rid of a worktree that is kept for files.
const onceGone = "once they are moved or deleted there, gl clean removes it"

// sample lists the first few of the paths.
func sample(list []string) string {
	const most = 3
	quoted := make([]string, 0, most)
	for _, p := range list[:min(len(list), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", p))
	}
	s := strings.Join(quoted, ", ")
	if len(list) > most {
		s += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return s
}

// finishRemoval removes a worktree that was renamed, after a last look at it.
func (h *Hold) finishRemoval(ctx context.Context, aside string, o RemoveOptions) (string, error) {
	l := h.lineage
	w := git.Worktree{Common: h.common, Admin: l.Admin, Path: aside}
	if !l.IsLane() && paths.IsDir(l.Admin) && paths.Exists(filepath.Join(aside, ".git")) {
		// Let git recognize it as the worktree that it was.
		if err := durable.WriteFile(filepath.Join(l.Admin, "gitdir"),
			[]byte(filepath.Join(aside, ".git")+"\n"), 0o644); err != nil {
			return "", err
		}
		saved, err := h.snapshots.save(ctx, l, w,
			SnapshotOptions{Last: true, Compare: true, Why: "gl: before the worktree was removed"})
		if err != nil {
			return "", err
		}
		if err := h.takeDocuments(ctx, l, aside); err != nil {
			return "", err
		}
		if kept, _, err := h.keeps(ctx, l, aside, saved.Unsaved, o); err != nil || kept != "" {
			return kept, err
		}
		// From here on files may be missing, which isn't a change by the agent.
		if err := os.Remove(filepath.Join(aside, ".git")); err != nil {
			return "", err
		}
	}
	if err := removeTree(aside); err != nil {
		return "", err
	}
	return "", h.forget(ctx)
}

// forget removes git's entry of a removed worktree, and directories that are empty now.
func (h *Hold) forget(ctx context.Context) error {
	l := h.lineage
	if err := h.forgetEntry(ctx); err != nil {
		return err
	}
	if err := durable.Unlink(h.at.lockFile(l)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Stop at a directory that isn't empty.
	for dir := l.Path; len(dir) >= len(h.at.base); dir = filepath.Dir(dir) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return nil
}

// forgetEntry removes git's entry of a removed worktree.
func (h *Hold) forgetEntry(ctx context.Context) error {
	l := h.lineage
	lock, err := h.lockList(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if l.Admin != "" {
		if err := errors.Join(os.RemoveAll(l.Admin),
			os.RemoveAll(h.at.Worktree(l).IndexCopy())); err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a directory with everything in it, including unwritable directories, as in
// package caches.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	// Errors show when the tree is removed.
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() { // before it is read
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// inUse reports whether a process has its directory at or below path, if the system tells.
func inUse(path string) bool {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if dir, err := os.Readlink(link); err == nil &&
			(dir == path || strings.HasPrefix(dir, path+"/")) {
			return true
		}
	}
	return false
}
