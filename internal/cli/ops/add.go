package ops

import (
	"context"
	"errors"

	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

// A NewSlice is a slice to add. All its texts are single lines, except What.
type NewSlice struct {
	ID        string // "" for the next free S-{n}
	Name      string
	Milestone string   // "" for none
	Deps      []string // as given by the person
	Contracts []string
	Why, What string
}

// An Added is the result of Add.
type Added struct {
	*slice.AddedSlice
	Tried bool // a slice of this id was attempted before
}

// Add adds a slice: its entry in GRAPH.json and its file or, in a legacy project, its row. An
// unknown dependency or a cycle is an *ArgumentError.
func Add(ctx context.Context, pr *project.Project, n NewSlice) (*Added, error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	used, err := pr.Runs.Index()
	if err != nil {
		return nil, err
	}
	spec := slice.NewSlice{ID: n.ID, Name: n.Name, Milestone: n.Milestone, Deps: n.Deps,
		Contracts: n.Contracts, Why: n.Why, What: n.What}
	for id := range used {
		spec.Avoid = append(spec.Avoid, id)
	}
	a, err := s.Add(ctx, spec)
	switch {
	case errors.Is(err, tracker.ErrNotFound), errors.Is(err, slice.ErrCycle):
		return nil, &ArgumentError{err}
	case err != nil:
		return nil, err
	}
	return &Added{AddedSlice: a, Tried: len(used[a.ID]) > 0}, nil
}
