package jsonedit

import (
	"bytes"
	"slices"
	"strings"
)

// An object, or a list, is from its bracket to behind the other one.
type object struct {
	from, end int
	parts     []Member
}

// find returns the member of that key.
func (o object) find(key string) (Member, bool) {
	for i := len(o.parts) - 1; i >= 0; i-- {
		if o.parts[i].Key == key {
			return o.parts[i], true
		}
	}
	return Member{}, false
}

// start is where the document's object begins.
func (d *Doc) start() int {
	s := NewScanner(d.text)
	s.Peek()
	return s.at
}

// holds says whether there is an object or a list at the place.
func (d *Doc) holds(at int) bool { return d.text[at] == '{' || d.text[at] == '[' }

// members lists what is in the object or list at the place.
func (d *Doc) members(at int) object {
	s := &Scanner{text: d.text, at: at}
	parts := s.Members()
	return object{from: at, end: s.at, parts: parts}
}

// A style is how the document is laid out.
type style struct {
	line  string // line end, "" for a document on one line
	unit  string // one level of indentation
	colon string // between a key and its value
}

// style reads the layout off the first member.
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

// keyEnd is the offset behind a member's key.
func (d *Doc) keyEnd(m Member) int {
	s := &Scanner{text: d.text, at: m.From}
	s.skipString()
	return s.at
}

// indent begins a line at the depth; for a document on one line it is nothing.
func (st style) indent(depth int) string {
	if st.line == "" {
		return ""
	}
	return st.line + strings.Repeat(st.unit, depth)
}

// wrap writes an object with one member, whose brackets stand at the depth.
func (st style) wrap(inner string, depth int) string {
	return "{" + st.indent(depth+1) + inner + st.indent(depth) + "}"
}

// nested writes value under the keys of path, objects around it.
func (st style) nested(path []string, value string, depth int) string {
	if len(path) == 0 {
		return value
	}
	return st.wrap(Quote(path[0])+st.colon+st.nested(path[1:], value, depth+1), depth)
}

// Relay lays the document out as JSON.stringify(value, null, 2) does: two blanks for each level, a line for each member,
// empty brackets closed at once. The order of keys, the forms of numbers and strings, line ends, a byte order mark and
// whether there is a line end at the end stay as they are.
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
			if out = append(out, c); s.Peek() == c+2 { // ']' and '}' are two behind their partners
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
