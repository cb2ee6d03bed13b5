package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// git prune first lists what refs have, and then removes everything else. It also removes objects
// that gl makes in between, even if a ref has them by then, and so breaks the ref or a worktree's
// HEAD. So gl keeps a second link to new objects for a while, in COMMON/gl-held/MINUTE, and
// restores what is missing.

const (
	heldDir = "gl-held"
	// holdFor is longer than a git prune takes from its list to its end, except in a very large
	// repository.
	holdFor = 10 * time.Minute
)

// hold keeps the objects, which refs are about to have. The error is ErrLost if one of them is
// already gone. Failing to keep them, on a full file system or one without links, is no error.
func hold(ctx context.Context, common string, ids []string) error {
	var elsewhere []string // in a pack, or gone
	for _, id := range ids {
		err := linkHeld(common, filepath.Join(common, "objects"), id)
		if errors.Is(err, fs.ErrNotExist) {
			elsewhere = append(elsewhere, id)
		} else if err != nil {
			return nil
		}
	}
	gone, err := missing(ctx, common, elsewhere)
	if err == nil && len(gone) > 0 {
		err = ErrLost
	}
	return err
}

// putBack restores those of the objects that a prune has removed since they were held. The error is
// ErrLost if one of them can't be restored.
func putBack(ctx context.Context, common string, ids []string) error {
	var elsewhere []string // in a pack, or gone
	for _, id := range ids {
		if _, err := os.Lstat(filepath.Join(common, "objects", id[:2],
			id[2:])); errors.Is(err, fs.ErrNotExist) {
			elsewhere = append(elsewhere, id)
		}
	}
	gone, err := missing(ctx, common, elsewhere)
	if err != nil || len(gone) == 0 {
		return err
	}
	if err := Mend(common); err != nil {
		return err
	}
	if gone, err = missing(ctx, common, gone); err == nil && len(gone) > 0 {
		err = ErrLost
	}
	return err
}

// linkHeld holds the object's file in a directory of objects.
func linkHeld(common, objects, id string) error {
	minute := strconv.FormatInt(time.Now().Unix()/60, 10)
	dir, from := filepath.Join(common, heldDir, minute, id[:2]),
		filepath.Join(objects, id[:2], id[2:])
	err := os.Link(from, filepath.Join(dir, id[2:]))
	if errors.Is(err, fs.ErrNotExist) && !paths.IsDir(dir) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			//nolint:errorlint // to the caller, fs.ErrNotExist means that the object is gone
			return fmt.Errorf("holding objects: %v", err)
		}
		err = os.Link(from, filepath.Join(dir, id[2:]))
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// missing returns the objects that git doesn't have.
func missing(ctx context.Context, common string, ids []string) (gone []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := at(ctx, common, long, strings.Join(ids, "\n")+"\n", "cat-file",
		"--batch-check=%(objecttype)")
	for line := range strings.Lines(out) {
		if id, is := strings.CutSuffix(strings.TrimSpace(line), " missing"); is {
			gone = append(gone, id)
		}
	}
	return gone, err
}

