package slice

import (
	"crypto/sha256"
	"fmt"

	"greenlight/internal/durable"
	"greenlight/internal/statcache"
)

// shownFile has the digest of what STATE.md was found to follow from, with STATE.md itself: of the stamps alone. While that is the same there
// is nothing to write, and nobody needs the lock, or to render, to see it. A small project does without. It is written under the lock, in
// place and without fsync: what a crash takes away costs a rendering.
const shownFile = "runs/shown"

// isShown says whether nothing has changed since STATE.md was found to be right.
func (s *Store) isShown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest := s.digest()
	return digest != "" && digest == s.lastShown()
}

func (s *Store) lastShown() string {
	data, err := durable.ReadFile(s.path(shownFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// noteShown notes that STATE.md was found to be right, where the stamps vouch for it. The caller holds the lock.
func (s *Store) noteShown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if digest := s.digest(); digest != "" && digest != s.lastShown() {
		_ = durable.Overwrite(s.path(shownFile), []byte(digest), 0o600) // else the next one renders, too
	}
}

// digest sums up the stamps of STATE.md and of all that it is made from; "" where one of them doesn't vouch for what was read. The caller
// holds s.mu.
func (s *Store) digest() string {
	stems, _, err := s.list()
	if err != nil || s.program == "" || len(stems) < s.worth {
		return ""
	}
	var sum statcache.Coder
	program := s.program
	sum.Text(&program)
	if !vouched(&sum, s.state, s.path("STATE.md")) || !vouched(&sum, s.backup, s.path("STATE.md.backup")) {
		return "" // it has just been written, mostly
	}
	s.recallFiles(stems)
	for i, c := range s.files.of(stems) {
		if c == nil || !c.trusted {
			return ""
		}
		sum.Text(&stems[i])
		sum.Stamp(&c.stamp)
	}
	if !vouched(&sum, s.graph, s.path("GRAPH.json")) || !vouched(&sum, s.project, s.path("project-state.json")) ||
		!vouched(&sum, s.config, s.path("config.json")) {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(sum.Bytes()))
}

// vouched adds the stamp that the file has now, if it is the one of what was read. Of a file that wasn't needed any will do.
func vouched[T any](sum *statcache.Coder, read *cached[T], path string) bool {
	now, err := statcache.Stat(path)
	if err != nil && !missing(err) {
		return false
	}
	sum.Stamp(&now)
	switch {
	case read == nil:
		return true
	case err != nil:
		return read.stamp == statcache.Stamp{} && read.err == nil
	}
	return read.trusted && read.stamp == now
}
