package cli

import (
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"greenlight/internal/run/attempt"
)

// logPoll is how often a followed log is polled without events: not every file system has them.
const logPoll = 500 * time.Millisecond

// watchLog signals when the attempt's log or record may have changed, at least once per logPoll;
// stop ends that.
func watchLog(s *attempt.Store, r *attempt.Record) (news <-chan struct{}, stop func()) {
	c, done := make(chan struct{}, 1), make(chan struct{})
	log := s.Files.Log(r.ID.Slice, r.ID.N)
	var events chan fsnotify.Event
	var errs chan error
	w, err := fsnotify.NewWatcher()
	if err == nil {
		// Unwatchable directories are polled.
		_ = w.Add(filepath.Dir(log))
		_ = w.Add(s.Files.LiveDir())
		events, errs = w.Events, w.Errors
	}
	go func() {
		poll := time.NewTicker(logPoll)
		defer poll.Stop()
		for {
			select {
			case <-done:
				return
			case <-poll.C:
			case e := <-events:
				if filepath.Dir(e.Name) == filepath.Dir(log) &&
					filepath.Base(e.Name) != filepath.Base(log) {
					continue
				}
			case <-errs: //nolint:errcheck // the poll goes on
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}()
	return c, func() {
		close(done)
		if w != nil {
			w.Close()
		}
	}
}
