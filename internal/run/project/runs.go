package project

import (
	"context"
	"errors"
	"fmt"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/roadmap"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// NoFormat is the format of a directory without state, in which only tasks run.
const NoFormat = "none"

// Stateless reports whether there is no state here, so that only tasks run.
func (p *Project) Stateless() bool { return p.Tracker.Traits().Format == NoFormat }

// OpenRuns opens the project at root or, if there is no state, a place for the attempts of
// tasks: it has no items and no Slices.
func OpenRuns(root string) (*Project, error) {
	p, err := Open(root)
	if !errors.Is(err, slice.ErrNoState) {
		return p, err
	}
	p = &Project{Root: root, Runs: attempt.OpenStore(statedir.Path(root, "runs")), trees: &worktrees{}}
	p.use([]tracked{{System{Name: NoFormat}, stateless{root: root}}})
	p.Config, p.ConfigErr = readConfig(statedir.Path(root, "config.json"))
	return p, nil
}

// A stateless tracker has no items. Its lock is that of a project that may begin here.
type stateless struct {
	tracker.Defaults

	root string
	held statedir.Held // set by Do
}

func (s stateless) Held() statedir.Held                { return s.held }
func (s stateless) Traits() tracker.Traits             { return tracker.Traits{Format: NoFormat} }
func (s stateless) Load() (*tracker.Contents, error)   { return &tracker.Contents{}, nil }
func (s stateless) Prompt(string) string               { return "" }
func (s stateless) Watch() []string                    { return nil }
func (s stateless) Roadmap() (*roadmap.Roadmap, error) { return roadmap.Own(s.root) }
func (s stateless) Item(id string) (plan.Item, error)  { return plan.Item{}, noItem(id) }
func (s stateless) Claim(id, _ string) error           { return noItem(id) }
func (s stateless) PutBack(id string, _ plan.Mark, _ bool) error {
	return noItem(id)
}
func (s stateless) Settle(id string, _ tracker.Effect, _ tracker.Before) (plan.Mark, error) {
	return plan.Mark{}, noItem(id)
}

func noItem(id string) error { return fmt.Errorf("%s: %w", id, tracker.ErrNotFound) }

// Do creates the directory if it is missing, excluded from git.
func (s stateless) Do(ctx context.Context, f func(tracker.Tx) error) error {
	if err := statedir.Make(s.root); err != nil {
		return err
	}
	return statedir.Locked(ctx, s.root, func(held statedir.Held) error {
		s.held = held
		return f(s)
	})
}
