package ops

import (
	"context"
	"fmt"

	"greenlight/internal/base/words"
	"greenlight/internal/run/project"
	"greenlight/internal/state/issues"
	"greenlight/internal/state/sliceid"
)

// An Imported is the result of Import: what was added, or would be.
type Imported struct {
	Added   []ImportedSlice
	Present []string // slices of issues that were imported before
	Notes   []string
}

// An ImportedSlice is the slice of one issue.
type ImportedSlice struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Deps []string `json:"deps"`
}

// Import adds a slice for each open issue that has none yet. Issues are added one after the other,
// each after those that it depends on: after a kill, the same call adds the rest. With dryRun, it
// only says what it would add.
func Import(ctx context.Context, pr *project.Project, list *issues.List, milestone string,
	dryRun bool) (*Imported, error) {
	s, err := store(pr)
	if err != nil {
		return nil, err
	}
	c, err := s.Load()
	if err != nil {
		return nil, err
	}
	have := map[string]string{} // ids by key
	for _, item := range c.Items {
		have[sliceid.Key(item.ID)] = item.ID
	}
	done := &Imported{}
	for _, i := range list.Open {
		if id, ok := have[sliceid.Key(i.ID)]; ok {
			done.Present = append(done.Present, id)
			continue
		}
		deps, missing := i.Deps, []string(nil)
		for _, d := range i.Elsewhere {
			if id, ok := have[sliceid.Key(d)]; ok {
				deps = append(deps, id)
			} else {
				missing = append(missing, d)
			}
		}
		if len(missing) > 0 {
			done.Notes = append(done.Notes, fmt.Sprintf(
				"%s depends on %s, which the list and the project don't have: left out", i.ID, words.Some(missing)))
		}
		n := NewSlice{ID: i.ID, Name: i.Name, Milestone: i.Milestone, Deps: deps, What: i.Text}
		if milestone != "" {
			n.Milestone = milestone
		}
		if !dryRun {
			added, err := Add(ctx, pr, n)
			if err != nil {
				return done, fmt.Errorf("%s: %w", i.ID, err)
			}
			deps = added.Deps
		}
		have[sliceid.Key(i.ID)] = i.ID
		done.Added = append(done.Added, ImportedSlice{ID: i.ID, Name: n.Name, Deps: deps})
	}
	return done, nil
}
