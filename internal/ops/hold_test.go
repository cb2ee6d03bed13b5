package ops

import (
	"testing"
	"time"
)

func TestParseUntil(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"2h":               now.Add(2 * time.Hour),
		"12:01":            now.Add(time.Minute),
		"12:00":            now.AddDate(0, 0, 1),
		"00:30":            time.Date(2026, 3, 2, 0, 30, 0, 0, time.Local),
		"2026-03-04 05:06": time.Date(2026, 3, 4, 5, 6, 0, 0, time.Local),
		"2026-03-04T05:06": time.Date(2026, 3, 4, 5, 6, 0, 0, time.Local),
		"2026-03-04":       time.Date(2026, 3, 4, 0, 0, 0, 0, time.Local),
	} {
		if got, err := ParseUntil(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "-2h", "0s", "25:00", "2026-13-01"} {
		if got, err := ParseUntil(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
