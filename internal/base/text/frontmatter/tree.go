package frontmatter

import (
	"strings"
	"unicode"
)

// A parser parses the lines of one block.
type parser struct {
	src   []byte
	lines []line
}

// entries parses the keys from line i on that are indented deeper than parent, and returns the
// first line after them. At the top level only unindented keys count.
func (p *parser) entries(i, parent, depth int) ([]Entry, int) {
	var out []Entry
	for i < len(p.lines) {
		l := p.lines[i]
		switch {
		case l.empty(p.src) || l.comment(p.src):
			i++
			continue
		case l.indent <= parent:
			return out, i
		}
		key, at, ok := l.key(p.src)
		if !ok || parent < 0 && l.indent > 0 {
			i++
			continue
		}
		e := Entry{Key: key, Start: l.start}
		var last int
		e.Value, last = p.value(i, at, depth)
		last = p.spanned(i, last)
		e.End = p.lines[last].next
		out = append(out, e)
		i = last + 1
	}
	return out, i
}

// spanned returns the last line that belongs to the entry that begins at line i and was parsed
// up to line last: all lines indented deeper, parsed or not.
func (p *parser) spanned(i, last int) int {
	for j := last + 1; j < len(p.lines); j++ {
		l := p.lines[j]
		if l.empty(p.src) {
			continue
		}
		if l.indent <= p.lines[i].indent {
			break
		}
		last = j
	}
	return last
}

// value parses the value that begins at offset at in line i, and returns the last line it took.
func (p *parser) value(i, at, depth int) (Value, int) {
	l := p.lines[i]
	for at < l.end && isBlank(p.src[at]) {
		at++
	}
	raw := p.src[at:l.end]
	switch {
	case blankText(raw) || isComment(raw):
		return p.below(i, depth)
	case raw[0] == '[' || raw[0] == '{':
		if v, last, ok := p.flow(i, at); ok {
			return v, last
		}
		if blankText(raw[1:]) {
			return p.below(i, depth)
		}
	case raw[0] == '|' || raw[0] == '>':
		if v, last, ok := p.blockText(i, at); ok {
			return v, last
		}
	}
	text, n := scalar(string(raw))
	return Value{Kind: Scalar, Text: text, Start: at, End: at + n}, i
}

// isComment reports whether raw is a comment rather than a value: `# like this`, but not `#42`.
func isComment(raw []byte) bool {
	return raw[0] == '#' && (len(raw) == 1 || isBlank(raw[1]))
}

// below parses the lines under a key without a value of its own.
func (p *parser) below(i, depth int) (Value, int) {
	_, at, _ := p.lines[i].key(p.src)
	v := Value{Kind: Empty, Start: at, End: at}
	j := i + 1
	for j < len(p.lines) && (p.lines[j].empty(p.src) || p.lines[j].comment(p.src)) {
		j++
	}
	if j == len(p.lines) {
		return v, i
	}
	own := p.lines[i].indent
	switch l := p.lines[j]; {
	case l.item(p.src) && l.indent >= own:
		return p.items(j, own)
	case l.indent > own && depth < maxDepth:
		entries, _ := p.entries(j, own, depth+1)
		if len(entries) == 0 {
			return v, i
		}
		last := j
		for last+1 < len(p.lines) && p.lines[last].next < entries[len(entries)-1].End {
			last++
		}
		return Value{Kind: Map, Map: entries, Start: p.lines[j].start, End: p.lines[last].end}, last
	}
	return v, i
}

// items parses a list in block form, from line i on.
func (p *parser) items(i, own int) (Value, int) {
	v := Value{Kind: List, Start: p.lines[i].start}
	last := i
	for ; i < len(p.lines); i++ {
		l := p.lines[i]
		if l.empty(p.src) || l.comment(p.src) {
			continue
		}
		if !l.item(p.src) || l.indent < own {
			if l.indent > own {
				continue // continuation of an item
			}
			break
		}
		if text, _ := scalar(string(p.src[l.start+l.indent+1 : l.end])); text != "" {
			v.Items = append(v.Items, text)
		}
		last = i
	}
	v.End = p.lines[last].end
	return v, last
}

// blockText parses `|` and `>`: the indented lines below, joined by newlines or by blanks.
func (p *parser) blockText(i, at int) (Value, int, bool) {
	head := strings.TrimSpace(string(p.src[at:p.lines[i].end]))
	if strings.Trim(head[1:], "+-0123456789") != "" {
		return Value{}, 0, false
	}
	last := p.spanned(i, i)
	if last == i {
		return Value{}, 0, false
	}
	var parts []string
	for _, l := range p.lines[i+1 : last+1] {
		parts = append(parts, strings.TrimSpace(string(p.src[l.start:l.end])))
	}
	glue := "\n"
	if head[0] == '>' {
		glue = " "
	}
	return Value{Kind: Scalar, Text: strings.Join(parts, glue), Start: at,
		End: p.lines[last].end}, last, true
}

// scalar parses a value on one line. It returns the text without quotes, and the length of the
// raw text without a comment after the closing quote. Without proper quotes, # belongs to the
// value and one quote is removed from each end, as GSD's parsers do.
func scalar(raw string) (string, int) {
	s := trim(raw)
	if s == "" {
		return "", 0
	}
	n := strings.Index(raw, s) + len(s)
	if text, end, ok := tree.quoted(s); ok {
		return text, n - len(s) + end
	}
	if s[0] == '"' || s[0] == '\'' {
		s = s[1:]
	}
	if s != "" && (s[len(s)-1] == '"' || s[len(s)-1] == '\'') {
		s = s[:len(s)-1]
	}
	return s, n
}

// trim does what JavaScript's trim does, which GSD uses: it removes white space and byte order
// marks.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}
