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

// Remove ends the lineage and removes its worktree, if everything in it is contained in the target or one of the other
// commits; kept says what isn't. The branch and the WIP refs stay. What an earlier Remove left that was killed is finished.
func (r *Repo) Remove(ctx context.Context, l *Lineage, in ...string) (kept string, err error) {
	if err := durable.MkdirPrivate(r.dir()); err != nil { // runs/ may have been removed
		return "", err
	}
	lock, err := durable.TryLock(r.lockFile(l))
	if errors.Is(err, durable.ErrLocked) {
		return "an agent or a person is at work in " + l.Path, nil
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	ctx = git.Inherit(ctx, lock.File())
	if l.Phase != Gone { // of a lineage without a file of its own it says so
		if err := r.step(l, Gone); err != nil {
			return "", err
		}
	}
	if _, err := r.tidy(l); err != nil {
		return "", err
	}
	aside := r.asideOf(l)
	switch {
	case aside != "" && paths.Exists(aside): // by an earlier call
	case lost(l.Path) && l.IsLane():
		return "", r.forget(ctx, l)
	case lost(l.Path):
		if _, err := r.keepLost(ctx, l, SnapshotOptions{Last: true, Why: "gl: what was left of a deleted worktree"}); err != nil {
			return "", err
		}
		return "", r.forget(ctx, l)
	default:
		if kept, _, err = r.inTheWay(ctx, l, in); err != nil || kept != "" {
			return kept, err
		}
		// By its path nobody writes there any more.
		if err := os.Rename(l.Path, aside); err != nil {
			return "", err
		}
	}
	return r.finishRemoval(ctx, l, aside)
}

// Removable says whether Remove would remove the lineage's worktree, and why, or why it would be kept. It changes nothing.
func (r *Repo) Removable(ctx context.Context, l *Lineage, in ...string) (yes bool, why string, err error) {
	if file := r.lockFile(l); paths.Exists(file) {
		lock, err := durable.TryLock(file)
		if errors.Is(err, durable.ErrLocked) {
			return false, "an agent or a person is at work there", nil
		}
		if err != nil {
			return false, "", err
		}
		defer lock.Unlock()
	}
	aside := r.asideOf(l)
	switch {
	case aside != "" && paths.Exists(aside):
		return true, "its removal was begun", nil
	case lost(l.Path):
		return true, "its directory is gone, and git still lists it", nil
	}
	kept, holder, err := r.inTheWay(ctx, l, in)
	switch {
	case err != nil || kept != "":
		return false, kept, err
	case l.IsLane():
		return true, "it is made again when it is needed", nil
	}
	return true, holder + " has all that is in it", nil
}

// Retire ends a lineage: the slice's next attempt begins a new one. Its worktree, its branch and its snapshots stay. A
// lineage that isn't the slice's last has ended already. The caller has the project's lock.
func (r *Repo) Retire(system, slice string, n int) error {
	l, err := r.Get(system, slice)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*BadLineage)) || err == nil && (l.N != n || l.Phase == Gone) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.step(l, Gone)
}

// asideOf is where a worktree is while it is removed.
func (r *Repo) asideOf(l *Lineage) string {
	if l.Admin == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(l.Path), ".gone-"+filepath.Base(l.Admin))
}

// inTheWay says what the worktree has that would be lost, "" for nothing; then holder is what has it all. Nothing in the lane's worktree
// is work.
func (r *Repo) inTheWay(ctx context.Context, l *Lineage, in []string) (kept, holder string, err error) {
	if err := r.ours(l); err != nil {
		return err.Error(), "", nil
	}
	w := r.Worktree(l)
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
	tip, err := git.ResolveCommit(ctx, r.Common, l.Branch)
	if err != nil || tip == "" {
		return "its branch has no commit", "", err
	}
	holders, err := r.holders(ctx)
	if refused := new(Refused); errors.As(err, &refused) {
		return refused.Reason, "", nil
	}
	if err != nil {
		return "", "", err
	}
	if holders, err = r.joined(ctx, l.System, l.Slice, l.N, holders); err != nil {
		return "", "", err
	}
	for _, commit := range in {
		holders = append(holders, git.Ref{Name: commit, Commit: commit})
	}
	for _, h := range slices.Backward(holders) { // in most cases the lane has it, which is asked first
		if in, err := git.IsAncestor(ctx, r.Common, tip, h.Commit); err != nil {
			return "", "", err
		} else if in {
			kept, err := unsaved(ctx, w, l)
			return kept, short(h.Name), err
		}
	}
	var first string
	for _, h := range holders {
		contained, why, err := git.Contained(ctx, r.Common, tip, l.Base, h.Commit)
		if err != nil {
			return "", "", err
		}
		if contained {
			kept, err := unsaved(ctx, w, l)
			return kept, short(h.Name), err
		}
		if first == "" {
			first = fmt.Sprintf("the branch %s %s", short(l.Branch), strings.ReplaceAll(why, h.Commit, short(h.Name)))
		}
	}
	return first, "", nil
}

