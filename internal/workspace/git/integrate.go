package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/conflict"
)

// What changes a linked worktree between two agents. Nobody works there meanwhile: the caller has the worktree's lock, so an
// index.lock is what a killed git left.

// A BusyError says that something isn't finished in a checkout, which has to be first.
type BusyError struct {
	Where     string // the checkout's top
	Operation string // "rebase", "merge"…
}

func (e *BusyError) Error() string { return fmt.Sprintf("%s: %s in progress", e.Where, e.Operation) }

// A BranchError says that a checkout has another branch checked out than the one that is meant.
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

// An UnkeptError says which files can't be committed: they can't be read, or git doesn't take their names.
type UnkeptError struct {
	Where string
	Paths []string
}

func (e *UnkeptError) Error() string {
	return fmt.Sprintf("%s: can't commit %s", e.Where, strings.Join(e.Paths, ", "))
}

// An OverlapError says which files of a checkout would be overwritten: edited, staged, untracked or ignored ones. Nothing
// has changed.
type OverlapError struct {
	Where string
	Paths []string
	// Former are files with those of Paths that are in the files and in the index as the branch had them not long ago, and not as HEAD has
	// them: the person may know nothing of it. nil where one of Paths is something else.
	Former []string
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("%s: would overwrite %s", e.Where, strings.Join(e.Paths, ", "))
}

