package changelog

import (
	"time"

	"greenlight/internal/base/text/moment"
)

// A Filter selects summaries; the zero Filter selects all. Make one with NewFilter.
type Filter struct {
	Milestone string // "" for all
	Since     string // as the user wrote it; "" for all

	from time.Time
}

// NewFilter returns a filter for a milestone's summaries that aren't older than since: a day
// (from local midnight), a time, or a time span back from now. Either may be "".
func NewFilter(milestone, since string, now time.Time) (Filter, error) {
	f := Filter{Milestone: milestone, Since: since}
	if since == "" {
		return f, nil
	}
	var err error
	f.from, err = moment.Since(since, now)
	return f, err
}

func (f *Filter) selects(s *Summary) bool {
	return (f.Milestone == "" || s.Milestone == f.Milestone) && !s.before(f.from)
}
