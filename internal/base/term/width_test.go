package term

import (
	"testing"

	"pgregory.net/rapid"
)

// East Asian characters and emoji take two columns, for any number of code points.
func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本語": 6, "한글": 4, "🙂": 2, "👨‍👩‍👧": 2, "\x1b[31mred\x1b[0m": 3, "…": 1,
	} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestTruncateAndPad(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{{"abcdef", 4, "abc…"}, {"abcd", 4, "abcd"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"abc", 0, ""}, {"abc", -1, ""}} {
		if got := Truncate(tt.in, tt.width); got != tt.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, width := rapid.StringMatching(`[a日é🙂 ]{0,12}`).Draw(t, "s"),
			rapid.IntRange(1, 20).Draw(t, "width")
		if got := Width(Pad(Truncate(s, width), width)); got != width {
			t.Fatalf("%q is %d columns wide after truncating and padding to %d", s, got, width)
		}
	})
}
