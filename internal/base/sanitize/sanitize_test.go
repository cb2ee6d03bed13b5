package sanitize

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"plain\n\ttext é 漢 🙂":    "plain\n\ttext é 漢 🙂",
		"\x1b[31mred\x1b[0m":     `\x1b[31mred\x1b[0m`,
		"a\rb\x00\x07\x7f":       `a\x0db\x00\x07\x7f`,
		"\u0085\u009b1m":         `\u0085\u009b1m`,
		"x\u202egnp.exe\u2066":   `x\u202egnp.exe\u2066`,
		"\u200e\u200f\u061c":     `\u200e\u200f\u061c`,
		"bad \xff\xc3( \xed\xa0": `bad \xff\xc3( \xed\xa0`,
		"\uFFFD is a real rune":  "\uFFFD is a real rune",
		"zero\u200dwidth":        "zero\u200dwidth", // joins emoji and scripts
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// dirty reports whether s could control a terminal, without using Text's own tables.
func dirty(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 ||
			strings.ContainsRune("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", r)
	})
}

func TestTextLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "runes")
		got := Text(s)
		if dirty(got) {
			t.Fatalf("Text(%q) = %q", s, got)
		}
		if !dirty(s) && got != s {
			t.Fatalf("clean text changed: %q became %q", s, got)
		}
	})
}

func TestExcerpt(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"  a \r\n\t b  ", 9, "a b"},
		{"abcde", 5, "abcde"},
		{"abcdef", 5, "abcde…"},
		{"abcd  ef", 5, "abcd…"},
		{"ééééé é", 5, "ééééé…"},
		{"\x1b[2J", 9, `\x1b[2J`},
		{"\xff", 9, `\xff`},
	} {
		if got := Excerpt(tt.in, tt.limit); got != tt.want {
			t.Errorf("Excerpt(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}
