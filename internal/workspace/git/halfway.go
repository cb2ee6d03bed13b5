package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// delivering is a file in a checkout's git directory while git merge replaces files there: the
// commits before and after. If it outlives the merge, the disk was full or a process was killed,
// and files may be half written.
const delivering = "gl-delivering"

// announce records that git merge is about to replace files. If one is in its way it doesn't: then
// git changes nothing, and what is there is the person's. Paths that are staged for the merge
// aren't in the way.
func (p place) announce(
	ctx context.Context, from, to string, list, staged []change,
) (free bool, err error) {
	out, err := p.ask(ctx, "", "diff-files", "--no-renames", "--ignore-submodules=none",
		"--name-only", "-z")
	if err != nil {
		return false, err
	}
	edited := split(out)
	for _, c := range list {
		if slices.ContainsFunc(staged, func(s change) bool { return s.path == c.path }) {
			continue
		}
		if slices.Contains(edited, c.path) {
			return false, nil
		}
		if c.added {
			if _, err := p.worktree().lstat(c.path); err == nil {
				return false, nil
			}
		}
	}
	return true, p.noteDelivery(from, to)
}

func (p place) noteDelivery(from, to string) error {
	return durable.WriteFile(filepath.Join(p.gitDir, delivering), []byte(from+" "+to+"\n"), 0o644)
}

// begin announces a merge, and returns what it needs staged: where the index already has what the
// merge brings, and the file is as before, git merge would leave that file alone, and to the person
// it would look as if they had taken back what was merged. Those become as before in the index,
// too.
func (p place) begin(ctx context.Context, common, from, to string, list []change) ([]change,
	error) {
	free, err := p.announce(ctx, from, to, list, nil)
	if err != nil || free {
		return nil, err
	}
	m, err := p.compare(ctx, common, from, to, list)
	if err != nil || len(m.index) == 0 {
		return nil, err
	}
	_, err = p.announce(ctx, from, to, list, m.index)
	return m.index, err
}

// withdraw records that git merge has ended.
func (p place) withdraw() error {
	return ignoreMissing(os.Remove(filepath.Join(p.gitDir, delivering)))
}

// broken returns the checkouts with files of an unfinished git merge, whatever is checked out there
// now.
func broken(common string) (list []place, err error) {
	all, err := places(common)
	for _, p := range all {
		if p.top != "" && paths.Exists(filepath.Join(p.gitDir, delivering)) {
			list = append(list, p)
		}
	}
	return list, err
}

// takeBack restores the files that an unfinished git merge has written, in whole or in part; it
// writes the index and then HEAD last. Files with other content than the merge would have written
// are the person's.
func (p place) takeBack(ctx context.Context, common string) error {
	data, err := durable.ReadFile(filepath.Join(p.gitDir, delivering))
	if err != nil {
		return ignoreMissing(err)
	}
	commits := strings.Fields(string(data))
	if len(commits) == 2 && isID(commits[0]) && isID(commits[1]) {
		if err := p.takeBackTo(ctx, common, commits[0], commits[1]); err != nil {
			return err
		}
	}
	return p.withdraw()
}

func (p place) takeBackTo(ctx context.Context, common, from, to string) error {
	run := func(args ...string) (string, error) { return at(ctx, common, long, "", args...) }
	store := objectsOf(common)
	written, err := changes(store, from, to, run)
	if err != nil {
		return err
	}
	back, err := changes(store, to, from, run)
	if err != nil {
		return err
	}
	if done, err := p.finishIndex(ctx, common, from, to, written); err != nil || done {
		return err
	}
	if whole, err := p.takeBackWhole(ctx, common, from, to, written); err != nil || whole {
		return err
	}
	// The index is compared with the commit before. If it has changed, or the person has staged
	// something, nothing is done.
	out, err := p.ask(ctx, "", "diff-index", "--cached", "--no-renames", "--ignore-submodules=none",
		"--name-only", "-z", from, "--")
	if err != nil {
		return err
	}
	staged := split(out)
	old := map[string]change{}
	for _, c := range back {
		old[c.path] = c
	}
	var restore []string
	for _, c := range written {
		was := old[c.path]
		if slices.Contains(staged, c.path) {
			continue
		}
		half, err := p.isHalf(ctx, common, c)
		if err != nil {
			return err
		}
		switch {
		case !half:
		case !was.gone():
			restore = append(restore, c.path)
		default:
			if err := p.removeFile(c.path); err != nil {
				return err
			}
		}
	}
	if len(restore) == 0 {
		return nil
	}
	_, err = p.ask(ctx, strings.Join(restore, "\x00")+"\x00", "checkout-index", "-f", "-q", "-u",
		"-z", "--stdin")
	return err
}

