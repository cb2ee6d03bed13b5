package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"greenlight/internal/core/gate"
)

// Beside reports whether another attempt has had an agent in the checkout since this one's started.
// It assumes so if records can't be read.
func (s *Store) Beside(r *Record) (bool, error) {
	live, bad, err := s.Live()
	if err != nil || len(bad) > 0 {
		return len(bad) > 0, err
	}
	for _, other := range live {
		if other.ID.Name() != r.ID.Name() && other.Place.Lineage == 0 &&
			other.Life.StartedAt != nil {
			return true, nil
		}
	}
	settled, err := s.Files.settledEntries()
	if err != nil {
		return false, err
	}
	for _, e := range settled {
		if e.Slice == r.ID.Slice && e.N == r.ID.N || !s.settledSince(e, *r.Life.StartedAt) {
			continue
		}
		other, err := s.readSettled(e)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return true, nil
		case other.Place.Lineage == 0 && other.Life.StartedAt != nil && other.Life.EndedAt != nil &&
			other.Life.EndedAt.After(*r.Life.StartedAt):
			return true, nil
		}
	}
	return false, nil
}

// settledSince reports whether a record was written after an instant, or about then. Most records
// needn't be read.
func (s *Store) settledSince(e Entry, at time.Time) bool {
	info, err := os.Stat(s.Files.donePath(e.Slice, e.N, e.Outcome))
	return err != nil || info.ModTime().After(at.Add(-time.Minute))
}

// Fewer reports that fewer tests ran in the checkout than in the last run whose work was accepted.
// It adds nothing if the missing tests are named already.
func (s *Store) Fewer(r *Record) []gate.Item {
	v := r.Judged.Verdict
	before := s.Proofs.Suite().Of(v.Command)
	named := slices.ContainsFunc(r.Judged.Compared.Found, func(i gate.Item) bool {
		return i.Kind == gate.Removed || i.Kind == gate.Skips
	})
	if before == nil || before.Uncounted || v.Passed == nil || named {
		return nil
	}
	now, then := *v.Passed+max(v.FailedCount(), 0), before.Passed+before.Failed
	if now >= then {
		return nil
	}
	return []gate.Item{{Kind: gate.Fewer,
		Name: fmt.Sprintf("%d, and %d in the run before", now, then)}}
}
