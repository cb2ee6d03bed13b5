package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/words"
)

// Contained reports whether one of the commits in has the work of tip, which began at base, and
// why, in words that follow "it" ("is an ancestor of …", "has 2 commits that … doesn't have").
// Ancestry alone isn't enough: work that was rebased or squashed has other commits.
func Contained(ctx context.Context, common, tip, base string, in ...string) (bool, string, error) {
	why := "has nothing to be compared with"
	for _, other := range in {
		yes, reason, err := contained(ctx, common, tip, base, other)
		if err != nil || yes {
			return yes, reason, err
		}
		why = reason
	}
	return false, why, nil
}

// SameFiles reports whether two commits have the same tree.
func SameFiles(ctx context.Context, common, a, b string) (bool, error) {
	run := func(in string, args ...string) (string, error) {
		return at(ctx, common, leastFill, in, args...)
	}
	trees, err := objects(common, objectsOf(common), run, a+"^{tree}", b+"^{tree}")
	if err != nil {
		return false, err
	}
	if slices.Contains(trees, "") {
		return false, fmt.Errorf("%.80s or %.80s is no commit", a, b)
	}
	return trees[0] == trees[1], nil
}

func contained(ctx context.Context, common, tip, base, in string) (bool, string, error) {
	if yes, err := descends(ctx, common, tip, in); err != nil {
		return false, "", err
	} else if yes {
		return true, "is an ancestor of " + in, nil
	}
	if same, err := SameFiles(ctx, common, tip, in); err != nil || same {
		return same, "has the same files as " + in, err
	}
	// git cherry skips merges, which may have content of their own.
	limit := []string{tip, "^" + in}
	if base != "" {
		limit = append(limit, "^"+base)
	}
	merges, err := at(ctx, common, long, "",
		append([]string{"rev-list", "--count", "--min-parents=2"}, limit...)...)
	if err != nil {
		return false, "", err
	}
	if n := strings.TrimSpace(merges); n != "0" {
		return false, fmt.Sprintf("has merges (%s) that %s doesn't have", n, in), nil
	}
	args := []string{"cherry", in, tip}
	if base != "" {
		args = append(args, base)
	}
	out, err := at(ctx, common, long, "", args...)
	if err != nil {
		return false, "", err
	}
	missing := 0
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "- ") {
			missing++
		}
	}
	switch {
	case missing > 0:
		return false, fmt.Sprintf("has %s that %s doesn't have", words.Count(missing, "commit"),
			in), nil
	case out == "":
		return false, "has nothing that could be compared with " + in, nil
	}
	return true, "has only commits whose changes are in " + in, nil
}

// Unsaved is what is in a worktree and in none of its commits.
type Unsaved struct {
	Changed []string // paths that differ from HEAD or aren't in it, ignored ones excepted
	Staged  []string // paths of the index that are neither in HEAD nor in the worktree
	Ignored []string // ignored paths that are new
}

// None reports whether there is nothing.
func (u *Unsaved) None() bool { return len(u.Changed)+len(u.Staged)+len(u.Ignored) == 0 }

// Unsaved finds what is unsaved by an exact comparison, unaffected by anything that hides changes
// from git status. ignored are the ignored paths that aren't new, as Ignored lists them.
func (w Worktree) Unsaved(ctx context.Context, ignored []string) (_ *Unsaved, err error) {
	s, err := w.newSnapshot(ctx, SnapshotOptions{Exact: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.g.q.remove()) }()
	if err := s.rev.resolve(ctx); err != nil {
		return nil, err
	}
	tree, err := s.tree(ctx)
	if err != nil {
		return nil, err
	}
	return s.unsaved(ctx, tree, ignored)
}

// unsaved compares what is in the worktree, given its tree, with HEAD and the index.
func (s *snapshot) unsaved(ctx context.Context, tree string, ignored []string) (*Unsaved, error) {
	if s.rev.head == "" {
		return nil, fmt.Errorf("%s: HEAD is no commit", s.g.w.Path)
	}
	index, err := s.index.indexTree(ctx)
	if err != nil {
		return nil, err
	}
	differ := func(a, b string) ([]string, error) {
		if a == b {
			return nil, nil
		}
		out, err := s.g.git(ctx, long, nil, "diff-tree", "-r", "-z", "--no-renames", "--name-only",
			a, b)
		return split(out), err
	}
	u := &Unsaved{}
	if u.Changed, err = differ(s.rev.headTree, tree); err != nil {
		return nil, err
	}
	for _, f := range s.g.failed {
		u.Changed = append(u.Changed, f.Path)
	}
	slices.Sort(u.Changed)
	u.Changed = slices.Compact(u.Changed)
	if index != "" {
		staged, err := differ(s.rev.headTree, index)
		if err != nil {
			return nil, err
		}
		edited, err := differ(index, tree)
		if err != nil {
			return nil, err
		}
		u.Staged = slices.DeleteFunc(staged,
			func(p string) bool { return !slices.Contains(edited, p) })
	}
	out, _, err := s.g.start(ctx, "", "index", s.index.reading(), "ls-files", "-z", "-o", "-i",
		"--exclude-standard", "--directory")
	if err != nil {
		return nil, err
	}
	for _, p := range split(out) {
		if !slices.Contains(ignored, p) {
			u.Ignored = append(u.Ignored, p)
		}
	}
	return u, nil
}

// MergeBase returns the best common ancestor of two commits, "" for none.
func MergeBase(ctx context.Context, common, a, b string) (string, error) {
	store := objectsOf(common)
	if yes, known := store.contains(a, b); yes && known {
		return a, ctx.Err()
	} else if yes, known := store.contains(b, a); yes && known {
		return b, ctx.Err()
	}
	out, err := at(ctx, common, long, "", "merge-base", a, b)
	if exitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(out), err
}
