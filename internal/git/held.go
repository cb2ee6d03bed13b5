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
)

// A git prune first lists what refs have, and then removes everything else. What gl makes and gives a ref in between is removed all the
// same, and with it the ref is broken. So gl keeps a second link to new objects for a while, in COMMON/gl-held/MINUTE, and puts back what
// is missing.

const (
	heldDir = "gl-held"
	// holdFor is longer than a git prune takes from its list to its end, but in a very large repository.
	holdFor = 10 * time.Minute
)

// hold keeps the objects, which refs have now. It is ErrLost if one of them is gone already. That they can't be held, on a file system
// without links or one that is full, is no error.
func hold(ctx context.Context, common string, ids []string) error {
	objects := filepath.Join(common, "objects")
	held := filepath.Join(common, heldDir, strconv.FormatInt(time.Now().Unix()/60, 10))
	var elsewhere strings.Builder // in a pack, or gone
	for _, id := range ids {
		dir := filepath.Join(held, id[:2])
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil
		}
		err := os.Link(filepath.Join(objects, id[:2], id[2:]), filepath.Join(dir, id[2:]))
		if errors.Is(err, fs.ErrNotExist) {
			elsewhere.WriteString(id + "\n")
		} else if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil
		}
	}
	if elsewhere.Len() == 0 {
		return nil
	}
	out, err := at(ctx, common, long, elsewhere.String(), "cat-file", "--batch-check=%(objecttype)")
	if err == nil && strings.Contains(out, " missing") {
		err = ErrLost
	}
	return err
}

// MendBranch moves a worktree's branch back to the newest commit that HEAD's log names and git has, if git doesn't have the branch's: a prune
// beside the agent's own git commit. The files stay, so what was committed is uncommitted again.
func (w Worktree) MendBranch(ctx context.Context, branch string) error {
	id, _, known := readRef(w.Common, branch)
	if !known || !isID(id) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(w.Common, "objects", id[:2], id[2:])); err == nil {
		return nil
	}
	if there, err := HasCommit(ctx, w.Common, id); err != nil || there {
		return err
	}
	data, err := durable.ReadFile(filepath.Join(w.Admin, "logs", "HEAD"))
	if err != nil {
		return ignoreMissing(err)
	}
	lines := slices.Collect(strings.Lines(string(data)))
	for _, line := range slices.Backward(lines) {
		for _, was := range slices.Backward(strings.Fields(line)[:min(2, len(strings.Fields(line)))]) {
			if !isID(was) {
				continue
			}
			if there, err := HasCommit(ctx, w.Common, was); err != nil {
				return err
			} else if there {
				return ChangeRefs(ctx, w.Common, "gl: lost to a prune", RefChange{Name: branch, New: was, Old: id})
			}
		}
	}
	return nil
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
