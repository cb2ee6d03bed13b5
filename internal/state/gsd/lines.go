package gsd

import (
	"bytes"
	"strings"
	"unicode"
)

// A line is src[start:end], without its line ending; the next line begins at next.
type line struct {
	start, end, next int
	indent           int // leading blanks and tabs, in bytes
}

// endOfLine returns the end of the line that contains offset at, without its line ending.
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

// trim does what JavaScript's trim does, which GSD uses: it removes white space and byte order
// marks.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}

func (l line) empty(src []byte) bool { return blankText(src[l.start:l.end]) }

func isKeyByte(c byte) bool {
	return c == '_' || c == '-' || isDigit(c) || isLetter(c)
}
