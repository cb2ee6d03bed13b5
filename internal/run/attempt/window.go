package attempt

import (
	"context"
	"fmt"
	"time"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// heedWindow holds the attempt's account when its client says that too much of a usage window is used. What runs goes on. It tells once
// for each end of a window: a hold that couldn't be written is tried again at the next tick.
// An agent launched in a nearly full window would meet the limit in the middle of its work, and so
// would those beside it.
func (w *Wrapper) heedWindow(ctx context.Context) {
	win := w.dec.Summary().Window
	if w.WindowPercent <= 0 || win == nil || win.Percent < w.WindowPercent || w.windowTold != nil && sameWindow(*w.windowTold, *win) {
		return
	}
	err := w.Tracker.Do(ctx, func(tracker.Tx) error {
		return w.Store.HoldFile.putWindow(w.rec, win, w.Now().UTC(), w.Hold)
	})
	if err == nil {
		w.windowTold = win
	}
}

func sameWindow(a, b agent.Window) bool {
	return a.Name == b.Name && (a.Reset == nil) == (b.Reset == nil) && (a.Reset == nil || a.Reset.Equal(*b.Reset))
}

// putWindow makes all with the attempt's account wait until the window begins anew; where nobody knows when, for a while. A hold that
// lasts at least as long stays. The lock must be held.
func (s *HoldFile) putWindow(r *Record, win *agent.Window, now time.Time, unknown time.Duration) error {
	h := plan.Hold{Agent: r.Job.Agent, Account: r.Job.Account, Since: now, Until: now.Add(unknown), Kind: plan.HeldByWindow, By: r.ID.Slice, Count: 1,
		Reason: fmt.Sprintf("%.0f%% of the %s used", win.Percent, win.Words())}
	if win.Reset != nil {
		h.Until = win.Reset.UTC()
	}
	if !h.Until.After(now) || !saneTime(h.Until) {
		return nil
	}
	if old := s.All().same(&h); old != nil && !old.Until.Before(h.Until) {
		return nil
	}
	return s.write(&h)
}
