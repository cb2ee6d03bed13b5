package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Elements returns the JSON of the elements of the list at a path of keys; nil if there is no
// list.
func (d *Doc) Elements(path ...string) []json.RawMessage {
	l, ok := d.list(path)
	if !ok {
		return nil
	}
	all := make([]json.RawMessage, len(l.parts))
	for i, m := range l.parts {
		all[i] = bytes.Clone(d.text[m.Value:m.End])
	}
	return all
}

// Append adds a value, which must be JSON, at the end of the list at a path of keys, in the
// document's layout. It creates a missing list and missing objects on the way. It is an error
// if the value at the path isn't a list.
func (d *Doc) Append(value json.RawMessage, path ...string) error {
	if len(path) == 0 {
		return errors.New("no list to append to")
	}
	if !json.Valid(value) {
		return fmt.Errorf("%.40q is not JSON", value)
	}
	st := d.style()
	if old, ok := d.Get(path...); !ok || string(old) == "null" {
		list := st.list(st.laidOut(value, len(path)+1), len(path))
		return d.Set(json.RawMessage(list), path...)
	} else if old[0] != '[' {
		return fmt.Errorf("%q is not a list but %.40s", strings.Join(path, "."), old)
	}
	l, _ := d.list(path)
	text := st.laidOut(value, len(path)+1)
	if len(l.parts) == 0 {
		d.splice(l.from, l.end, st.list(text, len(path)))
		return nil
	}
	d.insert(l, text, len(path), st)
	return nil
}

// RemoveElement removes the i-th element of the list at a path of keys, and reports whether it
// existed.
func (d *Doc) RemoveElement(i int, path ...string) bool {
	l, ok := d.list(path)
	if !ok || i < 0 || i >= len(l.parts) {
		return false
	}
	d.drop(l, i)
	return true
}

// list returns the list at a path.
func (d *Doc) list(path []string) (object, bool) {
	if len(path) == 0 {
		return object{}, false
	}
	at, ok := d.at(path[:len(path)-1])
	if !ok {
		return object{}, false
	}
	m, ok := d.members(at).find(path[len(path)-1])
	if !ok || d.text[m.Value] != '[' {
		return object{}, false
	}
	return d.members(m.Value), true
}

// list formats a list with one element, whose brackets are at the depth.
func (st style) list(inner string, depth int) string {
	return "[" + st.indent(depth+1) + inner + st.indent(depth) + "]"
}

// laidOut formats a value in the document's style, with its first line at the depth.
func (st style) laidOut(value json.RawMessage, depth int) string {
	var b bytes.Buffer
	if st.line == "" {
		_ = json.Compact(&b, value) // value is valid JSON
		return b.String()
	}
	_ = json.Indent(&b, value, strings.Repeat(st.unit, depth), st.unit)
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", st.line)
}
