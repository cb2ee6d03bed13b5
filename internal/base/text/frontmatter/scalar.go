package frontmatter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// quoteEnd returns the length of the quoted string at the start of s, 0 if it isn't closed.
func quoteEnd(s string) int {
	q := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case q == '"' && s[i] == '\\':
			i++
		case s[i] != q:
		case q == '\'' && i+1 < len(s) && s[i+1] == q:
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// quoted parses the quoted string at the start of s, if at most a comment follows it; n is its
// length in s.
func (g grammar) quoted(s string) (text string, n int, ok bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return "", 0, false
	}
	if n = quoteEnd(s); n == 0 {
		return "", 0, false
	}
	after := strings.TrimLeft(s[n:], " \t")
	if after != "" && (after[0] != '#' || len(after) == len(s)-n) {
		return "", 0, false
	}
	return g.unquote(s[:n]), n, true
}

// unquote removes the quotes of a closed string and resolves its escapes. A backslash that
// escapes nothing stays.
func (g grammar) unquote(s string) string {
	inner := s[1 : len(s)-1]
	if s[0] == '\'' {
		return strings.ReplaceAll(inner, "''", "'")
	}
	if strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' || i+1 == len(inner) {
			b.WriteByte(inner[i])
			continue
		}
		i++
		switch c := inner[i]; {
		case c == '"' || c == '\\':
			b.WriteByte(c)
		case g == flat:
			b.WriteString(inner[i-1 : i+1])
		case c == '/':
			b.WriteByte(c)
		case c == 'n':
			b.WriteByte('\n')
		case c == 't':
			b.WriteByte('\t')
		case c == 'r':
			b.WriteByte('\r')
		case c == 'x' || c == 'u':
			i += hexEscape(&b, inner[i:])
		default:
			b.WriteString(inner[i-1 : i+1])
		}
	}
	return b.String()
}

// hexEscape decodes the escape in s, x41 or u0041, and returns how many bytes after the letter
// belong to it.
func hexEscape(b *strings.Builder, s string) int {
	n := 2
	if s[0] == 'u' {
		n = 4
	}
	if len(s) > n {
		if r, err := strconv.ParseUint(s[1:n+1], 16, 32); err == nil {
			b.WriteRune(rune(r))
			return n
		}
	}
	b.WriteByte('\\')
	b.WriteByte(s[0])
	return 0
}

// Quote returns text in double quotes, on one line, in a form that YAML and TOML understand. It
// escapes characters that some of their parsers reject or treat as line endings.
func Quote(text string) string { return tree.quote(text) }

func (g grammar) quote(text string) string {
	if g == flat {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch i := strings.IndexRune("\"\\\n\t\r", r); {
		case i >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\ntr`[i])
		case unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
