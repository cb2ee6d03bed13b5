package gsd

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSkipsStackedFrontMatter(t *testing.T) {
	for src, want := range map[string]string{
		"---\na: 1\n---\n\n---\nstatus: x\n---\n---\nmilestone: y\n---\nB": "B",
		"---\na: 1\n---\n---\n## Section\n---\nB":                          "---\n## Section\n---\nB",
		"---\na: 1\n---\n---\nNote: x\n---\nB":                             "---\nNote: x\n---\nB",
	} {
		if got := string(Parse([]byte(src)).Body()); got != want {
			t.Errorf("%q: body %q", src, got)
		}
	}
}

// shreds are the building blocks of files in this format.
var shreds = []string{"---", "\n", "\n", "\r\n", "status: ", "progress:", "  percent: 5", "next_phases: ", "[", "]", "\"4.5\"",
	", ", "- ", "  ", "# x", "Phase: 1 of 5 (A)", "Status: Ready", "'", "\\", "\ufeff", "null", "{a: ", "}", "|", "a", "\x00", "é"}

func shredded() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		parts := rapid.SliceOf(rapid.SampledFrom(shreds)).Draw(t, "parts")
		return []byte("---\n" + strings.Join(parts, ""))
	})
}
