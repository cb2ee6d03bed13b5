package ops

import (
	"context"
	"errors"

	"greenlight/internal/base/trust"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
)

// OpenQueue opens the project's merge queue. self is the path of gl; store has the commands that
// this person has allowed, for the project at trustRoot.
func OpenQueue(ctx context.Context, pr *project.Project, self string, environ []string,
	store trust.Store, trustRoot string) (*lane.Queue, error) {
	q, err := lane.Open(ctx, pr, self, environ)
	if err != nil {
		return nil, err
	}
	q.Trust, q.TrustRoot = store, trustRoot
	return q, nil
}

// WorkQueue works the merge queue until nothing in it moves, and refreshes the views of the state.
// If a run leads, that works the queue: WorkQueue returns the run's process.
func WorkQueue(ctx context.Context, q *lane.Queue) (leader string, err error) {
	leader, err = q.Project.Runs.Control.Leader()
	if err != nil {
		return "", err
	}
	if leader == "" {
		err = q.Work(ctx)
	}
	return leader, errors.Join(err, q.Project.Tracker.Refresh(ctx))
}

// LandNow continues what the queue had to leave to a person: it merges what can be merged, and
// delivers it.
func LandNow(ctx context.Context, q *lane.Queue) error {
	q.Asked = true
	if err := q.Restore(ctx); err != nil {
		return err
	}
	if err := q.Work(ctx); err != nil {
		return err
	}
	return q.Deliver(ctx)
}
