package hub

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"

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
	most    int64  // MaxPush
	leases  *leases

	// tidy is held for writing while objects are repacked, which would remove what a transfer
	// brings before a ref has it.
	tidy sync.RWMutex
}

// OpenExchange opens the exchange in the directory, or makes it. project is the git directory of
// the repository whose commits it has.
func OpenExchange(ctx context.Context, dir, project string) (*Exchange, error) {
	x := &Exchange{project: project, most: MaxPush}
	var err error
	if x.repo, err = git.OpenExchange(ctx, filepath.Join(dir, git.ExchangeName), project); err != nil {
		return nil, fmt.Errorf("exchange repository: %w", err)
	}
	x.leases, err = openLeases(filepath.Join(dir, "grants.json"))
	return x, err
}

// Grant implements Coordinator.
func (x *Exchange) Grant(_ context.Context, worker string, f remote.Fence) error {
	return x.leases.grant(worker, f)
}

// Withdraw implements Coordinator. A push that runs is ended first.
func (x *Exchange) Withdraw(_ context.Context, f remote.Fence) error {
	return x.leases.end(f, func(g *grant) { g.Withdrawn = true })
}

// Publish implements Coordinator.
func (x *Exchange) Publish(ctx context.Context, f remote.Fence, commit string) error {
	if !x.leases.known(f) {
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
	if err := x.leases.end(f, func(g *grant) { g.Worker = "" }); err != nil {
		return err
	}
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
	end, err := x.leases.enter(worker, s, f, cancel)
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
