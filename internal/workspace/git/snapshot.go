package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// SnapshotOptions say what a snapshot is compared with.
type SnapshotOptions struct {
	Base    string   // the commit that the branch began at, "" for none
	Branch  string   // the full name of the branch that the worktree is for
	Last    string   // Snapshot.Tree of the last one, "" for none
	Kept    []string // commits that refs have, of the worktree's earlier snapshots
	Stashes []string // entries of refs/stash that aren't the worktree's
	// Exact hashes every file rather than trusting the index, and keeps the commits of nested repositories. The snapshot
	// by which work is judged, and the last one before a removal, must be exact.
	Exact    bool
	MaxBytes int64  // of the files that differ from the index, 0 for no limit
	By       Author // where the person has no name
	Why      string // a line for the commit's message
	// FilesOnly takes the tree and nothing else: for who looks, and keeps nothing. What isn't in the index any more and is ignored counts as removed.
	FilesOnly bool
	// Compare finds out what is in no commit, too: Snapshot.Unsaved. Ignored are the ignored paths that aren't new.
	Compare bool
	Ignored []string
}

// A Snapshot is what is to be kept of a worktree: commits, "" for none. They are in the repository, and no ref has them
// until Keep.
type Snapshot struct {
	Tree    string   // its tree is what is in the worktree, its parent what HEAD is
	Head    string   // HEAD where it isn't the branch's tip
	Index   string   // its tree is the index where that is neither HEAD's tree nor the worktree's
	Stashes []string // entries of refs/stash that no snapshot has yet, the newest first
	Logs    []string // of the reflog, and of unfinished operations: what no branch, tag or snapshot has
	Modules []string // of nested repositories: what none of their remotes has
	Failed  []Failure
	Same    bool     // nothing has changed since Last, and Tree is Last
	Unsaved *Unsaved // where it was asked for

	Whole string // Tree's tree; "" where the directory is gone
	Tip   string // of the branch
}

// A Failure is a path that isn't in a snapshot's tree.
type Failure struct{ Path, Why string }

// TooBigError says that a worktree has more changed bytes than may be kept.
type TooBigError struct {
	Path       string
	Bytes, Max int64
	Largest    string // the largest file
}

func (e *TooBigError) Error() string {
	return fmt.Sprintf("%s: %d bytes have changed, more than the limit of %d; the largest file is %q", e.Path, e.Bytes, e.Max, e.Largest)
}

// SpaceError says that a snapshot doesn't fit on the disk.
type SpaceError struct {
	Path       string
	Need, Free int64
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s: no space for a snapshot: it needs %d bytes and %d are free", e.Path, e.Need, e.Free)
}

func (e *SpaceError) Unwrap() error { return syscall.ENOSPC }

// Snapshot puts what is in the worktree into commits. Nothing of the worktree changes: not its files, not its index, and no ref.
func (w Worktree) Snapshot(ctx context.Context, o SnapshotOptions) (_ *Snapshot, err error) {
	s, err := w.newSnapshot(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	if s.Same {
		return &s.Snapshot, nil
	}
	return &s.Snapshot, s.q.release()
}

// A snapshot is one being taken.
type snapshot struct {
	Snapshot
	w        Worktree
	o        SnapshotOptions
	q        *quarantine
	gitDir   string // the admin directory, or the common one where that is broken
	noIndex  bool   // the worktree's index can't be read
	entries  []entry
	repos    []string   // nested repositories, from the top; "" for one that took the top's place
	parent   string     // the commit that the tree's commit has as parent, "" for none
	head     string     // what HEAD is, "" where it is no commit
	headTree string     // its tree
	staged   string     // the index's tree, once it is known
	plain    *indexFile // the index, where git wasn't needed to read it
	last     struct{ tree, parent string }
	bytes    int64               // of the files to hash
	standins map[string]*standin // of nested repositories, by their place
}

func (w Worktree) newSnapshot(ctx context.Context, o SnapshotOptions) (*snapshot, error) {
	for _, dir := range []string{w.Common, w.Path} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, errors.Join(err, fmt.Errorf("%s isn't a directory", dir))
		}
	}
	q, err := newQuarantine(w.Common)
	if err != nil {
		return nil, err
	}
	if w.ownsAdmin() {
		_, _ = w.Tidy("") // where it can't be put in order, git says so, and the snapshot is taken without it
	}
	s := &snapshot{w: w, o: o, q: q, gitDir: w.Admin}
	if !w.ownsAdmin() {
		s.leaveAdmin()
	}
	return s, nil
}

