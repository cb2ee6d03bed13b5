package changelog

import (
	"path"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/roadmap"
)

func TestQuickTime(t *testing.T) {
	for stem, want := range map[string]string{
		"quick-20260305-101500-typo": "2026-03-05T10:15:00Z", "quick-2026-03-05-typo": "2026-03-05",
		"quick-2026-03-05T10:15-x": "2026-03-05T10:15:00Z", "quick-20260305": "2026-03-05", "quick-7-typo": "", "quick-typo": "", "S-1": "",
	} {
		if got := quickTime(stem); got != want {
			t.Errorf("%s: %q, want %q", stem, got, want)
		}
	}
}

func TestSummaryText(t *testing.T) {
	for _, c := range []struct{ body, milestone, changed string }{
		{"## What Changed\nA.\n\nB.\n\n## Tests\nC.", "", "A.\n\nB."},
		{"**Milestone:** m 1\n**Date:** 2026-01-01\n\nA\nb.\n\nC.", "m 1", "A\nb."},
		{"---\nmilestone: \"m1\"\n---\n\n- Tests: 3\n\nA.", "m1", "A."},
		{"## Other\n\nA: b.\n\n## More\nC.", "", "A: b."},
		{"```\nx\n\ny\n```\n\nA.", "", "```\nx\n\ny\n```"},
		{"", "", ""},
	} {
		if got := fieldIn(c.body, "milestone"); got != c.milestone {
			t.Errorf("%q: milestone %q, want %q", c.body, got, c.milestone)
		}
		if got := changedText(c.body); got != c.changed {
			t.Errorf("%q: %q, want %q", c.body, got, c.changed)
		}
	}
}

func TestTitleOf(t *testing.T) {
	for _, c := range []struct{ title, stem, id, want string }{
		{"S-01: Sign up", "S-1", "S-01", "Sign up"}, {"S-1 — Sign up", "S-1", "S-01", "Sign up"}, {"Sign up", "S-1", "S-1", "Sign up"},
		{"S-10: Other", "S-1", "S-1", "S-10: Other"}, {"", "S-1", "S-1", "S-1"}, {"S-1", "S-1", "S-1", "S-1"},
	} {
		if got := titleOf(c.title, c.stem, c.id); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// For any description of a task, its summary's name is a valid file name everywhere and
// contains the time.
func TestTaskSummariesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := attempt.Task{Name: "quick", Text: rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9 :-]*`)).Draw(t, "text")}
		now := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "now"), 0)
		file := attempt.SummaryFile(&task, rapid.IntRange(0, 2000).Draw(t, "n"), now)
		name := path.Base(file)
		stem, ok := strings.CutSuffix(name, "-SUMMARY.md")
		if got := quickTime(stem); !ok || path.Dir(file) != Dir || got != now.UTC().Format(time.RFC3339) {
			t.Fatalf("%s: %q", file, got)
		}
		if len(name) > 100 || strings.ContainsFunc(stem, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) }) {
			t.Fatalf("%s can't be a file everywhere", name)
		}
	})
}

// A summary is what an agent wrote.
func FuzzSummary(f *testing.F) {
	f.Add("S-1", "# S-1: Log in\n\nMilestone: v1\nCompleted: 2026-05-01\n\n## What changed\n- a form\n")
	f.Add("quick-20260501-101500-x", "date: 2026-13-45\n# \n```\n# code\n")
	f.Add("", "\x00# a\r\n**Completed**: 2026-05-01T10:00:00+99:99")
	f.Fuzz(func(t *testing.T, stem, text string) {
		s := newSummary(stem, strings.ToValidUTF8(text, "?"), &plan.Plan{}, &roadmap.Roadmap{})
		if s.Entry.Date != nil && len(*s.Entry.Date) < len("2006-01-02") {
			t.Fatalf("%q is from %q", text, *s.Entry.Date)
		}
	})
}
