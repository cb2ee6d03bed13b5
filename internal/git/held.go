package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
)

// A git prune first lists what refs have, and then removes everything else. What gl makes and gives a ref in between is removed all the
// same, and with it the ref is broken. So gl keeps a second link to new objects for a while, in COMMON/gl-held/MINUTE, and puts back what
// is missing.

const (
	heldDir = "gl-held"
	// holdFor is longer than a git prune takes from its list to its end, but in a very large repository.
	holdFor = 10 * time.Minute
)

// hold keeps the objects, which refs are about to have. It is ErrLost if one of them is gone already. That they can't be held, on a file system
// without links or one that is full, is no error.
func hold(ctx context.Context, common string, ids []string) error {
	objects := filepath.Join(common, "objects")
	held := filepath.Join(common, heldDir, strconv.FormatInt(time.Now().Unix()/60, 10))
	var elsewhere []string // in a pack, or gone
	for _, id := range ids {
		dir := filepath.Join(held, id[:2])
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil
		}
		err := os.Link(filepath.Join(objects, id[:2], id[2:]), filepath.Join(dir, id[2:]))
		if errors.Is(err, fs.ErrNotExist) {
			elsewhere = append(elsewhere, id)
		} else if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil
		}
	}
	gone, err := missing(ctx, common, elsewhere)
	if err == nil && len(gone) > 0 {
		err = ErrLost
	}
	return err
}

// putBack puts back those of the objects that a prune has removed since they were held. It is ErrLost if one of them can't be.
func putBack(ctx context.Context, common string, ids []string) error {
	var elsewhere []string // in a pack, or gone
	for _, id := range ids {
		if _, err := os.Lstat(filepath.Join(common, "objects", id[:2], id[2:])); errors.Is(err, fs.ErrNotExist) {
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

// missing are the objects that git hasn't got.
func missing(ctx context.Context, common string, ids []string) (gone []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := at(ctx, common, long, strings.Join(ids, "\n")+"\n", "cat-file", "--batch-check=%(objecttype)")
	for line := range strings.Lines(out) {
		if id, is := strings.CutSuffix(strings.TrimSpace(line), " missing"); is {
			gone = append(gone, id)
		}
	}
	return gone, err
}

// Pruned are the held objects that git hasn't got. Mend puts them back.
func Pruned(ctx context.Context, common string) ([]string, error) {
	held, err := filepath.Glob(filepath.Join(paths.EscapeGlob(common), heldDir, "*", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, path := range held {
		dir, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
		if _, err := os.Lstat(filepath.Join(common, "objects", dir, name)); isID(dir+name) && errors.Is(err, fs.ErrNotExist) {
			ids = append(ids, dir+name)
		}
	}
	slices.Sort(ids)
	return missing(ctx, common, slices.Compact(ids))
}

// mostTried is how many commits of HEAD's log MendBranch tries: an agent can write there what it likes.
const mostTried = 50

// MendBranch moves a worktree's branch back to the newest commit that HEAD's log names and git has whole, down to the base, if git doesn't have the
// branch's whole: a prune beside the agent's own git commit, which may have built upon that since. The files stay, so what was committed is
// uncommitted again.
func (w Worktree) MendBranch(ctx context.Context, branch, base string) error {
	id, _, known := readRef(w.Common, branch)
	if !known || !isID(id) || id == base {
		return nil
	}
	whole := func(commit string) (bool, error) {
		_, err := reachable(ctx, w.Common, commit+"\n", []string{base})
		if errors.Is(err, ErrLost) {
			return false, nil
		}
		return err == nil, err
	}
	if is, err := whole(id); err != nil || is {
		return err
	}
	if there, err := HasCommit(ctx, w.Common, base); err != nil || !there {
		return err
	}
	was, err := w.lately()
	if err != nil {
		return err
	}
	for _, commit := range append(was, base) {
		if is, err := whole(commit); err != nil {
			return err
		} else if is {
			err := ChangeRefs(ctx, w.Common, "gl: lost to a prune", RefChange{Name: branch, New: commit, Old: id})
			return errors.Join(err, w.forgetLost(ctx, branch))
		}
	}
	return nil
}

// forgetLost drops what the logs of HEAD and of a branch name that git hasn't got whole: no git gc gets past it.
func (w Worktree) forgetLost(ctx context.Context, branch string) error {
	_, err := at(ctx, w.Admin, long, "", "reflog", "expire", "--stale-fix", "--expire=never", "--expire-unreachable=never", "HEAD", branch)
	return err
}

// lately are the commits at which HEAD was, the last first.
func (w Worktree) lately() (commits []string, err error) {
	data, err := durable.ReadFile(filepath.Join(w.Admin, "logs", "HEAD"))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	lines := slices.Collect(strings.Lines(string(data)))
	for _, line := range slices.Backward(lines) {
		fields := strings.Fields(line)
		for _, was := range slices.Backward(fields[:min(2, len(fields))]) {
			if isID(was) && strings.Trim(was, "0") != "" && !slices.Contains(commits, was) {
				commits = append(commits, was)
			}
		}
		if len(commits) >= mostTried {
			break
		}
	}
	return commits, nil
}

// Mend puts back what something has pruned of the objects to which gl has just given refs.
func Mend(common string) error { return mend(common, true) }

// mend looks at what isn't held any longer or, with all, at everything.
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
		err = ignoreMissing(putObjects(dir, filepath.Join(common, "objects"))) // another gl may be removing it
		if err == nil && old {
			err = os.RemoveAll(dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
