package changelog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Filter selects summaries; the zero Filter selects all. Make one with NewFilter.
type Filter struct {
	Milestone string // "" for all
	Since     string // as the user wrote it; "" for all

	from time.Time
}

// NewFilter selects a milestone's summaries, and those that aren't older than since: a day (it begins at local midnight), a
// time, or a time span back from now. Either may be "".
func NewFilter(milestone, since string, now time.Time) (Filter, error) {
	f := Filter{Milestone: milestone, Since: since}
	if since == "" {
		return f, nil
	}
	var err error
	f.from, err = ParseSince(since, now)
	return f, err
}

func (f *Filter) selects(s *Summary) bool {
	return (f.Milestone == "" || s.Milestone == f.Milestone) && !s.before(f.from)
}

// ParseSince reads when something begins: a day, a time, the time of day that has passed last, or how long ago.
func ParseSince(s string, now time.Time) (time.Time, error) {
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation("15:04", s, time.Local); err == nil {
		local := now.Local()
		t = time.Date(local.Year(), local.Month(), local.Day(), t.Hour(), t.Minute(), 0, 0, time.Local)
		if t.After(now) {
			t = t.AddDate(0, 0, -1)
		}
		return t, nil
	}
	if d, err := parseSpan(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q: expected a day (2026-03-01), a time (2026-03-01T12:00:00Z, 22:30) or how long ago (12h, 7d, 2w)", s)
}

// parseSpan is time.ParseDuration that also knows whole days and weeks.
func parseSpan(s string) (time.Duration, error) {
	const day = 24 * time.Hour
	for unit, d := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if digits, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 31)
			if err != nil || n > 36500 {
				return 0, fmt.Errorf("invalid number of days: %q", s)
			}
			return time.Duration(n) * d, nil
		}
	}
	return time.ParseDuration(s)
}
