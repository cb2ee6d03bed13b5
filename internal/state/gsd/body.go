package gsd

import (
	"bytes"
	"strings"

	"greenlight/internal/base/text/markdown"
)

// A span is text[start:end].
type span struct{ start, end int }

// A bodyLine is a line of the Markdown body. A line in a fenced block is plain text, even if it
// looks like a heading or a field.
type bodyLine struct {
	line
	fenced bool
	level  int    // of a heading, 1 to 6; 0 for every other line
	title  string // of a heading
}

// scan splits the body into lines.
func scan(body []byte) []bodyLine {
	lines := make([]bodyLine, 0, 64)
	for m := range markdown.Lines(string(body)) {
		lines = append(lines, bodyLineOf(m))
	}
	return lines
}

func bodyLineOf(m markdown.Line) bodyLine {
	indent := len(m.Text) - len(strings.TrimLeft(m.Text, " \t"))
	return bodyLine{line: line{m.Start, m.Start + len(m.Text), m.Next, indent}, fenced: m.Code,
		level: m.Level, title: m.Title}
}

// A section is a heading with the text below it.
type section struct {
	heading bodyLine
	text    span // from after the heading's line ending to the next heading that ends it
}

// findSection returns the first section whose heading has a level of at most deepest and one of
// the titles, ignoring case. It ends at the next heading of level end or above, or if end is 0,
// of the section's own level.
func findSection(body []byte, deepest, end int, titles ...string) (section, bool) {
	return matchSection(body, end, func(level int, title string) bool {
		if level < 2 || level > deepest {
			return false
		}
		for _, t := range titles {
			if strings.EqualFold(t, title) {
				return true
			}
		}
		return false
	})
}

func matchSection(body []byte, end int, match func(level int, title string) bool) (section, bool) {
	part, ok := markdown.Find(string(body), end, func(h markdown.Line) bool {
		return match(h.Level, h.Title)
	})
	if !ok {
		return section{}, false
	}
	return section{bodyLineOf(part.Heading), span{part.Start, part.End}}, true
}

// currentPosition returns the section ## Current Position, which ends at any heading.
func currentPosition(body []byte) (section, bool) {
	return findSection(body, 3, 6, "Current Position")
}

// session returns the section ## Session, or else ## Session Continuity.
func session(body []byte) (section, bool) {
	if s, ok := findSection(body, 2, 2, "Session"); ok {
		return s, true
	}
	return findSection(body, 2, 2, "Session Continuity")
}

func decisions(body []byte) (section, bool) {
	return matchSection(body, 3, func(level int, title string) bool {
		title = strings.ToLower(title)
		return (level == 2 || level == 3) && (title == "decisions" || title == "decisions made" ||
			strings.HasPrefix(title, "accumulated") && strings.HasSuffix(title, "decisions"))
	})
}

func blockers(body []byte) (section, bool) {
	return findSection(body, 3, 3, "Blockers", "Blockers/Concerns", "Concerns")
}

// A field is a labeled value: `**Name:** value` anywhere in a line, `Name: value` at its start,
// or a table row with two cells.
type field struct {
	value span // without surrounding blanks; empty for a field without a value
	bare  bool // no blank separates label and value yet: add one
	cell  bool // in a table, where | is escaped
}

func (f field) text(body []byte) string {
	text := string(body[f.value.start:f.value.end])
	if f.cell {
		text = strings.ReplaceAll(text, `\|`, "|")
	}
	return text
}

// A form finds a field with this name in a line.
type form func(body []byte, l bodyLine, name string) (field, bool)

// findIn returns the field in a part of the body. The forms are tried in GSD's order: a bold
// field wins, wherever it is.
func findIn(body []byte, in span, name string) (field, bool) {
	lines := scan(body)
	for _, f := range []form{boldField, plainField, cellField} {
		for _, l := range lines {
			if l.start < in.start || l.start >= in.end || l.fenced {
				continue
			}
			if found, ok := f(body, l, name); ok {
				return found, true
			}
		}
	}
	return field{}, false
}

func boldField(body []byte, l bodyLine, name string) (field, bool) {
	text := body[l.start:l.end]
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte("**"))
		if i < 0 {
			return field{}, false
		}
		from += i + 2
		if label := text[from:]; foldPrefix(label, name) &&
			bytes.HasPrefix(label[len(name):], []byte(":**")) {
			return valueAt(body, l.start+from+len(name)+3, l.end), true
		}
	}
}

func plainField(body []byte, l bodyLine, name string) (field, bool) {
	text := body[l.start:l.end]
	if !foldPrefix(text, name) || len(text) == len(name) || text[len(name)] != ':' {
		return field{}, false
	}
	return valueAt(body, l.start+len(name)+1, l.end), true
}

func cellField(body []byte, l bodyLine, name string) (field, bool) {
	cells := rowCells(body, l)
	if len(cells) != 2 {
		return field{}, false
	}
	label := bytes.TrimSpace(body[cells[0].start:cells[0].end])
	if !strings.EqualFold(string(label), name) {
		return field{}, false
	}
	f := valueAt(body, cells[1].start, cells[1].end)
	f.cell = true
	return f, true
}

// rowCells returns the cells of a table row with their surrounding blanks; nil for a line that
// doesn't begin and end with a bar.
func rowCells(body []byte, l bodyLine) []span {
	start := l.start + l.indent
	row := strings.TrimRight(string(body[start:l.end]), " \t")
	if !strings.HasPrefix(row, "|") {
		return nil
	}
	var cells []span
	for _, c := range markdown.CellSpans(row) {
		if c[1] == len(row) {
			return nil
		}
		cells = append(cells, span{start + c[0], start + c[1]})
	}
	return cells
}

// cellTexts returns the cells of a row without surrounding blanks.
func cellTexts(body []byte, l bodyLine) []string {
	if rowCells(body, l) == nil {
		return nil
	}
	return markdown.Cells(string(body[l.start:l.end]))
}

func valueAt(body []byte, start, end int) field {
	f := field{value: span{start, end}}
	for f.value.start < end && isBlank(body[f.value.start]) {
		f.value.start++
	}
	if f.value.start == end { // no value: the blanks after the label stay
		f.value.start = min(start+1, end)
		f.bare = f.value.start == start
		f.value.end = f.value.start
		return f
	}
	for isBlank(body[f.value.end-1]) { // two trailing blanks are Markdown's line break
		f.value.end--
	}
	f.bare = f.value.start == start
	return f
}

// foldPrefix reports whether text begins with prefix, ignoring the case of ASCII letters.
func foldPrefix(text []byte, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(text[i]) != lower(prefix[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
