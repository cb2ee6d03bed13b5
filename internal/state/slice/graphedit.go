package slice

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/core/depgraph"
	"greenlight/internal/state/sliceid"
)

// A graphSpot is the location of the slices in the bytes of GRAPH.json.
type graphSpot struct {
	open, end int  // offsets of the brackets around them
	array     bool // [ … ] rather than { … }
	elems     []jsonedit.Member
	tail      int // offset of the bracket that ends the whole document
	members   int // number of keys, if the document is an object
	found     bool
}

// insertEntry returns the bytes of GRAPH.json with an entry added at the end of its slices, in
// the style of the existing entries. All other bytes stay the same. If data has no slices, they
// become an object.
func insertEntry(data []byte, e entry) ([]byte, error) {
	if _, err := parseGraph(data); err != nil {
		return nil, err
	}
	spot, err := findSlices(data)
	if err != nil {
		return nil, err
	}
	w := newGraphStyle(data, spot)
	var out []byte
	switch {
	case !spot.found:
		out = w.withSlices(e)
	case len(spot.elems) == 0:
		out = putIn(data, spot.open+1, spot.end, w.first(spot.open, spot.array, e))
	default:
		last := spot.elems[len(spot.elems)-1]
		out = putIn(data, last.End, last.End, ","+w.lead()+w.render(e))
	}
	return out, checkInserted(data, out, e)
}

func putIn(data []byte, from, to int, text string) []byte {
	out := make([]byte, 0, len(data)+len(text))
	return append(append(append(out, data[:from]...), text...), data[to:]...)
}

// checkInserted checks that the new text means the same as the old one plus the entry. The
// style of the file is a guess, so the result must be verified.
func checkInserted(before, after []byte, e entry) error {
	old, err := parseGraph(before)
	if err != nil {
		return err
	}
	g, err := parseGraph(after)
	if err != nil {
		return err
	}
	n := len(old.entries)
	if len(g.entries) != n+1 {
		return errors.New("gl can't add to its slices: add the entry by hand")
	}
	for i := range old.entries {
		if g.entries[i].id != old.entries[i].id || !equal(g.entries[i].deps, old.entries[i].deps) {
			return errors.New("gl can't add to its slices: add the entry by hand")
		}
	}
	if got := g.entries[n]; got.id != e.id || !equal(got.deps, e.deps) {
		return fmt.Errorf("gl can't write %s in its style: add the entry by hand", e.id)
	}
	return nil
}

// findSlices locates the slices; if there are several lists, the last one.
func findSlices(data []byte) (graphSpot, error) {
	var spot graphSpot
	s := jsonedit.NewScanner(data)
	if s.Peek() == '[' {
		spot.read(s)
		return spot, s.Err()
	}
	s.Object(func(key string) {
		spot.members++
		if c := s.Peek(); key == "slices" && (c == '{' || c == '[') {
			spot.read(s)
			return
		}
		s.Skip()
	})
	spot.tail = s.Pos() - 1
	return spot, s.Err()
}

// read records the offsets of one list of slices.
func (spot *graphSpot) read(s *jsonedit.Scanner) {
	spot.found, spot.array, spot.open = true, s.Peek() == '[', s.Pos()
	spot.elems = s.Members()
	spot.end = s.Pos() - 1
}

// graphKeys are the names used in practice for the dependencies key.
var graphKeys = [...]string{"depends_on", "deps", "dependencies", "dependsOn"}

// A graphField is one key of an entry and its value.
type graphField struct {
	key   string
	value any // string, []string, or an int for an id that is a number
}

// fields returns the fields of an entry in the order most files use.
func (w *graphStyle) fields(e entry) []graphField {
	var f []graphField
	if w.spot.array {
		f = append(f, graphField{"id", w.idValue(e.id)})
	}
	add := func(key, value string) {
		if value != "" {
			f = append(f, graphField{key, value})
		}
	}
	add("name", e.name)
	add("description", e.description)
	for _, g := range e.given {
		if g.list != nil {
			f = append(f, graphField{g.key, g.list})
		} else {
			add(g.key, g.text)
		}
	}
	var deps any = e.deps
	if w.depsText {
		deps = strings.Join(e.deps, ", ")
	}
	f = append(f, graphField{w.depsKey, deps})
	if len(e.contracts) > 0 {
		f = append(f, graphField{"contracts", e.contracts})
	}
	return f
}

