// Package jsonedit reads JSON in text order, changes single values in it, and keeps every other
// byte: the order of keys, unknown keys, number formats, white space, line endings and the byte
// order mark. It doesn't interpret values, and it reads and writes no file. A path to a value
// consists of keys; for a list, the keys are the indexes of its elements.
//
// A Scanner reads any JSON text, a Doc edits an object.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"greenlight/internal/base/uniq"
)

const bom = "\ufeff"

// A Doc is a JSON object held as its text. The text is valid JSON at all times.
type Doc struct{ text []byte }

// Parse parses a document; blank text is an empty object. Anything but an object is an error,
// and a syntax error names its line. If a key is repeated, the last one counts, as in
// encoding/json.
func Parse(data []byte) (*Doc, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(bom)))) == 0 {
		return &Doc{text: []byte("{}\n")}, nil
	}
	var v json.RawMessage // rather than any, which can't hold a number like 1e400
	if err := Unmarshal(data, &v); err != nil {
		return nil, err
	}
	if bytes.TrimSpace(v)[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	return &Doc{text: slices.Clone(data)}, nil
}

// Unmarshal is json.Unmarshal for a text that may begin with a byte order mark; a syntax error
// names its line.
func Unmarshal(data []byte, v any) error {
	body := bytes.TrimPrefix(data, []byte(bom))
	if bytes.HasPrefix(body, []byte(bom)) {
		return errors.New("line 1: there are two byte order marks")
	}
	return atLine(body, json.Unmarshal(body, v))
}

func atLine(body []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	line := 1 + bytes.Count(body[:min(int(syntax.Offset), len(body))], []byte("\n"))
	return fmt.Errorf("line %d: %w", line, err)
}

// Bytes returns a copy of the current text.
func (d *Doc) Bytes() []byte { return slices.Clone(d.text) }

// Get returns the JSON of the value at a path of keys; false if there is none.
func (d *Doc) Get(path ...string) (json.RawMessage, bool) {
	at := d.start()
	end := len(d.text)
	for _, key := range path {
		if !d.holds(at) {
			return nil, false
		}
		m, ok := d.members(at).find(key)
		if !ok {
			return nil, false
		}
		at, end = m.Value, m.End
	}
	return json.RawMessage(bytes.TrimSpace(d.text[at:end])), true
}

// Keys returns the keys of the object at a path, without duplicates, in text order; nil if
// there is no object.
func (d *Doc) Keys(path ...string) []string {
	raw, ok := d.Get(path...)
	if !ok || raw[0] != '{' {
		return nil
	}
	inner := &Doc{text: raw}
	var keys uniq.List
	for _, m := range inner.members(0).parts {
		keys.Add(m.Key)
	}
	return keys.Items()
}

// Set writes a value, which must be JSON, at a path of keys. It creates missing objects on the
// way, in the style of the document; null counts as missing. The index after the last element
// of a list appends one. It changes nothing if the value is already there, in any notation. The
// error is for a path that leads through anything but an object, or to no element of a list.
func (d *Doc) Set(value json.RawMessage, path ...string) error {
	switch {
	case len(path) == 0:
		return errors.New("no key to set")
	case !json.Valid(value):
		return fmt.Errorf("%.40q is not JSON", value)
	}
	value = bytes.TrimSpace(value)
	st, at := d.style(), d.start()
	for depth := range path {
		o := d.members(at)
		m, ok := o.find(path[depth])
		if !ok {
			return d.add(o, value, path, depth)
		}
		old := d.text[m.Value:m.End]
		last := depth == len(path)-1
		switch {
		case last && sameJSON(old, value):
			return nil
		case last:
			d.splice(m.Value, m.End, string(value))
			return nil
		case string(old) == "null":
			d.splice(m.Value, m.End, st.nested(path[depth+1:], string(value), depth+1))
			return nil
		case !d.holds(m.Value):
			return notThere(path[:depth+1], old)
		}
		at = m.Value
	}
	return nil
}

