package slice

import (
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/statcache"
)

// A cached is a file as it was last read.
type cached[T any] struct {
	stamp   statcache.Stamp // the zero stamp: there was none
	trusted bool            // a file that has the stamp has this value
	sum     *digest         // of what was read, where that isn't so
	kept    bool            // the index file has it
	value   T
	err     error // reading failed; nil where there was no file
}

// refresh returns old where path still is what was read, else it reads path and parses its content. A missing file
// gives the zero value.
func refresh[T any](old *cached[T], path string, parse func([]byte, statcache.Stamp) T) *cached[T] {
	if err := durable.CheckDirs(path); err != nil {
		return &cached[T]{err: err}
	}
	return refreshIn(old, path, parse)
}

// refreshIn is refresh of a file in a directory that package durable has just read.
func refreshIn[T any](old *cached[T], path string, parse func([]byte, statcache.Stamp) T) *cached[T] {
	if old != nil && old.trusted {
		if s, err := statcache.Stat(path); err == nil && old.is(s) {
			return old
		}
	}
	return readCached(path, parse)
}

// is says whether a file that has the stamp is what was read.
func (c *cached[T]) is(s statcache.Stamp) bool { return c.trusted && s == c.stamp }

// readCached reads a file in such a directory.
func readCached[T any](path string, parse func([]byte, statcache.Stamp) T) *cached[T] {
	// A write between the stamp and the reading makes the stamp too old, and the next look reads again.
	now := time.Now()
	data, s, err := readStamped(path)
	if err != nil {
		if missing(err) {
			err = nil
		}
		return &cached[T]{err: err}
	}
	c := &cached[T]{stamp: s, trusted: s.Settled(now), value: parse(data, s)}
	if !c.trusted {
		sum := digestOf(data)
		c.sum = &sum
	}
	return c
}