// ownsAdmin says whether the admin directory is this worktree's. What the worktree's own .git says doesn't matter here: an agent may have
// removed it. Whether it is a git directory, git says.
func (w Worktree) ownsAdmin() bool {
	back, err := pointer(filepath.Join(w.Admin, "gitdir"), "")
	if (err != nil || back != filepath.Join(w.Path, ".git")) && GitFile(w.Path) != w.Admin { // it may have been renamed
		return false
	}
	common, err := pointer(filepath.Join(w.Admin, "commondir"), "")
	return err == nil && common == w.Common
}

// leaveAdmin goes on without the admin directory. HEAD of the main checkout isn't used.
func (s *snapshot) leaveAdmin() { s.gitDir, s.noIndex = s.w.Common, true }

func (s *snapshot) take(ctx context.Context) error {
	if err := s.resolve(ctx); err != nil {
		return err
	}
	tree, err := s.tree(ctx)
	if err != nil {
		return err
	}
	s.Whole = tree
	if s.o.FilesOnly {
		if s.Same = s.o.Last != "" && tree == s.last.tree && s.parent == s.last.parent; s.Same {
			s.Tree = s.o.Last
			return nil
		}
		return s.commit(ctx, tree, "", "Tree")
	}
	index, err := s.indexTree(ctx)
	if err != nil {
		return err
	}
	if s.o.Compare {
		if s.Unsaved, err = s.unsaved(ctx, tree, s.o.Ignored); err != nil {
			return err
		}
	}
	if err := s.others(ctx); err != nil {
		return err
	}
	if s.o.Exact {
		if err := s.modules(ctx); err != nil {
			return err
		}
	}
	if s.head != s.Tip {
		s.Head = s.head
	}
	parentTree, err := s.parentTree(ctx)
	if err != nil {
		return err
	}
	note := "Tree"
	if index == parentTree || index == tree {
		index = ""
	}
	if index != "" {
		note = "Index: " + index
	}
	if same, err := s.isLast(ctx, tree, note); same || err != nil {
		return err
	}
	return s.commit(ctx, tree, index, note)
}

// isLast takes the last snapshot for this one where nothing has changed since.
func (s *snapshot) isLast(ctx context.Context, tree, note string) (bool, error) {
	if s.o.Last == "" || tree != s.last.tree || s.parent != s.last.parent || len(s.Stashes)+len(s.Logs)+len(s.Modules)+len(s.Failed) > 0 {
		return false, nil
	}
	message, err := s.message(ctx, s.o.Last)
	if err != nil || strings.TrimSpace(lastLine(message)) != note {
		return false, err
	}
	s.Tree, s.Same, s.Head = s.o.Last, true, ""
	return true, nil
}

// message is what a commit says.
func (s *snapshot) message(ctx context.Context, id string) (string, error) {
	if c, known := objectsOf(s.w.Common).commit(id); known {
		return c.message, nil
	}
	return s.git(ctx, time.Minute, nil, "log", "--no-walk", "--no-show-signature", "--format=%B", id)
}

