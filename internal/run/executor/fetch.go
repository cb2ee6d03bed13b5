package executor

import (
	"context"

	"greenlight/internal/workspace/worktree"
)

// Fetch takes a snapshot of the worktree, which is where local jobs have worked.
func (l *Local) Fetch(ctx context.Context, p Place,
	o worktree.SnapshotOptions) (*worktree.Snapshot, error) {
	repo, lineage, err := p(ctx)
	if err != nil {
		return nil, err
	}
	return repo.Snapshots.Take(ctx, lineage, o)
}