// removeFile removes a file of the checkout, and directories that are empty then.
func (p place) removeFile(path string) error {
	file := filepath.Join(p.top, filepath.FromSlash(path))
	if err := ignoreMissing(os.Remove(file)); err != nil {
		return err
	}
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if os.Remove(filepath.Join(p.top, dir)) != nil { // one that isn't empty stays
			break
		}
	}
	return nil
}

// finishIndex writes the index for a git merge that has moved HEAD, after a person has removed gl's
// lock and the index that gl had prepared. It reports whether there was such a merge.
func (p place) finishIndex(ctx context.Context, common, from, to string,
	written []change) (bool, error) {
	head, err := ResolveCommit(ctx, p.gitDir, "HEAD")
	if err != nil || head == "" {
		return false, err
	}
	if in, err := IsAncestor(ctx, common, to, head); err != nil || !in {
		return false, err
	}
	out, err := p.ask(ctx, "", "diff-index", "--cached", "--no-renames", "--ignore-submodules=none",
		"--name-only", "-z", from, "--")
	if err != nil {
		return false, err
	}
	since, err := changes(objectsOf(common), to, head,
		func(args ...string) (string, error) { return at(ctx, common, long, "", args...) })
	if err != nil {
		return false, err
	}
	other := split(out)
	for _, c := range since {
		other = append(other, c.path)
	}
	files, err := p.files(ctx, written)
	if err != nil {
		return false, err
	}
	var behind []change
	for _, c := range written {
		if slices.Contains(other, c.path) {
			continue
		}
		if files[c.path] ||
			c.gone() && !paths.Exists(filepath.Join(p.top, filepath.FromSlash(c.path))) {
			behind = append(behind, c)
			// A process that made a checkout follow was killed: see follow.
		} else if half, err := p.isHalf(ctx, common, c); err != nil || half {
			return false, err
		}
	}
	return true, p.putIndex(ctx, behind)
}

// takeBackWhole takes back a git merge that has written the index but not HEAD. It reports whether
// there was one.
func (p place) takeBackWhole(ctx context.Context, common, from, to string,
	written []change) (bool, error) {
	head, err := ResolveCommit(ctx, p.gitDir, "HEAD")
	if err != nil || head == "" {
		return false, err
	}
	beside, err := changes(objectsOf(common), from, head,
		func(args ...string) (string, error) { return at(ctx, common, long, "", args...) })
	if err != nil {
		return false, err
	}
	out, err := p.ask(ctx, "", "diff-index", "--cached", "--no-renames", "--ignore-submodules=none",
		"--name-only", "-z", to, "--")
	if err != nil {
		return false, err
	}
	other := split(out)
	for _, c := range beside {
		other = append(other, c.path)
	}
	if slices.ContainsFunc(written, func(c change) bool { return slices.Contains(other, c.path) }) {
		return false, nil
	}
	_, words, err := p.git(ctx, nil, "", "read-tree", "-m", "-u", to, from)
	switch {
	case err == nil:
		return true, nil
	case errors.As(p.refused(words, err), new(*LockedError)):
		return false, p.refused(words, err)
	}
	return false, ctx.Err() // a file has been edited since
}

// isHalf reports whether a path is as git merge leaves it on its way to the change: gone, or the
// beginning of its new content.
func (p place) isHalf(ctx context.Context, common string, c change) (bool, error) {
	info, err := p.worktree().lstat(c.path)
	switch {
	case err != nil:
		return os.IsNotExist(err), nil
	case c.gone() || !info.Mode().IsRegular() || !strings.HasPrefix(c.mode, "100"):
		return false, nil
	}
	out, err := at(ctx, common, long, "", "cat-file", "blob", c.id)
	text := []byte(out)
	if err != nil || int64(len(text)) < info.Size() {
		return false, err
	}
	have, err := os.ReadFile(filepath.Join(p.top, filepath.FromSlash(c.path)))
	return err == nil && bytes.HasPrefix(text, have), nil
}
