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
	"greenlight/internal/base/paths"
)

// An Exclusive changes the files, the index and the branch of a linked worktree in which no other
// process works: its caller holds the worktree's lock, so an index.lock is what a killed git left.
type Exclusive struct{ w Worktree }

// Exclusive returns the worktree for changes. The caller holds the worktree's lock.
func (w Worktree) Exclusive() Exclusive { return Exclusive{w} }

// A BusyError says which operation has to be finished in a checkout first.
type BusyError struct {
	Where     string // the checkout's top
	Operation string // "rebase", "merge"…
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: %s in progress", e.Where, e.Operation)
}

// A BranchError says that a checkout has the wrong branch checked out.
type BranchError struct {
	Where, Branch, Want string // full names; Branch is "" for a detached HEAD
}

func (e *BranchError) Error() string {
	have := "HEAD is detached"
	if e.Branch != "" {
		have = strings.TrimPrefix(e.Branch, "refs/heads/") + " is checked out"
	}
	return fmt.Sprintf("%s: %s, not %s", e.Where, have, strings.TrimPrefix(e.Want, "refs/heads/"))
}

// An UnresolvedError says which files of an unfinished merge are still in conflict.
type UnresolvedError struct {
	Where string
	Paths []string
}

func (e *UnresolvedError) Error() string {
	return fmt.Sprintf("%s: unresolved conflict in %s", e.Where, strings.Join(e.Paths, ", "))
}

// An UnkeptError says which files can't be committed: they can't be read, or git doesn't accept
// their names.
type UnkeptError struct {
	Where string
	Paths []string
}

func (e *UnkeptError) Error() string {
	return fmt.Sprintf("%s: can't commit %s", e.Where, strings.Join(e.Paths, ", "))
}

// An OverlapError says which files of a checkout would be overwritten: edited, staged, untracked or
// ignored ones. Nothing has changed.
type OverlapError struct {
	Where string
	Paths []string
	// Former are files, among them those of Paths, that are in the checkout and in the index as the
	// branch had them recently, and not as HEAD has them: the person may be unaware of it. nil if
	// one of Paths is something else.
	Former []string
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("%s: would overwrite %s", e.Where, strings.Join(e.Paths, ", "))
}

