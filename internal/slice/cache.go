package slice

import (
	"io/fs"
	"os"
	"time"
)

// settled is how old a file's last change must be, when it is read, for its size and mtime to vouch for its content:
// a second write within one tick of the file system's clock would leave both as they are.
const settled = 100 * time.Millisecond

// A cached is a file as it was last read.
type cached[T any] struct {
	info    fs.FileInfo // nil: there was none
	trusted bool        // a file that looks like info has this value
	value   T
	err     error // reading failed; nil where there was no file
}

// current says whether the file that now looks like info is the one that was read.
func (c *cached[T]) current(info fs.FileInfo) bool {
	return c != nil && c.trusted && info != nil && c.info != nil && c.info.Size() == info.Size() &&
		c.info.ModTime().Equal(info.ModTime()) && os.SameFile(c.info, info)
}

// refresh returns old where path still is what was read, else it reads path and parses its content. A missing file
// gives the zero value.
func refresh[T any](old *cached[T], path string, parse func([]byte, fs.FileInfo) T) *cached[T] {
	info, err := os.Stat(path)
	if err != nil {
		if missing(err) {
			err = nil
		}
		return &cached[T]{err: err}
	}
	if old.current(info) {
		return old
	}
	// The stat comes first: a write between the two makes info too old, and the next look reads again.
	now := time.Now()
	data, err := os.ReadFile(path)
	if missing(err) {
		return &cached[T]{}
	}
	c := &cached[T]{info: info, err: err, trusted: err == nil && now.Sub(info.ModTime()) >= settled}
	if err == nil {
		c.value = parse(data, info)
	}
	return c
}
