package rowlayout_test

import (
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/term"
	"greenlight/internal/show/rowlayout"
	"greenlight/internal/show/view"
)

// A row has the cost that is known: the line above all rows says once that some is unknown.
func TestCost(t *testing.T) {
	plain := func(_ term.Color, s string) string { return s }
	for want, c := range map[string]view.Cost{"gl retry S-1  $4.20 + 1 unknown": {USD: 4.2, Known: 1, Unknown: 1}, "gl retry S-1": {Unknown: 2}} {
		rows := []view.Row{{ID: "S-1", Name: "One", Group: view.Failed, Text: "failed", Command: "gl retry S-1", Cost: c}}
		if got := rowlayout.New(100, rows, plain).Lines(rows, time.Now())[0]; !strings.HasSuffix(got, want) {
			t.Errorf("%q doesn't end in %q", got, want)
		}
	}
}

// How long an agent has been silent is said once.
func TestSilence(t *testing.T) {
	plain := func(_ term.Color, s string) string { return s }
	now := time.Now()
	for text, want := range map[string]string{"tests, silent for 1m": "  S-1  One  tests, silent for 1m", "tests": "  S-1  One  tests  1m ago"} {
		rows := []view.Row{{ID: "S-1", Name: "One", Group: view.Running, Text: text, Heard: now.Add(-time.Minute)}}
		if got := rowlayout.New(100, rows, plain).Lines(rows, now)[0]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