// Pruned returns the held objects that git doesn't have. Mend restores them.
func Pruned(ctx context.Context, common string) ([]string, error) {
	held, err := filepath.Glob(filepath.Join(paths.EscapeGlob(common), heldDir, "*",
		"[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, path := range held {
		dir, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
		if _, err := os.Lstat(filepath.Join(common, "objects", dir, name)); isID(dir+name) &&
			errors.Is(err, fs.ErrNotExist) {
			ids = append(ids, dir+name)
		}
	}
	slices.Sort(ids)
	return missing(ctx, common, slices.Compact(ids))
}

// mostTried bounds how many lines of a branch's logs are searched for a commit to go back to, and
// how many commits of one are checked: an agent can write there what it likes.
const mostTried = 200

// LastWhole finds where a worktree's branch can go if git doesn't have all of it and it can't be
// restored: something pruned beside the agent's own git commit, and the agent may have built on
// that since. to is the newest commit, down to the base, that the branch's logs name and git has
// whole; both results are "" for a branch that is whole or missing. The error is ErrLost if git
// doesn't have the base whole either. has are commits that git is known to have.
func (w Worktree) LastWhole(ctx context.Context, branch, base string,
	has ...string) (from, to string, err error) {
	id, _, known := readRef(w.Common, branch)
	begun := func(commit string) bool {
		in, _ := objectsOf(w.Common).contains(base, commit)
		return in || base == commit
	}
	if !known || !isID(id) || id == base && slices.ContainsFunc(has, begun) {
		return "", "", nil
	}
	for range 2 {
		if is, err := isWhole(ctx, w.Common, has, id, base); err != nil || is {
			return "", "", err
		}
		if err := Mend(w.Common); err != nil {
			return "", "", err
		}
	}
	if is, err := isWhole(ctx, w.Common, has, base); err != nil {
		return "", "", err
	} else if !is {
		return id, "", fmt.Errorf("%w: %s", ErrLost, base)
	}
	was, err := w.lately(branch)
	if err != nil {
		return "", "", err
	}
	for _, commit := range was {
		if is, err := isWhole(ctx, w.Common, []string{base}, commit); err != nil {
			return "", "", err
		} else if is {
			return id, commit, nil
		}
	}
	return id, base, nil
}

// Rescue replaces the commit of a ref that git doesn't have whole by one with the same files on top
// of base, or deletes the ref if the files are lost, too.
func Rescue(ctx context.Context, common string, ref Ref, base string) error {
	if is, err := isWhole(ctx, common, []string{base}, ref.Commit); err != nil || is {
		return err
	}
	change := RefChange{Name: ref.Name, Old: ref.Commit}
	files, err := isWhole(ctx, common, []string{base}, ref.Commit+"^{tree}")
	if err != nil {
		return err
	}
	if !files {
		return ChangeRefs(ctx, common, "gl: lost to a prune", change)
	}
	message, err := Message(ctx, common, ref.Commit)
	if err == nil {
		change.New, err = CommitTree(ctx, common,
			NewCommit{Tree: ref.Commit + "^{tree}", Parents: []string{base}, Message: message})
	}
	if err != nil {
		return err
	}
	return ChangeWhole(ctx, common, "gl: lost to a prune", []string{base}, change)
}

// Broken returns those of the refs that git doesn't have whole. has are commits that it is known to
// have.
func Broken(ctx context.Context, common string, refs []Ref, has ...string) ([]Ref, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	commits := make([]string, len(refs))
	for i, r := range refs {
		commits[i] = r.Commit
	}
	if is, err := isWhole(ctx, common, has, commits...); err != nil || is {
		return nil, err
	}
	if len(refs) == 1 {
		return refs, nil
	}
	half := len(refs) / 2
	broken, err := Broken(ctx, common, refs[:half], has...)
	if err != nil {
		return nil, err
	}
	rest, err := Broken(ctx, common, refs[half:], has...)
	return append(broken, rest...), err
}

// MoveLost moves a branch from a commit that git doesn't have whole to another. It first drops the
// lost commits from the branch's logs, since git gc fails at them: after a kill in between, the
// branch still shows the damage. In a sandbox the move itself is in the log.
func (x Exclusive) MoveLost(ctx context.Context, branch, from, to string) error {
	if err := x.w.ForgetLost(ctx, branch, to); err != nil {
		return err
	}
	if err := ChangeRefs(ctx, x.w.Common, "gl: lost to a prune",
		RefChange{Name: branch, New: to, Old: from}); err != nil {
		return err
	}
	return x.w.ForgetLost(ctx, branch, to)
}

// ForgetLost removes from the logs of HEAD and of a branch each line that names a commit that git
// doesn't have whole. No process works in the worktree. base is a commit that git has.
func (w Worktree) ForgetLost(ctx context.Context, branch, base string) error {
	for name, log := range w.logs(branch) {
		lock := filepath.Join(w.Common, filepath.FromSlash(branch))
		if name == "HEAD" {
			lock = filepath.Join(w.Admin, name)
		}
		if err := cleanLog(ctx, w.Common, log, lock+".lock", base); err != nil {
			return err
		}
	}
	return nil
}

// cleanLog drops the lines of a log that name what git doesn't have whole. Git itself can't do it
// while any ref is broken. lock is git's lock for the log.
func cleanLog(ctx context.Context, common, log, lock, base string) error {
	data, err := durable.ReadFile(log)
	if err != nil {
		return ignoreMissing(err)
	}
	lost := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		for _, id := range inLog(line) {
			if _, known := lost[id]; known {
				continue
			}
			is := false
			if len(lost) < mostTried {
				if is, err = isWhole(ctx, common, []string{base}, id); err != nil {
					return err
				}
			}
			lost[id] = !is
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(lost)), true) {
		return nil
	}
	if err := ignoreMissing(durable.Unlink(lock)); err != nil { // a git that was killed has left it
		return err
	}
	held, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefLocked, err)
	}
	defer os.Remove(lock)
	if data, err = durable.ReadFile(log); err != nil {
		return errors.Join(ignoreMissing(err), held.Close())
	}
	var kept strings.Builder
	for line := range strings.Lines(string(data)) {
		if !slices.ContainsFunc(inLog(line), func(id string) bool { return lost[id] }) {
			kept.WriteString(line)
		}
	}
	return errors.Join(held.Close(), durable.WriteFile(log, []byte(kept.String()), 0o644))
}

