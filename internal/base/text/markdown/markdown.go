// Package markdown parses the subset of Markdown that state files need: lines that are headings
// or code, the cells of a table row, sections. It changes nothing; its offsets let callers
// edit.
//
// A fenced code block begins with a run of three or more backticks or tildes, after any blanks,
// and ends at a line with at least as many of the same character and nothing else, as in
// CommonMark. Unlike there, a fence that is never closed opens no block: an editor or a merge
// lost its other end, and the text that follows is still the document. Only # headings count,
// at the start of a line; a closing run of # after a blank isn't part of the title. Lines end
// in \n or \r\n. A byte order mark at the start of the document belongs to no line.
package markdown

import (
	"iter"
	"strings"

	"greenlight/internal/base/text/textline"
)

// A Line is one line of a Markdown document.
type Line struct {
	N           int    // from 1
	Start, Next int    // offsets of the line and of the next one
	Text        string // without its line ending
	Level       int    // of a heading, 1 to 6; 0 for any other line
	Title       string // in a fenced block, including its fences
	Code        bool   // in a fenced block, its fences included
}

// Lines iterates over a document's lines.
func Lines(text string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		var code fence
		at := len(text) - len(strings.TrimPrefix(text, textline.BOM))
		for n := 1; at < len(text); n++ {
			raw := textline.First(text[at:])
			l := Line{N: n, Start: at, Next: at + len(raw), Text: textline.Chomp(raw)}
			if l.Code = code.inside(l.Text, text[l.Next:]); !l.Code {
				l.Level, l.Title = headingOf(l.Text)
			}
			if !yield(l) {
				return
			}
			at = l.Next
		}
	}
}

// A fence tracks the code blocks of a document from line to line.
type fence struct {
	mark string // the run that opened the block; "" outside a block
	// by character: the length from which runs are never closed in the rest of the document
	lost map[byte]int
}

// inside reports whether the line belongs to a block; rest is the text after the line.
func (f *fence) inside(line, rest string) bool {
	if f.mark != "" {
		if strings.HasPrefix(endOf(line), f.mark) {
			f.mark = ""
		}
		return true
	}
	body := strings.TrimLeft(line, " ")
	mark := runOf(body)
	if mark == "" || mark[0] == '`' && strings.Contains(body[len(mark):], "`") { // inline code
		return false
	}
	if lost := f.lost[mark[0]]; lost > 0 && len(mark) >= lost {
		return false
	}
	longest := 0
	for l := range strings.Lines(rest) {
		end := endOf(l)
		if strings.HasPrefix(end, mark) {
			f.mark = mark
			return true
		}
		if strings.HasPrefix(end, mark[:1]) {
			longest = max(longest, len(end))
		}
	}
	if f.lost == nil {
		f.lost = map[byte]int{}
	}
	f.lost[mark[0]] = longest + 1
	return false
}

// Unclosed reports whether a fence in the text opens no block because none closes it: text behind
// it might.
func Unclosed(text string) bool {
	var code fence
	for at := 0; at < len(text); {
		raw := textline.First(text[at:])
		at += len(raw)
		code.inside(textline.Chomp(raw), text[at:])
	}
	return len(code.lost) > 0
}

// endOf returns the run of backticks or tildes that the line consists of; "" for a line that
// can't end a block.
func endOf(line string) string {
	body := strings.TrimLeft(line, " ")
	if run := runOf(body); textline.Blank(body[len(run):]) {
		return run
	}
	return ""
}

// runOf returns the run of backticks or tildes at the start of a fence; "" for other lines.
func runOf(body string) string {
	if !strings.HasPrefix(body, "```") && !strings.HasPrefix(body, "~~~") {
		return ""
	}
	return body[:len(body)-len(strings.TrimLeft(body, body[:1]))]
}

func headingOf(line string) (level int, title string) {
	after := strings.TrimLeft(line, "#")
	level = len(line) - len(after)
	if level == 0 || level > 6 || after != "" && after[0] != ' ' && after[0] != '\t' {
		return 0, ""
	}
	title = strings.Trim(after, " \t")
	if bare := strings.TrimRight(title, "#"); bare == "" || bare[len(bare)-1] == ' ' ||
		bare[len(bare)-1] == '\t' {
		title = strings.TrimRight(bare, " \t")
	}
	return level, title
}

// Cells returns the texts of the cells of a table row; nil for a line that doesn't begin with a
// bar.
func Cells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	var cells []string
	for _, c := range CellSpans(line) {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(line[c[0]:c[1]], `\|`, "|")))
	}
	return cells
}

// CellSpans returns the cells of a table row including surrounding blanks, as offsets:
// line[c[0]:c[1]]. A bar after a backslash is text. There is no cell before a bar at the start
// of the line; text after the last bar is a cell.
func CellSpans(line string) [][2]int {
	var all [][2]int
	from := len(line) - len(strings.TrimPrefix(line, "|"))
	for i := from; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			i++
		case line[i] == '|':
			all = append(all, [2]int{from, i})
			from = i + 1
		}
	}
	if strings.TrimSpace(line[from:]) != "" {
		all = append(all, [2]int{from, len(line)})
	}
	return all
}

// A Part is a section of a document: a heading and the text below it, text[Start:End].
type Part struct {
	Heading    Line
	Start, End int
}

// Find returns the first section whose heading match accepts; false if there is none. The
// section ends at the next heading of level last or above; if last is 0, of its own level or
// above.
func Find(text string, last int, match func(heading Line) bool) (Part, bool) {
	s, found := Part{End: len(text)}, false
	for l := range Lines(text) {
		switch {
		case l.Level == 0:
		case !found:
			if found = match(l); found {
				s.Heading, s.Start = l, l.Next
				if last == 0 {
					last = l.Level
				}
			}
		case l.Level <= last:
			s.End = l.Start
			return s, true
		}
	}
	return s, found
}

// Section returns the text below the first heading with that title, ignoring case, up to the
// next heading of its level or above, with \n as line ending and without blank lines around it;
// false if there is none. Level 1 is the document's title and doesn't count.
func Section(text, title string) (string, bool) {
	s, ok := Find(text, 0, func(h Line) bool {
		return h.Level > 1 && strings.EqualFold(h.Title, title)
	})
	if !ok {
		return "", false
	}
	return TrimLines(strings.ReplaceAll(text[s.Start:s.End], "\r\n", "\n")), true
}

// TrimLines removes the blank lines at both ends.
func TrimLines(s string) string {
	lines := strings.Split(s, "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}
