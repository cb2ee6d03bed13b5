package slice

import (
	"sort"
	"strings"
	"unicode/utf8"

	"greenlight/internal/text/markdown"
)

// A textChange replaces a stretch of a text.
type textChange struct {
	from, to int
	text     string
}

// apply makes all the changes; they must not overlap.
func apply(text string, changes []textChange) string {
	sort.SliceStable(changes, func(i, j int) bool { return changes[i].from < changes[j].from })
	var b strings.Builder
	pos := 0
	for _, c := range changes {
		b.WriteString(text[pos:c.from])
		b.WriteString(c.text)
		pos = c.to
	}
	b.WriteString(text[pos:])
	return b.String()
}

// A stretch is a part of a text and where it stands. from is -1 where there is none.
type stretch struct {
	from int
	text string
}

func (s stretch) to() int { return s.from + len(s.text) }

// currentLines are the lines of the Current section that say who works on what.
type currentLines struct {
	slice, step, activity stretch // what stands behind the labels
}

// parseCurrent reads the Current section of a legacy STATE.md; of two lines with one label the first counts.
func parseCurrent(text string) currentLines {
	none := stretch{from: -1}
	c := currentLines{none, none, none}
	section := sectionOf(text, "Current")
	if section.from < 0 {
		return c
	}
	for l := range markdown.Lines(section.text) {
		if l.Code {
			continue
		}
		for label, where := range map[string]*stretch{"slice": &c.slice, "step": &c.step, "last activity": &c.activity} {
			if from := labelled(l.Text, label); from >= 0 && where.from < 0 {
				*where = stretch{section.from + l.Start + from, strings.TrimRight(l.Text[from:], " \t\r")}
			}
		}
	}
	return c
}

// sectionOf returns the first section of that title, its heading included.
func sectionOf(text, title string) stretch {
	pos := 0
	for _, s := range splitSections(text) {
		if strings.EqualFold(s.title, title) {
			return stretch{pos, s.text}
		}
		pos += len(s.text)
	}
	return stretch{from: -1}
}

// labelled returns where the value of a `Label: value` line begins, -1 for any other line. The label may be emphasised
// and the line a list item.
func labelled(line, label string) int {
	rest := strings.TrimLeft(line, " \t*_-")
	if len(rest) < len(label) || !strings.EqualFold(rest[:len(label)], label) {
		return -1
	}
	rest = strings.TrimLeft(rest[len(label):], "*_ ")
	if !strings.HasPrefix(rest, ":") {
		return -1
	}
	rest = strings.TrimLeft(rest[1:], "*_ \t")
	return len(line) - len(rest)
}

// id is what the Slice line names, "" for nothing.
func (c currentLines) id() string {
	word, _, _ := strings.Cut(c.slice.text, " ")
	word = strings.Trim(word, "*_`:,")
	if ValidID(word) != nil {
		return ""
	}
	return word
}

// names says whether the Slice line names the slice.
func (c currentLines) names(id string) bool {
	word := c.id()
	return word != "" && normalise(word) == normalise(id)
}

// dash is what divides two things in a line: what it has there already, or a dash.
func dash(text string) string {
	for _, mark := range []string{" -- ", " – ", " - ", ": "} {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return " — "
}

// setCells changes cells of a table line and keeps every byte beside them. Cells that a short line hasn't are added.
func setCells(line string, set map[int]string) string {
	var b strings.Builder
	have, pos, last := spans(line), 0, -1
	for i := range set {
		last = max(last, i)
	}
	for i, s := range have {
		if text, ok := set[i]; ok {
			b.WriteString(line[pos:s[0]] + fill(line[s[0]:s[1]], text))
			pos = s[1]
		}
	}
	b.WriteString(line[pos:])
	if n := len(have); n <= last && n > 0 && have[n-1][1] == len(line) {
		b.WriteString(" |")
	}
	for i := len(have); i <= last; i++ {
		b.WriteString(fill("", set[i]) + "|")
	}
	return b.String()
}

// fill puts a text into a cell: with the blanks that the old text has around it, and as wide where those made up a
// column.
func fill(old, text string) string {
	text = cell(text)
	inner := strings.Trim(old, " \t")
	if inner == "" {
		return padTo(" "+text+" ", old)
	}
	at := strings.Index(old, inner)
	before, after := old[:at], old[at+len(inner):]
	if len(after) > 1 {
		return padTo(before+text+" ", old)
	}
	return before + text + after
}

// padTo adds blanks until the text is as wide as old.
func padTo(text, old string) string {
	if n := utf8.RuneCountInString(old) - utf8.RuneCountInString(text); n > 0 {
		return text + strings.Repeat(" ", n)
	}
	return text
}

// noteInSection adds list items at the end of a section; those it has are not added again. A section that is missing is
// made before the first of the others, or at the end.
func noteInSection(text, name string, items, others []string) string {
	s := sectionOf(text, name)
	eol := lineEnd(nextLine(text))
	if s.from < 0 {
		return addSection(text, name, items, others, eol)
	}
	have := map[string]bool{}
	for line := range strings.Lines(s.text) {
		have[strings.Trim(line, " \t\r\n")] = true
	}
	body := strings.TrimRight(s.text, " \t\r\n")
	at := s.from + len(body)
	heading := chomp(nextLine(s.text))
	content := strings.Trim(strings.TrimPrefix(body, heading), " \t\r\n")
	add := ""
	for _, item := range items {
		if !have["- "+item] {
			add += eol + "- " + item
		}
	}
	switch {
	case add == "":
		return text
	case content == "":
		return text[:at] + eol + add + text[at:]
	case len(appendItem(nil, content)) == 0: // a word for none
		return text[:at-len(content)] + strings.TrimPrefix(add, eol) + text[at:]
	}
	return text[:at] + add + text[at:]
}

func addSection(text, name string, items, others []string, eol string) string {
	block := "## " + name + eol + eol
	for _, item := range items {
		block += "- " + item + eol
	}
	for _, other := range others {
		if s := sectionOf(text, other); s.from >= 0 {
			return text[:s.from] + block + eol + text[s.from:]
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	return text + eol + block
}
