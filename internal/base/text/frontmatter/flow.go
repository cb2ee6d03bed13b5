package frontmatter

import (
	"bytes"
	"strings"
)

// flow parses a list in brackets or a map in braces that begins at offset at in line i. It may
// span several lines, up to one that begins with a key.
func (p *parser) flow(i, at int) (Value, int, bool) {
	v := Value{Kind: List, Start: at}
	end := byte(']')
	if p.src[at] == '{' {
		v.Kind, end = Map, '}'
	}
	last := i
	for from := at; bytes.IndexByte(p.src[from:p.lines[last].end], end) < 0; {
		last++
		if last == len(p.lines) {
			return Value{}, 0, false
		}
		l := p.lines[last]
		if _, _, isKey := l.key(p.src); isKey && l.indent <= p.lines[i].indent {
			return Value{}, 0, false
		}
		from = l.start
	}
	text := string(p.src[at:p.lines[last].end])
	parts, n := flowParts(text, end, true)
	if n == 0 { // a quote hides the bracket: treat it as closing the list anyway
		parts, n = flowParts(text, end, false)
	}
	v.End = at + n
	for _, part := range parts {
		raw := text[part[0]:part[1]]
		if v.Kind == Map {
			if e, ok := flowEntry(raw, at+part[0]); ok {
				v.Map = append(v.Map, e)
			}
		} else if s, _ := scalar(raw); s != "" {
			v.Items = append(v.Items, s)
		}
	}
	return v, last, true
}

// flowParts cuts text, which begins with a bracket, at its commas. It returns the parts and the
// length up to and including the closing bracket, 0 if there is none. Quotes at the beginning
// of a part may hide commas and brackets.
func flowParts(text string, end byte, quotes bool) (parts [][2]int, n int) {
	from, begun := 1, false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == end:
			return append(parts, [2]int{from, i}), i + 1
		case c == ',':
			parts = append(parts, [2]int{from, i})
			from, begun = i+1, false
		case c == ':' && i+1 < len(text) && text[i+1] == ' ':
			begun = false // a value in braces begins
		case begun || c <= ' ':
		case c == '#' && strings.IndexByte(text[i:], '\n') > 0:
			// a comment, possible only with several lines
			i += strings.IndexByte(text[i:], '\n')
			from = i + 1
		default:
			begun = true
			if quotes && (c == '"' || c == '\'') {
				i += max(quoteEnd(text[i:]), 1) - 1
			}
		}
	}
	return nil, 0
}

// flowEntry parses `key: value` in braces; raw begins at offset at.
func flowEntry(raw string, at int) (Entry, bool) {
	key, rest, ok := strings.Cut(raw, ":")
	name, _ := scalar(key)
	if !ok || name == "" {
		return Entry{}, false
	}
	lead := len(rest) - len(strings.TrimLeft(rest, " \t\r\n"))
	start := at + len(key) + 1 + lead
	v := Value{Start: start, End: start}
	if text, n := scalar(rest[lead:]); n > 0 {
		v.Kind, v.Text, v.End = Scalar, text, start+n
	}
	return Entry{Key: name, Start: at, End: at + len(raw), Value: v}, true
}
