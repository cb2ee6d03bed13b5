package status

import (
	"fmt"
	"strings"

	"greenlight/internal/base/term"
	"greenlight/internal/show/view"
)

// Pipe returns the lines that scripts and agents read: one for each state, with the slices' ids.
func Pipe(m *view.Model) []string {
	var lines []string
	for _, f := range fields {
		if f.text == nil {
			continue
		}
		if text := f.text(m); text != "" {
			for _, line := range strings.Split(text, "\n") {
				lines = append(lines, Hang(f.label, line, 0))
			}
		}
	}
	return lines
}

// labelWidth is the column in which the texts of gl status begin. Each label is shorter.
const labelWidth = 10

// Hang returns a text behind its label. Where the width is known, the text is broken after commas,
// and all its lines begin in the same column. A part too long for a line of its own is broken
// between words; a word stays whole.
func Hang(label, text string, width int) string {
	label = fmt.Sprintf("%-*s ", labelWidth-1, label)
	if width < 2*labelWidth {
		return label + text
	}
	return term.WrapWords(label, pieces(text, width-labelWidth), width, labelWidth)
}

// pieces returns the parts of a text that stay together in lines of that many columns.
func pieces(text string, columns int) []string {
	var list []string
	for _, part := range strings.SplitAfter(text, ", ") {
		part = strings.TrimSuffix(part, " ")
		if term.Width(part) <= columns {
			list = append(list, part)
		} else {
			list = append(list, strings.Split(part, " ")...)
		}
	}
	return list
}