// commit makes the snapshot's commits: of the tree and, unless it is "", of the index's.
func (s *snapshot) commit(ctx context.Context, tree, index, note string) error {
	why := s.o.Why
	if why == "" {
		why = "gl: snapshot"
	}
	commit := func(tree, message string) (string, error) {
		c := NewCommit{Tree: tree, Message: message, by: s.o.By, ours: s.o.FilesOnly}
		if s.parent != "" {
			c.Parents = []string{s.parent}
		}
		return commitTree(ctx, c, func(_ []string, input string, args ...string) (string, error) {
			return s.git(ctx, time.Minute, strings.NewReader(input), args...)
		})
	}
	var err error
	if s.Tree, err = commit(tree, why+"\n\n"+note+"\n"); err == nil && index != "" {
		s.Index, err = commit(index, why+"\n\nIndex\n")
	}
	return err
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// parentTree is the tree of the commit that the snapshot's has as parent, "" without one.
func (s *snapshot) parentTree(ctx context.Context) (string, error) {
	if s.parent == "" || s.parent == s.head {
		return s.headTree, nil
	}
	found, err := s.objects(ctx, treeOf(s.parent))
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// resolve finds the commits that the options and HEAD name. It is the first to run git, so it finds out whether the admin directory works.
func (s *snapshot) resolve(ctx context.Context) error {
	found, err := s.named(ctx)
	if err != nil && unanswered(err) == nil && s.gitDir == s.w.Admin {
		s.leaveAdmin()
		found, err = s.named(ctx)
	}
	if err != nil {
		return err
	}
	s.head, s.Tip, s.last.tree, s.last.parent, s.headTree = found[0], found[1], found[3], found[4], found[5]
	if found[2] == "" {
		s.o.Last = ""
	} else {
		s.o.Last = found[2]
	}
	if s.parent = s.head; s.parent != "" {
		return nil
	}
	log, err := s.reflog()
	if err == nil {
		log, err = s.commits(ctx, log)
	}
	if err != nil {
		return err
	}
	switch {
	case len(log) > 0:
		s.parent = log[0]
	case s.o.Last != "":
		s.parent = s.o.Last
	default:
		s.parent, err = s.one(ctx, commitOf(s.o.Base))
	}
	return err
}

// named are what the options and HEAD name, as resolve takes them.
func (s *snapshot) named(ctx context.Context) ([]string, error) {
	head := "HEAD"
	if s.gitDir != s.w.Admin {
		head = ""
	}
	return s.objects(ctx, commitOf(head), commitOf(s.o.Branch), commitOf(s.o.Last), treeOf(s.o.Last), s.o.Last+"^1^{commit}", treeOf(head))
}

func commitOf(rev string) string {
	if rev == "" {
		return ""
	}
	return rev + "^{commit}"
}

func treeOf(rev string) string {
	if rev == "" {
		return ""
	}
	return rev + "^{tree}"
}

// objects resolves revisions; "" for those that name nothing.
func (s *snapshot) objects(ctx context.Context, revs ...string) ([]string, error) {
	return objects(s.gitDir, objectsOf(s.w.Common), func(in string, args ...string) (string, error) {
		return s.git(ctx, time.Minute, strings.NewReader(in), args...)
	}, revs...)
}

// objects resolves revisions of commits and trees, by one git if the files don't tell; "" for those that name nothing.
func objects(gitDir string, store objectStore, run func(in string, args ...string) (string, error), revs ...string) ([]string, error) {
	if found, known := store.resolveAll(gitDir, revs); known {
		return found, nil
	}
	var in strings.Builder
	for _, r := range revs {
		if r == "" || strings.ContainsAny(r, "\n") {
			r = "refs/gl/none" // which isn't there
		}
		in.WriteString(r + "\n")
	}
	out, err := run(in.String(), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(revs) {
		return nil, fmt.Errorf("git cat-file answers %d of %d questions", len(lines), len(revs))
	}
	found := make([]string, len(revs))
	for i, line := range lines {
		if id, kind, ok := strings.Cut(line, " "); ok && (kind == "commit" || kind == "tree") {
			found[i] = id
		}
	}
	return found, nil
}

func (s *snapshot) one(ctx context.Context, rev string) (string, error) {
	found, err := s.objects(ctx, rev)
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// reflog lists the commits that HEAD's reflog names, the newest first.
func (s *snapshot) reflog() ([]string, error) {
	data, err := durable.ReadFile(filepath.Join(s.w.Admin, "logs", "HEAD"))
	if err != nil {
		if ignoreMissing(err) != nil { // it is the agent's: what can't be read doesn't cost the files
			s.fail(".git/logs/HEAD", reason(err))
		}
		return nil, nil
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 {
			ids = append(ids, f[0], f[1])
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

// commits are those of the ids that are commits which are there, each once.
func (s *snapshot) commits(ctx context.Context, ids []string) ([]string, error) {
	var ask []string
	seen := map[string]bool{}
	for _, id := range ids {
		if isID(id) && !seen[id] {
			seen[id] = true
			ask = append(ask, id+"^{commit}")
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	found, err := s.objects(ctx, ask...)
	return slices.DeleteFunc(found, func(id string) bool { return id == "" }), err
}

func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

// own are the commits that an unfinished operation, the worktree's own refs and its reflog name.
func (s *snapshot) own(ctx context.Context) ([]string, error) {
	if s.gitDir != s.w.Admin {
		return nil, nil
	}
	var ids []string
	for _, name := range []string{"ORIG_HEAD", "MERGE_HEAD", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_HEAD",
		"rebase-merge/autostash", "rebase-merge/orig-head", "rebase-merge/onto",
		"rebase-apply/autostash", "rebase-apply/orig-head", "rebase-apply/onto"} {
		data, err := durable.ReadFile(filepath.Join(s.w.Admin, name))
		if ignoreMissing(err) != nil {
			return nil, err
		}
		ids = append(ids, strings.Fields(string(data))...) // MERGE_HEAD has several in an octopus merge
	}
	refs, err := s.ownRefs(ctx)
	if err != nil {
		return nil, err
	}
	log, err := s.reflog()
	if err != nil {
		return nil, err
	}
	// What HEAD, the branch and the snapshots contain needn't be looked for.
	kept, _ := objectsOf(s.w.Common).ancestors(slices.Concat([]string{s.parent, s.Tip}, s.o.Kept)...)
	return s.commits(ctx, slices.DeleteFunc(slices.Concat(ids, refs, log), func(id string) bool { return kept[id] }))
}

// ownRefs are what the refs name that are the worktree's alone. Most worktrees have none.
func (s *snapshot) ownRefs(ctx context.Context) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.w.Admin, "refs"))
	if ignoreMissing(err) == nil && len(entries) == 0 && !paths.Exists(filepath.Join(s.w.Admin, "reftable")) {
		return nil, nil
	}
	out, err := s.git(ctx, time.Minute, nil, "for-each-ref", "--format=%(objectname)", "refs/worktree", "refs/bisect", "refs/rewritten")
	return strings.Fields(out), err
}

// others finds the commits that only the reflog, an unfinished operation or a stash has.
func (s *snapshot) others(ctx context.Context) error {
	ids, err := s.own(ctx)
	if err != nil {
		return err
	}
	stashes, err := Stashes(s.w.Common)
	if err != nil {
		return err
	}
	stashes = slices.DeleteFunc(stashes, func(id string) bool { return slices.Contains(s.o.Stashes, id) })
	if stashes, err = s.commits(ctx, stashes); err != nil || len(ids)+len(stashes) == 0 {
		return err
	}
	out, err := s.listOthers(ctx, slices.Concat(ids, stashes))
	if err != nil {
		if unanswered(err) != nil {
			return err
		}
		s.Logs, s.Stashes = ids, stashes // a branch is broken: what can't be compared is kept
		return nil
	}
	for _, id := range tipsOf(out) {
		if !slices.Contains(stashes, id) {
			s.Logs = append(s.Logs, id)
		}
	}
	for _, id := range stashes {
		if strings.HasPrefix(out, id) || strings.Contains(out, "\n"+id) { // its line
			s.Stashes = append(s.Stashes, id)
		}
	}
	return nil
}

// listOthers lists those of the commits, and of the commits below them, that neither a ref nor the parent has, each with its parents. What
// most worktrees have is in their own branch and snapshots, so these are looked at before all the refs: there are as many as there was ever work.
func (s *snapshot) listOthers(ctx context.Context, ids []string) (string, error) {
	list := func(not ...string) (string, error) {
		for _, id := range []string{s.parent, s.Tip} {
			if id != "" {
				not = append(not, id)
			}
		}
		not = append(not, s.o.Kept...)
		args := append([]string{"rev-list", "--parents", "--ignore-missing", "--stdin", "--not"}, not...)
		return s.git(ctx, long, strings.NewReader(strings.Join(ids, "\n")+"\n"), args...)
	}
	if out, err := list(); out == "" || err != nil {
		return "", err
	}
	return list("--branches", "--tags", "--remotes", "--glob=refs/gl/*")
}

// Stashes are the entries of refs/stash, which all worktrees of a repository share, the newest first.
func Stashes(common string) ([]string, error) {
	data, err := durable.ReadFile(filepath.Join(common, "logs", "refs", "stash"))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && isID(f[1]) {
			ids = append(ids, f[1])
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
