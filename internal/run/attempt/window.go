package attempt

import (
	"context"
	"fmt"
	"time"

	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// A window holds an attempt's account when its client says that too much of a usage window is
// used. What runs goes on: an agent launched in a nearly full window would meet the limit in the
// middle of its work, and so would those beside it.
type window struct {
	settler *Settler
	rec     *Record
	percent float64       // 0 for never
	told    *agent.Window // the last one for which the account was held
}

// heed holds the account once for each end of a window. A hold that couldn't be written is tried
// again at the next call.
func (w *window) heed(ctx context.Context, win *agent.Window) {
	if w.percent <= 0 || win == nil || win.Percent < w.percent ||
		w.told != nil && sameWindow(*w.told, *win) {
		return
	}
	s := w.settler
	err := s.Tracker.Do(ctx, func(tracker.Tx) error {
		return s.Store.putWindowHold(w.rec, win, s.Now().UTC(), s.Hold)
	})
	if err == nil {
		w.told = win
	}
}

func sameWindow(a, b agent.Window) bool {
	return a.Name == b.Name && (a.Reset == nil) == (b.Reset == nil) &&
		(a.Reset == nil || a.Reset.Equal(*b.Reset))
}

// putWindowHold holds the attempt's account until the window begins anew; if that time is unknown,
// for a while. A hold that lasts at least as long stays. The lock must be held.
func (s *Store) putWindowHold(r *Record, win *agent.Window, now time.Time,
	unknown time.Duration) error {
	h := plan.Hold{
		Agent: r.Job.Agent, Account: r.Job.Account, Since: now, Until: now.Add(unknown),
		Kind: plan.HeldByWindow, By: r.ID.Slice, Count: 1,
		Reason: fmt.Sprintf("%.0f%% of the %s used", win.Percent, win.Words()),
	}
	if win.Reset != nil {
		h.Until = win.Reset.UTC()
	}
	if !h.Until.After(now) || !saneTime(h.Until) {
		return nil
	}
	if old := s.HoldFile.All().same(&h); old != nil && !old.Until.Before(h.Until) {
		return nil
	}
	return s.HoldFile.write(&h)
}
