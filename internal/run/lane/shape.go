package lane

import (
	"context"

	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// A landing is what lands of a work: commits on its base, the last of them with the merge's tree
// and the trailers.
type landing struct {
	as      string // project.LandMerge…
	commits []string
	caveats []string
}

func (n landing) commit() string { return n.commits[len(n.commits)-1] }

// shape makes the commits by which the work lands, according to git.land. The tree is always the
// one that was tested: if a rebase gives another one, say because of merges on the branch, the work
// is squashed.
func (m *merging) shape(ctx context.Context, w *work, trailers []git.Trailer) (landing, error) {
	n := landing{as: m.project.Config.Git.Land}
	if n.as == project.LandRebase {
		commits, ok, err := git.Replay(ctx, m.repo.Git.Common, w.base, w.tip, w.tree,
			statedir.InState, func(text string, last bool) string {
				if !last {
					return git.WithTrailers(text)
				}
				return git.WithTrailers(text, trailers...)
			})
		if err != nil {
			return n, err
		}
		if n.commits = commits; !ok {
			n.as, n.caveats = project.LandSquash,
				[]string{"its commits don't apply one by one, so they were merged as one"}
		}
	}
	if n.as != project.LandRebase {
		parents := []string{w.base}
		if n.as == project.LandMerge {
			parents = append(parents, w.tip)
		}
		commit, err := git.CommitTree(ctx, m.repo.Git.Common,
			git.NewCommit{Tree: w.tree, Parents: parents,
				Message: git.LandingMessage(w.title(), trailers...)})
		if err != nil {
			return n, err
		}
		n.commits = []string{commit}
	}
	m.trees.sameFiles(n.commit(), w.tree) // the next work is merged into it
	if n.as == project.LandMerge {
		return n, nil
	}
	return n, m.repo.Queue.NoteLanded(ctx, w.lineage, w.tip, n.commit())
}
