package frontmatter

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// asData returns a value as plain Go data, without its spans.
func asData(v Value) any {
	switch v.Kind {
	case Scalar:
		return v.Text
	case List:
		return v.Items
	case Map:
		return flatten(v.Map)
	}
	return nil
}

func flatten(entries []Entry) map[string]any {
	m := make(map[string]any)
	for _, e := range entries {
		m[e.Key] = asData(e.Value)
	}
	return m
}

func TestParseValues(t *testing.T) {
	tests := map[string]any{
		"plain words: and # more":        "plain words: and # more",
		`"quoted # text"`:                "quoted # text",
		`'1.0'  # placeholder`:           "1.0",
		`"a \"b\" \\ \x41\n"`:            "a \"b\" \\ A\n",
		`"C:\path\dir"`:                  `C:\path\dir`,
		`'it''s'`:                        "it's",
		`"open`:                          "open",
		`it's 'so'`:                      "it's 'so",
		"null":                           "null",
		"#42 fixed":                      "#42 fixed",
		"# a comment":                    nil,
		"":                               nil,
		"[]":                             []string(nil),
		`["4.5", 4.10 , 'a, b',]`:        []string{"4.5", "4.10", "a, b"},
		`[a # b, c] # d`:                 []string{"a # b", "c"},
		`["a, b]`:                        []string{"a", "b"},
		"[\n  \"4.5\", # next\n  4.6\n]": []string{"4.5", "4.6"},
		"\n- 4.5\n- \"4.6\"":             []string{"4.5", "4.6"},
		"\n# why\n\n    - 4.5\n  - 4.6":  []string{"4.5", "4.6"},
		"[\n- a":                         []string{"a"},
		"[open":                          "[open",
		"\n  # why\n  a: 1\n\n  b: \"2\" # two\n  c:\n    d: 3": map[string]any{
			"a": "1", "b": "2", "c": map[string]any{"d": "3"}},
		"{a: 1, \"b\": 'x, y', c: }": map[string]any{"a": "1", "b": "x, y", "c": nil},
		"|\n  one\n  two":            "one\ntwo",
		">-\n  one\n  two":           "one two",
		"text\n  indented: junk":     "text",
	}
	for raw, want := range tests {
		for _, eol := range []string{"\n", "\r\n"} {
			src := strings.ReplaceAll("---\nkey: "+raw+"\nnext: 1\n---\nbody\n", "\n", eol)
			d := Parse([]byte(src))
			v, _ := d.Get("key")
			if diff := cmp.Diff(want, asData(v)); diff != "" {
				t.Errorf("%q: %s", src, diff)
			}
			if v, _ := d.Get("next"); v.Text != "1" || string(d.Body()) != "body"+eol {
				t.Errorf("%q: next is %q, body %q", src, v.Text, d.Body())
			}
		}
	}
}

func TestParseFences(t *testing.T) {
	tests := []struct{ src, front, body string }{
		{"", "", ""},
		{"# T\n", "", "# T\n"},
		{"---\na: 1\n---\nB", "a: 1\n", "B"},
		{"\ufeff---\r\na: 1\r\n---  \r\nB", "a: 1\r\n", "B"},
		{"\ufeff# T", "", "# T"},
		{"---\n---\nB", "", "B"},
		{"---\na: 1\n---- \nB", "a: 1\n", "- \nB"},
		{"---\na: 1\n", "", "---\na: 1\n"},
		{" ---\na: 1\n---\n", "", " ---\na: 1\n---\n"},
		{"---\na: 1\n---\n\n---\nstatus: x\n---\n---\nmilestone: y\n---\nB", "a: 1\n", "B"},
		{"---\na: 1\n---\n---\n## Section\n---\nB", "a: 1\n", "---\n## Section\n---\nB"},
		{"---\na: 1\n---\n---\nNote: x\n---\nB", "a: 1\n", "---\nNote: x\n---\nB"},
	}
	for _, tt := range tests {
		d := Parse([]byte(tt.src))
		d.SkipStacked(func(key string) bool { return key == "status" || key == "milestone" })
		if got := string(d.Src[d.FrontStart:d.FrontEnd]); got != tt.front ||
			string(d.Body()) != tt.body {
			t.Errorf("%q: front %q, body %q", tt.src, got, d.Body())
		}
	}
}

// checkSpans checks what a minimal edit relies on: spans are within the text, in order, each
// inside its parent's, and a scalar's raw text parses as the scalar.
func checkSpans(t interface{ Errorf(string, ...any) }, d *Doc, entries []Entry, from, to int) {
	for _, e := range entries {
		v := e.Value
		if e.Start < from || e.End > to || v.Start < e.Start || v.End < v.Start || v.End > e.End {
			t.Errorf("%q: entry %q at %d..%d, value %d..%d, in %d..%d", d.Src, e.Key, e.Start,
				e.End, v.Start, v.End, from, to)
			return
		}
		from = e.End
		if v.Kind == Map {
			checkSpans(t, d, v.Map, e.Start, e.End)
		}
	}
}

func checkDoc(t interface{ Errorf(string, ...any) }, src []byte) {
	d := Parse(src)
	d.SkipStacked(func(string) bool { return true })
	if d.FrontStart > d.FrontEnd || d.FrontEnd > d.BodyStart || d.BodyStart > len(src) {
		t.Errorf("%q: front %d..%d, body %d", src, d.FrontStart, d.FrontEnd, d.BodyStart)
		return
	}
	checkSpans(t, d, d.Front, d.FrontStart, d.FrontEnd)
}

// shreds are the fragments that files in this format consist of.
var shreds = []string{"---", "\n", "\n", "\r\n", "status: ", "progress:", "  percent: 5", "next_phases: ", "[", "]", "\"4.5\"",
	", ", "- ", "  ", "# x", "Phase: 1 of 5 (A)", "Status: Ready", "'", "\\", "\ufeff", "null", "{a: ", "}", "|", "a", "\x00", "é"}

func shredded() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		parts := rapid.SliceOf(rapid.SampledFrom(shreds)).Draw(t, "parts")
		return []byte("---\n" + strings.Join(parts, ""))
	})
}

func TestParseSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkDoc(t, shredded().Draw(t, "src")) })
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{"": `""`, `a "b" \c`: `"a \"b\" \\c"`, "a\nb\tc\rd": `"a\nb\tc\rd"`, "\x1b\x7f\u0085\u2028\ufeffä": `"\u001B\u007F\u0085\u2028\uFEFFä"`} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.RuneFrom(nil, unicode.L, unicode.Cc, unicode.Z),
			rapid.SampledFrom([]rune("\"\\'#:ux0 ")))).Draw(t, "text")
		d := Parse([]byte("---\nkey: " + Quote(text) + " # c\n---\n"))
		if v, _ := d.Get("key"); v.Text != text && text != "" {
			t.Fatalf("%q was read as %q from %s", text, v.Text, Quote(text))
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, src []byte) { checkDoc(t, src) })
}

// The real files next to the repository, if there are any.
func TestCorpus(t *testing.T) {
	for _, file := range testfiles.Corpus(t, "*/*.md") {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkDoc(t, src)
		if f, err := ParseFile(src, rules); err == nil && !bytes.Equal(f.Bytes(), src) {
			t.Errorf("%s: not all bytes are kept", file)
		}
	}
}
