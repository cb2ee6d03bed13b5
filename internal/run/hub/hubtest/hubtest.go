// Package hubtest connects a coordinator and workers in one process, for tests: messages travel by
// memory, commits through a real exchange repository. Nothing is lost or repeated unless the test
// says so.
package hubtest

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"

	"greenlight/internal/core/remote"
	"greenlight/internal/run/hub"
)

// A Hub is the coordinator's end.
type Hub struct {
	*hub.Exchange
	t       testing.TB
	in      chan hub.Envelope
	changed chan struct{}

	mu      sync.Mutex
	workers map[string]*Worker
}

// New returns a hub whose files are in dir. project is the git directory of the project.
func New(t testing.TB, dir, project string) *Hub {
	t.Helper()
	x, err := hub.OpenExchange(t.Context(), dir, project)
	if err != nil {
		t.Fatal(err)
	}
	return &Hub{Exchange: x, t: t, in: make(chan hub.Envelope, 1024), changed: make(chan struct{}, 1),
		workers: map[string]*Worker{}}
}

var _ hub.Coordinator = (*Hub)(nil)

// Join returns a new worker of the hub. One of the same name is replaced, as by a restart.
func (h *Hub) Join(name string) *Worker {
	h.t.Helper()
	if err := remote.CheckWorker(name); err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &Worker{hub: h, name: name, in: make(chan hub.Envelope, 1024)}
	if old := h.workers[name]; old != nil {
		for _, e := range old.left() {
			w.deliver(e)
		}
	}
	h.workers[name] = w
	h.Note()
	return w
}

func (h *Hub) Note() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Send implements hub.Coordinator.
func (h *Hub) Send(_ context.Context, worker string, data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.workers[worker]
	if w == nil {
		return hub.ErrUnknown
	}
	w.deliver(slices.Clone(data))
	return nil
}

// Messages implements hub.Coordinator.
func (h *Hub) Messages() <-chan hub.Envelope { return h.in }

// Changed implements hub.Coordinator.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// Connected implements hub.Coordinator.
func (h *Hub) Connected() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]string{}
	for name := range maps.Keys(h.workers) {
		out[name] = "memory"
	}
	return out
}

// A Worker is a worker's end.
type Worker struct {
	hub  *Hub
	name string
	in   chan hub.Envelope

	mu      sync.Mutex
	unacked [][]byte
	closed  bool
}

var _ hub.Worker = (*Worker)(nil)

// deliver is called with the hub's lock.
func (w *Worker) deliver(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unacked = append(w.unacked, data)
	if w.closed {
		return
	}
	w.in <- hub.Envelope{Data: data, Ack: func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.unacked = slices.DeleteFunc(w.unacked, func(d []byte) bool { return &d[0] == &data[0] })
		return nil
	}}
}

// left ends a worker and returns what it hasn't acknowledged.
func (w *Worker) left() [][]byte {
	_ = w.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unacked
}

// Send implements hub.Worker.
func (w *Worker) Send(ctx context.Context, data []byte) error {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return errClosed
	}
	select {
	case w.hub.in <- hub.Envelope{Worker: w.name, Data: slices.Clone(data),
		Ack: func() error { return nil }}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errClosed = errors.New("the worker is closed")

// Messages implements hub.Worker.
func (w *Worker) Messages() <-chan hub.Envelope { return w.in }

// Err implements hub.Worker.
func (w *Worker) Err() error { return nil }

// Close implements hub.Worker.
func (w *Worker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.in)
	}
	return nil
}

// Fetch implements hub.Worker.
func (w *Worker) Fetch(ctx context.Context, repo string, f remote.Fence) error {
	return hub.FetchOver(ctx, w.open, repo, f)
}

// Push implements hub.Worker.
func (w *Worker) Push(ctx context.Context, repo string, f remote.Fence, commit string) error {
	return hub.PushOver(ctx, w.open, repo, f, commit)
}

// open connects to the exchange as the network would.
func (w *Worker) open(ctx context.Context, s hub.Service, f remote.Fence) (net.Conn, error) {
	ours, theirs := net.Pipe()
	ready := make(chan error, 2)
	go func() {
		defer theirs.Close()
		ready <- w.hub.Serve(context.WithoutCancel(ctx), w.name, s, f, theirs, func() error {
			ready <- nil
			return nil
		})
	}()
	if err := <-ready; err != nil {
		ours.Close()
		return nil, err
	}
	return ours, nil
}
