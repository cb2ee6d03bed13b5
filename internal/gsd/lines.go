package gsd

import (
	"bytes"
	"strings"
	"unicode"
)

// A line is src[start:end], without its end of line; the next one begins at next.
type line struct {
	start, end, next int
	indent           int // bytes of blanks and tabs that it begins with
}

// endOfLine is where the line that at is on ends, its line end not included.
func endOfLine(src []byte, at int) int {
	end := len(src)
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		end = at + i
	}
	if end > at && src[end-1] == '\r' {
		end--
	}
	return end
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func blankText(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// trim takes off what JavaScript's trim does, which GSD uses: white space and byte order marks.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}

func (l line) empty(src []byte) bool { return blankText(src[l.start:l.end]) }

func isKeyByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
