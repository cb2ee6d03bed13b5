package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
)

const (
	// committingLock is in the common directory: gl's processes that commit in a checkout exclude
	// each other by it.
	committingLock = "greenlight.lock"
	// committing is in the checkout's git directory: the commit whose paths the index may not have
	// yet.
	committing = "gl-committing"
	nextIndex  = "gl-index" // beside it: the index that is to come
	// mergeIndex is the same for a delivery: once HEAD has moved, git merge has written it.
	mergeIndex   = "gl-merge-index"
	lockMarkFile = "gl-index.mark" // what becomes the lock
	lockMark     = "gl is at work here, or was killed; it goes on when it is run next\n"
)

// CommitPaths commits what is at the paths, relative to the checkout's top, and nothing else, on
// the branch, which must be checked out there. Whatever is staged or edited elsewhere stays as it
// is. Paths that the person has staged are left alone, and returned; ignored paths that git doesn't
// track are silently left alone. commit is "" if nothing has changed. Git's lock on the index is
// held throughout, with a mark by which the next call recognizes and finishes what a killed one
// left. The errors are *BusyError, *BranchError, *LockedError, ErrRefMoved.
func CommitPaths(ctx context.Context, c Checkout, branch string, names []string, message string,
	when time.Time) (commit string, left []string, err error) {
	p := place{gitDir: c.GitDir, top: c.Top}
	lock, err := durable.Lock(ctx, filepath.Join(c.Common, committingLock))
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := p.recover(ctx, branch); err != nil {
		return "", nil, err
	}
	if err := p.worktree().idle(branch); err != nil {
		return "", nil, err
	}
	if err := p.lockIndex(); err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, p.unlockIndex()) }()
	head, err := ResolveCommit(ctx, p.gitDir, "HEAD")
	if err != nil || head == "" {
		return "", nil, errors.Join(err, fmt.Errorf("%s: HEAD is no commit", p.top))
	}
	names, left, err = p.committable(ctx, head, names)
	if err != nil || len(names) == 0 {
		return "", left, err
	}
	if commit, err = p.commit(ctx, c.Common, head, names, message, when); err != nil ||
		commit == "" {
		return "", left, err
	}
	list, err := changes(objectsOf(c.Common), head, commit,
		func(args ...string) (string, error) { return at(ctx, c.Common, long, "", args...) })
	if err != nil {
		return "", left, err
	}
	if err := p.prepareIndex(ctx, list); err != nil {
		return "", left, err
	}
	if err := durable.WriteFile(filepath.Join(p.gitDir, committing), []byte(commit+"\n"),
		0o644); err != nil {
		return "", left, err
	}
	if err := changeWhole(ctx, c.Common, p.gitDir, "commit: gl: state", []string{head}, nil,
		RefChange{Name: branch, New: commit, Old: head}); err != nil {
		return "", left, errors.Join(err, os.Remove(filepath.Join(p.gitDir, nextIndex)),
			os.Remove(filepath.Join(p.gitDir, committing)))
	}
	if err := os.Rename(filepath.Join(p.gitDir, nextIndex),
		filepath.Join(p.gitDir, "index")); err != nil {
		return commit, left, err
	}
	return commit, left, os.Remove(filepath.Join(p.gitDir, committing))
}

// lockIndex takes git's lock on the index. The lock has gl's mark from the first instant.
func (p place) lockIndex() error {
	file, mark := filepath.Join(p.gitDir, "index.lock"), filepath.Join(p.gitDir, lockMarkFile)
	if err := durable.WriteFile(mark, []byte(lockMark), 0o644); err != nil {
		return err
	}
	err := os.Link(mark, file)
	if errors.Is(err, fs.ErrExist) {
		err = &LockedError{p.top, file}
	}
	return errors.Join(err, os.Remove(mark))
}

// unlockIndex removes the lock if it is gl's.
func (p place) unlockIndex() error {
	file := filepath.Join(p.gitDir, "index.lock")
	data, err := durable.ReadFile(file)
	if err != nil || string(data) != lockMark {
		return ignoreMissing(err)
	}
	return ignoreMissing(os.Remove(file))
}

// recover finishes what a killed CommitPaths or delivery left. The caller holds the committing
// lock.
func (p place) recover(ctx context.Context, branch string) error {
	if err := p.recoverMerge(ctx); err != nil {
		return err
	}
	if err := p.unlockIndex(); err != nil {
		return err
	}
	for _, name := range []string{nextIndex, nextIndex + ".lock", mergeIndex, mergeIndex + ".lock",
		lockMarkFile} {
		if err := os.Remove(filepath.Join(p.gitDir, name)); ignoreMissing(err) != nil {
			return err
		}
	}
	note := filepath.Join(p.gitDir, committing)
	data, err := durable.ReadFile(note)
	if err != nil {
		return ignoreMissing(err)
	}
	if err := p.locked(); err != nil {
		return err
	}
	commit := strings.TrimSpace(string(data))
	there := false // or something has pruned it, before the branch had it
	if isID(commit) {
		if there, err = HasCommit(ctx, p.gitDir, commit); err != nil {
			return err
		}
	}
	if there {
		_, err := p.ask(ctx, "", "merge-base", "--is-ancestor", commit, "HEAD")
		if err == nil {
			err = p.catchUp(ctx, commit)
		}
		if err != nil && exitCode(err) != 1 {
			return err
		}
	}
	return os.Remove(note)
}

