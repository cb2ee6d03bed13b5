package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"greenlight/internal/base/term"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/drain"
	"greenlight/internal/state/eta"
	"greenlight/internal/state/journal"
)

// On a terminal a line begins with the time, its text and its continuation are in one column, and
// nothing is wider than the screen.
func TestDrainLineOnTerminal(t *testing.T) {
	plain := func(_ term.Color, s string) string { return s }
	at := time.Date(2026, 3, 1, 22, 5, 7, 0, time.Local)
	line := "S-04 red (tests: exit 1: 1 failed: 注文履歴の表示と検索; gl logs S-04)\n   its work is on the branch gl/s/_/greenlight/S-04/1"
	want := `22:05:07 S-04 red (tests: exit 1: 1
           failed: 注文履歴の表示と検索;
           gl logs S-04)
           its work is on the branch
             gl/s/_/greenlight/S-04/1`
	if got := onTerminal(line, at, 40, plain); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got, want := onTerminal("launched S-1", at, 40, plain),
		"22:05:07 launched S-1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Lines of the drain that a person must see are yellow.
func TestLineColor(t *testing.T) {
	for line, want := range map[string]term.Color{
		"warning: no": term.Yellow, "held until 07:00:00": term.Yellow, "S-1 " + journal.NobodyRead + ": use cents": term.Yellow,
		"S-1 complete (3 tests)": term.Green, "S-1 failed (exit 7)": term.Red, "launched S-1": "",
	} {
		if got := lineColor(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// Without room for every running slice, the live line keeps the totals; it is never too long.
func TestLiveLine(t *testing.T) {
	now := time.Now()
	s := &plan.Snapshot{Noun: "slice"}
	for i := range 40 {
		it := plan.Item{ID: fmt.Sprint("S-", i+1), Status: "tests", Step: "tests", Changed: now}
		if i > 30 {
			it.Status = "complete"
		}
		s.Items = append(s.Items, &it)
	}
	tell := &reporter{cfg: drain.Config{Max: 31}, plan: plan.New(s, now, plan.Options{}),
		pace: func() eta.Pace {
			return eta.Of(time.Minute, time.Minute, time.Minute)
		}}
	for width := 2; width < 400; width++ {
		line := tell.liveText(now, width)
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("%d columns in %d: %q", n, width, line)
		}
		for _, want := range []string{"9/40", "of 31 slots", "about 1m left", " more"} {
			if width >= 50 && !strings.Contains(line, want) {
				t.Errorf("in %d columns no %q: %q", width, want, line)
			}
		}
	}
	if line := tell.liveText(now, 10000); !strings.Contains(line, "S-31 tests") ||
		strings.Contains(line, "more") {
		t.Errorf("with room enough: %q", line)
	}
}
