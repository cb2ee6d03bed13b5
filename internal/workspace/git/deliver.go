package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/gate"
)

// A LockedError says that a checkout's index is locked: git is running there, or was killed. gl
// doesn't remove a person's lock.
type LockedError struct {
	Where string // the checkout's top
	File  string // the lock
}

func (e *LockedError) Error() string {
	return fmt.Sprintf(
		"%s: %s exists: wait for the git that is running there; if none is, remove the file",
		e.Where, e.File)
}

// A NotForwardError says that a branch can't be moved to a commit, because that doesn't contain it.
type NotForwardError struct{ Branch, From, To string }

func (e *NotForwardError) Error() string {
	return fmt.Sprintf("%s at %.12s can't be fast-forwarded to %.12s",
		strings.TrimPrefix(e.Branch, "refs/heads/"), e.From, e.To)
}

// A place is a checkout, the main one or a linked worktree.
type place struct {
	gitDir string
	top    string // "" where it isn't known
	index  string // the file that git reads and writes as the index, "" for the checkout's own
}

// worktree returns the place as a Worktree, for reading its files.
func (p place) worktree() Worktree { return Worktree{Admin: p.gitDir, Path: p.top} }

// places returns all checkouts of a repository, including those whose directory is gone, but for
// gl's own worktrees. What an agent writes there as HEAD, or as the branch of a rebase, holds no
// other slice.
func places(common string) ([]place, error) {
	var all []place
	if !Bare(common) {
		all = append(all, place{gitDir: common, top: mainTop(common)})
	}
	linked, err := ListLinked(common)
	for _, l := range linked {
		if _, ours := l.IsOurs(); ours {
			continue
		}
		all = append(all, place{gitDir: l.Admin, top: l.Path})
	}
	return all, err
}

// mainTop returns the top of the main checkout, "" if it is unknown.
func mainTop(common string) string {
	top := MainCheckout(common)
	if top != "" && CommonOf(top) == "" {
		return top
	}
	if top = filepath.Dir(common); paths.Same(filepath.Join(top, ".git"), common) {
		return top
	}
	return ""
}

// holds reports whether a checkout has a branch checked out, or has an operation in progress that
// will return to it.
func (p place) holds(branch string) (checkedOut bool, operation string, err error) {
	have, err := p.worktree().Branch()
	if err != nil {
		return false, "", ignoreMissing(err) // half made
	}
	for _, f := range []struct{ file, operation string }{
		{"rebase-merge/head-name", "rebase"}, {"rebase-merge/update-refs", "rebase"},
		{"rebase-apply/head-name", "rebase"}, {"BISECT_START", "bisect"},
	} {
		data, err := durable.ReadFile(filepath.Join(p.gitDir, filepath.FromSlash(f.file)))
		if ignoreMissing(err) != nil {
			return false, "", err
		}
		for name := range strings.Lines(string(data)) {
			if name = strings.TrimSuffix(name, "\n"); name == branch ||
				f.operation == "bisect" && "refs/heads/"+name == branch {
				operation = f.operation
			}
		}
	}
	if have == branch && operation == "" {
		operation = p.worktree().Operation()
	}
	return have == branch, operation, nil
}

// FastForward moves a branch to a commit that contains it, which the pass must permit. If the
// branch is checked out, git merge moves it there, which keeps edits that don't overlap, staged or
// not; nothing else touches a person's checkout. The errors *BusyError, *OverlapError,
// *LockedError, *NotForwardError and ErrRefMoved say what has to be done first; then nothing has
// changed. If it is killed, or the disk is full, the next call first restores files that git had
// half written, and goes on. A lock that a killed git may have left is reported.
//
// Edited files for which keep reports true aren't in the way: they stay as they are, and the index
// gets what the commit has, unless the commit deletes one. nil keeps none.
func FastForward(
	ctx context.Context, common, branch, from, to string, pass gate.Pass, keep func(path string) bool,
) error {
	if err := pass.Moves(to); err != nil {
		return err
	}
	tip, err := ResolveCommit(ctx, common, branch)
	switch {
	case err != nil:
		return err
	case tip == to:
		return nil
	case tip != from:
		return fmt.Errorf("%s is at %.12s, not %.12s: %w",
			strings.TrimPrefix(branch, "refs/heads/"), tip, from, ErrRefMoved)
	}
	if forward, err := descends(ctx, common, from, to); err != nil {
		return err
	} else if !forward {
		return &NotForwardError{branch, from, to}
	}
	lock, err := durable.Lock(ctx, filepath.Join(common, committingLock))
	if err != nil {
		return err
	}
	defer lock.Unlock()
	ctx = Inherit(ctx, lock.File()) // a git that outlives this gl is waited for by the next one
	where, err := checkoutOf(common, branch)
	if err != nil {
		return err
	}
	if where == nil {
		return moveBeside(ctx, common, branch, from, to)
	}
	return where.forward(ctx, common, branch, from, to, keep)
}

