package cli

import (
	"iter"
	"strings"
)

// An mdLine is one line of a Markdown document, without its line end.
type mdLine struct {
	n     int // from 1
	text  string
	level int    // of a heading; 0 for any other line
	title string // of a heading
	code  bool   // in a fenced block, its fences included
}

// mdLines goes through a document's lines. A byte order mark is left out.
func mdLines(text string) iter.Seq[mdLine] {
	return func(yield func(mdLine) bool) {
		fence := ""
		n := 0
		for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
			n++
			l := mdLine{n: n, text: strings.TrimRight(line, "\r\n"), code: fence != ""}
			body := strings.TrimLeft(l.text, " ")
			switch mark := fenceOf(body); {
			case fence == "" && mark != "":
				fence, l.code = mark, true
			case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(body) == mark:
				fence = ""
			case fence == "":
				l.level, l.title = mdHeading(l.text)
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

func mdHeading(line string) (level int, title string) {
	after := strings.TrimLeft(line, "#")
	level = len(line) - len(after)
	if level == 0 || level > 6 || after != "" && after[0] != ' ' && after[0] != '\t' {
		return 0, ""
	}
	return level, strings.Trim(after, " \t")
}

// mdCells are the cells of a table's row; nil for another line.
func mdCells(line string) []string {
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

// mdSection is the text below the first heading of that title (case doesn't count), up to the next of its level or
// above; false for none.
func mdSection(text, title string) (string, bool) {
	var b strings.Builder
	level := 0
	for l := range mdLines(text) {
		switch {
		case level == 0:
			if l.level > 1 && strings.EqualFold(l.title, title) {
				level = l.level
			}
			continue
		case l.level > 0 && l.level <= level:
			return trimLines(b.String()), true
		}
		b.WriteString(l.text + "\n")
	}
	return trimLines(b.String()), level > 0
}

// trimLines takes the blank lines at both ends away.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}
