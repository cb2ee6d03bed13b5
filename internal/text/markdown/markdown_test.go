package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMarkdownLines(t *testing.T) {
	text := "\ufeff# One\r\n\r\n````sh\n# no heading\n```\n## nor this\n````\n~~~\n# nor that\n~~~~\n#Two\n## \n### Three ###\n####### Seven\n"
	var got []string
	for l := range Lines(text) {
		if l.Level > 0 {
			got = append(got, strings.Repeat("#", l.Level)+l.Title)
		}
	}
	if d := cmp.Diff([]string{"#One", "##", "###Three ###"}, got); d != "" {
		t.Error(d)
	}
}

// Whatever a document holds, its lines are all there, in order.
func TestMarkdownLinesOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching("(```|~~~|#{1,3} |\\| |)[a-z` ]{0,5}"), 0, 12).Draw(t, "lines")
		n := 0
		for l := range Lines(strings.Join(lines, "\r\n")) {
			if l.N != n+1 || l.Text != strings.TrimRight(lines[n], "\r\n") || l.Level > 0 && l.Code {
				t.Fatalf("line %d: %+v, want %q", n+1, l, lines[n])
			}
			n++
		}
		if n < len(lines)-1 {
			t.Fatalf("%d lines of %q", n, lines)
		}
	})
}

func TestMarkdownSection(t *testing.T) {
	text := "# Files\nno\n## files\n\n- a\n### more\n- b\n\n```\n## Next\n```\n\n## Next\n- c\n"
	got, ok := Section(text, "Files")
	if want := "- a\n### more\n- b\n\n```\n## Next\n```"; !ok || got != want {
		t.Errorf("%q %v, want %q", got, ok, want)
	}
	if got, ok := Section(text, "None"); ok || got != "" {
		t.Errorf("%q %v", got, ok)
	}
}

func TestMarkdownCells(t *testing.T) {
	for line, want := range map[string][]string{
		"| a | b\\|c |": {"a", "b|c"}, "|a|": {"a"}, "a | b": nil, "": nil, " | a | b": {"a", "b"},
	} {
		if d := cmp.Diff(want, Cells(line)); d != "" {
			t.Errorf("%q: %s", line, d)
		}
	}
}
