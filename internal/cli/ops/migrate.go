package ops

import (
	"context"
	"errors"

	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
)

// A Migration is what Migrate did, or would do.
type Migration = slice.Migration

// Migrate turns the STATE.md of a legacy project into slice files; with dryRun it only reports what
// it would do. The error is ErrNothingToDo for a project that has slice files.
func Migrate(ctx context.Context, pr *project.Project, dryRun bool) (*Migration, error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	m, err := s.Migrate(ctx, dryRun)
	if errors.Is(err, slice.ErrMigrated) {
		return nil, ErrNothingToDo
	}
	return m, err
}
