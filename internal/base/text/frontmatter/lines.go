package frontmatter

import (
	"bytes"

	"greenlight/internal/base/text/textline"
)

// A line is src[start:end], without its line ending; the next line begins at next.
type line struct {
	start, end, next int
	indent           int // leading blanks and tabs, in bytes
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

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func blankText(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

func (l line) empty(src []byte) bool { return blankText(src[l.start:l.end]) }

func (l line) comment(src []byte) bool {
	at := l.start + l.indent
	return at < l.end && src[at] == '#'
}

// item reports whether the line is an item of a block list.
func (l line) item(src []byte) bool {
	at := l.start + l.indent
	return at < l.end && src[at] == '-' && (at+1 == l.end || isBlank(src[at+1]))
}

// key returns the line's key and the offset of the text after the colon.
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
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' ||
		'A' <= c && c <= 'Z'
}

// A grammar is one of the two kinds of front matter; see the package comment.
type grammar bool

const (
	flat grammar = true
	tree grammar = false
)

// opens returns the offset of the line after the opening fence. The search begins at at, after
// a byte order mark.
func (g grammar) opens(src []byte, at int) (int, bool) {
	for at < len(src) {
		l := lineAt(src, at, len(src))
		text := src[l.start:l.end]
		switch {
		case g == tree:
			return l.next, string(text) == "---" && l.next > l.end
		case g.closes(src, l):
			return l.next, true
		case !textline.Blank(string(text)):
			return 0, false
		}
		at = l.next
	}
	return 0, false
}

// closes reports whether the line is the closing fence.
func (g grammar) closes(src []byte, l line) bool {
	rest, ok := bytes.CutPrefix(src[l.start:l.end], []byte("---"))
	return ok && (g == tree || textline.Blank(string(rest)))
}

// A block is the lines between two fences, src[start:end]; the text after it begins at next.
type block struct {
	lines            []line
	start, end, next int
}

// blockAt finds the block that opens at an offset; false if there is none or it isn't closed.
func (g grammar) blockAt(src []byte, at int) (block, bool) {
	start, ok := g.opens(src, at)
	if !ok {
		return block{}, false
	}
	b := block{start: start, lines: make([]line, 0, 24)}
	for at = start; at < len(src); {
		l := lineAt(src, at, len(src))
		if g.closes(src, l) {
			b.end, b.next = l.start, l.start+len("---")
			if blankText(src[b.next:l.end]) {
				b.next = l.next
			}
			return b, true
		}
		b.lines = append(b.lines, l)
		at = l.next
	}
	return block{}, false
}