// render returns the entry's text, without leading space.
func (w *graphStyle) render(e entry) string {
	key := ""
	if !w.spot.array {
		key = jsonedit.Quote(e.id) + w.colon
	}
	switch {
	case w.kind == '"' && w.spot.array && len(e.deps) == 0: // ids only
		return string(w.idText(e.id))
	case w.kind != '{' && w.kind != 'n' && !w.spot.array: // dependencies only
		return key + w.list(e.deps, w.entryIndent())
	}
	var b strings.Builder
	b.WriteString(key + "{" + w.inside)
	for i, f := range w.fields(e) {
		if i > 0 {
			b.WriteString("," + w.between)
		}
		b.WriteString(jsonedit.Quote(f.key) + w.colon + w.value(f.value))
	}
	b.WriteString(w.closing + "}")
	return b.String()
}

func (w *graphStyle) value(v any) string {
	switch v := v.(type) {
	case []string:
		return w.list(v, w.fieldIndent())
	case json.Number:
		return string(v)
	case string:
		return jsonedit.Quote(v)
	}
	return "null"
}

// list renders an array of strings; indent is that of the line on which it begins.
func (w *graphStyle) list(items []string, indent string) string {
	if len(items) == 0 {
		return "[]"
	}
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = string(w.idText(item))
	}
	if !w.tallLists {
		return "[" + strings.Join(quoted, w.comma) + "]"
	}
	sep := w.eol + indent + w.unit
	return "[" + sep + strings.Join(quoted, ","+sep) + w.eol + indent + "]"
}

// idValue returns the id as a field value, and idText as JSON: a number if the file's ids are
// numbers.
func (w *graphStyle) idValue(id string) any {
	if w.isNumber(id) {
		return json.Number(id)
	}
	return id
}

func (w *graphStyle) idText(id string) []byte {
	if w.isNumber(id) {
		return []byte(id)
	}
	return []byte(jsonedit.Quote(id))
}

func (w *graphStyle) isNumber(id string) bool {
	return w.numbers && strings.Trim(id, "0123456789") == "" && id[0] != '0' && json.Valid([]byte(id))
}

// CheckGraph validates the graph of a new project and returns its ids in order. An existing
// project tolerates faults; here the error lists every one, one per line.
func CheckGraph(data []byte) (ids []string, err error) {
	g, err := parseGraph(data)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, w := range g.warnings {
		errs = append(errs, errors.New(w))
	}
	ix := newIndex(nil, g)
	same := byNormal(ix.ids)
	for _, id := range ix.ids {
		if twins := same[sliceid.Key(id)]; len(twins) > 1 && twins[0] == id {
			errs = append(errs, fmt.Errorf("%s read the same: one slice has one id", strings.Join(twins, " and ")))
		}
	}
	deps := map[string][]string{}
	for i := range g.entries {
		id := g.entries[i].id
		list := g.entries[i].deps
		if !g.entries[i].hasDeps {
			list = ix.edges[id]
		}
		for _, d := range list {
			d = ix.canonical(d)
			deps[id] = append(deps[id], d)
			if !ix.known(d) {
				errs = append(errs, fmt.Errorf("%s depends on %s", id, unknown(d, ix.ids)))
			}
		}
	}
	errs = append(errs, edgeErrors(g, ix)...)
	for _, c := range depgraph.Cycles(ix.ids, func(id string) []string { return deps[id] }) {
		errs = append(errs, fmt.Errorf("dependency cycle: %s", strings.Join(append(c.Path, c.Path[0]), " → ")))
	}
	return ix.ids, errors.Join(errs...)
}

// edgeErrors returns an error for each edge that begins at an unknown id.
func edgeErrors(g *graph, ix *index) []error {
	var errs []error
	for from := range g.edges {
		if !ix.known(ix.canonical(from)) {
			errs = append(errs, fmt.Errorf("an edge begins at %s", unknown(from, ix.ids)))
		}
	}
	return errs
}

func unknown(id string, ids []string) string {
	if near := sliceid.Nearest(id, ids); len(near) > 0 {
		return fmt.Sprintf("%q, which is not a slice, did you mean %s?", id, strings.Join(near, ", "))
	}
	return fmt.Sprintf("%q, which is not a slice", id)
}
