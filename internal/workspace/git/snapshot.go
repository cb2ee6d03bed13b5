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
)

// SnapshotOptions determine what a snapshot has and is compared with.
type SnapshotOptions struct {
	Base    string   // the commit that the branch began at, "" for none
	Branch  string   // the full name of the branch that the worktree is for
	Last    string   // Snapshot.Tree of the last one, "" for none
	Kept    []string // commits that refs have, of the worktree's earlier snapshots
	Stashes []string // entries of refs/stash that aren't the worktree's
	// Exact hashes every file rather than trusting the index, and keeps the commits of nested
	// repositories. The snapshot by which work is judged, and the last one before a removal, must
	// be exact.
	Exact    bool
	MaxBytes int64  // of the files that differ from the index, 0 for no limit
	By       Author // where the person has no name
	Why      string // a line for the commit's message
	// FilesOnly takes only the tree, for callers that compare and keep nothing. Ignored files that
	// are no longer in the index count as removed.
	FilesOnly bool
	// Compare also finds what is in no commit: Snapshot.Unsaved. Ignored are the ignored paths that
	// aren't new.
	Compare bool
	Ignored []string
}

// A Snapshot lists the commits that are to be kept of a worktree, "" for none. They are in the
// repository, and no ref has them until Keep.
type Snapshot struct {
	Tree    string   // its tree is what is in the worktree, its parent what HEAD is
	Head    string   // HEAD where it isn't the branch's tip
	Index   string   // its tree is the index where that is neither HEAD's tree nor the worktree's
	Stashes []string // entries of refs/stash that no snapshot has yet, the newest first
	// Logs are of the reflog and of unfinished operations: what no branch, tag or snapshot has.
	Logs    []string
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
	return fmt.Sprintf(
		"%s: %d bytes have changed, more than the limit of %d; the largest file is %q", e.Path,
		e.Bytes, e.Max, e.Largest)
}

// SpaceError says that a snapshot doesn't fit on the disk.
type SpaceError struct {
	Path       string
	Need, Free int64
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s: no space for a snapshot: it needs %d bytes and %d are free", e.Path,
		e.Need, e.Free)
}

func (e *SpaceError) Unwrap() error { return syscall.ENOSPC }

// Snapshot puts what is in the worktree into commits. It changes no file of the worktree, not its
// index, and no ref.
func (w Worktree) Snapshot(ctx context.Context, o SnapshotOptions) (_ *Snapshot, err error) {
	s, err := w.newSnapshot(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.g.q.remove()) }()
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	if s.Same {
		return &s.Snapshot, nil
	}
	return &s.Snapshot, s.g.q.release()
}

// A snapshot is one being taken.
type snapshot struct {
	Snapshot
	o      *SnapshotOptions
	g      *scratchGit
	rev    *revisions
	index  *indexer
	nested *nestedRepos
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
		// On an error git fails at the directory later, and the snapshot is taken without it.
		_, _ = w.Tidy("")
	}
	g := &scratchGit{w: w, q: q, gitDir: w.Admin}
	if !w.ownsAdmin() {
		g.leaveAdmin()
	}
	rev := &revisions{g: g, o: &o}
	index := &indexer{g: g, o: &o, rev: rev}
	return &snapshot{o: &o, g: g, rev: rev, index: index,
		nested: &nestedRepos{g: g, o: &o, index: index}}, nil
}

// ownsAdmin reports whether the admin directory is this worktree's. The worktree's own .git doesn't
// matter here: an agent may have removed it. Whether the directory works, git shows.
func (w Worktree) ownsAdmin() bool {
	back, err := pointer(filepath.Join(w.Admin, "gitdir"), "")
	// It may have been renamed.
	if (err != nil || back != filepath.Join(w.Path, ".git")) && GitFile(w.Path) != w.Admin {
		return false
	}
	common, err := pointer(filepath.Join(w.Admin, "commondir"), "")
	return err == nil && common == w.Common
}

