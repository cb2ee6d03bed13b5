package term

import "strings"

// MaxProse is the width of prose on a wider screen: longer lines are hard to read.
const MaxProse = 100

// Wrap breaks a line between words so that no part is wider than width columns; continuation
// lines are indented by hang. It never breaks a long word, because a broken id or path can't be
// copied, nor a command that fits on a line; but text in characters of two columns, such as
// Chinese, has no spaces and is broken between characters. A width of 0 is no limit.
func Wrap(line string, width, hang int) string { return wrap(line, width, hang, width-hang) }

// WrapMessage is Wrap for a terminal, which itself breaks what is wider so that copying it gives
// one line: it breaks no command at all.
func WrapMessage(line string, width, hang int) string { return wrap(line, width, hang, 0) }

// wrap breaks commands that are wider than most, 0 for none.
func wrap(line string, width, hang, most int) string {
	if width <= 0 || Width(line) <= width {
		return line
	}
	if hang > width-10 {
		hang = 0
	}
	body := strings.TrimLeft(line, " ")
	return WrapWords(line[:len(line)-len(body)], units(body, most), width, hang)
}

// WrapColumn puts a text on lines of at most width columns, all aligned behind lead if that
// leaves half of the width. A width of 0 is no limit.
func WrapColumn(lead, text string, width int) string {
	if width == 0 || Width(lead)+Width(text) <= width {
		return lead + text
	}
	hang := min(Width(lead), width/2)
	return WrapWords(lead, units(text, width-hang), width, hang)
}

// WrapWords puts words on lines of at most width columns, unless a single word is wider. The
// first line begins with lead, the others are indented by hang.
func WrapWords(lead string, words []string, width, hang int) string {
	var b strings.Builder
	b.WriteString(lead)
	column := Width(lead)
	for i, word := range words {
		room := width - hang
		if i == 0 { // no line break is before it
			room = min(room, width-column)
		}
		for j, part := range parts(word, room) {
			space := " "
			if i == 0 || j > 0 {
				space = ""
			}
			n := Width(part)
			if i+j > 0 && column+len(space)+n > width {
				space, column = "\n"+strings.Repeat(" ", hang), hang
			} else {
				column += len(space)
			}
			b.WriteString(space + part)
			column += n
		}
	}
	return b.String()
}

// parts splits a word where a line may break: at its characters of two columns, if the word is
// wider than a line.
func parts(word string, width int) []string {
	if Width(word) <= width {
		return []string{word}
	}
	var list []string
	whole := false // the last part may grow
	for g := columns.StringGraphemes(word); g.Next(); {
		if wide := Width(g.Value()) == 2; wide || !whole {
			list, whole = append(list, g.Value()), !wide
		} else {
			list[len(list)-1] += g.Value()
		}
	}
	return list
}

// WrapLines wraps each line of a text that already has a layout: continuation lines are aligned
// with the line's first word or the text of a list item, and table rows stay whole.
func WrapLines(text string, width int) string {
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
		lines[i] = Wrap(l, width, hang)
	}
	return strings.Join(lines, "\n")
}

// Reflow lays out prose for a screen of width columns: it drops line breaks within a paragraph
// and keeps indented lines. With a width of 0 it keeps all lines.
func Reflow(text string, width int) string {
	text = strings.TrimSpace(text)
	if width <= 0 {
		return text
	}
	var parts []string
	for _, p := range Paragraphs(text) {
		if p.Verbatim {
			parts = append(parts, WrapLines(p.Text, width))
		} else {
			parts = append(parts, Wrap(p.Text, min(width, MaxProse), 0))
		}
	}
	return strings.Join(parts, "\n\n")
}

// A Paragraph is a block of prose on a single line, or indented lines that keep their layout.
type Paragraph struct {
	Text     string
	Verbatim bool
}

// Paragraphs splits prose at blank lines and at changes of indentation.
func Paragraphs(text string) []Paragraph {
	var list []Paragraph
	gap := true
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, " \n")
		indented := strings.HasPrefix(line, " ")
		last := len(list) - 1
		switch {
		case line == "":
			gap = true
			continue
		case gap || list[last].Verbatim != indented:
			list = append(list, Paragraph{line, indented})
		case indented:
			list[last].Text += "\n" + line
		default:
			list[last].Text += " " + line
		}
		gap = false
	}
	return list
}
