package slice

import (
	"bytes"
	"strings"

	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/base/text/textline"
)

// A graphStyle describes the formatting of a GRAPH.json, as far as a new entry must match its
// neighbors. It is learned from the last entries, and only from the bytes between tokens.
type graphStyle struct {
	data []byte
	spot graphSpot

	eol   string // line ending; "" if the file is one line
	unit  string // one level of indentation
	colon string // between key and value, including the colon
	comma string // between the items of a list on one line, including the comma

	kind      byte   // first byte of an entry: '{', '[', '"', or 'n' for null
	inside    string // between an entry's { and its first key
	between   string // between a comma and the next key
	closing   string // between the last value and }
	tallLists bool   // lists have one item per line
	depsKey   string
	depsText  bool // dependencies are a comma-separated string
	numbers   bool // ids are numbers
}

func newGraphStyle(data []byte, spot graphSpot) *graphStyle {
	w := &graphStyle{data: data, spot: spot, unit: "  ", colon: ": ", comma: ", ", kind: '{', depsKey: graphKeys[0]}
	w.readSpaces()
	if n := len(spot.elems); n > 0 {
		w.kind = data[spot.elems[n-1].Value]
		w.numbers = spot.array && digit(w.kind)
		if w.numbers {
			w.kind = '"'
		}
	}
	w.layout(w.entryIndent())
	for _, e := range spot.elems {
		if data[e.Value] == '{' {
			w.learn(e)
		} else if data[e.Value] == '[' {
			w.tallLists = bytes.IndexByte(data[e.Value:e.End], '\n') >= 0
		}
	}
	return w
}

// readSpaces detects line endings, indentation and the space after colons.
func (w *graphStyle) readSpaces() {
	text := strings.TrimSpace(string(bytes.TrimPrefix(w.data, []byte(textline.BOM))))
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		w.eol = textline.End(text[:i+1])
		line := strings.TrimLeft(text[i:], "\r\n")
		if indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; indent != "" {
			w.unit = indent
		}
	}
	compact := w.eol == "" && strings.Contains(text, `":`) && !strings.Contains(text, `": `)
	if compact || strings.Contains(text, `":`) && !strings.Contains(text, `": `) && !strings.Contains(text, `" :`) {
		w.colon = ":"
	}
	if compact && !strings.Contains(text, `, "`) {
		w.comma = ","
	}
}

// layout sets the layout of an entry without an example: one key per line, or all on one line
// if the file is one line.
func (w *graphStyle) layout(indent string) {
	w.between = strings.TrimPrefix(w.comma, ",")
	if w.eol == "" {
		return
	}
	w.closing = w.eol + indent
	w.inside = w.closing + w.unit
	w.between = w.inside
}

// learn adopts the layout of an entry that is an object.
func (w *graphStyle) learn(e jsonedit.Member) {
	s := jsonedit.NewScanner(w.data)
	s.Seek(e.Value)
	fields := s.Members()
	if len(fields) == 0 {
		return
	}
	for i, f := range fields {
		if i == 0 {
			w.inside = string(w.data[e.Value+1 : f.From])
		} else {
			w.between = w.space(f.From)
		}
		w.learnValue(f.Key, w.data[f.Value:f.End])
	}
	w.closing = string(w.data[fields[len(fields)-1].End : e.End-1])
	if len(fields) == 1 { // no example of the space between two keys
		w.between = strings.TrimPrefix(w.comma, ",")
		if strings.Contains(w.inside, "\n") {
			w.between = w.space(fields[0].From)
		}
	}
}

func (w *graphStyle) learnValue(key string, value []byte) {
	first := value[0]
	for _, k := range graphKeys {
		if key == k && first != 'n' {
			w.depsKey, w.depsText = key, first == '"'
		}
	}
	if key == "id" {
		w.numbers = digit(first)
	}
	if first == '[' && len(value) > 2 {
		w.tallLists = bytes.IndexByte(value, '\n') >= 0
	}
}

// space returns the white space before offset at.
func (w *graphStyle) space(at int) string {
	return string(w.data[len(bytes.TrimRight(w.data[:at], " \t\r\n")):at])
}

// lead returns the text between a comma and the next entry.
func (w *graphStyle) lead() string {
	last := w.spot.elems[len(w.spot.elems)-1]
	lead := w.space(last.From)
	if lead == "" && len(w.spot.elems) == 1 {
		return strings.TrimPrefix(w.comma, ",")
	}
	return lead
}

// entryIndent returns the indentation of the lines on which entries begin.
func (w *graphStyle) entryIndent() string {
	if n := len(w.spot.elems); n > 0 {
		return w.indentAt(w.spot.elems[n-1].From)
	}
	if w.spot.found {
		return w.indentAt(w.spot.open) + w.unit
	}
	return w.unit + w.unit
}

// fieldIndent returns the indentation of the lines on which an entry's keys begin.
func (w *graphStyle) fieldIndent() string {
	if i := strings.LastIndexByte(w.inside, '\n'); i >= 0 {
		return w.inside[i+1:]
	}
	return w.entryIndent()
}

// indentAt returns the indentation of the line that contains offset at.
func (w *graphStyle) indentAt(at int) string {
	line := w.data[bytes.LastIndexByte(w.data[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// first returns the text between the brackets for the first entry.
func (w *graphStyle) first(open int, array bool, e entry) string {
	w.spot.array = array
	if w.eol == "" {
		return w.render(e)
	}
	indent := w.indentAt(open)
	return w.eol + indent + w.unit + w.render(e) + w.eol + indent
}

// withSlices adds the key "slices" to a document without one.
func (w *graphStyle) withSlices(e entry) []byte {
	at := len(bytes.TrimRight(w.data[:w.spot.tail], " \t\r\n"))
	sep := ""
	if w.spot.members > 0 {
		sep = ","
	}
	if w.eol == "" {
		if sep != "" {
			sep = w.comma
		}
		return putIn(w.data, at, at, sep+jsonedit.Quote("slices")+w.colon+"{"+w.render(e)+"}")
	}
	text := sep + w.eol + w.unit + jsonedit.Quote("slices") + w.colon + "{" + w.eol + w.unit + w.unit + w.render(e) +
		w.eol + w.unit + "}"
	if w.space(w.spot.tail) == "" {
		text += w.eol
	}
	return putIn(w.data, at, at, text)
}
