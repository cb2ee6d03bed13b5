package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
)

// leases are which workers may fetch and push what: a file, and the pushes that run now.
type leases struct {
	file string

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

func openLeases(file string) (*leases, error) {
	l := &leases{file: file, grants: map[string]grant{}, pushes: map[string]*push{}}
	if err := durable.ReadJSON(file, &l.grants); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; without it, gl serve begins with no grants", err)
	}
	return l, nil
}

// change changes a grant on disk and then in memory; it is called with the lock.
func (l *leases) change(f remote.Fence, with func(*grant)) error {
	now, key := maps.Clone(l.grants), f.String()
	g := now[key]
	with(&g)
	if now[key] = g; g.Worker == "" {
		delete(now, key)
	}
	err := durable.WriteJSON(l.file, now)
	if err == nil {
		l.grants = now
	}
	return err
}

func (l *leases) known(f remote.Fence) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.grants[f.String()]
	return ok
}

func (l *leases) grant(worker string, f remote.Fence) error {
	if err := errors.Join(remote.CheckWorker(worker), f.Check()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g, granted := l.grants[f.String()]
	switch {
	case !granted:
		return l.change(f, func(g *grant) { g.Worker = worker })
	case g.Worker == worker && !g.Withdrawn:
		return nil
	}
	return fmt.Errorf("lease %s was granted to %s: another grant takes another lease", f, g.Worker)
}

// end changes a grant so that nothing may be pushed, and waits for a push that runs to end.
func (l *leases) end(f remote.Fence, with func(*grant)) error {
	if err := f.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	err := l.change(f, with)
	p := l.pushes[f.String()]
	l.mu.Unlock()
	if err == nil && p != nil {
		p.end()
		<-p.done
	}
	return err
}

// enter checks a worker's grant, and notes a push.
func (l *leases) enter(worker string, s Service, f remote.Fence,
	cancel context.CancelFunc) (leave func(), err error) {
	key := f.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	g, granted := l.grants[key]
	if !granted || g.Worker != worker || g.Withdrawn {
		return nil, ErrWithdrawn
	}
	if s != PushService {
		return func() {}, nil
	}
	if l.pushes[key] != nil {
		return nil, fmt.Errorf("lease %s is being pushed", f)
	}
	p := &push{cancel, make(chan struct{})}
	l.pushes[key] = p
	return func() {
		l.mu.Lock()
		delete(l.pushes, key)
		l.mu.Unlock()
		close(p.done)
	}, nil
}