// mergeFiles are what git has of an unfinished merge.
var mergeFiles = []string{"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "AUTO_MERGE"}

// moving is a file in a worktree's admin directory while gl changes the worktree's files: the commits and trees whose files may be
// there. Until it is gone, everything in the worktree is HEAD's, or gl's doing.
const moving = "gl-moving"

// CommitAll commits what the worktree has beyond HEAD, exactly, whatever git status or the index say, on the branch that must
// be checked out. If an agent resolved a merge and left it uncommitted, the commit finishes it. Afterwards the index is the commit's. When it is killed,
// the next call goes on. The errors are *BranchError, *BusyError, *UnresolvedError, *UnkeptError.
func (w Worktree) CommitAll(ctx context.Context, branch, message string) (tip string, changed bool, err error) {
	if err := w.Recover(ctx); err != nil {
		return "", false, err
	}
	if err := w.on(branch, "merge"); err != nil {
		return "", false, err
	}
	if agentsRef(branch) {
		if _, err := TidyRefs(w.Common, path.Dir(branch)); err != nil {
			return "", false, err
		}
	}
	if err := w.unlock(); err != nil {
		return "", false, err
	}
	s, err := w.newSnapshot(ctx, SnapshotOptions{Exact: true, Branch: branch})
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	if tip, changed, err = s.commitAll(ctx, message); err != nil {
		return "", false, err
	}
	if err := s.q.release(); err != nil { // also where nothing is new: something may have pruned what the agent has committed
		return "", false, err
	}
	if changed {
		if err := changeWhole(ctx, w.Common, w.Admin, "commit: gl: what was left uncommitted", []string{s.head}, s.q, RefChange{Name: branch, New: tip, Old: s.head}); err != nil {
			return "", false, err
		}
	}
	if !changed && s.isClean() {
		return tip, false, nil
	}
	return tip, changed, w.syncIndex(ctx)
}

// commitAll makes the commit, without any ref. Where there is nothing to commit, it is HEAD.
func (s *snapshot) commitAll(ctx context.Context, message string) (id string, changed bool, err error) {
	if err := s.resolve(ctx); err != nil {
		return "", false, err
	}
	if s.head == "" {
		return "", false, fmt.Errorf("%s: HEAD is no commit", s.w.Path)
	}
	tree, err := s.tree(ctx)
	if err != nil {
		return "", false, err
	}
	if len(s.Failed) > 0 {
		unkept := &UnkeptError{Where: s.w.Path}
		for _, f := range s.Failed {
			unkept.Paths = append(unkept.Paths, f.Path)
		}
		return "", false, unkept
	}
	merging, err := s.mergeHeads(ctx)
	if err != nil {
		return "", false, err
	}
	if len(merging) > 0 {
		left, err := s.unresolved(ctx, merging)
		if err == nil && len(left) > 0 {
			err = &UnresolvedError{s.w.Path, left}
		}
		if err != nil {
			return "", false, err
		}
	}
	if tree == s.headTree && len(merging) == 0 {
		return s.head, false, nil
	}
	id, err = commitTree(ctx, NewCommit{Tree: tree, Parents: append([]string{s.head}, merging...), Message: message},
		func(_ []string, input string, args ...string) (string, error) {
			return s.git(ctx, time.Minute, strings.NewReader(input), args...)
		})
	return id, true, err
}

// mergeHeads are the commits of an unfinished merge that HEAD doesn't contain: one that it contains has been committed, and a
// kill left the file.
func (s *snapshot) mergeHeads(ctx context.Context) ([]string, error) {
	data, err := durable.ReadFile(filepath.Join(s.w.Admin, "MERGE_HEAD"))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var list []string
	for _, id := range strings.Fields(string(data)) {
		commit, err := s.one(ctx, id+"^{commit}")
		if err != nil {
			return nil, err
		}
		if commit == "" { // something has pruned it: what the worktree has of it counts as its agent's
			continue
		}
		if done, err := descends(ctx, s.w.Common, commit, s.head); err != nil {
			return nil, err
		} else if !done {
			list = append(list, commit)
		}
	}
	return list, nil
}

// unresolved are the paths of an unfinished merge that nobody has resolved: what git left marks in, and what isn't a matter of
// marks (one side deleted a file, or it is binary) until it is staged. A file without marks counts as resolved, staged or
// not.
func (s *snapshot) unresolved(ctx context.Context, merging []string) ([]string, error) {
	stages := map[string]string{}
	for _, e := range s.entries {
		if e.stage != '0' {
			stages[e.path] += string(e.stage)
		}
	}
	staged := map[string]bool{}
	out, _, err := s.at(ctx, "", "staged", time.Minute, nil, "ls-files", "-z", "--resolve-undo")
	if err != nil {
		return nil, err
	}
	for _, line := range split(out) { // MODE ID STAGE\tPATH
		if _, p, ok := strings.Cut(line, "\t"); ok && stages[p] == "" {
			staged[p], stages[p] = true, ""
		}
	}
	var left []string
	for p, have := range stages {
		info, err := os.Lstat(filepath.Join(s.w.Path, p))
		if err != nil { // git leaves a file, so somebody has removed it
			continue
		}
		if info.Mode().IsRegular() {
			marks, binary := fileMarks(filepath.Join(s.w.Path, p))
			if marks {
				if marks, err = s.newMarks(ctx, p, merging); err != nil {
					return nil, err
				}
			}
			if !marks && (staged[p] || !binary && strings.HasSuffix(have, "23")) {
				continue
			}
		} else if staged[p] {
			continue
		}
		left = append(left, p)
	}
	slices.Sort(left)
	return left, nil
}

// fileMarks says whether a file has marks of a conflict, and whether it is binary.
func fileMarks(file string) (marks, binary bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return true, false
	}
	text := string(data)
	line, _ := conflict.Find(text)
	return line > 0, strings.Contains(text[:min(len(text), 8000)], "\x00")
}

// newMarks says whether no side has marks in the file by itself: a text about conflicts has.
func (s *snapshot) newMarks(ctx context.Context, path string, merging []string) (bool, error) {
	for _, c := range append([]string{s.head}, merging...) {
		text, err := s.git(ctx, time.Minute, nil, "cat-file", "blob", c+":"+path)
		if err != nil && ctx.Err() != nil {
			return false, err
		}
		if line, _ := conflict.Find(text); err == nil && line > 0 {
			return false, nil
		}
	}
	return true, nil
}

// on refuses a worktree whose links are broken, that has another branch, or in which something isn't finished.
func (w Worktree) on(branch string, but ...string) error {
	if err := w.Check(); err != nil {
		return err
	}
	return w.idle(branch, but...)
}

// idle refuses a checkout that has another branch, or in which something isn't finished but those operations.
func (w Worktree) idle(branch string, but ...string) error {
	// A rebase has no branch checked out, and is the better reason.
	if op := w.Operation(); op != "" && !slices.Contains(but, op) {
		return &BusyError{w.Path, op}
	}
	have, err := w.Branch()
	if err == nil && have != branch {
		err = &BranchError{w.Path, have, branch}
	}
	return err
}

