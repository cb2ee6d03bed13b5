package slice

import (
	"errors"
	"slices"
	"strings"
	"time"

	"greenlight/internal/dirlog"
	"greenlight/internal/durable"
	"greenlight/internal/plan"
)

// A memory answers for the slice files that haven't changed since they were looked at. What has changed the kernel says (package dirlog);
// where it isn't sure, and now and then in any case, all are looked at.
type memory struct {
	followers int
	looks     int

	log    *dirlog.Log // nil: not yet
	whole  time.Time   // when all were looked at
	stems  []string    // as they were listed
	notes  []plan.Warning
	values []*sliceFile    // of the stems; nil: all are to be looked at
	due    map[string]bool // stems whose files are to be looked at
	relist bool            // a name may have come or gone
	joined *assembly       // the items that were made of it last
}

// logFrom is from how many on they are answered for from memory: of fewer, a look costs less than to end the kernel's log. Who has looked
// manyLooks times will go on.
const (
	logFrom   = 1000
	manyLooks = 16
)

// wholeLook is how long at most what the kernel hasn't noticed stays unseen: a file that is changed through a mapping into memory, or by
// another name.
const wholeLook = 2 * time.Minute

// Follow implements tracker.Follower.
func (s *Store) Follow() (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == nil {
		s.memory = &memory{due: map[string]bool{}}
	}
	s.memory.followers++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.memory.followers--; s.memory.followers > 0 {
			return
		}
		if s.memory.log != nil {
			s.memory.log.Close()
		}
		s.memory = nil
	}
}

// recollect takes in what the kernel has noted since the last look.
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

// list is listSlices, from memory where no name has come or gone.
func (s *Store) list() (stems []string, notes []plan.Warning, err error) {
	m := s.memory
	if m == nil || s.program == "" {
		return s.listSlices()
	}
	m.looks++
	if m.log == nil {
		if stems, notes, err = s.listSlices(); err != nil || len(stems) < s.many && m.looks < manyLooks {
			return stems, notes, err
		}
		m.log = dirlog.Of(s.path("slices")) // and then the list once more: the log begins before what it vouches for
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

// lookAtDue reads the files that have changed. It is false where one of them isn't a plain file any more: then the list is read anew.
func (s *Store) lookAtDue() bool {
	m := s.memory
	if len(m.due) == 0 {
		return true
	}
	m.values = slices.Clone(m.values) // views have them
	for stem := range m.due {
		i, listed := slices.BinarySearch(m.stems, stem)
		c := refreshIn(s.files.get(stem), s.slicePath(stem), readSlice)
		if !listed || errors.Is(c.err, durable.ErrIrregular) || c.err == nil && c.value == nil {
			return false
		}
		s.files.put(stem, c)
		m.values[i] = sliceOf(c)
		if c.trusted { // else the index, and the digest of what is shown, lack it
			delete(m.due, stem)
		}
	}
	return true
}

// recallFiles is readFiles from memory: what list has looked at, or found to be as it was.
func (s *Store) recallFiles(stems []string) []*sliceFile {
	m := s.memory
	if m == nil || m.log == nil {
		return s.readFiles(stems)
	}
	if m.values == nil {
		m.whole = time.Now()
		m.values = s.readFiles(stems)
		clear(m.due)
		for i, c := range s.files.files {
			if !c.trusted || m.values[i] == nil {
				m.due[stems[i]] = true
			}
		}
	}
	return m.values
}
