// Package sanitize makes text from files, agents and the network safe to show: none of it
// reaches a terminal as a control sequence. It leaves widths and colors to package term. It
// uses only the standard library, because the engine cleans what agents say before recording
// it.
package sanitize

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"greenlight/internal/base/text/textline"
)

// Text makes s safe for a terminal. Control characters other than newline and tab, and so
// escape sequences, and the Unicode characters that reorder text become visible as \x1b or
// \u202e; a byte that isn't UTF-8 becomes \xNN. Safe text is returned unchanged.
func Text(s string) string {
	start := firstUnsafe(s)
	if start == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:start])
	for i := start; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < 0x80 && isUnsafe(r):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case isUnsafe(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func firstUnsafe(s string) int {
	for i, r := range s {
		if isUnsafe(r) {
			return i
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}

func isUnsafe(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r <= 0x9f: // DEL and C1
		return true
	}
	switch r {
	case 0x061c, 0x200e, 0x200f, // marks of direction
		0x202a, 0x202b, 0x202c, 0x202d, 0x202e, // embeddings and overrides
		0x2066, 0x2067, 0x2068, 0x2069: // isolates
		return true
	}
	return false
}

// Line is Text on one line: runs of white space become one space.
func Line(s string) string { return Text(textline.Collapse(s)) }

// Excerpt is Line for text that may be megabytes long: it reads only as much of s as it needs,
// and ends in … if s has more than limit characters.
func Excerpt(s string, limit int) string {
	var b strings.Builder
	n, gap := 0, false
	for i, r := range s {
		if r == ' ' || r == '\n' || r == '\t' || r == '\r' {
			gap = n > 0
			continue
		}
		if n >= limit || gap && n+1 >= limit {
			b.WriteString("…")
			break
		}
		if gap {
			b.WriteByte(' ')
			n++
			gap = false
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		b.WriteString(s[i : i+size]) // the bytes, so that Text sees which aren't UTF-8
		n++
	}
	return Text(b.String())
}
