package moment

import (
	"testing"
	"time"
)

var now = time.Date(2026, 3, 10, 12, 0, 30, 0, time.Local)

func local(month time.Month, day, hour, minute int) time.Time {
	return time.Date(2026, month, day, hour, minute, 0, 0, time.Local)
}

type reader func(string, time.Time) (time.Time, error)

func check(t *testing.T, read reader, good map[string]time.Time, bad ...string) {
	t.Helper()
	for text, want := range good {
		if got, err := read(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range append(bad, "", "soon", "25:00", "2026-13-01", "d", "1.5d", "99999999d", "-2d") {
		if got, err := read(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestUntil(t *testing.T) {
	check(t, Until, map[string]time.Time{
		"2h": now.Add(2 * time.Hour), "3d": now.Add(72 * time.Hour), "12:01": local(3, 10, 12, 1),
		"12:00": local(3, 11, 12, 0), "00:30": local(3, 11, 0, 30),
		"2026-03-14 05:06": local(3, 14, 5, 6), "2026-03-14T05:06": local(3, 14, 5, 6),
		"2026-03-14":           local(3, 14, 0, 0),
		"2026-03-14T05:06:00Z": time.Date(2026, 3, 14, 5, 6, 0, 0, time.UTC),
	}, "-2h", "0s", "0d")
}

func TestSince(t *testing.T) {
	check(t, Since, map[string]time.Time{
		"90m": now.Add(-90 * time.Minute), "0d": now, "2d": now.Add(-48 * time.Hour),
		"1w":    now.Add(-7 * 24 * time.Hour),
		"12:00": local(3, 10, 12, 0), "12:01": local(3, 9, 12, 1), "2026-03-01": local(3, 1, 0, 0),
		"2026-03-01T05:06":     local(3, 1, 5, 6),
		"2026-03-01T05:00:00Z": time.Date(2026, 3, 1, 5, 0, 0, 0, time.UTC),
	}, "yesterday", "-5h")
}

func TestMidnight(t *testing.T) {
	if got := Midnight(now); !got.Equal(local(3, 10, 0, 0)) {
		t.Errorf("%v", got)
	}
}
