package ops

import (
	"context"
	"slices"
	"time"

	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/worktree"
)

// A CleanableRefs lists the refs of a complete slice's lineage that CleanRefs may remove.
type CleanableRefs struct {
	*worktree.Kept
	worktree.Spent
}

// CleanableSpent examines the snapshots and handed-over tests of the named complete slices, or of
// all. It changes nothing.
func CleanableSpent(ctx context.Context, pr *project.Project,
	ids []string) (list []CleanableRefs, err error) {
	repo, kept, err := KeptWork(ctx, pr, "")
	if err != nil {
		return nil, err
	}
	for _, view := range pr.Views() {
		p, err := view.Plan(time.Now(), view.Options())
		if err != nil {
			return nil, err
		}
		for _, k := range kept {
			named := len(ids) == 0 || slices.ContainsFunc(ids, k.IsOfID)
			if k.System != view.Key() || !named || attempt.IsTask(k.Slice) ||
				unfinished(p, k.Slice) != "" {
				continue
			}
			s, err := repo.Archive.Spent(ctx, k)
			if err != nil {
				return nil, err
			}
			if len(s.Refs)+s.Left > 0 {
				list = append(list, CleanableRefs{k, s})
			}
		}
	}
	return list, nil
}

// CleanRefs removes the refs that CleanableSpent found if the slice is still complete; otherwise it
// returns the reason to keep them.
func CleanRefs(ctx context.Context, pr *project.Project, c CleanableRefs) (kept string, err error) {
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return "", err
	}
	return whileComplete(ctx, pr, c.System, c.Slice, func() error {
		return repo.Archive.DropSpent(ctx, c.Spent)
	})
}