// checkoutOf returns the checkout that has the branch; nil for none. The error is a *BusyError if
// the branch can't be moved.
func checkoutOf(common, branch string) (*place, error) {
	all, err := places(common)
	if err != nil {
		return nil, err
	}
	var where *place
	for _, p := range all {
		checkedOut, operation, err := p.holds(branch)
		if err != nil && p.gitDir != common {
			// A broken linked worktree doesn't hold up the others.
			continue
		}
		if err != nil {
			return nil, err
		}
		name := p.top
		if name == "" {
			name = p.gitDir
		}
		missing := p.top == "" || !paths.IsDir(p.top)
		switch {
		case operation != "":
			return nil, &BusyError{name, operation}
		case !checkedOut:
		// deleted
		case missing && p.gitDir != common && !paths.Exists(filepath.Join(p.gitDir, "locked")):
		case missing:
			return nil, &BusyError{name, "checkout without its directory"}
		case where != nil:
			return nil, &BusyError{name, "a second checkout of the branch"}
		default:
			where = &p
		}
	}
	return where, nil
}

// git runs git in a person's checkout, with the person's index, unless a copy of it is set, and
// settings.
func (p place) git(ctx context.Context, env []string, input string,
	args ...string) (string, string, error) {
	if p.index != "" {
		env = append(slices.Clone(env), "GIT_INDEX_FILE="+p.index)
	}
	c := call{dir: p.top, limit: mostFill, stdin: strings.NewReader(input), env: env}
	common, err := pointer(filepath.Join(p.gitDir, "commondir"), "")
	if err != nil { // the main checkout
		common = p.gitDir
	}
	off, err := filterOptions(ctx, common, p.gitDir, p.top)
	if err != nil {
		return "", "", err
	}
	options := append(settings("gc.auto=0", "maintenance.auto=false", "submodule.recurse=false"),
		"--git-dir="+p.gitDir, "--work-tree="+p.top)
	return c.run(ctx, slices.Concat(options, off, args)...)
}

func (p place) locked() error {
	if file := filepath.Join(p.gitDir, "index.lock"); paths.Exists(file) {
		return &LockedError{p.top, file}
	}
	return nil
}

// forward has git merge move the branch that is checked out. The caller holds the committing lock.
func (p place) forward(
	ctx context.Context, common, branch, from, to string, keep func(path string) bool,
) error {
	if err := p.recover(ctx, branch); err != nil {
		return err
	}
	if err := p.locked(); err != nil {
		return err
	}
	if err := p.takeBack(ctx, common); err != nil {
		return err
	}
	list, err := changes(objectsOf(common), from, to,
		func(args ...string) (string, error) { return at(ctx, common, long, "", args...) })
	if err != nil {
		return err
	}
	staged, err := p.begin(ctx, common, from, to, list)
	if err != nil {
		return err
	}
	err = p.merge(ctx, branch, to, staged)
	if overlap := new(OverlapError); errors.As(err, &overlap) {
		adopted, adoptErr := p.adopt(ctx, list, overlap.Paths, keep)
		if adoptErr == nil && adopted == nil {
			overlap.Former, adoptErr = p.formerly(ctx, overlap.Paths)
		}
		if adopted != nil && adoptErr == nil {
			staged = slices.Concat(staged, adopted)
			_, adoptErr = p.announce(ctx, from, to, list, staged)
		}
		if adoptErr != nil || adopted == nil {
			return errors.Join(err, adoptErr, p.withdraw())
		}
		err = p.merge(ctx, branch, to, staged)
	}
	switch {
	case err == nil, errors.As(err, new(*OverlapError)), errors.As(err, new(*BusyError)),
		errors.As(err, new(*LockedError)):
		err = errors.Join(err, p.withdraw()) // done, or git has changed nothing
	case p.locked() == nil: // a lock is a killed git's: then the next call does it
		err = errors.Join(err, p.takeBack(ctx, common))
	}
	if err != nil {
		return err
	}
	if err := p.verify(ctx, common, branch, to, list); err != nil {
		return err
	}
	return p.fillLFS(ctx, common, list)
}

