package gsd

import (
	"strconv"
	"strings"
)

// A parser reads the lines of one block of frontmatter.
type parser struct {
	src   []byte
	lines []line
}

// entries reads the keys from line i on that are indented deeper than parent, and returns the first line that isn't
// theirs. At the top only keys without indent count.
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

// spanned is the last line that belongs to the entry that begins at line i and was read up to line last: what is indented
// deeper than it, read or not.
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

// value reads the value whose text begins at offset at in line i, and returns the last line it took.
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

// isComment says whether raw is a comment rather than a value: `# like this`, but not `#42`.
func isComment(raw []byte) bool {
	return raw[0] == '#' && (len(raw) == 1 || isBlank(raw[1]))
}

// below reads what stands in the lines under a key that has no value of its own.
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

// items reads a list in block form, from line i on.
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
				continue // the rest of an item
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

// blockText reads `|` and `>`: the indented lines below, joined by newlines or by blanks.
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
	return Value{Kind: Scalar, Text: strings.Join(parts, glue), Start: at, End: p.lines[last].end}, last, true
}

// scalar reads a value on one line: its text without quotes, and the length of what it is read from, a comment behind
// the closing quote left out. Without proper quotes, # belongs to the value, and one quote is taken off each end: GSD's
// parsers do.
func scalar(raw string) (string, int) {
	s := trim(raw)
	if s == "" {
		return "", 0
	}
	n := strings.Index(raw, s) + len(s)
	if s[0] == '"' || s[0] == '\'' {
		if end := quoteEnd(s); end > 0 {
			if rest := strings.TrimLeft(s[end:], " \t"); rest == "" || rest[0] == '#' && len(rest) < len(s[end:]) {
				return unquote(s[:end]), n - len(s) + end
			}
		}
		s = s[1:]
	}
	if s != "" && (s[len(s)-1] == '"' || s[len(s)-1] == '\'') {
		s = s[:len(s)-1]
	}
	return s, n
}

// quoteEnd is the length of the quoted string that s begins with, 0 if it isn't closed.
func quoteEnd(s string) int {
	q := s[0]
	for i := 1; i < len(s); i++ {
		switch {
		case q == '"' && s[i] == '\\':
			i++
		case s[i] != q:
		case q == '\'' && i+1 < len(s) && s[i+1] == q:
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// unquote takes off the quotes of a closed string and resolves what is escaped in it. A backslash that escapes nothing
// stays.
func unquote(s string) string {
	inner := s[1 : len(s)-1]
	if s[0] == '\'' {
		return strings.ReplaceAll(inner, "''", "'")
	}
	if strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' || i+1 == len(inner) {
			b.WriteByte(inner[i])
			continue
		}
		i++
		switch c := inner[i]; c {
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'x', 'u':
			i += hexEscape(&b, inner[i:])
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hexEscape writes what s, x41 or u0041, stands for and returns how many bytes behind the letter that took.
func hexEscape(b *strings.Builder, s string) int {
	n := 2
	if s[0] == 'u' {
		n = 4
	}
	if len(s) > n {
		if r, err := strconv.ParseUint(s[1:n+1], 16, 32); err == nil {
			b.WriteRune(rune(r))
			return n
		}
	}
	b.WriteByte('\\')
	b.WriteByte(s[0])
	return 0
}
