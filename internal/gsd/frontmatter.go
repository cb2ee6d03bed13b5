package gsd

import (
	"bytes"
)

// A Doc is a STATE.md taken apart without losing a byte: all positions are offsets into Src.
type Doc struct {
	Src   []byte
	BOM   bool
	EOL   string // the file's prevailing line end: "\n" or "\r\n"
	Front []Entry

	FrontStart, FrontEnd int // the lines between the fences; 0, 0 without frontmatter
	BodyStart            int // behind the closing fence and any further frontmatter stacked on it by mistake
}

// An Entry is a key with its value; of duplicates the last one counts.
type Entry struct {
	Key        string
	Start, End int // its lines, children and its own line end included; in {a: b} just the text
	Value      Value
}

// Kind is the shape of a value.
type Kind int

const (
	Empty  Kind = iota // nothing behind the colon and nothing below it
	Scalar             // Text
	List               // Items
	Map                // Map
)

// A Value is what stands behind a key. All scalars are strings: `null`, `true` and `3` too.
type Value struct {
	Kind       Kind
	Text       string   // a scalar without its quotes and escapes
	Items      []string // of a list, the empty ones dropped
	Map        []Entry
	Start, End int // the raw text from behind the blanks after the colon, a trailing comment not included
}

// maxDepth is how deep maps may nest: GSD itself writes two levels.
const maxDepth = 8

// Parse reads a STATE.md. It never fails and never panics, and takes time in proportion to the length: a file without
// frontmatter, or with one that isn't closed, is all body.
//
// It reads what either of GSD's own two parsers reads: a byte order mark, any line ends, comments and blank lines
// anywhere, values in quotes with a comment behind them, lists in brackets on one line or several, as `- x` at any
// indent, and maps by indent or in braces.
func Parse(src []byte) *Doc {
	d := &Doc{Src: src, EOL: prevailingEOL(src)}
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		d.BOM, d.BodyStart = true, 3
	}
	start, end, next, ok := fenced(src, d.BodyStart)
	if !ok {
		return d
	}
	d.FrontStart, d.FrontEnd, d.BodyStart = start, end, next
	p := &parser{src: src, lines: splitLines(src, start, end)}
	d.Front, _ = p.entries(0, -1, 0)
	d.BodyStart = stackedEnd(src, next)
	return d
}

// Get returns the value of a top-level key; of duplicates the last.
func (d *Doc) Get(key string) (Value, bool) { return lookup(d.Front, key) }

// Body is everything behind the frontmatter.
func (d *Doc) Body() []byte { return d.Src[d.BodyStart:] }

// Get returns the value of a key of a map; of duplicates the last.
func (v Value) Get(key string) (Value, bool) { return lookup(v.Map, key) }

func lookup(entries []Entry, key string) (Value, bool) {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Key == key {
			return entries[i].Value, true
		}
	}
	return Value{}, false
}

// prevailingEOL is the line end that most lines have.
func prevailingEOL(src []byte) string {
	if n := bytes.Count(src, []byte("\n")); 2*bytes.Count(src, []byte("\r\n")) > n {
		return "\r\n"
	}
	return "\n"
}

// fenced finds the block that opens at offset at: its lines are src[start:end], and next is what follows the closing
// fence. GSD closes at the first line that begins with ---, whatever else stands on it.
func fenced(src []byte, at int) (start, end, next int, ok bool) {
	rest := src[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("---\n")):
		start = at + 4
	case bytes.HasPrefix(rest, []byte("---\r\n")):
		start = at + 5
	default:
		return 0, 0, 0, false
	}
	if bytes.HasPrefix(src[start:], []byte("---")) {
		end = start
	} else if i := bytes.Index(src[start:], []byte("\n---")); i >= 0 {
		end = start + i + 1
	} else {
		return 0, 0, 0, false
	}
	next = end + 3
	if line := lineAt(src, next, len(src)); blankText(src[line.start:line.end]) {
		next = line.next
	}
	return start, end, next, true
}

// stackedEnd skips blocks that a broken writer has put behind the first: each of whose lines is frontmatter-shaped, with
// a key of GSD among them. A rule that just begins a section isn't one.
func stackedEnd(src []byte, at int) int {
	for {
		from := at
		for from < len(src) {
			line := lineAt(src, from, len(src))
			if !blankText(src[line.start:line.end]) {
				break
			}
			from = line.next
		}
		start, end, next, ok := fenced(src, from)
		if !ok || !looksLikeFront(src, start, end) {
			return at
		}
		at = next
	}
}

// looksLikeFront says whether all lines of src[start:end] could be frontmatter and one has a key that GSD writes.
func looksLikeFront(src []byte, start, end int) bool {
	known := false
	for at := start; at < end; {
		l := lineAt(src, at, end)
		at = l.next
		text := src[l.start:l.end]
		if blankText(text) || l.comment(src) || l.item(src) {
			continue
		}
		key, _, ok := l.key(src)
		if !ok {
			return false
		}
		switch key {
		case "gsd_state_version", "milestone", "milestone_name", "current_phase", "status", "last_updated", "progress":
			known = true
		}
	}
	return known
}
