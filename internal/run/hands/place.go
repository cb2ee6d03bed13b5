package hands

import (
	"context"
	"errors"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/hub"
)

// A place is what all runs of a worker share.
type place struct {
	ctx     context.Context // of the worker
	files   files
	repo    *repository
	local   *executor.Local
	hub     hub.Worker
	self    string // path of gl
	include string // directory of the files outside of git; "" for none
	plugin  string // directory of gl's plugin for agents
	environ []string
	print   func(f remote.Fence, text string)
	queue   *queue

	mu      sync.Mutex
	key     int64 // of the last inquiry
	waiting map[int64]chan remote.Answer
	denied  map[remote.Fence]int // pushes that failed
}

// tell passes an event to the machine.
func (p *place) tell(e remote.WorkerEvent) { p.queue.put(e) }

// endEarlier ends what an earlier run for the lease has left running, before this process began.
func (p *place) endEarlier(f remote.Fence) error {
	was, err := p.files.recorded(f)
	if err != nil || was == nil {
		return err
	}
	lost := executor.Lost{Handle: was.Handle, Marks: was.Marks, Grace: command.EndGrace}
	if !was.Setup {
		lost.Leaves = executor.Nothing
	}
	found := p.local.Find(lost)
	found.End()
	res, err := found.Wait()
	return errors.Join(err, res.Leftover)
}

// pushLimit is how long one try to push may take, with the time until there is a connection.
const pushLimit = 10 * time.Minute

func (p *place) push(ctx context.Context, f remote.Fence, commit string) error {
	ctx, cancel := context.WithTimeout(ctx, pushLimit)
	defer cancel()
	return p.hub.Push(ctx, p.repo.common(), f, commit)
}

// inquire has the coordinator run a command.
func (p *place) inquire(ctx context.Context, q remote.Inquire) (remote.Answer, error) {
	answer := make(chan remote.Answer, 1)
	p.mu.Lock()
	p.key++
	q.Key = p.key
	p.waiting[q.Key] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, q.Key)
		p.mu.Unlock()
	}()
	p.tell(q)
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return remote.Answer{}, ctx.Err()
	}
}

// reply passes an answer to the command that waits for it.
func (p *place) reply(key int64, a remote.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to := p.waiting[key]; to != nil {
		to <- a // it has room for one, and gets one
		delete(p.waiting, key)
	}
}

// A queue holds what the machine is to be told. It never makes its callers wait: one of them is
// the loop that empties it.
type queue struct {
	mu     sync.Mutex
	events []remote.WorkerEvent
	ready  chan struct{}
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(e remote.WorkerEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.events); n > 0 {
		was, isLog := q.events[n-1].(remote.Logged)
		if now, grows := e.(remote.Logged); isLog && grows && was.Fence == now.Fence {
			q.events[n-1] = e
			return
		}
	}
	q.events = append(q.events, e)
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns all that is queued.
func (q *queue) take() []remote.WorkerEvent {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events
}
