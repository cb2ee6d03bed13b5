package slice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A part is a member of a JSON object or an element of an array, by its place in the text.
type part struct {
	key      string // of a member
	from     int    // the key's opening quote; of an element its first byte
	val, end int    // the value
}

// A container is an object or an array: from its bracket to behind the other one.
type container struct {
	from, end int
	parts     []part
}

// start is where the document begins: behind a byte order mark.
func (p *ProjectState) start() int {
	if bytes.HasPrefix(p.text, []byte(bom)) {
		return len(bom)
	}
	return 0
}

// parts lists what is in the object or array at the place. The text is known to be JSON.
func (p *ProjectState) parts(at int) container {
	s := &scanner{b: p.text, i: at}
	c := container{}
	open := s.peek()
	c.from = s.i
	one := func() {
		s.peek()
		m := part{from: s.i}
		if open == '{' {
			m.key = s.str()
			s.take(':')
			s.peek()
		}
		m.val = s.i
		s.skip()
		m.end = s.i
		c.parts = append(c.parts, m)
	}
	if open == '{' {
		s.list('{', '}', one)
	} else {
		s.list('[', ']', one)
	}
	c.end = s.i
	return c
}

// find returns the member of that key; of two the last, as encoding/json has it.
func (c container) find(key string) (part, bool) {
	for i := len(c.parts) - 1; i >= 0; i-- {
		if c.parts[i].key == key {
			return c.parts[i], true
		}
	}
	return part{}, false
}

// A jsonStyle is how the document is laid out.
type jsonStyle struct {
	line  string // line end with nothing behind it, "" for a document on one line
	unit  string // one level of indentation
	colon string // between a key and its value
}

// style reads the layout off the first member.
func (p *ProjectState) style() jsonStyle {
	top := p.parts(p.start())
	if len(top.parts) == 0 {
		return jsonStyle{line: "\n", unit: "  ", colon: ": "}
	}
	first := top.parts[0]
	st := jsonStyle{colon: ":"}
	s := &scanner{b: p.text, i: first.from}
	s.skipString()
	if gap := string(p.text[s.i:first.val]); strings.Trim(gap, " ") == ":" {
		st.colon = gap
	}
	lead := string(p.text[top.from+1 : first.from])
	if i := strings.LastIndexByte(lead, '\n'); i >= 0 {
		st.line, st.unit = lineEnd(lead[:i+1]), lead[i+1:]
	}
	return st
}

// indent begins a line at the depth; for a document on one line it is nothing.
func (st jsonStyle) indent(depth int) string {
	if st.line == "" {
		return ""
	}
	return st.line + strings.Repeat(st.unit, depth)
}

// gap is what a one-line document has behind a comma.
func (st jsonStyle) gap() string {
	if st.line == "" && strings.HasSuffix(st.colon, " ") {
		return " "
	}
	return ""
}

// wrap writes an object or array with one part, whose bracket stands at the depth.
func (st jsonStyle) wrap(open, inner, end string, depth int) string {
	return open + st.indent(depth+1) + inner + st.indent(depth) + end
}

// nested writes value under the keys of path, objects around it.
func (st jsonStyle) nested(path []string, value string, depth int) string {
	if len(path) == 0 {
		return value
	}
	return st.wrap("{", quoteJSON(path[0])+st.colon+st.nested(path[1:], value, depth+1), "}", depth)
}

// splice replaces a stretch of the text.
func (p *ProjectState) splice(from, to int, text string) {
	p.text = append(append(append(make([]byte, 0, len(p.text)+len(text)), p.text[:from]...), text...), p.text[to:]...)
}

// set writes a value under a path of keys; objects that are missing on the way are made. Nothing changes where the
// value is there already, however it is written.
func (p *ProjectState) set(path []string, value string) error {
	st := p.style()
	at := p.start()
	for depth := 0; ; depth++ {
		c := p.parts(at)
		m, ok := c.find(path[depth])
		if !ok {
			inner := quoteJSON(path[depth]) + st.colon + st.nested(path[depth+1:], value, depth+1)
			p.insert(c, inner, depth, st)
			return nil
		}
		old := p.text[m.val:m.end]
		if depth == len(path)-1 {
			if !sameJSON(old, []byte(value)) {
				p.splice(m.val, m.end, value)
			}
			return nil
		}
		if old[0] != '{' {
			if string(old) != "null" {
				return fmt.Errorf("%q in %s is no object, but %.40s: correct it by hand", path[depth], stateRel(projectFile), old)
			}
			p.splice(m.val, m.end, st.nested(path[depth+1:], value, depth+1))
			return nil
		}
		at = m.val
	}
}

