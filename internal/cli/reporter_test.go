package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"greenlight/internal/base/term"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/eta"
	"greenlight/internal/state/journal"
)

// On a terminal a line begins with the time, its text and its continuation are in one column, and
// nothing is wider than the screen.
func TestDrainLineOnTerminal(t *testing.T) {
	plain := func(_ term.Color, s string) string { return s }
	at := time.Date(2026, 3, 1, 22, 5, 7, 0, time.Local)
	text := "S-04 red (tests: exit 1: 1 failed: 注文履歴の表示と検索; gl logs S-04)\n   its work is on the branch gl/s/_/greenlight/S-04/1"
	want := `22:05:07 S-04 red (tests: exit 1: 1
           failed: 注文履歴の表示と検索;
           gl logs S-04)
           its work is on the branch
             gl/s/_/greenlight/S-04/1`
	if got := onTerminal(line{text: text, tone: outcome.Bad}, at, 40, plain); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got, want := onTerminal(uncolored("launched S-1"), at, 40, plain), "22:05:07 launched S-1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Lines of the run that a person must see are yellow.
func TestLineColor(t *testing.T) {
	want := map[string]term.Color{
		"warning: no": term.Yellow, "held until 07:00:00: night": term.Yellow, "S-1 " + journal.NobodyRead + ": use cents": term.Yellow,
		"S-4 complete (3 tests)": term.Green, "S-4 failed (exit 7, gl logs S-4)": term.Red, "S-4 asks: which color?": term.Yellow,
	}
	now := time.Now()
	until := time.Date(now.Year(), now.Month(), now.Day(), 7, 0, 0, 0, time.Local)
	p := plan.New(&plan.Snapshot{Noun: plan.Slice}, now, plan.Options{})
	tell := &reporter{cfg: scheduler.Config{}, greeted: true}
	for _, l := range tell.lines(scheduler.Report{
		Plan: p, Warnings: []string{"no"}, Holds: []*plan.Hold{{Kind: plan.HeldByCurfew, Until: until, Reason: "night"}},
		Unheard: []journal.Event{{Slice: "S-1", Attempt: 1, Reason: "use cents"}},
		Ended: []*attempt.Record{ended(outcome.Done, "3 tests"), ended(outcome.Failed, "exit 7"),
			ended(outcome.Waiting, plan.Asking+"which color?")},
	}) {
		color, ok := want[l.text]
		if !ok || colorOf(l.tone) != color {
			t.Errorf("%q is %q, want %q", l.text, colorOf(l.tone), color)
		}
		delete(want, l.text)
	}
	if len(want) > 0 {
		t.Errorf("no lines %q", want)
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
	tell := &reporter{cfg: scheduler.Config{Slots: scheduler.Slots{Max: 31}}, plan: plan.New(s, now, plan.Options{}), pace: func() eta.Pace { return eta.Of(time.Minute, time.Minute, time.Minute) }}
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