// unlock removes the index's lock of a git that was killed.
func (w Worktree) unlock() error {
	return ignoreMissing(durable.Unlink(filepath.Join(w.Admin, "index.lock")))
}

// unlockAll removes what gits that were killed have locked of the worktree's own: its index, HEAD and the like.
func (w Worktree) unlockAll() error {
	locks, err := filepath.Glob(filepath.Join(paths.EscapeGlob(w.Admin), "*.lock"))
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

// exact are the settings with which git compares an index with files by everything that a file system tells.
var exact = settings("core.ignoreStat=false", "core.trustctime=true", "core.checkStat=default")

// syncIndex makes the index HEAD's, whose tree has just been made of the files, and ends a merge.
func (w Worktree) syncIndex(ctx context.Context) error {
	if err := w.unhide(ctx); err != nil {
		return err
	}
	args := []string{"read-tree", "--reset", "HEAD"}
	if !paths.Exists(filepath.Join(w.Admin, "index")) {
		args = []string{"read-tree", "--reset", "-u", "HEAD"} // the files are HEAD's, and a sparse checkout's patterns are applied
	}
	if _, err := w.fill(ctx, slices.Concat(steady, args)...); err != nil {
		return err
	}
	_, err := w.fill(ctx, slices.Concat(steady, exact, []string{"update-index", "-q", "--refresh"})...)
	if err != nil && exitCode(err) != 1 { // 1: something differs
		return err
	}
	return w.endMerge()
}

func (w Worktree) endMerge() error {
	for _, name := range mergeFiles {
		if err := durable.Unlink(filepath.Join(w.Admin, name)); ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// Integrate merges commit into the branch that is checked out, where the merge's tree is known: MergeTree made it. Nothing is
// uncommitted in the worktree: CommitAll has just been called. The merge commit is returned. A file that is in the way, which can only
// be one that git ignores, is an *OverlapError; then nothing has changed. When it is killed, Recover or the next call of
// anything here goes on.
func (w Worktree) Integrate(ctx context.Context, branch, commit, tree, message string) (tip string, err error) {
	if err := w.Recover(ctx); err != nil {
		return "", err
	}
	if err := w.on(branch); err != nil {
		return "", err
	}
	head, err := ResolveCommit(ctx, w.Admin, "HEAD")
	if err != nil || head == "" {
		return "", errors.Join(err, fmt.Errorf("%s: HEAD is no commit", w.Path))
	}
	if done, err := descends(ctx, w.Common, commit, head); err != nil || done { // an earlier call has done it
		return head, err
	}
	if tip, err = CommitTree(ctx, w.Common, NewCommit{Tree: tree, Parents: []string{head, commit}, Message: message}); err != nil {
		return "", err
	}
	if err := w.move(ctx, head, tip); err != nil {
		return "", err
	}
	if err := ChangeRefs(ctx, w.Admin, "merge: gl", RefChange{Name: branch, New: tip, Old: head}); err != nil {
		return "", err
	}
	return tip, w.Recover(ctx)
}

// MergeConflicted leaves the merge of commit into the branch that is checked out for somebody to resolve, as git merge does: marks in the
// files, their versions in the index, MERGE_HEAD. Paths for which keep is true are the branch's. Nothing is uncommitted in the worktree:
// CommitAll has just been called. Without a conflict, nothing changes. When it is killed, Recover takes it back, and ResetTo does as
// long as nobody has worked on it.
func (w Worktree) MergeConflicted(ctx context.Context, branch, commit, message string, keep func(path string) bool) (conflicts []string, err error) {
	if err := w.Recover(ctx); err != nil {
		return nil, err
	}
	if err := w.on(branch); err != nil {
		return nil, err
	}
	head, err := ResolveCommit(ctx, w.Admin, "HEAD")
	if err != nil || head == "" {
		return nil, errors.Join(err, fmt.Errorf("%s: HEAD is no commit", w.Path))
	}
	m, err := w.conflict(ctx, head, commit, keep)
	if err != nil || len(m.stages) == 0 {
		return nil, err
	}
	if err := w.move(ctx, head, m.tree); err != nil {
		return nil, err
	}
	if err := w.writeConflict(ctx, m, commit, message); err != nil {
		return nil, errors.Join(err, w.Recover(ctx))
	}
	return m.conflicts(), os.Remove(filepath.Join(w.Admin, moving))
}

// conflict merges in memory. The marks name HEAD and MERGE_HEAD, as which git knows the two sides until the merge is committed.
func (w Worktree) conflict(ctx context.Context, head, commit string, keep func(path string) bool) (m *merged, err error) {
	s, err := newScratchTrees(w.Common)
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
	files, err := Files(ctx, w.Common, head)
	if err == nil {
		err = s.attributes(ctx, files)
	}
	if err != nil {
		return nil, err
	}
	// A git directory of its own, for the names in the marks.
	named := filepath.Join(s.q.dir, "git")
	for name, text := range map[string]string{"HEAD": head + "\n", "MERGE_HEAD": other + "\n", "commondir": w.Common + "\n"} {
		if err := os.MkdirAll(named, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(named, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	s.gitDir = named
	if m, err = mergeTree(w.Admin, "HEAD", "MERGE_HEAD", func(args ...string) (string, error) { return s.git(ctx, "", args...) }); err != nil {
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
func (w Worktree) writeConflict(ctx context.Context, m *merged, commit, message string) error {
	if _, err := w.fill(ctx, slices.Concat(steady, exact, []string{"read-tree", "--reset", "-u", m.tree})...); err != nil {
		return err
	}
	var lines []string
	for _, p := range m.conflicts() {
		lines = append(lines, "0 "+strings.Repeat("0", len(commit))+"\t"+p)
	}
	in := strings.Join(append(lines, m.stages...), "\x00") + "\x00"
	if _, err := w.run(ctx, time.Minute, in, slices.Concat(steady, []string{"update-index", "-z", "--index-info"})...); err != nil {
		return err
	}
	message = strings.TrimRight(message, "\n") + "\n"
	for _, f := range [][2]string{{"MERGE_MSG", message}, {"MERGE_MODE", "no-ff"}, {"MERGE_HEAD", commit + "\n"}} {
		if err := durable.WriteFile(filepath.Join(w.Admin, f[0]), []byte(f[1]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// move notes that files of HEAD are about to be replaced by another tree's, after it has looked whether something is in the way.
func (w Worktree) move(ctx context.Context, head, tree string) error {
	added, err := w.added(ctx, head, tree)
	if err != nil {
		return err
	}
	blocked, err := w.blocked(ctx, head, added)
	if err == nil && len(blocked) > 0 {
		err = &OverlapError{Where: w.Path, Paths: blocked}
	}
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(w.Admin, moving), []byte(head+"\n"+tree+"\n"), 0o644)
}

// added are the paths that the first tree hasn't got.
func (w Worktree) added(ctx context.Context, from, to string) ([]string, error) {
	out, err := at(ctx, w.Common, long, "", "diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", "--diff-filter=A", "--name-only",
		from+"^{tree}", to+"^{tree}")
	return split(out), err
}

// blocked are the files that are where others are to be written, though HEAD hasn't got them.
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
				_ = filepath.WalkDir(filepath.Join(w.Path, q), func(file string, e fs.DirEntry, err error) error {
					if rel, _ := filepath.Rel(w.Path, file); err != nil || !e.IsDir() && !tracked[rel] {
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

// lstat doesn't look behind symbolic links in the directories of a path.
func (w Worktree) lstat(path string) (fs.FileInfo, error) {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(w.Path, dir)); err != nil || !info.IsDir() {
			return nil, errors.Join(err, fs.ErrNotExist)
		}
	}
	return os.Lstat(filepath.Join(w.Path, path))
}

// Recover makes the worktree HEAD's again, if a call that replaced its files was killed, or has just moved HEAD. Nobody has worked there
// since: whoever lets an agent in calls it first. What git ignores stays.
func (w Worktree) Recover(ctx context.Context) error {
	if err := w.Check(); err != nil {
		return err
	}
	if _, err := w.Tidy(""); err != nil {
		return err
	}
	if err := w.unlockAll(); err != nil {
		return err
	}
	data, err := durable.ReadFile(filepath.Join(w.Admin, moving))
	if err != nil {
		return ignoreMissing(err)
	}
	return w.reset(ctx, strings.Fields(string(data))...)
}

// reset makes index and files HEAD's. What only the other trees have is removed.
func (w Worktree) reset(ctx context.Context, others ...string) error {
	if err := w.unlock(); err != nil {
		return err
	}
	if err := w.unhide(ctx); err != nil {
		return err
	}
	if _, err := w.fill(ctx, slices.Concat(steady, exact, []string{"read-tree", "--reset", "-u", "HEAD"})...); err != nil {
		return err
	}
	head, err := ResolveCommit(ctx, w.Admin, "HEAD")
	if err != nil {
		return err
	}
	for _, tree := range others {
		if !isID(tree) {
			continue
		}
		added, err := w.added(ctx, head, tree)
		if err != nil {
			return err
		}
		for _, p := range added {
			// It wasn't there when this began.
			for ; p != "."; p = filepath.Dir(p) {
				if _, err := w.lstat(p); err != nil || os.Remove(filepath.Join(w.Path, p)) != nil {
					break
				}
			}
		}
	}
	if err := w.endMerge(); err != nil {
		return err
	}
	return ignoreMissing(os.Remove(filepath.Join(w.Admin, moving)))
}

// ResetTo takes back a merge that nobody has worked on, finished or not: index and files are those of the commit again, which HEAD
// must be. What git ignores stays. It is ErrRefMoved if HEAD is another commit.
func (w Worktree) ResetTo(ctx context.Context, commit string) error {
	if err := w.Recover(ctx); err != nil {
		return err
	}
	head, err := ResolveCommit(ctx, w.Admin, "HEAD")
	if err != nil {
		return err
	}
	if head != commit {
		return fmt.Errorf("%s: HEAD is %.12s, not %.12s: %w", w.Path, head, commit, ErrRefMoved)
	}
	return w.reset(ctx)
}

// CheckoutDetached makes the worktree a commit's, with no branch checked out: tracked files exactly as they are in it, submodules as the
// checkout at top has them, and nothing else but what git ignores. It is for a worktree in which nobody works: edits are lost. When it
// is killed, the next call does it.
func (w Worktree) CheckoutDetached(ctx context.Context, commit, top string) error {
	if err := w.Check(); err != nil {
		return err
	}
	if _, err := w.Tidy(commit); err != nil {
		return err
	}
	if err := w.unlock(); err != nil {
		return err
	}
	if err := ignoreMissing(durable.Unlink(filepath.Join(w.Admin, "HEAD.lock"))); err != nil {
		return err
	}
	if err := w.setHead(ctx, commit); err != nil {
		return err
	}
	if err := w.ownIndex(); err != nil {
		return err
	}
	if err := w.reset(ctx); err != nil {
		// A repository in the place of a file, say. What isn't in the index is removed.
		if err := ignoreMissing(durable.Unlink(filepath.Join(w.Admin, "index"))); err != nil {
			return err
		}
		if err := errors.Join(w.clean(ctx), w.reset(ctx)); err != nil {
			return err
		}
	}
	if err := w.clean(ctx); err != nil {
		return err
	}
	if err := w.noteIndex(); err != nil {
		return err
	}
	if err := w.FillSubmodules(ctx, top); err != nil {
		return err
	}
	return w.FillLFS(ctx)
}

// IndexCopy is a copy of the index as gl left it. Who works in the worktree, be it in a sandbox, can write the index, and make it say
// of a changed file that it isn't; not the copy.
func (w Worktree) IndexCopy() string {
	return filepath.Join(w.Common, "gl-index-"+filepath.Base(w.Admin))
}

func (w Worktree) noteIndex() error {
	if err := ignoreMissing(durable.Unlink(w.IndexCopy())); err != nil {
		return err
	}
	return copyFile(filepath.Join(w.Admin, "index"), w.IndexCopy())
}

// ownIndex makes the index what it was when gl left the worktree. Without a copy there is none: then all files are written anew.
func (w Worktree) ownIndex() error {
	index := filepath.Join(w.Admin, "index")
	if err := ignoreMissing(durable.Unlink(index)); err != nil {
		return err
	}
	return ignoreMissing(copyFile(w.IndexCopy(), index))
}

// entries are those of the index.
func (w Worktree) entries(ctx context.Context) ([]entry, error) {
	head, _ := readCommit(w.Admin, "HEAD")
	if x, known := readIndexFile(filepath.Join(w.Admin, "index"), len(head)); known {
		return x.entries, ctx.Err()
	}
	out, err := w.run(ctx, time.Minute, "", slices.Concat(steady, []string{"ls-files", "-z", "-v", "-s"})...)
	if err != nil {
		return nil, err
	}
	return readEntries(out)
}

// unhide lets the index hide no edits. One that can't be read is removed.
func (w Worktree) unhide(ctx context.Context) error {
	entries, err := w.entries(ctx)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		return ignoreMissing(durable.Unlink(filepath.Join(w.Admin, "index")))
	}
	var assumed, skipped strings.Builder
	for _, e := range entries {
		if e.tag >= 'a' && e.tag <= 'z' {
			assumed.WriteString(e.path + "\x00")
		}
		if (e.tag == 'S' || e.tag == 's') && (w.Whole || paths.Exists(filepath.Join(w.Path, e.path))) {
			skipped.WriteString(e.path + "\x00")
		}
	}
	for option, list := range map[string]string{"--no-assume-unchanged": assumed.String(), "--no-skip-worktree": skipped.String()} {
		if list == "" {
			continue
		}
		if _, err := w.run(ctx, time.Minute, list, slices.Concat(steady, []string{"update-index", option, "-z", "--stdin"})...); err != nil {
			return err
		}
	}
	return nil
}

// clean removes what is neither tracked nor ignored.
func (w Worktree) clean(ctx context.Context) error {
	args := []string{"clean", "-ffdq"}
	_, err := w.run(ctx, mostFill, "", args...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// Directories that can't be written: package caches are like that.
	_ = filepath.WalkDir(w.Path, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() { // before it is read
			return os.Chmod(path, 0o755)
		}
		return nil
	})
	_, err = w.run(ctx, mostFill, "", args...)
	return err
}

// Adopt puts the worktree back on its branch, if what is checked out there instead, another branch or none, goes on from the branch: the
// branch moves to it. It is a *BranchError otherwise, and a *BusyError while something is unfinished. No file changes; the other
// branch stays. When it is killed, the next call goes on.
func (w Worktree) Adopt(ctx context.Context, branch string) error {
	off := w.on(branch, "merge")
	if !errors.As(off, new(*BranchError)) {
		return off
	}
	if operation := w.Operation(); operation != "" {
		return &BusyError{w.Path, operation}
	}
	tip, err := ResolveCommit(ctx, w.Common, branch)
	if err != nil || tip == "" {
		return errors.Join(err, off)
	}
	head, err := ResolveCommit(ctx, w.Admin, "HEAD")
	if err != nil || head == "" {
		return errors.Join(err, off)
	}
	if in, err := IsAncestor(ctx, w.Common, tip, head); err != nil || !in {
		return errors.Join(err, off)
	}
	if tip != head {
		if err := ChangeRefs(ctx, w.Common, "gl: what was committed elsewhere", RefChange{Name: branch, New: head, Old: tip}); err != nil {
			return err
		}
	}
	return w.setHead(ctx, branch)
}

// setHead makes HEAD a branch, or a commit without one.
func (w Worktree) setHead(ctx context.Context, head string) error {
	if paths.IsDir(filepath.Join(w.Common, "refs", "heads")) {
		return writeHead(w.Admin, head)
	}
	if !isID(head) {
		return SetSymbolicRef(ctx, w.Admin, "HEAD", head, "gl: back to the slice's branch")
	}
	_, err := w.run(ctx, time.Minute, "", "update-ref", "--no-deref", "-m", "gl: lane", "HEAD", head)
	return err
}
