package proc

import (
	"path/filepath"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// Processors that wait for a disk are idle, too. What isn't Linux's file tells nothing.
func TestIdle(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]time.Duration{
		"cpu  10 20 30 400 50 0 0 0 0 0\ncpu0 1 2 3 4 5\n": 4500 * time.Millisecond,
		"cpu  10 20 30 -4 50\n":                            0,
		"cpu  1 2 3 18446744073709551615 5 6\n":            0,
		"cpu\n":                                            0,
		"intr 1 2 3 4 5 6\n":                               0,
		"":                                                 0,
	} {
		testfiles.Put(t, dir, "stat", text)
		if got := idleIn(filepath.Join(dir, "stat")); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := idleIn(filepath.Join(dir, "none")); got != 0 {
		t.Errorf("without the file: %v", got)
	}
}
