package jsonedit

import (
	"bytes"
	"slices"
	"strings"
)

// An object is an object or a list, from its opening bracket to after its closing one.
type object struct {
	from, end int
	parts     []Member
}

// find returns the member with that key.
func (o object) find(key string) (Member, bool) {
	for i := len(o.parts) - 1; i >= 0; i-- {
		if o.parts[i].Key == key {
			return o.parts[i], true
		}
	}
	return Member{}, false
}

// start returns the offset of the document's object.
func (d *Doc) start() int {
	s := NewScanner(d.text)
	s.Peek()
	return s.at
}

// holds reports whether there is an object or a list at that offset.
func (d *Doc) holds(at int) bool { return d.text[at] == '{' || d.text[at] == '[' }

// members returns the object or list at that offset.
func (d *Doc) members(at int) object {
	s := &Scanner{text: d.text, at: at}
	parts := s.Members()
	return object{from: at, end: s.at, parts: parts}
}

// A style is the document's layout.
type style struct {
	line  string // line ending, "" for a document on one line
	unit  string // one level of indentation
	colon string // between a key and its value
}

// style derives the layout from the first member.
func (d *Doc) style() style {
	top := d.members(d.start())
	if len(top.parts) == 0 {
		return style{line: "\n", unit: "  ", colon: ": "}
	}
	first := top.parts[0]
	st := style{colon: ":"}
	if gap := string(d.text[d.keyEnd(first):first.Value]); strings.Trim(gap, " \t") == ":" {
		st.colon = gap
	}
	lead := string(d.text[top.from+1 : first.From])
	if i := strings.LastIndexByte(lead, '\n'); i >= 0 {
		st.line, st.unit = "\n", lead[i+1:]
		if i > 0 && lead[i-1] == '\r' {
			st.line = "\r\n"
		}
	}
	return st
}

// keyEnd returns the offset after a member's key.
func (d *Doc) keyEnd(m Member) int {
	s := &Scanner{text: d.text, at: m.From}
	s.skipString()
	return s.at
}

// indent returns the start of a line at the depth; "" for a document on one line.
func (st style) indent(depth int) string {
	if st.line == "" {
		return ""
	}
	return st.line + strings.Repeat(st.unit, depth)
}

// wrap formats an object with one member, whose brackets are at the depth.
func (st style) wrap(inner string, depth int) string {
	return "{" + st.indent(depth+1) + inner + st.indent(depth) + "}"
}

// nested formats value under the keys of path, with objects around it.
func (st style) nested(path []string, value string, depth int) string {
	if len(path) == 0 {
		return value
	}
	return st.wrap(Quote(path[0])+st.colon+st.nested(path[1:], value, depth+1), depth)
}

// Relay formats the document as JSON.stringify(value, null, 2) does: two blanks for each level,
// one member per line, empty brackets without space. The order of keys, the notation of numbers
// and strings, line endings, a byte order mark and the presence of a final line ending stay the
// same.
func (d *Doc) Relay() {
	st := style{line: "\n", unit: "  "}
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		st.line = "\r\n"
	}
	s := &Scanner{text: d.text, at: d.start()}
	out := slices.Clone(bytes.TrimSpace(d.text[:s.at])) // a byte order mark
	depth := 0
	for tok := s.token(); tok != nil; tok = s.token() {
		switch c := tok[0]; c {
		case '{', '[':
			// ']' and '}' are two code points after their partners
			if out = append(out, c); s.Peek() == c+2 {
				out = append(out, s.token()...)
				continue
			}
			depth++
			out = append(out, st.indent(depth)...)
		case '}', ']':
			depth--
			out = append(append(out, st.indent(depth)...), c)
		case ',':
			out = append(append(out, c), st.indent(depth)...)
		case ':':
			out = append(out, ": "...)
		default:
			out = append(out, tok...)
		}
	}
	if bytes.HasSuffix(d.text, []byte("\n")) {
		out = append(out, st.line...)
	}
	d.text = slices.Clip(out)
}
