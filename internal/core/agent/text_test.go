package agent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCutBytesKeepsRunesWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, limit := rapid.String().Draw(t, "s"), rapid.IntRange(0, 20).Draw(t, "limit")
		got := cutBytes(s, limit)
		if len(got) > limit || !strings.HasPrefix(s, got) || !utf8.ValidString(got) ||
			len(s) > limit && len(got) < limit-3 {
			t.Fatalf("cutBytes(%q, %d) = %q", s, limit, got)
		}
	})
}
