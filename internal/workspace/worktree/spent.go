package worktree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/words"
	"greenlight/internal/workspace/git"
)

// A slice leaves snapshots and handed-over tests in refs/gl. Once its work has landed, those are
// spent whose trees its branch, or the branch it landed in, has in some commit. refs/gl/landed
// stays: it proves that a squash has the branch's work.

// Spent are the refs of a lineage that has ended.
type Spent struct {
	Refs []git.Ref // that can go
	Left int       // how many have to stay,
	Why  string    // and why; "" for none
}

// Spent determines which refs of a lineage's work can be removed. The slice is complete. It changes
// nothing.
func (a *Archive) Spent(ctx context.Context, k *Kept) (s Spent, err error) {
	if k.Slice == "" {
		return s, nil
	}
	wip := a.at.wips(k.System, k.Slice) + "/" + strconv.Itoa(k.N) + "/"
	refs, err := git.Refs(ctx, a.common, wip, a.at.tests(k.System, k.Slice)+"/"+strconv.Itoa(k.N))
	if err != nil || len(refs) == 0 {
		return s, err
	}
	switch {
	case k.Admin != "":
		return Spent{Left: len(refs), Why: "its worktree is still there"}, nil
	case k.Tip == "":
		return Spent{Left: len(refs), Why: "its branch is gone"}, nil
	case !k.Contained:
		return Spent{Left: len(refs), Why: "it " + k.Why}, nil
	}
	holders, err := a.queue.holders(ctx)
	if err != nil {
		return s, err
	}
	held := []string{k.Tip}
	for _, h := range holders {
		held = append(held, h.Commit)
	}
	// One of them is broken.
	if s, err = a.spent(ctx, refs, wip, held); err != nil && ctx.Err() == nil {
		return Spent{Left: len(refs), Why: "they can't be read: " + sanitize.Line(err.Error())}, nil
	}
	return s, err
}

// spent sorts refs: the parts of a snapshot go together, or stay.
func (a *Archive) spent(ctx context.Context, refs []git.Ref, wip string,
	held []string) (s Spent, err error) {
	have, err := git.Trees(ctx, a.common, true, held...)
	if err != nil {
		return s, err
	}
	known := map[string]bool{}
	for tree := range maps.Values(have) {
		known[tree] = true
	}
	var commits []string
	groups := map[string][]git.Ref{}
	for _, ref := range refs {
		commits = append(commits, ref.Commit)
		number, _, _ := strings.Cut(strings.TrimPrefix(ref.Name, wip), "/")
		groups[number] = append(groups[number], ref)
	}
	trees, err := git.Trees(ctx, a.common, false, commits...)
	if err != nil {
		return s, err
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		group := groups[key]
		alone, err := a.onlyThere(ctx, group)
		if err != nil {
			return s, err
		}
		if alone || slices.ContainsFunc(group,
			func(ref git.Ref) bool { return !known[trees[ref.Commit]] }) {
			s.Left, s.Why = s.Left+len(group), "what they hold was never committed"
			continue
		}
		s.Refs = append(s.Refs, group...)
	}
	// Two of them may share a commit that nothing else has.
	if alone, err := a.onlyThere(ctx, s.Refs); err != nil || alone {
		return Spent{Left: len(refs), Why: "they have commits that nothing else has"}, err
	}
	return s, nil
}

// onlyThere reports whether the refs have commits below theirs that nothing else has: an agent has
// amended them, or gone back.
func (a *Archive) onlyThere(ctx context.Context, refs []git.Ref) (bool, error) {
	if len(refs) == 0 {
		return false, nil
	}
	var names []string
	for _, ref := range refs {
		names = append(names, ref.Name)
	}
	below, err := git.OnlyBelow(ctx, a.common, names)
	return len(below) > 0, err
}

// Text describes what happens to the refs.
func (s Spent) Text() string {
	switch {
	case len(s.Refs) == 0:
		return s.Why
	case s.Left == 0:
		return "contained in its branch"
	}
	return fmt.Sprintf("contained in its branch; %s more stay: %s",
		words.Count(s.Left, "ref"), s.Why)
}

// DropSpent removes the refs that Spent has found, all or none.
func (a *Archive) DropSpent(ctx context.Context, s Spent) error {
	if len(s.Refs) == 0 {
		return nil
	}
	var changes []git.RefChange
	for _, ref := range s.Refs {
		changes = append(changes, git.RefChange{Name: ref.Name, Old: ref.Commit})
	}
	return git.ChangeRefs(ctx, a.common, "gl: clean", changes...)
}
