package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrLost says that objects of a snapshot are gone: something pruned the repository in between.
var ErrLost = errors.New("objects of the snapshot have been pruned")

// Refs returns the names that a snapshot's commits get below a prefix.
func (s *Snapshot) Refs(prefix string) []Ref {
	var list []Ref
	put := func(name, commit string) {
		if commit != "" {
			list = append(list, Ref{Name: prefix + "/" + name, Commit: commit})
		}
	}
	put("tree", s.Tree)
	put("head", s.Head)
	put("index", s.Index)
	for name, commits := range map[string][]string{"log-": s.Logs, "mod-": s.Modules} {
		for i, c := range commits {
			put(name+strconv.Itoa(i+1), c)
		}
	}
	for i, c := range s.Stashes {
		name := "stash"
		if i > 0 {
			name += "-" + strconv.Itoa(i+1)
		}
		put(name, c)
	}
	slices.SortFunc(list, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Keep writes the refs of a snapshot below a prefix, refs/gl/wip/…/K: all of them, or none. The
// error is ErrRefExists if one exists, ErrRefLocked if another process is writing one or was killed
// doing so, and ErrLost if the repository was pruned before it had the refs.
func Keep(ctx context.Context, common, prefix string, s *Snapshot) error {
	return keep(ctx, common, prefix, s, nil)
}

func keep(ctx context.Context, common, prefix string, s *Snapshot, q *quarantine) error {
	refs := s.Refs(prefix)
	changes := make([]RefChange, len(refs))
	for i, r := range refs {
		changes[i] = RefChange{Name: r.Name, New: r.Commit}
	}
	has := []string{s.Tip} // the others are no nearer, and there are as many as there was ever work
	if s.Tip == "" {
		has = []string{"--branches", "--tags", "--remotes"}
	}
	return changeWhole(ctx, common, common, "gl: snapshot", has, q, changes...)
}

// ChangeWhole is ChangeRefs for commits that something may have pruned before refs had them. Held
// objects of theirs are restored; if that isn't enough the error is ErrLost, and the refs are
// unchanged. has are commits, or options for them, that git is known to have. Other slices' commits
// don't belong there: any of them may be gone.
func ChangeWhole(ctx context.Context, common, reason string, has []string,
	changes ...RefChange) error {
	return changeWhole(ctx, common, common, reason, has, nil, changes...)
}

// changeWhole restores what was pruned from the quarantine, if there is one, and from what is held.
func changeWhole(ctx context.Context, common, gitDir, reason string, has []string, q *quarantine,
	changes ...RefChange) error {
	err := changeOnce(ctx, common, gitDir, reason, has, changes)
	for tries := 0; tries < 3 && errors.Is(err, ErrLost); tries++ {
		if q != nil {
			if err := q.release(); err != nil {
				return err
			}
		}
		if mendErr := Mend(common); mendErr != nil {
			return errors.Join(err, mendErr)
		}
		err = changeOnce(ctx, common, gitDir, reason, has, changes)
	}
	return err
}

// changeOnce holds the commits' objects before the refs have them, so that Mend can restore
// everything after a kill in between.
func changeOnce(ctx context.Context, common, gitDir, reason string, has []string,
	changes []RefChange) error {
	undo := make([]RefChange, len(changes))
	var commits strings.Builder
	for i, c := range changes {
		undo[i] = RefChange{Name: c.Name, New: c.Old, Old: c.New}
		commits.WriteString(c.New + "\n")
	}
	ids, err := holdReachable(ctx, common, commits.String(), has)
	if errors.Is(err, ErrLost) {
		return fmt.Errorf("%s: %w", changes[0].Name, err)
	}
	if err != nil {
		return err
	}
	if err := ChangeRefs(ctx, gitDir, reason, changes...); err != nil {
		return err
	}
	// A prune that begins now sees the refs. Mend restores what a prune that has already begun
	// removes from now on.
	err = putBack(ctx, common, ids)
	if errors.Is(err, ErrLost) {
		err = errors.Join(fmt.Errorf("%s: %w", changes[0].Name, err),
			ChangeRefs(ctx, gitDir, "gl: lost to a prune", undo...))
	}
	return err
}

// Hold keeps what a commit has beyond those that git is known to have for a while, so that Mend can
// restore it: no ref has it yet. The error is ErrLost if it is already pruned.
func Hold(ctx context.Context, common, commit string, has ...string) error {
	_, err := holdReachable(ctx, common, commit+"\n", has)
	return err
}

func holdReachable(ctx context.Context, common, commits string,
	has []string) (ids []string, err error) {
	if ids, err = reachable(ctx, common, commits, has); err == nil {
		err = hold(ctx, common, ids)
	}
	return ids, err
}

// reachable returns the objects that the commits, a line each, have and has doesn't. The error is
// ErrLost if git lacks any of them. Commits of has that git lacks are ignored, so that one broken
// ref doesn't affect unrelated work.
func reachable(ctx context.Context, common, commits string,
	has []string) (ids []string, err error) {
	args := append([]string{"rev-list", "--objects", "--stdin", "--ignore-missing",
		"--missing=allow-promisor", "--not"}, has...)
	out, err := at(ctx, common, long, commits, args...)
	if err != nil && ctx.Err() == nil && exitCode(err) > 0 {
		err = errors.Join(ErrLost, err)
	}
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for line := range strings.Lines(out) {
		if id, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); isID(id) {
			listed[id] = true
			ids = append(ids, id)
		}
	}
	var rest []string // what has contains, or git lacks
	store := objectsOf(common)
	for commit := range strings.Lines(commits) {
		commit = strings.TrimSuffix(commit, "\n")
		if _, there := store.commit(commit); !there && !listed[commit] {
			rest = append(rest, commit)
		}
	}
	gone, err := missing(ctx, common, rest)
	if err == nil && len(gone) > 0 {
		err = fmt.Errorf("%w: %s", ErrLost, gone[0])
	}
	return ids, err
}

// isWhole reports whether git has everything that the commits have beyond has.
func isWhole(ctx context.Context, common string, has []string, commits ...string) (bool, error) {
	_, err := reachable(ctx, common, strings.Join(commits, "\n")+"\n", has)
	if errors.Is(err, ErrLost) {
		return false, nil
	}
	return err == nil, err
}

// Whole returns ErrLost if git lacks the commit or any of its files.
func Whole(ctx context.Context, common, commit string) error {
	_, err := reachable(ctx, common, commit+"^{tree}\n", nil)
	return err
}

// DropLost deletes a ref of gl's whose commit git can no longer read: something pruned in between,
// and gl was killed before it noticed. While the ref exists, every git command that looks at all
// refs fails. has is as for ChangeWhole.
func DropLost(ctx context.Context, common, ref string, has ...string) error {
	id, _, known := readRef(common, ref)
	if !known || id == "" {
		return nil
	}
	is, err := isWhole(ctx, common, has, id)
	if err != nil || is {
		return err
	}
	return ChangeRefs(ctx, common, "gl: lost to a prune", RefChange{Name: ref, Old: id})
}

// OnlyBelow returns the newest commits below those of the refs, snapshots of gl, that no branch,
// tag or other ref of gl has.
func OnlyBelow(ctx context.Context, common string, refs []string) ([]string, error) {
	var in strings.Builder
	args := []string{"rev-list", "--parents", "--stdin", "--ignore-missing", "--not", "--branches",
		"--tags", "--remotes"}
	for _, ref := range refs {
		in.WriteString(ref + "^@\n")
		args = append(args, "--exclude="+ref)
	}
	out, err := at(ctx, common, long, in.String(), append(args, "--glob=refs/gl/*")...)
	return tipsOf(out), err
}

// Save takes a snapshot and keeps it, in up to three attempts: the repository may be pruned in
// between.
func (w Worktree) Save(ctx context.Context, prefix string, o SnapshotOptions) (*Snapshot, error) {
	var errs []error
	for range 3 {
		s, err := w.save(ctx, prefix, o)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err, Mend(w.Common))
		var big *TooBigError
		var space *SpaceError
		if ctx.Err() != nil || errors.As(err, new(*StuckError)) || errors.As(err, &big) ||
			errors.As(err, &space) || errors.Is(err, ErrRefExists) || errors.Is(err, ErrRefLocked) {
			break
		}
	}
	return nil, errors.Join(errs[len(errs)-2:]...)
}

// save takes a snapshot and keeps it. Its objects are in quarantine until refs have them.
func (w Worktree) save(ctx context.Context, prefix string,
	o SnapshotOptions) (_ *Snapshot, err error) {
	s, err := w.newSnapshot(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.g.q.remove()) }()
	if err := s.take(ctx); err != nil || s.Same {
		return &s.Snapshot, err
	}
	if err := s.g.q.release(); err != nil {
		return nil, err
	}
	return &s.Snapshot, keep(ctx, w.Common, prefix, &s.Snapshot, s.g.q)
}

// at runs git in a repository without a work tree.
func at(ctx context.Context, common string, limit time.Duration, input string,
	args ...string) (string, error) {
	return runFor(ctx, limit, common, input,
		slices.Concat(steady, []string{"--git-dir=" + common}, args)...)
}
