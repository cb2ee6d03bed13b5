package ops

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// Unseen is what is in the checkout without being committed, so that worktrees don't have it.
type Unseen struct {
	Documents []string // what slices are built from: contracts, plans, decisions and the like
	Files     []string // all else
}

// FindUnseen looks for what isn't committed and isn't ignored, by paths from the top of the checkout. State isn't among it: the
// checkout's is the only one there is.
func FindUnseen(ctx context.Context, pr *project.Project) (*Unseen, error) {
	top, prefix, err := git.Place(ctx, pr.Root)
	if err != nil {
		return nil, err
	}
	dirty, err := git.Dirty(ctx, top, "")
	if err != nil {
		return nil, err
	}
	var names []string
	state := path.Join(filepath.ToSlash(prefix), statedir.Name) + "/"
	for _, entry := range dirty {
		name, _, _ := strings.Cut(entry[3:], " <- ")
		if !strings.HasSuffix(name, "/") || !strings.HasPrefix(name, state) && !strings.HasPrefix(state, name) {
			names = append(names, name)
			continue
		}
		_, within, err := git.Untracked(ctx, top, name) // a directory of which git has nothing
		if err != nil {
			return nil, err
		}
		names = append(names, within...)
	}
	u := &Unseen{}
	for _, name := range names {
		rel, inState := strings.CutPrefix(name, state)
		switch {
		case !inState, strings.HasPrefix(rel, "summaries/"): // nothing is built from those
			u.Files = append(u.Files, name)
		case !statedir.IsState(rel):
			u.Documents = append(u.Documents, name)
		}
	}
	return u, nil
}
