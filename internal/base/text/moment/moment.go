// Package moment parses when something begins or ends, as people write it: a day, a time of
// day, a time, a duration. A time without a zone is local.
package moment

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Midnight returns when the local day of t began.
func Midnight(t time.Time) time.Time {
	return at(t, time.Time{})
}

// Until parses a future time: "2h", "3d", "18:30" (its next occurrence), "2026-03-01T18:30",
// RFC 3339, or a day, meaning its beginning.
func Until(text string, now time.Time) (time.Time, error) {
	if d, err := span(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	if clock, err := time.Parse("15:04", text); err == nil {
		t := at(now, clock)
		if !t.After(now) {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	if t, ok := date(text); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: use 2h, 18:30, or 2026-03-01T18:30", text)
}

// Since parses a past time: "12h", "7d", "2w" ago, "22:30" (its last occurrence), or as for
// Until.
func Since(text string, now time.Time) (time.Time, error) {
	if d, err := span(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if clock, err := time.Parse("15:04", text); err == nil {
		t := at(now, clock)
		if t.After(now) {
			t = t.AddDate(0, 0, -1)
		}
		return t, nil
	}
	if t, ok := date(text); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q: expected a day (2026-03-01), a time (2026-03-01T12:00, 22:30) or how long ago (12h, 7d, 2w)", text)
}

// at returns the time of day on the local day of t.
func at(t, clock time.Time) time.Time {
	t = t.Local()
	return time.Date(t.Year(), t.Month(), t.Day(), clock.Hour(), clock.Minute(), 0, 0, time.Local)
}

func date(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04",
		time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// span is time.ParseDuration, extended by whole days and weeks.
func span(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	for unit, d := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 31)
			if err != nil || n > 36500 {
				return 0, fmt.Errorf("invalid number of days: %q", text)
			}
			return time.Duration(n) * d, nil
		}
	}
	return time.ParseDuration(text)
}
