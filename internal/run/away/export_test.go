package away

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/workers"
	"greenlight/internal/workspace/worktree"
)

// Errands runs a loop of gl serve, and is the executor of jobs on one of its workers: all that an
// attempt's executor is but the attempt.
type Errands struct {
	Worker, Commit string
	Worktrees      string // of the worker
	server         *server

	mu   sync.Mutex
	made map[string]*errand // the newest of each lineage, by its name
	n    int
}

// NewErrands begins the loop. stop ends it.
func NewErrands(ctx context.Context, cfg Config) (x *Errands, stop func(), err error) {
	s, unlock, err := open(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.loop(ctx) }()
	return &Errands{server: s, made: map[string]*errand{}}, func() { <-done; unlock() }, nil
}

// Trees returns the project's worktrees.
func (x *Errands) Trees() *worktree.Repo { return x.server.trees }

// lineage returns the name of the lineage with a directory, and the path of its worktree.
func (x *Errands) lineage(dir string) (name, top string, err error) {
	rel, err := filepath.Rel(x.Worktrees, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return "", "", workers.ErrStaysHere
	}
	first, _, _ := strings.Cut(rel, "/")
	name, _, _ = strings.Cut(first, ".")
	return name, filepath.Join(x.Worktrees, first), nil
}

// Start starts a job in the worktree that its directory is on the worker.
func (x *Errands) Start(ctx context.Context, j executor.Job, record func(command.Handle) error) (executor.Run, error) {
	name, top, err := x.lineage(j.Dir)
	if err != nil {
		return nil, err
	}
	program := j.Path
	if program == "" && len(j.Argv) > 0 {
		program = j.Argv[0]
	}
	c, err := workers.CommandOf(j, top, program)
	if err != nil {
		return nil, err
	}
	_, unknown := x.server.trees.Lineages.Get("greenlight", name) // whose work isn't fetched
	job := remote.Job{Kind: remote.Tests, Lineage: name, Commit: x.Commit, Work: unknown == nil, Command: c}
	e, before := x.add(name)
	if before != nil {
		x.over(before)
	}
	to := func() (string, error) { return x.Worker, nil }
	x.server.call(func() { x.server.errands[e.name] = e })
	r, err := e.place(ctx, job, j.First, to, record)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (x *Errands) add(lineage string) (e, before *errand) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.n++
	before = x.made[lineage]
	e = &errand{server: x.server, name: remote.AttemptName("", lineage, x.n, "t")}
	x.made[lineage] = e
	return e, before
}

// over has the worker forget a job, and waits until it has.
func (x *Errands) over(e *errand) {
	if r := e.current(); r != nil {
		<-r.exited
	}
	for gone := false; !gone && x.server.life.Err() == nil; time.Sleep(5 * time.Millisecond) {
		x.server.call(func() {
			if a := x.server.known[e.name]; a != nil && !a.Closed {
				_ = e.done(true)
			}
			gone = x.server.known[e.name] == nil
		})
	}
}

// Find finds a job by its mark, which has the worktree's path.
func (x *Errands) Find(lost executor.Lost) executor.Run {
	name, _, _ := x.lineage(lost.Marks[0][len("GL_TESTS="):])
	x.mu.Lock()
	e := x.made[name]
	x.mu.Unlock()
	return e.find(x.Worker, 1, 0)
}

// Fetch fetches the work in the worktree of the newest job there.
func (x *Errands) Fetch(ctx context.Context, p executor.Place, o worktree.SnapshotOptions) (*worktree.Snapshot, error) {
	repo, l, err := p(ctx)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	e := x.made[l.Slice]
	x.mu.Unlock()
	return e.fetch(ctx, repo, l, o)
}
