package cli

import (
	"strings"
	"unicode/utf8"
)

// fold breaks a line between words so that no part is wider than so many columns; the parts that follow are indented
// by hang. A word stays whole, however long, for an id or a path that is broken is none. A width of 0 is no limit.
func fold(line string, width, hang int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	if hang > width-10 {
		hang = 0
	}
	body := strings.TrimLeft(line, " ")
	var b strings.Builder
	b.WriteString(line[:len(line)-len(body)])
	column := len(line) - len(body)
	for i, word := range strings.Fields(body) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", hang))
			column = hang
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// foldLines folds each line of a text that somebody else has laid out: what follows stands under the line's own words,
// and rows of tables stay as they are.
func foldLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		body := strings.TrimLeft(l, " ")
		hang := len(l) - len(body)
		if strings.HasPrefix(body, "|") {
			continue
		}
		if strings.HasPrefix(body, "- ") || strings.HasPrefix(body, "* ") {
			hang += 2
		}
		lines[i] = fold(l, width, hang)
	}
	return strings.Join(lines, "\n")
}

// A block is a paragraph of a help text, or lines that stand as they are because they are indented.
type block struct {
	text     string
	verbatim bool
}

// blocks takes a help text apart. The line breaks within a paragraph are the source's and mean nothing.
func blocks(text string) []block {
	var list []block
	gap := true
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, " \n")
		indented := strings.HasPrefix(line, " ")
		last := len(list) - 1
		switch {
		case line == "":
			gap = true
			continue
		case gap || list[last].verbatim != indented:
			list = append(list, block{line, indented})
		case indented:
			list[last].text += "\n" + line
		default:
			list[last].text += " " + line
		}
		gap = false
	}
	return list
}

// reflow sets a help text anew for a screen of that many columns, 0 for what is none: there it is as it is written.
func reflow(text string, width int) string {
	text = strings.TrimSpace(text)
	if width <= 0 {
		return text
	}
	var parts []string
	for _, p := range blocks(text) {
		if p.verbatim {
			parts = append(parts, foldLines(p.text, width))
		} else {
			parts = append(parts, fold(p.text, min(width, widest), 0))
		}
	}
	return strings.Join(parts, "\n\n")
}

// widest is how long a line of prose gets on a screen that is wider: longer ones are hard to read.
const widest = 100
