package jsonedit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A member is a key and its value by their places in the text. The key of a list's element is its place in the list.
type member struct {
	key      string
	from     int // the key's opening quote; of an element the value
	val, end int // the value
}

// An object, or a list, is from its bracket to behind the other one.
type object struct {
	from, end int
	parts     []member
}

// find returns the member of that key.
func (o object) find(key string) (member, bool) {
	for i := len(o.parts) - 1; i >= 0; i-- {
		if o.parts[i].key == key {
			return o.parts[i], true
		}
	}
	return member{}, false
}

// start is where the document's object begins.
func (d *Doc) start() int {
	at := 0
	if bytes.HasPrefix(d.text, []byte(bom)) {
		at = len(bom)
	}
	return skipSpace(d.text, at)
}

// holds says whether there is an object or a list at the place.
func (d *Doc) holds(at int) bool { return d.text[at] == '{' || d.text[at] == '[' }

// members lists what is in the object or list at the place. The text is known to be JSON, so nothing needs to be checked.
func (d *Doc) members(at int) object {
	o := object{from: at}
	i := skipSpace(d.text, at+1)
	for d.text[i] != '}' && d.text[i] != ']' {
		m := member{from: i}
		if d.text[at] == '{' {
			i = skipString(d.text, i)
			_ = json.Unmarshal(d.text[m.from:i], &m.key) // it is JSON
			i = skipSpace(d.text, i) + 1                 // the colon
		} else {
			m.key = strconv.Itoa(len(o.parts))
		}
		m.val = skipSpace(d.text, i)
		m.end = skipValue(d.text, m.val)
		o.parts = append(o.parts, m)
		if i = skipSpace(d.text, m.end); d.text[i] == ',' {
			i = skipSpace(d.text, i+1)
		}
	}
	o.end = i + 1
	return o
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func skipSpace(text []byte, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}

// skipString returns the offset behind the string that begins at i.
func skipString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the offset behind the value that begins at i.
func skipValue(text []byte, i int) int {
	depth := 0
	for {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
			continue
		default:
			for i < len(text) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(text[i])) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
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
	if gap := string(d.text[skipString(d.text, first.from):first.val]); strings.Trim(gap, " \t") == ":" {
		st.colon = gap
	}
	lead := string(d.text[top.from+1 : first.from])
	if i := strings.LastIndexByte(lead, '\n'); i >= 0 {
		st.line, st.unit = "\n", lead[i+1:]
		if i > 0 && lead[i-1] == '\r' {
			st.line = "\r\n"
		}
	}
	return st
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
	body := d.text[d.start():]
	st := style{line: "\n", unit: "  "}
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		st.line = "\r\n"
	}
	out := slices.Clone(bytes.TrimSpace(d.text[:d.start()])) // a byte order mark
	depth := 0
	for i := skipSpace(body, 0); i < len(body); i = skipSpace(body, i) {
		switch c := body[i]; c {
		case '{', '[':
			if i = skipSpace(body, i+1); body[i] == c+2 { // ']' and '}' are two behind their partners
				out = append(out, c, c+2)
				i++
				continue
			}
			depth++
			out = append(append(out, c), st.indent(depth)...)
		case '}', ']':
			depth--
			out = append(append(out, st.indent(depth)...), c)
			i++
		case ',':
			out = append(append(out, c), st.indent(depth)...)
			i++
		case ':':
			out = append(out, ": "...)
			i++
		default:
			end := skipValue(body, i)
			out = append(out, body[i:end]...)
			i = end
		}
	}
	if bytes.HasSuffix(d.text, []byte("\n")) {
		out = append(out, st.line...)
	}
	d.text = slices.Clip(out)
}
