package attempt

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// MarkEnding writes down why an attempt is being ended, before a signal is sent.
func (s *Store) MarkEnding(ctx context.Context, t tracker.Tracker, r *Record,
	why, detail string) error {
	return t.Do(ctx, func(tx tracker.Tx) error {
		disk, err := s.Get(r.ID.Slice, r.ID.N)
		if err != nil || disk.Life.Phase != plan.Preparing && disk.Life.Phase != plan.Started ||
			disk.ID.Token != r.ID.Token {
			return nil // settled, or on its way to it
		}
		disk.Life.Ending, disk.Life.EndingDetail = why, detail
		if err := s.Within(tx.Held()).Put(disk); err != nil {
			return err
		}
		s.diary.tellStop(disk)
		return nil
	})
}

// Stop ends an open attempt and returns its settled record. One that hasn't started is taken
// back, as interrupted. A wrapper that doesn't settle within the grace (it may be stopped
// itself) has its agent ended and settled for it.
func (s *Settler) Stop(ctx context.Context, r *Record) (*Record, error) {
	if r.Life.Phase == plan.Queued {
		return s.stopQueued(ctx, r)
	}
	final, err := s.stopClaimed(ctx, r)
	if final != nil || err != nil {
		return final, err
	}
	if r.Life.isRemote() {
		return s.stopRemote(ctx, r)
	}
	if where := r.Life.unreachable(); where != "" {
		return nil, fmt.Errorf("it runs %s, and can only be stopped there. If that is gone, run gl retry --abandon %s", where, r.ID.Label())
	}
	if err := s.Store.MarkEnding(ctx, s.Tracker, r, EndStop, ""); err != nil {
		return nil, err
	}
	r, err = s.Store.Get(r.ID.Slice, r.ID.N)
	switch {
	case err != nil || r.Life.Phase == plan.Settled:
		return r, err
	case r.Life.Wrapper == nil: // it was being stopped before it had one
		s.Keep(ctx, r)
		return s.Settle(ctx, r)
	}
	if err := r.Life.Wrapper.Signal(syscall.SIGTERM); err == nil {
		_ = r.Life.Wrapper.Signal(syscall.SIGCONT) // a stopped process hears nothing else
		if final := s.await(ctx, r, command.EndGrace+5*time.Second); final != nil {
			return final, nil
		}
		_ = r.Life.Wrapper.Signal(syscall.SIGKILL)
	} else if !errors.Is(err, proc.ErrDead) {
		return nil, err
	}
	return s.settleOrphan(ctx, r)
}

// ErrReachable says that an attempt isn't to be given up: what works on it can be reached from
// here.
var ErrReachable = errors.New("its gl process is alive")

// Abandon gives up an attempt that runs, or ran, where no signal from here reaches it, because
// a person says that this place is gone. It settles the attempt by what the log says, as
// crashed if it says nothing; nil for a claim that was given back. Should its wrapper live
// after all, it finds the attempt settled and changes nothing.
func (s *Settler) Abandon(ctx context.Context, r *Record) (*Record, error) {
	where := r.Life.unreachable()
	switch {
	case r.Life.Dead():
		return s.Recover(ctx, r)
	case where == "":
		return nil, ErrReachable
	case r.Life.Phase == plan.Claimed:
		return nil, s.GiveBack(ctx, r)
	}
	if err := s.Store.MarkEnding(ctx, s.Tracker, r, EndAbandon,
		"abandoned: it ran "+where); err != nil {
		return nil, err
	}
	mine := *r
	s.replay(&mine)
	s.Keep(ctx, &mine)
	return s.Settle(ctx, &mine)
}

// stopClaimed settles an attempt that has no agent yet, nil for one that has. A wrapper that
// comes late finds its claim gone.
func (s *Settler) stopClaimed(ctx context.Context, r *Record) (final *Record, err error) {
	err = s.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := s.Store.Get(r.ID.Slice, r.ID.N)
		if err != nil || disk.Life.Phase != plan.Claimed || disk.ID.Token != r.ID.Token {
			return err
		}
		disk.Life.Ending = EndStop
		if err := s.Store.Within(tx.Held()).Put(disk); err != nil {
			return err
		}
		s.Store.diary.tellStop(disk)
		final, err = s.settle(tx, disk)
		return err
	})
	return final, err
}

// await polls for the settled record; nil when the wrapper is dead or the time is over.
func (s *Settler) await(ctx context.Context, r *Record, limit time.Duration) *Record {
	deadline := time.Now().Add(limit)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		disk, err := s.Store.Get(r.ID.Slice, r.ID.N)
		if err == nil && disk.Life.Phase == plan.Settled {
			return disk
		}
		if ctx.Err() != nil || time.Now().After(deadline) || r.Life.Wrapper.State() == proc.Dead {
			return nil
		}
		time.Sleep(pause)
	}
}
