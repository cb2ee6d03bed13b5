package term

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the text and the screen, no word is lost or broken, and a line that is too wide is one word.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`( {0,30}[a-zé,]{1,12}){0,8} ?`).Draw(t, "line")
		width, hang := rapid.IntRange(-1, 60).Draw(t, "width"), rapid.IntRange(0, 30).Draw(t, "hang")
		got := Wrap(line, width, hang)
		if !slices.Equal(strings.Fields(got), strings.Fields(line)) {
			t.Fatalf("%q became %q", line, got)
		}
		for i, l := range strings.Split(got, "\n") {
			tooWide := width > 0 && Width(l) > width
			if tooWide && len(strings.Fields(l)) > 1 {
				t.Fatalf("%q is wider than %d", l, width)
			}
			if l != strings.TrimRight(l, " ") && i > 0 {
				t.Fatalf("%q ends in blanks", l)
			}
		}
	})
}
