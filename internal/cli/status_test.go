package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestHang(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"S-1, S-2", 0, "Ready:    S-1, S-2"},
		{"S-1, S-2, S-3", 10, "Ready:    S-1, S-2, S-3"}, // too narrow to do anything about it
		{"S-1, S-2, S-3, S-4", 23, "Ready:    S-1, S-2,\n          S-3, S-4"},
		{"S-1 (needs S-0), S-2", 26, "Ready:    S-1 (needs S-0),\n          S-2"},
		{"S-1 (needs S-0), S-2", 24, "Ready:    S-1 (needs\n          S-0), S-2"},
		{"S-123456789012345678, S-2", 20, "Ready:    S-123456789012345678,\n          S-2"},
		{"ääää, öööö, S-3", 21, "Ready:    ääää, öööö,\n          S-3"},
	} {
		if got := hang("Ready:", c.text, c.width); got != c.want {
			t.Errorf("%q in %d columns:\n%s\nwant\n%s", c.text, c.width, got, c.want)
		}
	}
}

// Whatever the width, no word is lost, and a line is too long only because of one word that is.
func TestHangOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zä(),]{1,15}`), 1, 20).Draw(t, "words")
		width := rapid.IntRange(2*labelWidth, 60).Draw(t, "width")
		text := strings.Join(words, " ")
		got := hang("Label:", text, width)
		if again := strings.Join(strings.Fields(got), " "); again != "Label: "+text {
			t.Fatalf("%q lost something of %q", again, text)
		}
		for i, line := range strings.Split(got, "\n") {
			if i > 0 && !strings.HasPrefix(line, strings.Repeat(" ", labelWidth)) {
				t.Fatalf("line %q isn't indented", line)
			}
			if utf8.RuneCountInString(line) > width && len(strings.Fields(line[labelWidth:])) > 1 {
				t.Fatalf("line %q is longer than %d", line, width)
			}
		}
	})
}