// take takes the snapshot. Its objects are in quarantine.
func (s *snapshot) take(ctx context.Context) error {
	defer func() { s.Failed = s.g.failed }()
	if err := s.rev.resolve(ctx); err != nil {
		return err
	}
	s.Tip = s.rev.tip
	tree, err := s.tree(ctx)
	if err != nil {
		return err
	}
	s.Whole = tree
	if s.o.FilesOnly {
		return s.takeFiles(ctx, tree)
	}
	index, err := s.index.indexTree(ctx)
	if err != nil {
		return err
	}
	if s.o.Compare {
		if s.Unsaved, err = s.unsaved(ctx, tree, s.o.Ignored); err != nil {
			return err
		}
	}
	if s.Logs, s.Stashes, err = s.rev.others(ctx); err != nil {
		return err
	}
	if s.o.Exact {
		if s.Modules, err = s.nested.modules(ctx); err != nil {
			return err
		}
	}
	if s.rev.head != s.Tip {
		s.Head = s.rev.head
	}
	parentTree, err := s.rev.parentTree(ctx)
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

// takeFiles makes a snapshot of the tree alone.
func (s *snapshot) takeFiles(ctx context.Context, tree string) error {
	last := s.rev.last
	if s.Same = s.o.Last != "" && tree == last.tree && s.rev.parent == last.parent; s.Same {
		s.Tree = s.o.Last
		return nil
	}
	return s.commit(ctx, tree, "", "Tree")
}

// isLast uses the last snapshot for this one if nothing has changed since.
func (s *snapshot) isLast(ctx context.Context, tree, note string) (bool, error) {
	if s.o.Last == "" || tree != s.rev.last.tree || s.rev.parent != s.rev.last.parent ||
		len(s.Stashes)+len(s.Logs)+len(s.Modules)+len(s.g.failed) > 0 {
		return false, nil
	}
	message, err := s.g.message(ctx, s.o.Last)
	if err != nil || strings.TrimSpace(lastLine(message)) != note {
		return false, err
	}
	s.Tree, s.Same, s.Head = s.o.Last, true, ""
	return true, nil
}

// commit makes the snapshot's commits: of the tree and, unless it is "", of the index's tree.
func (s *snapshot) commit(ctx context.Context, tree, index, note string) error {
	why := s.o.Why
	if why == "" {
		why = "gl: snapshot"
	}
	commit := func(tree, message string) (string, error) {
		c := NewCommit{Tree: tree, Message: message, by: s.o.By, ours: s.o.FilesOnly}
		if s.rev.parent != "" {
			c.Parents = []string{s.rev.parent}
		}
		return commitTree(ctx, c, func(_ []string, input string, args ...string) (string, error) {
			return s.g.git(ctx, time.Minute, strings.NewReader(input), args...)
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

// objects resolves revisions of commits and trees, by one git if the files don't have them; "" for
// those that name nothing.
func objects(gitDir string, store objectStore, run func(in string, args ...string) (string, error),
	revs ...string) ([]string, error) {
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

func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == "" &&
		strings.Trim(s, "0") != ""
}

// Stashes returns the entries of refs/stash, which all worktrees of a repository share, the newest
// first.
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

// tree makes a tree of what is in the worktree.
func (s *snapshot) tree(ctx context.Context) (string, error) {
	if err := s.index.copyIndex(ctx); err != nil {
		return "", err
	}
	names, err := s.index.beginIndex(ctx)
	if err != nil {
		return "", err
	}
	listed, err := s.index.list(ctx, "", "-o", "-m", "-d", "--exclude-standard")
	if err != nil {
		return "", err
	}
	found := s.index.sort(slices.Concat(names, listed))
	s.nested.repositories()
	if err := s.nested.nested(ctx, found); err != nil {
		return "", err
	}
	if err := s.index.fits(found.add); err != nil {
		return "", err
	}
	if len(found.gone) > 0 {
		if _, err := s.g.git(ctx, time.Minute, nulled(found.gone), "update-index", "--force-remove",
			"-z", "--stdin"); err != nil {
			return "", err
		}
	}
	if err := s.index.add(ctx, found.add); err != nil {
		return "", err
	}
	if len(found.links) > 0 {
		if _, err := s.g.git(ctx, time.Minute, nulled(found.links), "update-index", "--add",
			"--replace", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	slices.SortFunc(s.g.failed, func(a, b Failure) int { return strings.Compare(a.Path, b.Path) })
	s.g.failed = slices.CompactFunc(s.g.failed, func(a, b Failure) bool { return a.Path == b.Path })
	if s.o.Exact && s.rev.head != "" && len(found.add)+len(found.gone)+len(found.nested) == 0 {
		return s.rev.headTree, nil // the temporary index began with it
	}
	return s.index.writeTree(ctx, "index")
}