// mergeFiles are git's files of an unfinished merge.
var mergeFiles = []string{"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "AUTO_MERGE"}

// moving is a file in a worktree's admin directory while gl changes the worktree's files. It has
// the commits and trees whose files may be there. Until it is gone, everything in the worktree is
// HEAD's, or gl's doing.
const moving = "gl-moving"

// on refuses a worktree whose links are broken, that has another branch, or that has an unfinished
// operation.
func (w Worktree) on(branch string, but ...string) error {
	if err := w.Check(); err != nil {
		return err
	}
	return w.idle(branch, but...)
}

// idle refuses a checkout that has another branch, or an unfinished operation other than those.
func (w Worktree) idle(branch string, but ...string) error {
	// A rebase has no branch checked out, and is the better explanation.
	if op := w.Operation(); op != "" && !slices.Contains(but, op) {
		return &BusyError{w.Path, op}
	}
	have, err := w.Branch()
	if err == nil && have != branch {
		err = &BranchError{w.Path, have, branch}
	}
	return err
}

// unlock removes the index lock of a killed git.
func (x Exclusive) unlock() error {
	return ignoreMissing(durable.Unlink(filepath.Join(x.w.Admin, "index.lock")))
}

// unlockAll removes the locks of killed gits on the worktree's own files: its index, HEAD and so
// on.
func (x Exclusive) unlockAll() error {
	locks, err := filepath.Glob(filepath.Join(paths.EscapeGlob(x.w.Admin), "*.lock"))
	if err != nil {
		return err
	}
	for _, lock := range locks {
		if err := durable.Unlink(lock); ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// exact are the settings with which git compares an index with files by all metadata.
var exact = settings("core.ignoreStat=false", "core.trustctime=true", "core.checkStat=default")

// syncIndex sets the index to HEAD's, whose tree was just made of the files, and ends a merge.
func (x Exclusive) syncIndex(ctx context.Context) error {
	if err := x.unhide(ctx); err != nil {
		return err
	}
	args := []string{"read-tree", "--reset", "HEAD"}
	if !paths.Exists(filepath.Join(x.w.Admin, "index")) {
		// The files are HEAD's, and a sparse checkout's patterns are applied.
		args = []string{"read-tree", "--reset", "-u", "HEAD"}
	}
	if _, err := x.w.fill(ctx, slices.Concat(steady, args)...); err != nil {
		return err
	}
	_, err := x.w.fill(ctx, slices.Concat(steady, exact,
		[]string{"update-index", "-q", "--refresh"})...)
	if err != nil && exitCode(err) != 1 { // 1: something differs
		return err
	}
	return x.endMerge()
}

func (x Exclusive) endMerge() error {
	for _, name := range mergeFiles {
		if err := durable.Unlink(filepath.Join(x.w.Admin, name)); ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// Integrate merges commit into the branch that is checked out, given the merge's tree, which
// MergeTree made. Nothing is uncommitted in the worktree: CommitAll was just called. Integrate
// returns the merge commit. If a file is in the way, which can only be an ignored one, the error is
// an *OverlapError, and nothing has changed. If it is killed, Recover or the next call of any
// method here finishes.
func (x Exclusive) Integrate(ctx context.Context, branch, commit, tree,
	message string) (tip string, err error) {
	if err := x.Recover(ctx); err != nil {
		return "", err
	}
	if err := x.w.on(branch); err != nil {
		return "", err
	}
	head, err := ResolveCommit(ctx, x.w.Admin, "HEAD")
	if err != nil || head == "" {
		return "", errors.Join(err, fmt.Errorf("%s: HEAD is no commit", x.w.Path))
	}
	// An earlier call has done it.
	if done, err := descends(ctx, x.w.Common, commit, head); err != nil || done {
		return head, err
	}
	if tip, err = CommitTree(ctx, x.w.Common,
		NewCommit{Tree: tree, Parents: []string{head, commit}, Message: message}); err != nil {
		return "", err
	}
	if err := x.move(ctx, head, tip); err != nil {
		return "", err
	}
	if err := ChangeRefs(ctx, x.w.Admin, "merge: gl",
		RefChange{Name: branch, New: tip, Old: head}); err != nil {
		return "", err
	}
	return tip, x.Recover(ctx)
}

// MergeConflicted leaves the merge of commit into the branch that is checked out to be resolved, as
// git merge does: with marks in the files, their versions in the index, and MERGE_HEAD. Paths for
// which keep is true are the branch's. Nothing is uncommitted in the worktree: CommitAll was just
// called. Without a conflict, nothing changes. If it is killed, Recover takes the merge back. Until
// the worktree is edited, so does ResetTo.
func (x Exclusive) MergeConflicted(ctx context.Context, branch, commit, message string,
	keep func(path string) bool) (conflicts []string, err error) {
	if err := x.Recover(ctx); err != nil {
		return nil, err
	}
	if err := x.w.on(branch); err != nil {
		return nil, err
	}
	head, err := ResolveCommit(ctx, x.w.Admin, "HEAD")
	if err != nil || head == "" {
		return nil, errors.Join(err, fmt.Errorf("%s: HEAD is no commit", x.w.Path))
	}
	m, err := x.conflict(ctx, head, commit, keep)
	if err != nil || len(m.stages) == 0 {
		return nil, err
	}
	if err := x.move(ctx, head, m.tree); err != nil {
		return nil, err
	}
	if err := x.writeConflict(ctx, m, commit, message); err != nil {
		return nil, errors.Join(err, x.Recover(ctx))
	}
	return m.conflicts(), os.Remove(filepath.Join(x.w.Admin, moving))
}

// conflict merges in memory. The marks name HEAD and MERGE_HEAD, git's own names for the two sides
// until the merge is committed.
func (x Exclusive) conflict(ctx context.Context, head, commit string,
	keep func(path string) bool) (m *merged, err error) {
	s, err := newScratchTrees(x.w.Common)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	if keep == nil {
		keep = func(string) bool { return false }
	}
	other, err := s.without(ctx, head, commit, keep)
	if err != nil {
		return nil, err
	}
	files, err := Files(ctx, x.w.Common, head)
	if err == nil {
		err = s.attributes(ctx, files)
	}
	if err != nil {
		return nil, err
	}
	// A git directory of its own, for the names in the marks.
	named := filepath.Join(s.q.dir, "git")
	for name, text := range map[string]string{"HEAD": head + "\n", "MERGE_HEAD": other + "\n",
		"commondir": x.w.Common + "\n"} {
		if err := os.MkdirAll(named, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(named, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	s.gitDir = named
	if m, err = mergeTree(x.w.Admin, "HEAD", "MERGE_HEAD",
		func(args ...string) (string, error) { return s.git(ctx, "", args...) }); err != nil {
		return nil, err
	}
	if m.tree, err = s.replace(ctx, m.tree, head, keep); err != nil {
		return nil, err
	}
	m.stages = slices.DeleteFunc(m.stages, func(line string) bool {
		_, p, _ := strings.Cut(line, "\t")
		return keep(p)
	})
	return m, s.q.release()
}

// writeConflict puts a merge with conflicts into the worktree.
func (x Exclusive) writeConflict(ctx context.Context, m *merged, commit, message string) error {
	if _, err := x.w.fill(ctx, slices.Concat(steady, exact,
		[]string{"read-tree", "--reset", "-u", m.tree})...); err != nil {
		return err
	}
	var lines []string
	for _, p := range m.conflicts() {
		lines = append(lines, "0 "+strings.Repeat("0", len(commit))+"\t"+p)
	}
	in := strings.Join(append(lines, m.stages...), "\x00") + "\x00"
	if _, err := x.w.run(ctx, time.Minute, in,
		slices.Concat(steady, []string{"update-index", "-z", "--index-info"})...); err != nil {
		return err
	}
	message = strings.TrimRight(message, "\n") + "\n"
	for _, f := range [][2]string{{"MERGE_MSG", message}, {"MERGE_MODE", "no-ff"},
		{"MERGE_HEAD", commit + "\n"}} {
		if err := durable.WriteFile(filepath.Join(x.w.Admin, f[0]), []byte(f[1]),
			0o644); err != nil {
			return err
		}
	}
	return nil
}

// move records that files of HEAD are about to be replaced by another tree's, after checking that
// nothing is in the way.
func (x Exclusive) move(ctx context.Context, head, tree string) error {
	added, err := x.w.added(ctx, head, tree)
	if err != nil {
		return err
	}
	blocked, err := x.w.blocked(ctx, head, added)
	if err == nil && len(blocked) > 0 {
		err = &OverlapError{Where: x.w.Path, Paths: blocked}
	}
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(x.w.Admin, moving), []byte(head+"\n"+tree+"\n"), 0o644)
}

// added returns the paths that the first tree doesn't have.
func (w Worktree) added(ctx context.Context, from, to string) ([]string, error) {
	out, err := at(ctx, w.Common, long, "", "diff-tree", "-r", "-z", "--no-renames",
		"--ignore-submodules=none", "--diff-filter=A", "--name-only",
		from+"^{tree}", to+"^{tree}")
	return split(out), err
}

// blocked returns the files that are in the places of added ones and not in HEAD.
func (w Worktree) blocked(ctx context.Context, head string, added []string) ([]string, error) {
	if len(added) == 0 {
		return nil, nil
	}
	out, err := at(ctx, w.Common, long, "", "ls-tree", "-r", "-z", "--name-only", head)
	if err != nil {
		return nil, err
	}
	tracked := map[string]bool{}
	for _, p := range split(out) {
		tracked[p] = true
	}
	var list []string
	for _, p := range added {
		for q := p; q != "."; q = filepath.Dir(q) {
			info, err := w.lstat(q)
			switch {
			case err != nil || tracked[q]:
			case !info.IsDir():
				list = append(list, q)
			case q == p: // what is tracked in there goes away
				_ = filepath.WalkDir(filepath.Join(w.Path, q),
					func(file string, e fs.DirEntry, err error) error {
						if rel, _ := filepath.Rel(w.Path, file); err != nil ||
							!e.IsDir() && !tracked[rel] {
							list = append(list, rel)
						}
						return nil
					})
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// lstat doesn't follow symbolic links in the directories of a path.
func (w Worktree) lstat(path string) (fs.FileInfo, error) {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(w.Path, dir)); err != nil || !info.IsDir() {
			return nil, errors.Join(err, fs.ErrNotExist)
		}
	}
	return os.Lstat(filepath.Join(w.Path, path))
}

// Recover makes the worktree HEAD's again if a call that replaced its files was killed, or has just
// moved HEAD. It is called before an agent may work in the worktree again. Ignored files stay.
func (x Exclusive) Recover(ctx context.Context) error {
	if err := x.w.Check(); err != nil {
		return err
	}
	if _, err := x.w.Tidy(""); err != nil {
		return err
	}
	if err := x.unlockAll(); err != nil {
		return err
	}
	data, err := durable.ReadFile(filepath.Join(x.w.Admin, moving))
	if err != nil {
		return ignoreMissing(err)
	}
	return x.reset(ctx, strings.Fields(string(data))...)
}

// reset makes index and files HEAD's, and removes files that only the other trees have.
func (x Exclusive) reset(ctx context.Context, others ...string) error {
	if err := x.unlock(); err != nil {
		return err
	}
	if err := x.unhide(ctx); err != nil {
		return err
	}
	if _, err := x.w.fill(ctx, slices.Concat(steady, exact,
		[]string{"read-tree", "--reset", "-u", "HEAD"})...); err != nil {
		return err
	}
	head, err := ResolveCommit(ctx, x.w.Admin, "HEAD")
	if err != nil {
		return err
	}
	for _, tree := range others {
		if !isID(tree) {
			continue
		}
		added, err := x.w.added(ctx, head, tree)
		if err != nil {
			return err
		}
		for _, p := range added {
			// It didn't exist when this began.
			for ; p != "."; p = filepath.Dir(p) {
				if _, err := x.w.lstat(p); err != nil ||
					os.Remove(filepath.Join(x.w.Path, p)) != nil {
					break
				}
			}
		}
	}
	if err := x.endMerge(); err != nil {
		return err
	}
	return ignoreMissing(os.Remove(filepath.Join(x.w.Admin, moving)))
}

// ResetTo takes back a merge, finished or not, that hasn't been edited: index and files become
// those of the commit again, which HEAD must be. Ignored files stay. The error is ErrRefMoved if
// HEAD is another commit.
func (x Exclusive) ResetTo(ctx context.Context, commit string) error {
	if err := x.Recover(ctx); err != nil {
		return err
	}
	head, err := ResolveCommit(ctx, x.w.Admin, "HEAD")
	if err != nil {
		return err
	}
	if head != commit {
		return fmt.Errorf("%s: HEAD is %.12s, not %.12s: %w", x.w.Path, head, commit, ErrRefMoved)
	}
	return x.reset(ctx)
}

// CheckoutDetached checks a commit out with no branch: tracked files become exactly those of the
// commit, submodules are as in the checkout at top, and everything else except ignored files is
// removed. Edits are lost. If it is killed, the next call finishes.
func (x Exclusive) CheckoutDetached(ctx context.Context, commit, top string) error {
	if err := x.w.Check(); err != nil {
		return err
	}
	if _, err := x.w.Tidy(commit); err != nil {
		return err
	}
	if err := x.unlock(); err != nil {
		return err
	}
	if err := ignoreMissing(durable.Unlink(filepath.Join(x.w.Admin, "HEAD.lock"))); err != nil {
		return err
	}
	if err := x.setHead(ctx, commit); err != nil {
		return err
	}
	if err := x.ownIndex(); err != nil {
		return err
	}
	if err := x.reset(ctx); err != nil {
		// There may be a repository in the place of a file. What isn't in the index is removed.
		if err := ignoreMissing(durable.Unlink(filepath.Join(x.w.Admin, "index"))); err != nil {
			return err
		}
		if err := errors.Join(x.clean(ctx), x.reset(ctx)); err != nil {
			return err
		}
	}
	if err := x.clean(ctx); err != nil {
		return err
	}
	if err := x.noteIndex(); err != nil {
		return err
	}
	if err := x.FillSubmodules(ctx, top); err != nil {
		return err
	}
	return x.FillLFS(ctx)
}

// IndexCopy returns the path of a copy of the index as gl left it. A program in the worktree, even
// in a sandbox, can write the index and have it hide changed files, but it can't write the copy.
func (w Worktree) IndexCopy() string {
	return filepath.Join(w.Common, "gl-index-"+filepath.Base(w.Admin))
}

func (x Exclusive) noteIndex() error {
	if err := ignoreMissing(durable.Unlink(x.w.IndexCopy())); err != nil {
		return err
	}
	return copyFile(filepath.Join(x.w.Admin, "index"), x.w.IndexCopy())
}

// ownIndex restores the index as gl left it. Without a copy there is none, and all files are
// written anew.
func (x Exclusive) ownIndex() error {
	index := filepath.Join(x.w.Admin, "index")
	if err := ignoreMissing(durable.Unlink(index)); err != nil {
		return err
	}
	return ignoreMissing(copyFile(x.w.IndexCopy(), index))
}

// entries returns the entries of the index.
func (w Worktree) entries(ctx context.Context) ([]entry, error) {
	head, _ := readCommit(w.Admin, "HEAD")
	if x, known := readIndexFile(filepath.Join(w.Admin, "index"), len(head)); known {
		return x.entries, ctx.Err()
	}
	out, err := w.run(ctx, time.Minute, "",
		slices.Concat(steady, []string{"ls-files", "-z", "-v", "-s"})...)
	if err != nil {
		return nil, err
	}
	return readEntries(out)
}

// unhide clears the flags by which the index hides edits. An unreadable index is removed.
func (x Exclusive) unhide(ctx context.Context) error {
	entries, err := x.w.entries(ctx)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		return ignoreMissing(durable.Unlink(filepath.Join(x.w.Admin, "index")))
	}
	var assumed, skipped strings.Builder
	for _, e := range entries {
		if e.tag >= 'a' && e.tag <= 'z' {
			assumed.WriteString(e.path + "\x00")
		}
		if (e.tag == 'S' || e.tag == 's') &&
			(x.w.Whole || paths.Exists(filepath.Join(x.w.Path, e.path))) {
			skipped.WriteString(e.path + "\x00")
		}
	}
	for option, list := range map[string]string{"--no-assume-unchanged": assumed.String(),
		"--no-skip-worktree": skipped.String()} {
		if list == "" {
			continue
		}
		if _, err := x.w.run(ctx, time.Minute, list, slices.Concat(steady,
			[]string{"update-index", option, "-z", "--stdin"})...); err != nil {
			return err
		}
	}
	return nil
}

// clean removes what is neither tracked nor ignored.
func (x Exclusive) clean(ctx context.Context) error {
	args := []string{"clean", "-ffdq"}
	_, err := x.w.run(ctx, mostFill, "", args...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// Unwritable directories, as in package caches.
	_ = filepath.WalkDir(x.w.Path, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() { // before it is read
			return os.Chmod(path, 0o755)
		}
		return nil
	})
	_, err = x.w.run(ctx, mostFill, "", args...)
	return err
}

// Adopt puts the worktree back on its branch if what is checked out there instead, another branch
// or none, continues the branch: the branch moves to it. The error is a *BranchError otherwise, and
// a *BusyError while an operation is unfinished. No file changes; the other branch stays. If it is
// killed, the next call finishes.
func (x Exclusive) Adopt(ctx context.Context, branch string) error {
	off := x.w.on(branch, "merge")
	if !errors.As(off, new(*BranchError)) {
		return off
	}
	if operation := x.w.Operation(); operation != "" {
		return &BusyError{x.w.Path, operation}
	}
	tip, err := ResolveCommit(ctx, x.w.Common, branch)
	if err != nil || tip == "" {
		return errors.Join(err, off)
	}
	head, err := ResolveCommit(ctx, x.w.Admin, "HEAD")
	if err != nil || head == "" {
		return errors.Join(err, off)
	}
	if in, err := IsAncestor(ctx, x.w.Common, tip, head); err != nil || !in {
		return errors.Join(err, off)
	}
	if tip != head {
		if err := ChangeRefs(ctx, x.w.Common, "gl: what was committed elsewhere",
			RefChange{Name: branch, New: head, Old: tip}); err != nil {
			return err
		}
	}
	return x.setHead(ctx, branch)
}

// setHead sets HEAD to a branch, or to a commit without one.
func (x Exclusive) setHead(ctx context.Context, head string) error {
	if paths.IsDir(filepath.Join(x.w.Common, "refs", "heads")) {
		return writeHead(x.w.Admin, head)
	}
	if !isID(head) {
		return SetSymbolicRef(ctx, x.w.Admin, "HEAD", head, "gl: back to the slice's branch")
	}
	_, err := x.w.run(ctx, time.Minute, "", "update-ref", "--no-deref", "-m", "gl: merge queue", "HEAD",
		head)
	return err
}