// insert adds a part behind the last one, in the layout of its neighbours. depth is that of the bracket.
func (p *ProjectState) insert(c container, inner string, depth int, st jsonStyle) {
	n := len(c.parts)
	if n == 0 {
		open, end := string(p.text[c.from]), string(p.text[c.end-1])
		p.splice(c.from, c.end, st.wrap(open, inner, end, depth))
		return
	}
	last := c.parts[n-1]
	sep := "," + string(p.text[c.from+1:c.parts[0].from])
	if n > 1 {
		sep = string(p.text[c.parts[n-2].end:last.from])
	} else if sep == "," {
		sep += st.gap()
	}
	p.splice(last.end, last.end, sep+inner)
}

// drop removes the i-th part with its comma.
func (p *ProjectState) drop(c container, i int) {
	switch n := len(c.parts); {
	case n == 1:
		p.splice(c.from+1, c.end-1, "")
	case i == n-1:
		p.splice(c.parts[i-1].end, c.parts[i].end, "")
	default:
		p.splice(c.parts[i].from, c.parts[i+1].from, "")
	}
}

// sameJSON says whether two texts are the same value.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	if bytes.Equal(x.Bytes(), y.Bytes()) {
		return true
	}
	var s, t string
	return json.Unmarshal(a, &s) == nil && json.Unmarshal(b, &t) == nil && a[0] == '"' && b[0] == '"' && s == t
}

// setField sets a key of one of the two objects of fixed keys. Older files have strings in their place.
func (p *ProjectState) setField(name, key, value string) error {
	main := map[string]string{"overview": "value_prop", "session": "last_session"}[name]
	if err := p.wantObject(name, main); err != nil {
		return err
	}
	return p.set([]string{name, key}, value)
}

// wantObject makes the member an object where it isn't one yet; what it was becomes the value of key.
func (p *ProjectState) wantObject(name, key string) error {
	m, ok := p.parts(p.start()).find(name)
	if !ok || p.text[m.val] == '{' || string(p.text[m.val:m.end]) == "null" {
		return nil
	}
	if key == "" {
		return fmt.Errorf("%q in %s is no object, but %.40s: correct it by hand", name, stateRel(projectFile), p.text[m.val:m.end])
	}
	p.splice(m.val, m.end, p.style().nested([]string{key}, string(p.text[m.val:m.end]), 1))
	return nil
}

// wantList makes the member a list; a lone value becomes its first element, unless it says that there is none.
func (p *ProjectState) wantList(name string) error {
	m, ok := p.parts(p.start()).find(name)
	switch {
	case !ok:
		return p.set([]string{name}, "[]")
	case p.text[m.val] == '[':
		return nil
	}
	old := p.text[m.val:m.end]
	list := "[]"
	if len(texts(old)) > 0 {
		list = p.style().wrap("[", string(old), "]", 1)
	}
	p.splice(m.val, m.end, list)
	return nil
}

// appendTo adds an element to a list of the top level.
func (p *ProjectState) appendTo(name, value string) error {
	m, _ := p.parts(p.start()).find(name)
	p.insert(p.parts(m.val), value, 1, p.style())
	return nil
}

// removeFrom removes the elements of a list of the top level for which gone is true.
func (p *ProjectState) removeFrom(name string, gone func(raw []byte) bool) error {
	for i := 0; ; {
		m, _ := p.parts(p.start()).find(name)
		c := p.parts(m.val)
		if i >= len(c.parts) {
			return nil
		}
		if e := c.parts[i]; gone(p.text[e.val:e.end]) {
			p.drop(c, i)
			continue
		}
		i++
	}
}

// remove takes a key out of an object of the top level, every time it is there.
func (p *ProjectState) remove(name, key string) error {
	for {
		m, ok := p.parts(p.start()).find(name)
		if !ok || p.text[m.val] != '{' {
			return nil
		}
		c := p.parts(m.val)
		at := -1
		for i := range c.parts {
			if c.parts[i].key == key {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		p.drop(c, at)
	}
}
