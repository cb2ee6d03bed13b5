// Package frontmatter reads and edits the block of `key: value` lines between two lines of ---
// at the top of a Markdown file. An edit keeps every other byte. This is not a YAML parser:
// such blocks often aren't valid YAML, and a YAML library would rewrite the whole block. The
// package reads and writes no files.
//
// Two kinds of front matter have different readers, so there are two types. Both accept a byte
// order mark before the block, lines that end in \n or \r\n, blank lines and comments between
// the keys, values in single or double quotes with a comment after them, and `- item` lines
// below a key. A block without a closing --- is not a block.
//
//   - File is for Greenlight's own files. It is flat and strict. A fence is a line with --- and
//     nothing else; blank lines may precede the first. A line that can't be parsed is an error,
//     and so is an indented one. A value is text on one line. Inside double quotes a backslash
//     escapes a quote or a backslash. If a key is repeated, the first one counts.
//   - Doc is for files that other tools wrote, and follows the parsers of GSD. It is a tree and
//     lenient. The first line of the file is exactly ---, and the first line that begins with ---
//     closes the block, whatever else is on it. Values may be lists and maps, as blocks or in
//     brackets, on one line or several. Lines that can't be parsed are skipped. Double quotes
//     have YAML's escapes. If a key is repeated, the last one counts.
//
// An edit writes the line ending of the lines around it.
package frontmatter

import (
	"bytes"

	"greenlight/internal/base/text/textline"
)

// A Doc is a parsed text. All positions are offsets into Src, so nothing of it is lost.
type Doc struct {
	Src   []byte
	BOM   bool
	EOL   string // the text's prevailing line ending: "\n" or "\r\n"
	Front []Entry

	FrontStart, FrontEnd int  // the lines between the fences; both 0 without front matter
	BodyStart            int  // after the closing fence
	Stacked              bool // SkipStacked found further blocks
}

// An Entry is a key with its value; of duplicates the last one counts.
type Entry struct {
	Key string
	// its lines, including children and its own line ending; in {a: b} just the text
	Start, End int
	Value      Value
}

// Kind is the shape of a value.
type Kind int

const (
	Empty  Kind = iota // nothing after the colon and nothing below it
	Scalar             // Text
	List               // Items
	Map                // Map
)

// A Value is the value of a key. All scalars are strings, even `null`, `true` and `3`.
type Value struct {
	Kind       Kind
	Text       string   // a scalar without its quotes and escapes
	Items      []string // of a list, without empty ones
	Map        []Entry
	Start, End int // the raw text, without the blanks after the colon and a trailing comment
}

// maxDepth is the maximum nesting of maps: GSD itself writes two levels.
const maxDepth = 8

// Parse parses a text in linear time. It never fails: a text without front matter, or with an
// unclosed block, is all body.
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

// Get returns the value of a top-level key; the last one if there are duplicates.
func (d *Doc) Get(key string) (Value, bool) { return lookup(d.Front, key) }

// Body returns everything after the front matter.
func (d *Doc) Body() []byte { return d.Src[d.BodyStart:] }

// Get returns the value of a key of a map; the last one if there are duplicates.
func (v Value) Get(key string) (Value, bool) { return lookup(v.Map, key) }

func lookup(entries []Entry, key string) (Value, bool) {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Key == key {
			return entries[i].Value, true
		}
	}
	return Value{}, false
}

// SkipStacked moves the start of the body past further blocks that a broken writer put after
// the first one. In such a block every line has the form of front matter, and at least one key
// is known; otherwise the --- is a horizontal rule.
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
