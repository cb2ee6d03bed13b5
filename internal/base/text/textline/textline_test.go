package textline

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestJoin(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		" a  b ":                      "a  b",
		"a\nb\r\n\r\nc":               "a b c",
		"a \t b":                      "a b",
		"a\x1b[31mb\x00":              "a [31mb",
		"\n\n":                        "",
		"ä\u0085ö":                    "ä ö",
		"a,\n  indented\n\nparagraph": "a, indented paragraph",
	} {
		if got := Join(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCollapse(t *testing.T) {
	for text, want := range map[string]string{"": "", " a  b\t\nc ": "a b c",
		"ä\u0085\u00a0ö": "ä ö"} {
		if got := Collapse(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestJoinOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-z \n\t\r\x{1b}\x{85}ä]{0,20}`).Draw(t, "text")
		got := Join(s)
		if strings.ContainsFunc(got, unicode.IsControl) || got != strings.TrimSpace(got) ||
			Join(got) != got {
			t.Fatalf("%q became %q", s, got)
		}
		if a, b := letters(s), letters(got); a != b {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ text, first, chomped, end string }{
		{"a\nb", "a\n", "a", "\n"}, {"a\r\nb", "a\r\n", "a", "\r\n"}, {"a", "a", "a", "\n"}, {"", "", "", "\n"}, {"\r\r\nb", "\r\r\n", "\r", "\r\n"},
	} {
		first := First(c.text)
		if first != c.first || Chomp(first) != c.chomped || End(first) != c.end {
			t.Errorf("%q: %q, %q, %q", c.text, first, Chomp(first), End(first))
		}
	}
}

func TestPrevailing(t *testing.T) {
	for text, want := range map[string]string{"": "\n", "a": "\n", "a\r\nb\n": "\n",
		"a\r\nb\r\nc\n": "\r\n"} {
		if got := Prevailing([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestLast(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 5, ""}, {"\na\n\n", 5, "a"}, {"one\ntwo\nthree", 9, "…\nthree"}, {"ääää", 3, "…\nä"}, {"one\n", 3, "one"},
	} {
		if got := Last(tt.text, tt.n); got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%q, %d: %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
