// Package fold breaks lines for a screen. It counts a character as one column, and knows no colours.
package fold

import (
	"strings"
	"unicode/utf8"
)

// Line breaks a line between words so that no part is wider than so many columns; the parts that follow are indented
// by hang. A word stays whole, however long, for an id or a path that is broken is none. A width of 0 is no limit.
func Line(line string, width, hang int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	if hang > width-10 {
		hang = 0
	}
	body := strings.TrimLeft(line, " ")
	return Words(line[:len(line)-len(body)], strings.Fields(body), width, hang)
}

// Words puts words in lines no wider than so many columns, unless a word is; the first line begins with lead, the others
// are indented by hang.
func Words(lead string, words []string, width, hang int) string {
	var b strings.Builder
	b.WriteString(lead)
	column := utf8.RuneCountInString(lead)
	for i, word := range words {
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
