package ops

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// Unseen lists uncommitted files of the checkout, which worktrees lack.
type Unseen struct {
	Documents []string // that slices are built from: contracts, plans, decisions and the like
	Files     []string // all others
}

// FindUnseen finds uncommitted files that aren't ignored, by paths from the top of the checkout. It
// skips the state, which exists only in the checkout.
func FindUnseen(ctx context.Context, pr *project.Project) (*Unseen, error) {
	names, state, err := uncommitted(ctx, pr)
	if err != nil {
		return nil, err
	}
	u := &Unseen{}
	for _, name := range names {
		rel, inState := strings.CutPrefix(name, state)
		switch {
		case !inState, strings.HasPrefix(rel, "summaries/"): // slices aren't built from those
			u.Files = append(u.Files, name)
		case !statedir.IsState(rel):
			u.Documents = append(u.Documents, name)
		}
	}
	return u, nil
}

// Uncommitted returns the uncommitted files of the checkout that aren't ignored, by paths from its
// top, without Greenlight's directory. What another system keeps in the project is part of the
// work: its agents commit it.
func Uncommitted(ctx context.Context, pr *project.Project) ([]string, error) {
	names, state, err := uncommitted(ctx, pr)
	return slices.DeleteFunc(names, func(name string) bool {
		return strings.HasPrefix(name, state)
	}), err
}

// uncommitted returns the uncommitted files that aren't ignored, with directories opened that are
// entirely untracked, and the path of the state.
func uncommitted(ctx context.Context, pr *project.Project) (
	names []string, state string, err error) {
	top, prefix, err := git.Place(ctx, pr.Root)
	if err != nil {
		return nil, "", err
	}
	dirty, err := git.Dirty(ctx, top, "")
	if err != nil {
		return nil, "", err
	}
	state = path.Join(filepath.ToSlash(prefix), statedir.Name) + "/"
	for _, entry := range dirty {
		name, _, _ := strings.Cut(entry[3:], " <- ")
		if !strings.HasSuffix(name, "/") ||
			!strings.HasPrefix(name, state) && !strings.HasPrefix(state, name) {
			names = append(names, name)
			continue
		}
		_, within, err := git.Untracked(ctx, top, name) // an entirely untracked directory
		if err != nil {
			return nil, "", err
		}
		names = append(names, within...)
	}
	return names, state, nil
}