// merge has git merge move the branch that is checked out. Another branch, to which the person may
// just have switched, is protected by requiring signatures, which gl's commits don't have, on every
// branch but this one.
//
// git merge works on a copy of the index, which has the changes of list staged: see onCopy.
func (p place) merge(ctx context.Context, branch, to string, list []change) error {
	return p.onCopy(func(copied place) (bool, error) {
		err := copied.putIndex(ctx, list)
		if err == nil {
			err = copied.mergeBy(ctx, branch, to)
		}
		return err == nil, err
	})
}

// onCopy has f work on a copy of the index, which becomes the index if f says so. Git reads the
// index before it locks it, and writes what it has read, which would lose what is staged in
// between. So gl holds the lock all the while.
func (p place) onCopy(f func(copied place) (use bool, err error)) (err error) {
	if err := p.lockIndex(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.unlockIndex()) }()
	copied := place{p.gitDir, p.top, filepath.Join(p.gitDir, mergeIndex)}
	if err := copied.copyIndex(); err != nil {
		return err
	}
	use, err := f(copied)
	if err != nil || !use {
		return errors.Join(err, ignoreMissing(os.Remove(copied.index)))
	}
	return copied.install()
}

// copyIndex makes the copy of the checkout's index; there may be none.
func (p place) copyIndex() error {
	return ignoreMissing(copyFile(filepath.Join(p.gitDir, "index"), p.index))
}

// install makes the copy the checkout's index.
func (p place) install() error { return os.Rename(p.index, filepath.Join(p.gitDir, "index")) }

func (p place) mergeBy(ctx context.Context, branch, to string) error {
	env := []string{
		"GIT_REFLOG_ACTION=gl: merge",
		// By environment, since a branch's name may contain "=".
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=branch." + strings.TrimPrefix(branch,
			"refs/heads/") + ".mergeOptions",
		"GIT_CONFIG_VALUE_0=--ff-only --no-verify-signatures",
	}
	args := append(settings("merge.ff=only", "merge.verifySignatures=true", "merge.autoStash=false",
		"merge.stat=false", "commit.gpgSign=false"),
		"merge", "-q", "--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-stat", to)
	_, words, err := p.git(ctx, env, "", args...)
	if err == nil {
		return nil
	}
	if have, headErr := p.worktree().Branch(); headErr == nil && have != branch &&
		strings.Contains(words, "signature") {
		return &BusyError{p.top, "a switch to another branch"}
	}
	return p.refused(words, err)
}

// refused determines why git didn't merge.
func (p place) refused(words string, err error) error {
	var overlap []string
	for line := range strings.Lines(words) {
		if path, ok := strings.CutPrefix(line, "\t"); ok {
			overlap = append(overlap, strings.TrimSuffix(path, "\n"))
		}
	}
	switch {
	case len(overlap) > 0:
		slices.Sort(overlap)
		return &OverlapError{Where: p.top, Paths: slices.Compact(overlap)}
	case strings.Contains(words, "unmerged files"):
		return &BusyError{p.top, "unmerged files, and so a conflict"}
	case strings.Contains(words, "index.lock': File exists"):
		return &LockedError{p.top, filepath.Join(p.gitDir, "index.lock")}
	}
	return fmt.Errorf("%s: %w", p.top, err)
}

