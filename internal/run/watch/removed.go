package watch

import (
	"slices"

	"greenlight/internal/run/attempt"
)

// Renew watches directories again that were removed and recreated (git clean -x), and reports
// whether there were any.
func (w *Watcher) Renew(runs *attempt.Store) bool {
	if w.fs == nil {
		return false
	}
	watched := w.fs.WatchList()
	isWatched := func(dir string) bool { return slices.Contains(watched, dir) }
	lost := slices.DeleteFunc(slices.Clone(w.dirs), isWatched)
	if len(lost) == 0 {
		return false
	}
	if runs.Files.Prepare() != nil {
		return true
	}
	for _, dir := range lost {
		_ = w.fs.Add(dir) // if it fails, the next tick retries
	}
	return true
}
