package scheduler

import (
	"context"
	"errors"

	"greenlight/internal/base/durable"
)

// leadership is a run's hold on the project's lock of runs. Of all runs with --watch, the one that
// has the lock adopts attempts, settles dead ones and decides when the run is over; the others
// stand by.
type leadership struct {
	path       string
	ours       bool              // this run decides; without --watch it always does
	lock       *durable.Held     // nil for a run without --watch
	succession <-chan succession // receives once the lock is ours; nil unless standing by
}

// A succession is the end of standing by for the lock of runs.
type succession struct {
	lock *durable.Held
	err  error
}

// stand takes the lock, or stands by for it beside the loop and returns its holder. The kernel
// releases the lock when its holder dies.
func (l *leadership) stand(ctx context.Context) (holder string, err error) {
	lock, err := durable.TryLock(l.path)
	if err == nil {
		l.lock, l.ours = lock, true
		return "", nil
	}
	var locked *durable.LockedError
	if !errors.As(err, &locked) {
		return "", err
	}
	next := make(chan succession, 1)
	l.succession = next
	path := l.path
	go func() {
		lock, err := durable.Await(ctx, path)
		next <- succession{lock, err}
	}()
	return locked.Holder, nil
}

// takeOver takes in the end of standing by.
func (l *leadership) takeOver(s succession) error {
	l.succession = nil
	if s.err != nil {
		return s.err
	}
	l.lock, l.ours = s.lock, true
	return nil
}

// resign releases the lock, even one that comes too late. The context of stand must be over.
func (l *leadership) resign() {
	lock := l.lock
	if l.succession != nil {
		lock = (<-l.succession).lock
	}
	if lock != nil {
		lock.Unlock()
	}
}
