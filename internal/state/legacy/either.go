package legacy

import (
	"context"
	"fmt"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/roadmap"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
)

// A Keeper manages Greenlight's own slices: a tracker, and what gl state and similar commands
// need beyond that.
type Keeper interface {
	tracker.Tracker
	Read(id string) (*slice.File, error)
	Own(id string) (plan.Item, bool)
	Edit(ctx context.Context, id string, f func(*slice.File) error) error
	Add(ctx context.Context, n slice.NewSlice) (*slice.AddedSlice, error)
	ReadProject() (*slice.ProjectState, error)
	EditProject(ctx context.Context, f func(*slice.ProjectState) error) error
	Decide(ctx context.Context, at time.Time, texts ...string) (ids []string, err error)
	Migrate(ctx context.Context, dryRun bool) (*slice.Migration, error)
	Rename(ctx context.Context, old, id string, was []string, do func() error) (*slice.Moved, error)
	Remove(ctx context.Context, id string, do func() error) (*slice.Moved, error)
}

var (
	_ Keeper = (*slice.Store)(nil)
	_ Keeper = (*Store)(nil)
)

// either is Greenlight's own state in its current format: gl migrate may convert it during a gl
// slice --watch.
type either struct {
	root   string
	files  *slice.Store
	legacy *Store
}

// OpenEither returns the Keeper of the project at root, an absolute path, in either format. It
// reads nothing yet.
func OpenEither(root string) Keeper { return &either{root, slice.Open(root), Open(root)} }

// now returns the store for the project's current format.
func (e *either) now() Keeper {
	if format, err := slice.Detect(e.root); err == nil && format == slice.Legacy {
		return e.legacy
	}
	return e.files // if there is no state, its error tells so
}

func (e *either) Traits() tracker.Traits           { return e.now().Traits() }
func (e *either) Load() (*tracker.Contents, error) { return e.now().Load() }
func (e *either) Do(ctx context.Context, f func(tracker.Tx) error) error {
	return e.now().Do(ctx, f)
}
func (e *either) Refresh(ctx context.Context) error            { return e.now().Refresh(ctx) }
func (e *either) Prompt(id string) string                      { return e.now().Prompt(id) }
func (e *either) Watch() []string                              { return e.now().Watch() }
func (e *either) Line(compact bool) tracker.Line               { return e.now().Line(compact) }
func (e *either) Roadmap() (*roadmap.Roadmap, error)           { return e.now().Roadmap() }
func (e *either) Check() []tracker.Complaint                   { return e.now().Check() }
func (e *either) Repair(ctx context.Context) ([]string, error) { return e.now().Repair(ctx) }
func (e *either) Read(id string) (*slice.File, error)          { return e.now().Read(id) }
func (e *either) Own(id string) (plan.Item, bool)              { return e.now().Own(id) }
func (e *either) ReadProject() (*slice.ProjectState, error)    { return e.now().ReadProject() }

// Follow implements tracker.Follower. A legacy STATE.md is a single file.
func (e *either) Follow() (stop func()) { return e.files.Follow() }

func (e *either) Edit(ctx context.Context, id string, f func(*slice.File) error) error {
	return e.now().Edit(ctx, id, f)
}

func (e *either) Add(ctx context.Context, n slice.NewSlice) (*slice.AddedSlice, error) {
	return e.now().Add(ctx, n)
}

func (e *either) EditProject(ctx context.Context, f func(*slice.ProjectState) error) error {
	return e.now().EditProject(ctx, f)
}

func (e *either) Decide(ctx context.Context, at time.Time, texts ...string) ([]string, error) {
	return e.now().Decide(ctx, at, texts...)
}

func (e *either) Migrate(ctx context.Context, dryRun bool) (*slice.Migration, error) {
	return e.now().Migrate(ctx, dryRun)
}

func (e *either) Rename(ctx context.Context, old, id string, was []string,
	do func() error) (*slice.Moved, error) {
	return e.now().Rename(ctx, old, id, was, do)
}

func (e *either) Remove(ctx context.Context, id string, do func() error) (*slice.Moved, error) {
	return e.now().Remove(ctx, id, do)
}

// Rename returns an error: people maintain the rows of a legacy STATE.md.
func (s *Store) Rename(_ context.Context, old, _ string, _ []string,
	_ func() error) (*slice.Moved, error) {
	return nil, rowOf(old)
}

// Remove returns an error, like Rename.
func (s *Store) Remove(_ context.Context, id string, _ func() error) (*slice.Moved, error) {
	return nil, rowOf(id)
}

func rowOf(id string) error {
	return fmt.Errorf("%s is a row of .greenlight/STATE.md: edit that, or run gl migrate", id)
}
