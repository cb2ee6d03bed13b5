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

// Refs are the names that a snapshot's commits get below a prefix.
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

// Keep writes the refs of a snapshot below a prefix, refs/gl/wip/…/K: all of them, or none. It is ErrRefExists if one is
// there, ErrRefLocked if somebody else is writing one or was killed doing so, and ErrLost if something has pruned the repository before it had the refs.
func Keep(ctx context.Context, common, prefix string, s *Snapshot) error {
	refs := s.Refs(prefix)
	create, undo := make([]RefChange, len(refs)), make([]RefChange, len(refs))
	for i, r := range refs {
		create[i], undo[i] = RefChange{Name: r.Name, New: r.Commit}, RefChange{Name: r.Name, Old: r.Commit}
	}
	if err := ChangeRefs(ctx, common, "gl: snapshot", create...); err != nil {
		return err
	}
	// What is pruned from now on isn't this. What was pruned before shows.
	var in strings.Builder
	for _, r := range refs {
		in.WriteString(r.Commit + "\n")
	}
	args := []string{"rev-list", "--objects", "--quiet", "--stdin", "--missing=allow-promisor", "--not"}
	if s.Tip != "" { // the others are no nearer, and there are as many as there was ever work
		args = append(args, s.Tip)
	} else {
		args = append(args, "--branches", "--tags", "--remotes")
	}
	_, err := at(ctx, common, long, in.String(), args...)
	if err != nil && ctx.Err() == nil && exitCode(err) > 0 {
		return errors.Join(fmt.Errorf("%s: %w", prefix, ErrLost), err, ChangeRefs(ctx, common, "gl: lost snapshot", undo...))
	}
	return err
}

// OnlyBelow are the newest commits below those of the refs, snapshots of gl, that no branch, tag or other ref of gl has.
func OnlyBelow(ctx context.Context, common string, refs []string) ([]string, error) {
	var in strings.Builder
	args := []string{"rev-list", "--parents", "--stdin", "--not", "--branches", "--tags", "--remotes"}
	for _, ref := range refs {
		in.WriteString(ref + "^@\n")
		args = append(args, "--exclude="+ref)
	}
	out, err := at(ctx, common, long, in.String(), append(args, "--glob=refs/gl/*")...)
	return tipsOf(out), err
}

// Save takes a snapshot and keeps it, as often as three times: something may prune the repository in between.
func (w Worktree) Save(ctx context.Context, prefix string, o SnapshotOptions) (*Snapshot, error) {
	var errs []error
	for range 3 {
		s, err := w.Snapshot(ctx, o)
		if err == nil && !s.Same {
			err = Keep(ctx, w.Common, prefix, s)
		}
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
		var big *TooBigError
		var space *SpaceError
		if ctx.Err() != nil || errors.As(err, new(*StuckError)) || errors.As(err, &big) || errors.As(err, &space) || errors.Is(err, ErrRefExists) || errors.Is(err, ErrRefLocked) {
			break
		}
	}
	return nil, errs[len(errs)-1]
}

// at runs git in a repository without a work tree.
func at(ctx context.Context, common string, limit time.Duration, input string, args ...string) (string, error) {
	return runFor(ctx, limit, common, input, slices.Concat(steady, []string{"--git-dir=" + common}, args)...)
}
