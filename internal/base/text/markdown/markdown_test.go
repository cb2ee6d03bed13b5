package markdown

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func headings(text string) []string {
	var all []string
	for l := range Lines(text) {
		if l.Level > 0 {
			all = append(all, strings.Repeat("#", l.Level)+l.Title)
		}
	}
	return all
}

func TestMarkdownLines(t *testing.T) {
	text := "\ufeff# One\r\n\r\n````sh\n# no heading\n```\n## nor this\n````\n~~~\n# nor that\n~~~~\n#Two\n## \n### Three ###\n#### C#\n##### #\n####### Seven\n"
	if d := cmp.Diff([]string{"#One", "##", "###Three", "####C#", "#####"},
		headings(text)); d != "" {
		t.Error(d)
	}
}

func TestFences(t *testing.T) {
	for text, want := range map[string][]string{
		"```\n# code\n```\n# A":             {"#A"},
		"```\n# not closed":                 {"#not closed"},
		"```\n# a\n```\n```\n# b":           {"#b"},
		"~~~\n# a\n```\n# b\n```\n# c":      {"#a", "#c"},
		"````\n# a\n```\n# b\n```\n# c":     {"#a", "#c"},
		"```\n# a\n~~~\n# b\n````\n# c":     {"#c"},
		"```sh\n# a\n```sh\n# b\n``` \n# c": {"#c"},
		"``` `x` ```\n# a\n```\n# b\n```":   {"#a"},
		"  ```\r\n# a\r\n  ```\r\n# b":      {"#b"},
		"text ```\n# a\n```\n# b":           {"#a", "#b"},
		"``\n# a\n``":                       {"#a"},
		"- ```\n  # in a list's item\n# a":  {"#a"},
	} {
		if d := cmp.Diff(want, headings(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

var document = rapid.Custom(func(t *rapid.T) string {
	line := rapid.StringMatching("(```|````|~~~| ~~~~|#{1,3} |\\| |)[a-z` #]{0,3}")
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	return strings.Join(rapid.SliceOfN(line, 0, 16).Draw(t, "lines"), eol)
})

// checkLines checks what callers rely on: the lines are complete, in order and at their
// offsets, and a line is code exactly if a reading of the whole document says so.
func checkLines(t interface{ Fatalf(string, ...any) }, text string) {
	all := strings.SplitAfter(text, "\n")
	if text == "\ufeff" {
		all = []string{""}
	}
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	at, open, n := 0, "", 0
	for l := range Lines(text) {
		raw := all[n]
		if n++; n == 1 {
			at = len(raw) - len(strings.TrimPrefix(raw, "\ufeff"))
		}
		if l.N != n || l.Start != at || text[l.Start:l.Next] != strings.TrimPrefix(raw, "\ufeff") ||
			!strings.HasPrefix(text[l.Start:], l.Text) {
			t.Fatalf("%q: line %d is %+v", text, n, l)
		}
		at = l.Next
		code := open != ""
		if closed := func(mark string) bool {
			return slices.ContainsFunc(all[n:], func(s string) bool { return ends(s, mark) })
		}; code {
			if ends(raw, open) {
				open = ""
			}
		} else if mark := opening.FindStringSubmatch(l.Text); mark != nil &&
			closed(mark[1]+mark[2]) {
			code, open = true, mark[1]+mark[2]
		}
		if l.Code != code || l.Code && l.Level > 0 {
			t.Fatalf("%q: line %d is %+v, code: %v", text, n, l, code)
		}
	}
	if n != len(all) {
		t.Fatalf("%d lines of %q", n, text)
	}
}

var opening = regexp.MustCompile("^ *(?:(```+)[^`]*|(~~~+).*)$")

// ends is CommonMark's rule for the end of a block.
func ends(line, mark string) bool {
	bare := strings.TrimLeft(strings.TrimRight(line, " \t\r\n"), " ")
	return len(bare) >= len(mark) && strings.Trim(bare, mark[:1]) == ""
}

func TestLinesOfAnyDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkLines(t, document.Draw(t, "text")) })
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"\ufeff# a\r\n```\r\n# b\r\n", "~~~~\n~~~\n````x\n~~~~~\n```\n", "```\n````\n`````\n```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// the line end with two \r is undefined
		if utf8.ValidString(text) && !strings.Contains(text, "\r\r") {
			checkLines(t, text)
		}
	})
}

// A document of unclosed fences is read in little more than one pass.
func TestManyLostFences(t *testing.T) {
	var b strings.Builder
	for n := 400; n > 2; n-- {
		b.WriteString(strings.Repeat("`", n) + "x\n" + strings.Repeat("~", n) + "x\n# h\n")
	}
	for range 20000 {
		b.WriteString("```x\n~~~~ y\n")
	}
	start := time.Now()
	if n := len(headings(b.String())); n != 398 {
		t.Errorf("%d headings", n)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestFind(t *testing.T) {
	text := "# T\nx\n## A\na\n### B\nb\n```\n## code\n```\n## C\nc\n"
	for _, c := range []struct {
		title string
		last  int
		want  string
	}{
		{"A", 0, "a\n### B\nb\n```\n## code\n```\n"}, {"A", 6, "a\n"}, {"B", 0, "b\n```\n## code\n```\n"}, {"B", 1, "b\n```\n## code\n```\n## C\nc\n"},
		{"C", 0, "c\n"}, {"T", 2, "x\n"},
	} {
		p, ok := Find(text, c.last, func(h Line) bool { return h.Title == c.title })
		if !ok || text[p.Start:p.End] != c.want || p.Heading.Title != c.title {
			t.Errorf("%s: %+v %v, want %q", c.title, p, ok, c.want)
		}
	}
	if p, ok := Find(text, 0, func(h Line) bool { return h.Title == "code" }); ok {
		t.Errorf("%+v", p)
	}
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

func TestCellSpans(t *testing.T) {
	for line, want := range map[string][]string{
		"| a |b": {" a ", "b"}, `a \| b| c`: {`a \| b`, " c"}, "|": nil, "| | ": {" "},
		`|\|`: {`\|`},
	} {
		var got []string
		for _, c := range CellSpans(line) {
			got = append(got, line[c[0]:c[1]])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", line, d)
		}
	}
}

func TestMarkdownCells(t *testing.T) {
	for line, want := range map[string][]string{
		"| a | b\\|c |": {"a", "b|c"}, "|a|": {"a"}, "a | b": nil, "": nil, " | a | b": {"a", "b"},
		"||": {""}, "|": nil, `| a \| |`: {"a |"}, `| a \|`: {"a |"}, "| a ||": {"a", ""}, "| a | b |  ": {"a", "b"},
	} {
		if d := cmp.Diff(want, Cells(line)); d != "" {
			t.Errorf("%q: %s", line, d)
		}
	}
}
