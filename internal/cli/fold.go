package cli

import (
	"strings"

	"greenlight/internal/fold"
)

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
		lines[i] = fold.Line(l, width, hang)
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
			parts = append(parts, fold.Line(p.text, min(width, widest), 0))
		}
	}
	return strings.Join(parts, "\n\n")
}

// widest is how long a line of prose gets on a screen that is wider: longer ones are hard to read.
const widest = 100