// adopt returns the changes that are in git merge's way and may be staged: those of files that
// already are as they should become, since a killed git had written them, and those of files to
// keep. It returns nil if a file of another kind is in the way, or one that the person has staged.
func (p place) adopt(
	ctx context.Context, list []change, overlap []string, keep func(path string) bool,
) ([]change, error) {
	want := map[string]change{}
	for _, c := range list {
		if slices.Contains(overlap, c.path) {
			want[c.path] = c
		}
	}
	staged, _, err := p.git(ctx, nil, "", "diff-index", "--cached", "--no-renames",
		"--ignore-submodules=none", "--name-only", "-z", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	for _, s := range split(staged) {
		delete(want, s)
	}
	written, err := p.files(ctx, slices.Collect(maps.Values(want)))
	if err != nil {
		return nil, err
	}
	var adopted []change
	for _, o := range overlap {
		c, there := want[o]
		if !there || !written[o] && (keep == nil || !keep(o) || c.gone()) {
			return nil, nil
		}
		adopted = append(adopted, c)
	}
	return adopted, nil
}

// files returns the paths at which the file is as a change has it.
func (p place) files(ctx context.Context, list []change) (map[string]bool, error) {
	var names []string
	want := map[string]string{}
	for _, c := range list {
		info, err := p.worktree().lstat(c.path)
		if err == nil && info.Mode().IsRegular() && strings.HasPrefix(c.mode, "100") &&
			(info.Mode()&0o100 != 0) == (c.mode == "100755") &&
			!strings.Contains(c.path, "\n") {
			names, want[c.path] = append(names, c.path), c.id
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	hashes, err := p.ask(ctx, strings.Join(names, "\n")+"\n", "hash-object", "--stdin-paths")
	if err != nil { // a file that can't be read
		return nil, ctx.Err()
	}
	same := map[string]bool{}
	for i, id := range strings.Fields(hashes) {
		same[names[i]] = want[names[i]] == id
	}
	return same, nil
}

// verify makes sure that the branch has moved, and that the index has followed.
func (p place) verify(ctx context.Context, common, branch, to string, list []change) error {
	tip, err := ResolveCommit(ctx, common, branch)
	if err == nil && tip != to {
		err = fmt.Errorf("%s is at %.12s after git merge, not %.12s: %w",
			strings.TrimPrefix(branch, "refs/heads/"), tip, to, ErrRefMoved)
	}
	if err != nil {
		return err
	}
	out, _, err := p.git(ctx, nil, "", "diff-index", "--cached", "--no-renames",
		"--ignore-submodules=none", "--name-only", "-z", to, "--")
	if err != nil {
		return err
	}
	staged := split(out)
	for _, c := range list {
		if slices.Contains(staged, c.path) {
			return fmt.Errorf("%s: git merge moved %s, and %q in the index isn't what it has: see git status there", p.top, branch, c.path)
		}
	}
	return nil
}

// fillLFS replaces pointers among the files by the contents that the repository has. Nothing is
// fetched.
func (p place) fillLFS(ctx context.Context, common string, list []change) error {
	if !paths.IsDir(filepath.Join(common, "lfs", "objects")) {
		return nil
	}
	if _, err := paths.Program("git-lfs", ""); err != nil {
		return nil
	}
	args := []string{"lfs", "checkout", "--"}
	for _, c := range list {
		if !c.gone() && !strings.ContainsAny(c.path, "*?[\\") {
			args = append(args, c.path)
		}
	}
	if len(args) > 1000 { // a command line has its limits
		args = args[:2]
	}
	_, _, err := p.git(ctx, nil, "", args...)
	return err
}

// CheckedOut returns the place of a checkout that has the branch checked out, "" for none.
func CheckedOut(common, branch string) (string, error) {
	all, err := places(common)
	if err != nil {
		return "", err
	}
	for _, p := range all {
		if has, _, err := p.holds(branch); err != nil && p.gitDir == common {
			return "", err
		} else if has && p.top != "" && paths.IsDir(p.top) {
			return p.top, nil
		}
	}
	return "", nil
}
