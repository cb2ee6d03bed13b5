// Package watch tells when files of a project have changed, so that whoever runs or shows it looks again. It doesn't look itself.
package watch

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"greenlight/internal/attempt"
)

// quiet is how long changes of slice files are gathered before the drain looks: agents write several at a time. The
// end of an attempt isn't kept waiting.
const quiet = 100 * time.Millisecond

// A Watcher turns file events into "there is news".
type Watcher struct {
	News  chan struct{} // holds at most one
	Blind bool          // there are no events here: too many watches, or a file system without them
	dirs  []string

	fs   *fsnotify.Watcher
	done sync.WaitGroup
}

// New watches a project's runs, and the directories of its state. Trace is told each event that counts.
func New(runs *attempt.Store, state []string, trace func(string, ...any)) *Watcher {
	w := &Watcher{News: make(chan struct{}, 1)}
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		w.Blind = true
		return w
	}
	w.fs = fs
	w.dirs = append([]string{runs.LiveDir(), runs.Dir()}, state...)
	for i, dir := range w.dirs {
		w.dirs[i] = filepath.Clean(dir) // as fsnotify names it: see Renew
		if fs.Add(dir) != nil {
			w.Blind = true
		}
	}
	w.done.Add(1)
	go w.run(runs, trace)
	return w
}

func (w *Watcher) run(runs *attempt.Store, trace func(string, ...any)) {
	defer w.done.Done()
	soon := time.NewTimer(time.Hour)
	soon.Stop()
	pending := false
	for {
		select {
		case e, ok := <-w.fs.Events:
			if !ok {
				return
			}
			urgent := urgency(runs, e)
			if urgent != never {
				trace("file event: %s %s", strings.ToLower(e.Op.String()), filepath.Base(e.Name))
			}
			switch urgent {
			case now:
				w.tell()
			case later:
				if !pending {
					pending = true
					soon.Reset(quiet)
				}
			}
		case <-soon.C:
			pending = false
			w.tell()
		case _, ok := <-w.fs.Errors: // events were lost
			if !ok {
				return
			}
			w.tell()
		}
	}
}

// Renew watches the directories again that were removed and made anew (git clean -x), and says whether there were any.
func (w *Watcher) Renew(runs *attempt.Store) bool {
	if w.fs == nil {
		return false
	}
	watched := w.fs.WatchList()
	lost := slices.DeleteFunc(slices.Clone(w.dirs), func(dir string) bool { return slices.Contains(watched, dir) })
	if len(lost) == 0 {
		return false
	}
	if runs.Prepare() != nil {
		return true
	}
	for _, dir := range lost {
		_ = w.fs.Add(dir) // or with the next tick
	}
	return true
}

type when int

const (
	never when = iota
	later
	now
)

// urgency says how soon an event is worth a look. Temps and locks are never; the end of an attempt, a hold and a stop
// are now. A new or rewritten record in live/ is a claim or a start: ours we know, others can wait a little.
func urgency(runs *attempt.Store, e fsnotify.Event) when {
	dir, name := filepath.Split(e.Name)
	switch {
	case strings.HasPrefix(name, "."), strings.HasSuffix(name, ".lock"), name == "STATE.md", e.Op == fsnotify.Chmod:
		return never
	case filepath.Clean(dir) == runs.LiveDir():
		if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
			return now
		}
		return later
	case filepath.Clean(dir) == runs.Dir():
		if strings.HasSuffix(name, ".json") {
			return now
		}
		return never // the count of changes, which moves with each of them
	}
	return later
}

func (w *Watcher) tell() {
	select {
	case w.News <- struct{}{}:
	default:
	}
}

// Close ends the watching.
func (w *Watcher) Close() {
	if w.fs != nil {
		w.fs.Close()
		w.done.Wait()
	}
}
