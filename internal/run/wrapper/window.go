package wrapper

import (
	"context"

	"greenlight/internal/core/agent"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/tracker"
)

// A window holds an attempt's account when its client says that too much of a usage window is
// used. What runs goes on: an agent launched in a nearly full window would meet the limit in the
// middle of its work, and so would those beside it.
type window struct {
	settler *attempt.Settler
	rec     *attempt.Record
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
		return s.Store.HoldFile.PutWindow(w.rec, win, s.Now().UTC(), s.Hold)
	})
	if err == nil {
		w.told = win
	}
}

func sameWindow(a, b agent.Window) bool {
	return a.Name == b.Name && (a.Reset == nil) == (b.Reset == nil) &&
		(a.Reset == nil || a.Reset.Equal(*b.Reset))
}
