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

func lineAt(src []byte, at, limit int) line {
	l := line{start: at, end: limit, next: limit}
	if i := bytes.IndexByte(src[at:limit], '\n'); i >= 0 {
		l.end, l.next = at+i, at+i+1
	}
	if l.end > at && src[l.end-1] == '\r' {
		l.end--
	}
	for l.start+l.indent < l.end && isBlank(src[l.start+l.indent]) {
		l.indent++
	}
	return l
}

func splitLines(src []byte, start, end int) []line {
	lines := make([]line, 0, 24)
	for at := start; at < end; {
		l := lineAt(src, at, end)
		lines = append(lines, l)
		at = l.next
	}
	return lines
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func blankText(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// trim takes off what JavaScript's trim does, which GSD uses: white space and byte order marks.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}

func (l line) empty(src []byte) bool { return blankText(src[l.start:l.end]) }

func (l line) comment(src []byte) bool {
	at := l.start + l.indent
	return at < l.end && src[at] == '#'
}

// item says whether the line is an entry of a list in block form.
func (l line) item(src []byte) bool {
	at := l.start + l.indent
	return at < l.end && src[at] == '-' && (at+1 == l.end || isBlank(src[at+1]))
}

// key returns the line's key and where the text behind the colon begins.
func (l line) key(src []byte) (string, int, bool) {
	at := l.start + l.indent
	i := at
	for i < l.end && isKeyByte(src[i]) {
		i++
	}
	if i == at || i == l.end || src[i] != ':' {
		return "", 0, false
	}
	return string(src[at:i]), i + 1, true
}

func isKeyByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