// add inserts the value, and objects around it, into an object or list that has no path[depth].
func (d *Doc) add(o object, value json.RawMessage, path []string, depth int) error {
	st, key := d.style(), path[depth]
	text := st.nested(path[depth+1:], string(value), depth+1)
	switch {
	case d.text[o.from] == '{':
		text = Quote(key) + st.colon + text
	case key != strconv.Itoa(len(o.parts)):
		return notThere(path[:depth], d.text[o.from:o.end])
	}
	d.insert(o, text, depth, st)
	return nil
}

func notThere(path []string, old []byte) error {
	return fmt.Errorf("%q is not an object but %.40s", strings.Join(path, "."), old)
}

// Remove deletes all occurrences of a key and reports whether there were any. Everything around
// it stays.
func (d *Doc) Remove(path ...string) bool {
	removed := false
	for len(path) > 0 {
		at, ok := d.at(path[:len(path)-1])
		if !ok || removed && d.text[at] == '[' {
			break
		}
		o := d.members(at)
		i := slices.IndexFunc(o.parts, func(m Member) bool { return m.Key == path[len(path)-1] })
		if i < 0 {
			break
		}
		d.drop(o, i)
		removed = true
	}
	return removed
}

// Quote formats a string as JSON.stringify does: it escapes quotes, backslashes and control
// characters below the blank, and nothing that only HTML or old JavaScript needs escaped.
// Invalid UTF-8 becomes U+FFFD.
func Quote(text string) string {
	b := []byte{'"'}
	for _, r := range text {
		switch i := strings.IndexRune("\"\\\b\f\n\r\t", r); {
		case i >= 0:
			b = append(b, '\\', "\"\\bfnrt"[i])
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}

// at returns the offset of the object at a path.
func (d *Doc) at(path []string) (int, bool) {
	at := d.start()
	for _, key := range path {
		m, ok := d.members(at).find(key)
		if !ok || !d.holds(m.Value) {
			return 0, false
		}
		at = m.Value
	}
	return at, true
}

// insert adds a member after the last one, in the layout of its neighbors. depth is that of the
// brackets.
func (d *Doc) insert(o object, text string, depth int, st style) {
	n := len(o.parts)
	if n == 0 {
		d.splice(o.from+1, o.end-1, st.indent(depth+1)+text+st.indent(depth))
		return
	}
	last := o.parts[n-1]
	sep := "," + string(d.text[o.from+1:o.parts[0].From])
	if n > 1 {
		sep = string(d.text[o.parts[n-2].End:last.From])
	} else if sep == "," && strings.HasSuffix(st.colon, " ") {
		sep += " "
	}
	d.splice(last.End, last.End, sep+text)
}

// drop removes the i-th member with its comma.
func (d *Doc) drop(o object, i int) {
	switch n := len(o.parts); {
	case n == 1:
		d.splice(o.from+1, o.end-1, "")
	case i == n-1:
		d.splice(o.parts[i-1].End, o.parts[i].End, "")
	default:
		d.splice(o.parts[i].From, o.parts[i+1].From, "")
	}
}

// splice replaces a part of the text.
func (d *Doc) splice(from, to int, text string) {
	d.text = slices.Concat(d.text[:from], []byte(text), d.text[to:])
}

// sameJSON reports whether two texts differ only in white space and escapes. Numbers must be
// written the same: 1 and 1.0 are one value to encoding/json, but not to their author.
func sameJSON(a, b []byte) bool {
	return bytes.Equal(plain(a), plain(b))
}

// plain returns the text without white space and with its strings in a normal form.
func plain(text []byte) []byte {
	var out []byte
	s := &Scanner{text: text}
	for tok := s.token(); tok != nil; tok = s.token() {
		if tok[0] == '"' {
			tok = []byte(Quote((&Scanner{text: tok}).str()))
		}
		out = append(out, tok...)
	}
	return out
}
