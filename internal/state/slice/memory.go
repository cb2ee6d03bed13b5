package slice

import (
	"errors"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/dirlog"
	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
)

// A memory serves slice files that haven't changed since they were last checked. The kernel
// reports changes (package dirlog); if the report is incomplete, and from time to time in any
// case, all files are checked.
type memory struct {
	followers int
	looks     int

	log    *dirlog.Log // nil until opened
	whole  time.Time   // time of the last check of all files
	stems  []string    // as last listed
	notes  []plan.Warning
	values []*sliceFile    // by stem; nil if all files must be checked
	due    map[string]bool // stems of files to check
	relist bool            // a name may have been added or removed
	joined *assembly       // the last items joined from the files
}

// logFrom is the number of files from which memory is used: with fewer, checking them costs
// less than closing the kernel's log. A follower that has looked manyLooks times is expected to
// continue.
const (
	logFrom   = 1000
	manyLooks = 16
)

// wholeLook bounds how long a change can stay unseen if the kernel doesn't report it: a write
// through a memory mapping, or through another name of the file.
const wholeLook = 2 * time.Minute

// Follow implements tracker.Follower.
func (s *sliceFiles) Follow() (stop func()) {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	if s.memory == nil {
		s.memory = &memory{due: map[string]bool{}}
	}
	s.memory.followers++
	return func() {
		s.dir.mu.Lock()
		defer s.dir.mu.Unlock()
		if s.memory.followers--; s.memory.followers > 0 {
			return
		}
		if s.memory.log != nil {
			s.memory.log.Close()
		}
		s.memory = nil
	}
}

// recollect applies the changes that the kernel has reported since the last look.
func (m *memory) recollect() {
	names, sure := m.log.Changed()
	if !sure || time.Since(m.whole) > wholeLook {
		m.values = nil
	}
	for _, name := range names {
		stem, ok := strings.CutSuffix(name, ".md")
		switch _, known := slices.BinarySearch(m.stems, stem); {
		case ok && known:
			m.due[stem] = true
		case !isForeign(name):
			m.relist = true
		}
	}
}

// list is listSlices, served from memory if no name was added or removed.
func (s *sliceFiles) list() (stems []string, notes []plan.Warning, err error) {
	m := s.memory
	if m == nil {
		return s.listSlices()
	}
	m.looks++
	if m.log == nil {
		if stems, notes, err = s.listSlices(); err != nil ||
			len(stems) < s.dir.many && m.looks < manyLooks {
			return stems, notes, err
		}
		// then list again: the log must begin before the listing it vouches for
		m.log = dirlog.Of(s.dir.path("slices"))
	}
	m.recollect()
	if m.values != nil && !m.relist && s.lookAtDue() {
		return m.stems, slices.Clip(m.notes), nil
	}
	m.values = nil
	if stems, notes, err = s.listSlices(); err != nil {
		return nil, nil, err
	}
	m.stems, m.notes, m.relist = stems, notes, false
	return stems, slices.Clip(notes), nil
}

// lookAtDue reads the files that have changed. It returns false if one of them is no longer a
// regular file: then the list must be read again.
func (s *sliceFiles) lookAtDue() bool {
	m := s.memory
	if len(m.due) == 0 {
		return true
	}
	m.values = slices.Clone(m.values) // views share it
	for stem := range m.due {
		i, listed := slices.BinarySearch(m.stems, stem)
		c := refreshIn(s.cache.get(stem), s.slicePath(stem), readSlice)
		if !listed || errors.Is(c.err, durable.ErrIrregular) || c.err == nil && c.value == nil {
			return false
		}
		s.cache.put(stem, c)
		m.values[i] = sliceOf(c)
		if c.trusted { // otherwise the index, and the digest of the shown files, would lack it
			delete(m.due, stem)
		}
	}
	return true
}

// recallFiles is readFiles from memory: it returns the files that list has read or found
// unchanged.
func (s *sliceFiles) recallFiles(stems []string) []*sliceFile {
	m := s.memory
	if m == nil || m.log == nil {
		return s.readFiles(stems)
	}
	if m.values == nil {
		m.whole = time.Now()
		m.values = s.readFiles(stems)
		clear(m.due)
		for i, c := range s.cache.files {
			if !c.trusted || m.values[i] == nil {
				m.due[stems[i]] = true
			}
		}
	}
	return m.values
}
