package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
	"greenlight/internal/workspace/git"
)

// MaxPush is the size of what one push may bring, packed.
const MaxPush = 1 << 30

// A Service is what a worker's git asks the exchange for.
type Service string

// The services.
const (
	FetchService Service = "fetch"
	PushService  Service = "push"
)

// Known reports whether it is one of the services.
func (s Service) Known() bool { return s == FetchService || s == PushService }

// An Exchange is the exchange repository with the grants of leases. One process opens it at a time.
type Exchange struct {
	repo    git.Exchange
	project string // the git directory of the project's repository
	file    string // of the grants
	most    int64  // MaxPush

	// tidy is held for writing while objects are repacked, which would remove what a transfer
	// brings before a ref has it.
	tidy sync.RWMutex

	mu     sync.Mutex
	grants map[string]grant // by fence
	pushes map[string]*push // by fence: one at a time
}

// A grant is which worker has a lease.
type grant struct {
	Worker    string `json:"worker"`
	Withdrawn bool   `json:"withdrawn,omitempty"`
}

// A push is one that runs now.
type push struct {
	end  context.CancelFunc
	done chan struct{}
}

// OpenExchange opens the exchange in the directory, or makes it. project is the git directory of
// the repository whose commits it has.
func OpenExchange(ctx context.Context, dir, project string) (*Exchange, error) {
	x := &Exchange{project: project, file: filepath.Join(dir, "grants.json"), most: MaxPush,
		grants: map[string]grant{}, pushes: map[string]*push{}}
	var err error
	if x.repo, err = git.OpenExchange(ctx, filepath.Join(dir, "exchange.git"), project); err != nil {
		return nil, fmt.Errorf("exchange repository: %w", err)
	}
	data, err := durable.ReadFile(x.file)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &x.grants)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; without it, gl serve begins with no grants", x.file, err)
	}
	return x, nil
}

// change changes the grants in memory and on disk.
func (x *Exchange) change(f remote.Fence, with func(*grant)) error {
	if err := f.Check(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	now := maps.Clone(x.grants)
	g, key := now[f.String()], f.String()
	with(&g)
	if now[key] = g; g.Worker == "" {
		delete(now, key)
	}
	data, err := json.MarshalIndent(now, "", "  ")
	if err == nil {
		err = durable.WriteFile(x.file, append(data, '\n'), 0o600)
	}
	if err == nil {
		x.grants = now
	}
	return err
}

// Grant implements Coordinator.
func (x *Exchange) Grant(_ context.Context, worker string, f remote.Fence) error {
	if err := remote.CheckWorker(worker); err != nil {
		return err
	}
	x.mu.Lock()
	g, granted := x.grants[f.String()]
	x.mu.Unlock()
	switch {
	case !granted:
	case g.Worker == worker && !g.Withdrawn:
		return nil
	default:
		return fmt.Errorf("lease %s was granted to %s: another grant takes another lease", f, g.Worker)
	}
	return x.change(f, func(g *grant) { *g = grant{Worker: worker} })
}

// Withdraw implements Coordinator. A push that runs is ended first.
func (x *Exchange) Withdraw(_ context.Context, f remote.Fence) error {
	if err := x.change(f, func(g *grant) { g.Withdrawn = true }); err != nil {
		return err
	}
	x.endPushes(f.String())
	return nil
}

func (x *Exchange) endPushes(key string) {
	x.mu.Lock()
	p := x.pushes[key]
	x.mu.Unlock()
	if p != nil {
		p.end()
		<-p.done
	}
}

// Publish implements Coordinator.
func (x *Exchange) Publish(ctx context.Context, f remote.Fence, commit string) error {
	x.mu.Lock()
	_, granted := x.grants[f.String()]
	x.mu.Unlock()
	if !granted {
		return fmt.Errorf("publish %s for %s: %w", commit, f, ErrWithdrawn)
	}
	x.tidy.RLock()
	err := x.repo.Take(ctx, x.project, commit, JobRef(f, commit))
	x.tidy.RUnlock()
	return err
}

// Collect implements Coordinator.
func (x *Exchange) Collect(ctx context.Context, f remote.Fence, into string) (string, error) {
	if err := f.Check(); err != nil {
		return "", err
	}
	x.tidy.RLock()
	defer x.tidy.RUnlock()
	commit, err := x.repo.Give(ctx, x.project, f.Ref(), into, jobRefs+f.String()+"/")
	if err == nil && commit == "" {
		err = ErrNothing
	}
	if err != nil {
		return "", fmt.Errorf("collect %s: %w", f, err)
	}
	return commit, nil
}

// Forget implements Coordinator.
func (x *Exchange) Forget(ctx context.Context, f remote.Fence) error {
	if err := x.change(f, func(g *grant) { g.Worker = "" }); err != nil {
		return err
	}
	x.endPushes(f.String())
	x.tidy.RLock()
	err := x.repo.Drop(ctx, f.Ref(), jobRefs+f.String()+"/")
	x.tidy.RUnlock()
	if err != nil {
		return err
	}
	x.tidy.Lock()
	defer x.tidy.Unlock()
	return x.repo.Tidy(ctx)
}

// Serve serves a worker's git at the other end of conn, unless the lease isn't the worker's. ready
// is called in between.
func (x *Exchange) Serve(ctx context.Context, worker string, s Service, f remote.Fence,
	conn io.ReadWriter, ready func() error) error {
	if err := f.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end, err := x.enter(worker, s, f, cancel)
	if err != nil {
		return err
	}
	defer end()
	if err := ready(); err != nil {
		return err
	}
	x.tidy.RLock()
	defer x.tidy.RUnlock()
	if s == FetchService {
		return x.repo.ServeFetch(ctx, conn, jobRefs+f.String())
	}
	return x.repo.ServePush(ctx, conn, f.Ref(), x.most)
}

// enter checks the grant, and notes a push, so that Withdraw can end it.
func (x *Exchange) enter(worker string, s Service, f remote.Fence,
	cancel context.CancelFunc) (end func(), err error) {
	key := f.String()
	x.mu.Lock()
	defer x.mu.Unlock()
	g, granted := x.grants[key]
	if !granted || g.Worker != worker || g.Withdrawn {
		return nil, ErrWithdrawn
	}
	if s != PushService {
		return func() {}, nil
	}
	if x.pushes[key] != nil {
		return nil, fmt.Errorf("lease %s is being pushed", f)
	}
	p := &push{cancel, make(chan struct{})}
	x.pushes[key] = p
	return func() {
		x.mu.Lock()
		delete(x.pushes, key)
		x.mu.Unlock()
		close(p.done)
	}, nil
}
