// Package watch reports that files of a project have changed, so that its runner or display
// looks again. It doesn't read the files.
package watch

import (
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"greenlight/internal/run/attempt"
)

// quiet is how long changes of slice files are gathered before they are reported, because agents
// write several at a time. The end of an attempt is reported at once.
const quiet = 100 * time.Millisecond

// A Watcher turns file events into a signal that there is news.
type Watcher struct {
	News  chan struct{} // holds at most one
	Blind bool          // there are no events: too many watches, or a file system without them
	dirs  []string

	fs   *fsnotify.Watcher
	done sync.WaitGroup
}

// New watches a project's runs and the directories of its state. It calls trace with each event
// that counts.
func New(runs *attempt.Store, state []string, trace func(string, ...any)) *Watcher {
	w := &Watcher{News: make(chan struct{}, 1)}
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		w.Blind = true
		return w
	}
	w.fs = fs
	w.dirs = append([]string{runs.Files.LiveDir(), runs.Files.Dir()}, state...)
	for i, dir := range w.dirs {
		w.dirs[i] = filepath.Clean(dir) // the name that fsnotify uses: see Renew
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

// when is how soon an event is reported.
type when int

const (
	never when = iota
	later
	now
)

// urgency returns how soon an event needs a look. Temporary files and locks never do; the end
// of an attempt, a hold and a stop do at once. A new or rewritten record in live/ is a claim or
// a start: the caller knows its own, and others can wait a little.
func urgency(runs *attempt.Store, e fsnotify.Event) when {
	dir, name := filepath.Split(e.Name)
	switch {
	case strings.HasPrefix(name, "."), strings.HasSuffix(name, ".lock"), name == "STATE.md",
		e.Op == fsnotify.Chmod:
		return never
	case filepath.Clean(dir) == runs.Files.LiveDir():
		if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
			return now
		}
		return later
	case filepath.Clean(dir) == runs.Files.Dir():
		if strings.HasSuffix(name, ".json") {
			return now
		}
		return never // the change counter, which moves with every other change
	}
	return later
}

// tell reports that there is news.
func (w *Watcher) tell() {
	select {
	case w.News <- struct{}{}:
	default:
	}
}

// Close stops watching.
func (w *Watcher) Close() {
	if w.fs != nil {
		w.fs.Close()
		w.done.Wait()
	}
}
