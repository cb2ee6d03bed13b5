package slice

import (
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/statcache"
)

// A cached is a file as last read.
type cached[T any] struct {
	stamp   statcache.Stamp // zero if there was no file
	trusted bool            // the stamp identifies the content
	sum     *digest         // of the content, if the stamp isn't trusted
	value   T
	err     error // the read error; nil for a missing file
}

// refresh returns old if path is unchanged since it was read; otherwise it reads path and
// parses its content. A missing file gives the zero value.
func refresh[T any](old *cached[T], path string, parse func([]byte, statcache.Stamp) T) *cached[T] {
	if err := durable.CheckDirs(path); err != nil {
		return &cached[T]{err: err}
	}
	return refreshIn(old, path, parse)
}

// refreshIn is like refresh, for a file in a directory that package durable has just read.
func refreshIn[T any](old *cached[T], path string,
	parse func([]byte, statcache.Stamp) T) *cached[T] {
	if old != nil && old.trusted {
		if s, err := statcache.Stat(path); err == nil && old.is(s) {
			return old
		}
	}
	return readCached(path, parse)
}

// is reports whether a file with stamp s has the content that was read.
func (c *cached[T]) is(s statcache.Stamp) bool { return c.trusted && s == c.stamp }

// readCached reads a file in a directory that package durable has just read.
func readCached[T any](path string, parse func([]byte, statcache.Stamp) T) *cached[T] {
	// A write between taking the stamp and reading the file makes the stamp too old, so the
	// next look reads again.
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
