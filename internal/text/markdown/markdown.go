// Package markdown takes Markdown documents apart as far as state needs it: lines that know whether they are headings or
// code, the cells of a table, the text of a section. It changes nothing.
package markdown

import (
	"iter"
	"strings"
)

// A Line is one line of a Markdown document, without its line end.
type Line struct {
	N     int // from 1
	Text  string
	Level int    // of a heading; 0 for any other line
	Title string // of a heading
	Code  bool   // in a fenced block, its fences included
	Fence int    // 1: a block begins here; -1: it ends here
}

// Lines goes through a document's lines. A byte order mark is left out.
func Lines(text string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		fence := ""
		n := 0
		for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
			n++
			l := Line{N: n, Text: strings.TrimRight(line, "\r\n"), Code: fence != ""}
			body := strings.TrimLeft(l.Text, " ")
			switch mark := fenceOf(body); {
			case fence == "" && mark != "" && !(mark[0] == '`' && strings.Contains(body[len(mark):], "`")): // that is code in a line
				fence, l.Code, l.Fence = mark, true, 1
			case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(body) == mark:
				fence, l.Fence = "", -1
			case fence == "":
				l.Level, l.Title = headingOf(l.Text)
			}
			if !yield(l) {
				return
			}
		}
	}
}

// fenceOf is the run of backticks or tildes that a fence begins with; "" for what is no fence.
func fenceOf(body string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(body) - len(strings.TrimLeft(body, c)); n >= 3 {
			return body[:n]
		}
	}
	return ""
}

func headingOf(line string) (level int, title string) {
	after := strings.TrimLeft(line, "#")
	level = len(line) - len(after)
	if level == 0 || level > 6 || after != "" && after[0] != ' ' && after[0] != '\t' {
		return 0, ""
	}
	return level, strings.Trim(after, " \t")
}

// Cells are the cells of a table's row; nil for another line.
func Cells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))
	}
	return cells
}

// Section is the text below the first heading of that title (case doesn't count), up to the next of its level or
// above; false for none.
func Section(text, title string) (string, bool) {
	var b strings.Builder
	level := 0
	for l := range Lines(text) {
		switch {
		case level == 0:
			if l.Level > 1 && strings.EqualFold(l.Title, title) {
				level = l.Level
			}
			continue
		case l.Level > 0 && l.Level <= level:
			return TrimLines(b.String()), true
		}
		b.WriteString(l.Text + "\n")
	}
	return TrimLines(b.String()), level > 0
}

// TrimLines takes the blank lines at both ends away.
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