// holders are the branches that may have a slice's work: the target and the lane. One of them may be gone.
func (r *Repo) holders(ctx context.Context) ([]git.Ref, error) {
	target, err := r.targetTip(ctx)
	if err != nil && !errors.As(err, new(*Refused)) {
		return nil, err
	}
	lane, laneErr := r.lane(ctx)
	if laneErr != nil {
		return nil, laneErr
	}
	var list []git.Ref
	if target != "" {
		list = append(list, git.Ref{Name: r.target, Commit: target})
	}
	if lane != "" && lane != target {
		list = append(list, git.Ref{Name: r.LaneRef(), Commit: lane})
	}
	if len(list) > 0 {
		err = nil
	}
	return list, err
}

// known are the commits of the target and the lane: what git is known to have, whatever is broken
// of the slices' branches.
func (r *Repo) known(ctx context.Context) (commits []string, err error) {
	holders, err := r.holders(ctx)
	if errors.As(err, new(*Refused)) {
		return nil, nil
	}
	for _, h := range holders {
		commits = append(commits, h.Commit)
	}
	return commits, err
}

// unsaved says what is in the worktree and in no commit.
func unsaved(ctx context.Context, w git.Worktree, l *Lineage) (string, error) {
	u, err := w.Unsaved(ctx, l.Ignored)
	if err != nil {
		return "", err
	}
	return unsavedText(u), nil
}

func unsavedText(u *git.Unsaved) string {
	for _, c := range []struct {
		what string
		list []string
	}{{"changes that aren't committed", u.Changed}, {"staged changes", u.Staged}, {"ignored files that setup didn't make", u.Ignored}} {
		if len(c.list) > 0 {
			return fmt.Sprintf("it has %s: %s", c.what, sample(c.list))
		}
	}
	return ""
}

// sample is some of the paths.
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

// finishRemoval removes a worktree that was renamed, after one more look at it.
func (r *Repo) finishRemoval(ctx context.Context, l *Lineage, aside string) (string, error) {
	w := git.Worktree{Common: r.Common, Admin: l.Admin, Path: aside}
	if !l.IsLane() && paths.IsDir(l.Admin) && paths.Exists(filepath.Join(aside, ".git")) {
		// Git is to take it for the worktree that it was.
		if err := durable.WriteFile(filepath.Join(l.Admin, "gitdir"), []byte(filepath.Join(aside, ".git")+"\n"), 0o644); err != nil {
			return "", err
		}
		saved, err := r.save(ctx, l, w, SnapshotOptions{Last: true, Compare: true, Why: "gl: before the worktree was removed"})
		if err != nil {
			return "", err
		}
		if kept := unsavedText(saved.Unsaved); kept != "" {
			return kept, nil
		}
		// From here on what is missing isn't work.
		if err := os.Remove(filepath.Join(aside, ".git")); err != nil {
			return "", err
		}
	}
	if err := removeTree(aside); err != nil {
		return "", err
	}
	return "", r.forget(ctx, l)
}

// forget removes git's entry of a worktree that isn't there, and directories that are empty now.
func (r *Repo) forget(ctx context.Context, l *Lineage) error {
	lock, err := durable.Lock(ctx, filepath.Join(r.Common, "gl.lock"))
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if l.Admin != "" {
		if err := errors.Join(os.RemoveAll(l.Admin), os.RemoveAll(r.Worktree(l).IndexCopy())); err != nil {
			return err
		}
	}
	if err := durable.Unlink(r.lockFile(l)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// One that isn't empty stays.
	for dir := l.Path; len(dir) >= len(r.base); dir = filepath.Dir(dir) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return nil
}

// removeTree removes a directory with everything in it, also where directories can't be written: package caches are like
// that.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	// What matters is whether it can be removed then.
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() { // before it is read
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// inUse says whether a process has its directory at or below path, where the system tells.
func inUse(path string) bool {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if dir, err := os.Readlink(link); err == nil && (dir == path || strings.HasPrefix(dir, path+"/")) {
			return true
		}
	}
	return false
}
