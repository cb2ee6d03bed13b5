package cli

import (
	"strings"
	"testing"
	"time"

	"greenlight/internal/cli/cmdutil"

	"pgregory.net/rapid"
)

func TestReadSince(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local), "2026-03-01T05:00:00Z": time.Date(2026, 3, 1, 5, 0, 0, 0, time.UTC),
		"2d": now.AddDate(0, 0, -2), "1w": now.AddDate(0, 0, -7), "90m": now.Add(-90 * time.Minute), "0d": now,
	} {
		if got, err := readSince(s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "yesterday", "-5h", "-2d", "d", "2026-13-01", "99999999d", "1.5d"} {
		if got, err := readSince(s, now); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}

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

func TestHasWord(t *testing.T) {
	for s, want := range map[string]bool{
		"greenlight/checkpoint/S-1": true, "checkpoint-s-1-red": true, "S-1": true, "S-1.": true, "S-10": false, "S-1.2": false,
		"XS-1": false, "S-10, S-1": true, "": false, "C: S-1: x": true, "öS-1": false,
	} {
		if got := hasWord(s, "S-1"); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestFirstWord(t *testing.T) {
	for s, want := range map[string]string{"`a b.go` (new)": "a b.go", "a.go (new)": "a.go", "`a": "a", "": ""} {
		if got := firstWord(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// However the output of the tests comes in pieces, its lines are the same.
func TestLineWriterOfAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[a-z\x1b ]{0,8}`), 0, 6).Draw(t, "lines")
		text := strings.Join(want, "\r\n")
		var got []string
		w := &lineWriter{line: func(l string) { got = append(got, l) }}
		for text != "" {
			n := rapid.IntRange(1, len(text)).Draw(t, "piece")
			if k, err := w.Write([]byte(text[:n])); k != n || err != nil {
				t.Fatal(k, err)
			}
			text = text[n:]
		}
		w.flush()
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "\x1b", `\x1b`)
		}
		if n := len(want); n > 0 && want[n-1] == "" {
			want = want[:n-1] // what has no line end and no text is no line
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func TestLineWriterCutsEndlessLines(t *testing.T) {
	n := 0
	w := &lineWriter{line: func(l string) { n += len(l) }}
	for range 100 {
		w.Write([]byte(strings.Repeat("x", 1000)))
		if len(w.rest) > maxLine {
			t.Fatalf("%d bytes are kept", len(w.rest))
		}
	}
	if n == 0 {
		t.Error("nothing was told")
	}
}

func TestNoShell(t *testing.T) {
	for command, ok := range map[string]bool{"go test ./...": true, "make && make test": false, "a | b": false, "": false, "a 2>&1": true} {
		if err := noShell(strings.Fields(command)); (err == nil) != ok {
			t.Errorf("%q: %v", command, err)
		}
	}
}

func TestUTF8Locale(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, false}, {[]string{"LANG=de_DE.UTF-8"}, true}, {[]string{"LANG=C.utf8"}, true}, {[]string{"LANG=de_DE.UTF-8", "LC_ALL=C"}, false},
		{[]string{"LC_CTYPE=en_US.UTF-8", "LANG=C"}, true}, {[]string{"LC_ALL=", "LANG=en_US.UTF-8"}, true},
	} {
		if got := isUTF8(&cmdutil.App{Environ: c.environ}); got != c.want {
			t.Errorf("%v: %v", c.environ, got)
		}
	}
}