// recoverMerge installs the index of a git merge that has moved HEAD.
func (p place) recoverMerge(ctx context.Context) error {
	data, err := durable.ReadFile(filepath.Join(p.gitDir, "index.lock"))
	if err != nil || string(data) != lockMark { // else the index may have changed since
		return ignoreMissing(err)
	}
	if data, err = durable.ReadFile(filepath.Join(p.gitDir, delivering)); err != nil {
		return ignoreMissing(err)
	}
	head, err := ResolveCommit(ctx, p.gitDir, "HEAD")
	if err != nil || head == "" || !strings.HasSuffix(string(data), " "+head+"\n") {
		return err
	}
	return ignoreMissing(os.Rename(filepath.Join(p.gitDir, mergeIndex),
		filepath.Join(p.gitDir, "index")))
}

// catchUp updates the paths of a commit in the index if that still has them as they were before.
func (p place) catchUp(ctx context.Context, commit string) error {
	run := func(args ...string) (string, error) { return p.ask(ctx, "", args...) }
	now, err := changes(nil, commit+"^", commit, run)
	if err != nil {
		return err
	}
	moved, err := changes(nil, commit, "HEAD", run)
	if err != nil {
		return err
	}
	// The index is compared with the commit before: paths that aren't listed are unchanged.
	out, err := p.ask(ctx, "", "diff-index", "--cached", "--no-renames", "--ignore-submodules=none",
		"--name-only", "-z", commit+"^", "--")
	if err != nil {
		return err
	}
	edited := split(out)
	now = slices.DeleteFunc(now, func(c change) bool {
		return slices.Contains(edited, c.path) ||
			slices.ContainsFunc(moved, func(m change) bool { return m.path == c.path })
	})
	return p.putIndex(ctx, now)
}

func (p place) ask(ctx context.Context, input string, args ...string) (string, error) {
	out, _, err := p.git(ctx, nil, input, args...)
	return out, err
}

// putIndex puts entries into the index.
func (p place) putIndex(ctx context.Context, list []change) error {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b change) int { return b2i(b.gone()) - b2i(a.gone()) })
	lines := make([]string, len(list))
	for i, c := range list {
		lines[i] = c.line()
	}
	if _, _, err := p.git(ctx, nil, strings.Join(lines, "\x00")+"\x00", "update-index", "--add",
		"--replace", "-z", "--index-info"); err != nil {
		return err
	}
	_, _, err := p.git(ctx, nil, "", "update-index", "-q", "--unmerged", "--refresh")
	if exitCode(err) == 1 { // something differs
		return nil
	}
	return err
}

// committable returns the paths that can be committed, and those that the person has staged.
func (p place) committable(ctx context.Context, head string,
	names []string) (use, left []string, err error) {
	names = slices.DeleteFunc(slices.Clone(names), p.throughLink)
	if len(names) == 0 {
		return nil, nil, nil
	}
	out, err := p.ask(ctx, "", append([]string{"--literal-pathspecs", "ls-files", "-z", "-v", "-s",
		"--"}, names...)...)
	if err != nil {
		return nil, nil, err
	}
	entries, err := readEntries(out)
	if err != nil {
		return nil, nil, err
	}
	have := map[string]entry{}
	for _, e := range entries {
		have[e.path] = e
	}
	out, err = p.ask(ctx, "", append([]string{"--literal-pathspecs", "diff-index", "--cached",
		"--no-renames", "--ignore-submodules=none", "--name-only", "-z", head, "--"}, names...)...)
	if err != nil {
		return nil, nil, err
	}
	staged := split(out)
	out, err = p.ask(ctx, ignoreInput(names), "check-ignore", "--no-index", "-z", "--stdin")
	if err != nil && exitCode(err) != 1 { // 1: none of them is ignored
		return nil, nil, err
	}
	ignored := ignoreOutput(out)
	for _, n := range names {
		e, tracked := have[n]
		info, err := p.worktree().lstat(n)
		switch {
		case slices.Contains(staged, n), e.stage > '0':
			left = append(left, n)
		// What a sparse checkout leaves out isn't deleted.
		case !tracked && slices.Contains(ignored, n), err != nil &&
			(!tracked || e.tag == 'S' || e.tag == 's'):
		case err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		default:
			use = append(use, n)
		}
	}
	return use, left, nil
}

// throughLink reports whether a directory of the path is a symbolic link, behind which is another
// path's file.
func (p place) throughLink(path string) bool {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(p.top, dir)); err == nil &&
			info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// commit makes the commit, "" if nothing has changed. No ref has it.
func (p place) commit(ctx context.Context, common, head string, names []string, message string,
	when time.Time) (id string, err error) {
	q, err := newQuarantine(common)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, q.remove()) }()
	p.index = filepath.Join(q.dir, "index")
	git := func(env []string, input string, args ...string) (string, error) {
		env = slices.Concat(env, q.env())
		out, _, err := p.git(ctx, env, input, append(slices.Clone(steady), args...)...)
		return strings.TrimSpace(out), err
	}
	if _, err := git(nil, "", "read-tree", head); err != nil {
		return "", err
	}
	if _, err := git(nil, strings.Join(names, "\x00")+"\x00", "update-index", "--add", "--remove",
		"--replace", "-z", "--stdin"); err != nil {
		return "", err
	}
	tree, err := git(nil, "", "write-tree", "--missing-ok")
	if err != nil {
		return "", err
	}
	if old, err := TreeOf(ctx, common, head); err != nil || old == tree {
		return "", err
	}
	if id, err = commitTree(ctx, NewCommit{Tree: tree, Parents: []string{head}, Message: message,
		When: when}, git); err != nil {
		return "", err
	}
	return id, q.release()
}

// prepareIndex makes the new index: the person's with these paths.
func (p place) prepareIndex(ctx context.Context, list []change) error {
	next := filepath.Join(p.gitDir, nextIndex)
	if err := copyFile(filepath.Join(p.gitDir, "index"), next); err != nil {
		return err
	}
	p.index = next
	return p.putIndex(ctx, list)
}
