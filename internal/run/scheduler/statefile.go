package scheduler

import (
	"context"
	"errors"
	"time"

	"greenlight/internal/state/tracker"
)

const (
	calm   = 100 * time.Millisecond // how long STATE.md waits for launches
	behind = time.Second            // the longest it waits
	share  = 20                     // while there is work, at most 1/20 of the time goes into it
)

// stateFile decides when STATE.md is written. That takes the project's lock, which wrappers that
// were just launched need before their agents can start, so it waits briefly for a pass without
// launches.
type stateFile struct {
	tracker   tracker.Tracker
	dirty     bool      // it is out of date
	upToDate  time.Time // when it last wasn't
	notBefore time.Time // a large file takes its time: see share
}

// refresh brings STATE.md up to date if it is time.
func (f *stateFile) refresh(ctx context.Context, launched bool) error {
	now := time.Now()
	switch {
	case !f.dirty:
		f.upToDate = now
		return nil
	case (launched || now.Before(f.notBefore)) && now.Sub(f.upToDate) < behind:
		return nil
	}
	f.dirty, f.upToDate = false, now
	err := f.tracker.Refresh(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	over := time.Now()
	f.notBefore = over.Add(share * over.Sub(now))
	return err
}

// due returns the time until STATE.md is to be written, at most within.
func (f *stateFile) due(within time.Duration) time.Duration {
	if !f.dirty {
		return within
	}
	return min(within, max(calm, min(time.Until(f.notBefore), behind)))
}
