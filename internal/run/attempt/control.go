package attempt

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"greenlight/internal/base/durable"
)

// Control has the files by which gl processes tell the running ones what to do: stop.json,
// slots.json, queue.json, and the lock of the scheduler.
type Control struct{ dir string }

// A StopMark is the word of gl stop --all: runs that began before it end.
type StopMark struct {
	Nonce string    `json:"nonce"` // compared by content, so that a clock that was set back does no harm
	At    time.Time `json:"at"`
}

func (s *Control) stopPath() string { return filepath.Join(s.dir, "stop.json") }

// StopMark returns the nonce of the last gl stop --all, "" for never.
func (s *Control) StopMark() string {
	var m StopMark
	readJSON(s.stopPath(), &m)
	return m.Nonce
}

// A StopWatch tells whether gl stop --all has been called since a moment.
type StopWatch struct {
	control *Control
	mark    string // at that moment
}

// WatchStop returns a watch for gl stop --all from now on.
func (s *Control) WatchStop() *StopWatch { return &StopWatch{control: s, mark: s.StopMark()} }

// Stopped reports whether gl stop --all has been called since WatchStop. A mark that is gone ends
// nothing: it may have been removed with all of runs/.
func (w *StopWatch) Stopped() bool {
	mark := w.control.StopMark()
	return mark != "" && mark != w.mark
}

// PutStopMark ends all runs of the project that have begun. The lock must be held: a claim
// looks at the mark under the same lock, so nothing is launched after it.
func (s *Control) PutStopMark(now time.Time) error {
	return durable.WriteJSON(s.stopPath(), StopMark{Nonce: newUUID(), At: now.UTC()})
}

// slotsMark is the word of gl settings set parallel.max: of runs that began before it and
// were started with --max, too. Comparing numbers wouldn't do: after --max 3, a person may ask
// for the 4 that config.json has already. Nor would the file's time, which every setting
// changes.
type slotsMark struct {
	At time.Time `json:"at"`
}

func (s *Control) slotsPath() string { return filepath.Join(s.dir, "slots.json") }

// SlotsSet is when a person last set how many attempts may run at a time, zero for never.
func (s *Control) SlotsSet() time.Time {
	var m slotsMark
	readJSON(s.slotsPath(), &m)
	return m.At
}

// PutSlotsSet tells running schedulers that a person has set how many attempts may run at a time.
// A project without runs/ has none.
func (s *Control) PutSlotsSet(now time.Time) error {
	if err := durable.WriteJSON(s.slotsPath(), slotsMark{now.UTC()}); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// LeaderLock is the file whose kernel lock makes one gl slice --watch the project's run.
func (s *Control) LeaderLock() string { return filepath.Join(s.dir, "drain.lock") }

// Leader names the holder of the run's lock, "" if no run holds it.
func (s *Control) Leader() (string, error) { return durable.Holder(s.LeaderLock()) }
