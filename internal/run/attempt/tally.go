package attempt

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"greenlight/internal/base/dirlog"
	"greenlight/internal/base/statcache"
)

// A Tally is what the names of a slice's records tell all together.
type Tally struct {
	Used int // attempts that were used up: a rate limit uses none
	Last Entry
}

func (t *Tally) add(e Entry) {
	if !e.Outcome.Traits().Free {
		t.Used++
	}
	if t.Last.N < e.N || t.Last.N == e.N && t.Last.Outcome <= e.Outcome {
		// of two with one number always the same
		t.Last = e
	}
}

// followFrom is the number of attempts from which a follower has the kernel note new names: fewer
// are read in no time.
const followFrom = 1000

// tallies are those of done/, as they were read last.
type tallies struct {
	sync.Mutex

	stamp   statcache.Stamp
	trusted bool // done/ with that stamp has these
	of      map[string]Tally

	many      int // names from which a log is worth it
	followers int
	log       *dirlog.Log     // nil until there are enough
	counted   map[string]bool // the files that are in of; nil: not known
}

// Follow has the tallies follow the names in done/ as the kernel notes them, for who asks again
// and again.
func (s *Store) Follow() (stop func()) {
	m := s.settled
	m.Lock()
	defer m.Unlock()
	m.followers++
	return func() {
		m.Lock()
		defer m.Unlock()
		if m.followers--; m.followers > 0 {
			return
		}
		if m.log != nil {
			m.log.Close()
		}
		m.log, m.counted = nil, nil
	}
}

// Tallies returns the tally of every slice that has attempts, open ones included.
func (s *Store) Tallies() (map[string]Tally, error) {
	if s.mine != nil {
		return s.talliesOfIndex()
	}
	live, err := s.Files.liveEntries()
	if err != nil {
		return nil, err
	}
	settled, err := s.settledTallies()
	if err != nil || len(live) == 0 {
		return settled, err
	}
	all := maps.Clone(settled)
	for _, e := range live {
		t, ok := all[e.Slice]
		if ok && e.N <= t.Last.N { // the leftover of a settled one, maybe
			return s.talliesOfIndex()
		}
		t.add(e)
		all[e.Slice] = t
	}
	return all, nil
}

func (s *Store) talliesOfIndex() (map[string]Tally, error) {
	index, err := s.Index()
	if err != nil {
		return nil, err
	}
	all := make(map[string]Tally, len(index))
	for id, entries := range index {
		all[id] = tally(entries)
	}
	return all, nil
}

func tally(entries []Entry) (t Tally) {
	for _, e := range entries {
		t.add(e)
	}
	return t
}

// settledTallies returns those of done/. The caller doesn't change them.
func (s *Store) settledTallies() (map[string]Tally, error) {
	m := s.settled
	m.Lock()
	defer m.Unlock()
	now := time.Now()
	stamp, err := statcache.Stat(s.Files.doneDir())
	if err == nil && m.trusted && stamp == m.stamp {
		return m.of, nil
	}
	if !m.followed(s.Files.doneDir()) {
		entries, listErr := s.Files.settledEntries() // which says what is wrong with the directory
		if listErr != nil {
			return nil, listErr
		}
		m.count(entries)
		if m.followers > 0 && m.log == nil && len(entries) >= m.many {
			m.log = dirlog.Of(s.Files.doneDir()) // for the next time
		}
	}
	m.stamp, m.trusted = stamp, err == nil && stamp.Settled(now)
	return m.of, nil
}

// count takes the names for all there are.
func (m *tallies) count(entries []Entry) {
	m.of, m.counted = make(map[string]Tally), nil
	if m.log != nil {
		m.counted = make(map[string]bool, len(entries))
	}
	for _, e := range entries {
		t := m.of[e.Slice]
		t.add(e)
		m.of[e.Slice] = t
		if m.log != nil {
			m.counted[e.doneName()] = true
		}
	}
}

// followed adds what the kernel says has come to done/ since. It is false where that isn't all:
// then the names are to be read.
func (m *tallies) followed(done string) bool {
	if m.log == nil {
		return false
	}
	names, sure := m.log.Changed()
	if !sure || m.counted == nil {
		return false
	}
	of := maps.Clone(m.of) // others have it
	for _, name := range names {
		e, ok := parseSettled(name)
		_, err := os.Lstat(filepath.Join(done, name))
		switch is := err == nil; {
		case !ok || is == m.counted[name]:
		case !is, e.doneName() != name: // one is gone, or isn't as gl writes it
			m.counted = nil
			return false
		default:
			m.counted[name] = true
			t := of[e.Slice]
			t.add(e)
			of[e.Slice] = t
		}
	}
	m.of = of
	return true
}

// IsLeftover reports whether a record that was read as open is what a settler left that was
// killed: there is a settled one, too.
func (s *Store) IsLeftover(r *Record, of map[string]Tally) bool {
	if last := of[r.ID.Slice].Last; last.N < r.ID.N || last.N == r.ID.N && last.Outcome == "" {
		return false
	}
	entries, err := s.Files.settledEntries()
	return err == nil && slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Slice == r.ID.Slice && e.N == r.ID.N
	})
}