// inLog returns the commits that a line of a log names.
func inLog(line string) (commits []string) {
	fields := strings.Fields(line)
	for _, id := range fields[:min(2, len(fields))] {
		if isID(id) && strings.Trim(id, "0") != "" {
			commits = append(commits, id)
		}
	}
	return commits
}

// logs returns the logs of HEAD and of a branch, by their names. They may be missing.
func (w Worktree) logs(branch string) map[string]string {
	logs := map[string]string{branch: filepath.Join(w.Common, "logs", filepath.FromSlash(branch))}
	if w.Admin != "" {
		logs["HEAD"] = filepath.Join(w.Admin, "logs", "HEAD")
	}
	return logs
}

// lately returns the commits at which HEAD and the branch were, each the last first.
func (w Worktree) lately(branch string) (commits []string, err error) {
	logs := w.logs(branch)
	for _, name := range slices.Sorted(maps.Keys(logs)) { // HEAD's first
		data, err := durable.ReadFile(logs[name])
		if ignoreMissing(err) != nil {
			return nil, err
		}
		lines := slices.Collect(strings.Lines(string(data)))
		for _, line := range slices.Backward(lines[max(0, len(lines)-mostTried):]) {
			for _, was := range slices.Backward(inLog(line)) {
				if !slices.Contains(commits, was) {
					commits = append(commits, was)
				}
			}
		}
	}
	return commits, nil
}

// PutBack restores what was pruned of the held objects, and reports whether anything was.
func PutBack(ctx context.Context, common string) (bool, error) {
	gone, err := Pruned(ctx, common)
	if err != nil || len(gone) == 0 {
		return false, err
	}
	return true, Mend(common)
}

// Mend restores what was pruned of the objects to which gl has just given refs.
func Mend(common string) error { return mend(common, true) }

// mend checks the objects that are no longer held or, with all, every object.
func mend(common string, all bool) error {
	minutes, err := os.ReadDir(filepath.Join(common, heldDir))
	if err != nil {
		return ignoreMissing(err)
	}
	var errs []error
	for _, m := range minutes {
		minute, err := strconv.ParseInt(m.Name(), 10, 64)
		if err != nil || !m.IsDir() {
			continue
		}
		old := time.Since(time.Unix(minute*60, 0)) > holdFor
		if !all && !old {
			continue
		}
		dir := filepath.Join(common, heldDir, m.Name())
		// Another gl may be removing it.
		err = ignoreMissing(putObjects(dir, filepath.Join(common, "objects")))
		if err == nil && old {
			err = os.RemoveAll(dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
