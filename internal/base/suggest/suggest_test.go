package suggest

import (
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	known := []string{"max", "watch", "cursor-agent", "codex", "crash"}
	for word, want := range map[string]string{
		"wach": "watch", "wathc": "watch", "WATCH": "watch", "cursor": "cursor-agent", "cras": "crash",
		"crahs": "crash", "mx": "max", "zzz": "", "": "", "hello": "",
	} {
		if got := Match(word, known); got != want {
			t.Errorf("Match(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	word := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if d := Distance(a, b); d != Distance(b, a) || (d == 0) != (a == b) ||
			d > max(len(a), len(b)) {
			t.Fatalf("Distance(%q, %q) = %d, the other way %d", a, b, d, Distance(b, a))
		}
	})
}
