// Package frontmatter reads the block of `key: value` lines between two lines of --- at the head of a Markdown file, and
// edits it so that every byte beside the edit stays. It reads no YAML: what is found in such blocks often isn't, and a
// YAML library would write all of it anew. It reads and writes no file.
//
// Both forms of front matter know a byte order mark before the block, lines that end with \n or \r\n (an edit writes what
// its neighbours have), blank lines and comments between the keys, values in single or double quotes with a comment
// behind them, and `- item` lines below a key. A block that isn't closed is none. They differ in what they make of the
// rest, for their readers differ:
//
//   - A File is flat and strict: it is ours. Its fences are lines of --- and nothing else; blank lines may come before the
//     first. A line that isn't read is an error, and so is one that is indented. A value is text on one line; a backslash
//     in double quotes escapes a quote or a backslash. Of a key that is there twice the first counts.
//   - A Doc is a tree and lenient: it is what other tools wrote (GSD's files, by the rules of GSD's own readers). Its first
//     fence is the first line, exactly ---; the first line that begins with --- closes it, whatever else is on it. Values may
//     be lists and maps, in block form or in brackets, over several lines; a line that isn't read is left out. Escapes are
//     YAML's. Of a key that is there twice the last counts.
package frontmatter

import (
	"bytes"

	"greenlight/internal/text/textline"
)

// A Doc is a text taken apart without losing a byte: all positions are offsets into Src.
type Doc struct {
	Src   []byte
	BOM   bool
	EOL   string // the text's prevailing line end: "\n" or "\r\n"
	Front []Entry

	FrontStart, FrontEnd int  // the lines between the fences; 0, 0 without front matter
	BodyStart            int  // behind the closing fence
	Stacked              bool // SkipStacked found further blocks
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

// Parse reads a text. It never fails and never panics, and takes time in proportion to the length: one without front
// matter, or with one that isn't closed, is all body.
func Parse(src []byte) *Doc {
	d := &Doc{Src: src, EOL: textline.Prevailing(src)}
	if bytes.HasPrefix(src, []byte(textline.BOM)) {
		d.BOM, d.BodyStart = true, len(textline.BOM)
	}
	b, ok := tree.blockAt(src, d.BodyStart)
	if !ok {
		return d
	}
	d.FrontStart, d.FrontEnd, d.BodyStart = b.start, b.end, b.next
	p := &parser{src: src, lines: b.lines}
	d.Front, _ = p.entries(0, -1, 0)
	return d
}

// Get returns the value of a top-level key; of duplicates the last.
func (d *Doc) Get(key string) (Value, bool) { return lookup(d.Front, key) }

// Body is everything behind the front matter.
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

// SkipStacked moves the start of the body behind blocks that a broken writer has put behind the first. In each of them all
// lines have the form of front matter, and one has a key for which known says yes: a rule that just begins a section is
// no fence.
func (d *Doc) SkipStacked(known func(key string) bool) {
	if d.FrontStart == 0 {
		return
	}
	for {
		from := d.BodyStart
		for from < len(d.Src) {
			l := lineAt(d.Src, from, len(d.Src))
			if !l.empty(d.Src) {
				break
			}
			from = l.next
		}
		b, ok := tree.blockAt(d.Src, from)
		if !ok || !b.looksLikeFront(d.Src, known) {
			return
		}
		d.BodyStart, d.Stacked = b.next, true
	}
}

func (b block) looksLikeFront(src []byte, known func(key string) bool) bool {
	found := false
	for _, l := range b.lines {
		if l.empty(src) || l.comment(src) || l.item(src) {
			continue
		}
		key, _, ok := l.key(src)
		if !ok {
			return false
		}
		found = found || known(key)
	}
	return found
}
