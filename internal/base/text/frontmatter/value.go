package frontmatter

import (
	"strings"

	"greenlight/internal/base/text/textline"
)

// A place is the position of a value in its line, in flat front matter.
type place struct {
	from, to int    // offsets in the line, including quotes
	quote    byte   // 0, ' or "
	text     string // unquoted
	comment  bool   // a comment follows directly at to, without a space
}

// placeIn finds the value in a `key: value` line. With comments, " #" ends an unquoted value.
func placeIn(line string, comments bool) place {
	body := textline.Chomp(line)
	return placeFrom(body, strings.IndexByte(body, ':')+1, comments)
}

// placeFrom finds the value that begins at or after from.
func placeFrom(body string, from int, comments bool) place {
	at := from
	for at < len(body) && isBlank(body[at]) {
		at++
	}
	if text, n, ok := flat.quoted(body[at:]); ok {
		return place{from: at, to: at + n, quote: body[at], text: text}
	}
	end := len(body)
	if comments {
		for i := at; i < len(body); i++ {
			if body[i] == '#' && i > from && isBlank(body[i-1]) {
				end = i
				break
			}
		}
	}
	text := strings.TrimRight(body[at:end], " \t")
	return place{from: at, to: at + len(text), text: text, comment: text == "" && end < len(body)}
}

// replace returns the line with new instead of the value.
func (p place) replace(line, new string) string {
	head, tail := line[:p.from], line[p.to:]
	switch {
	case new == "" && textline.Blank(tail):
		head = strings.TrimRight(head, " \t")
	case new != "" && strings.HasSuffix(head, ":") && p.from == p.to:
		head += " "
	}
	if p.comment && new != "" {
		tail = " " + tail
	}
	return head + new + tail
}

// written formats a value with the quotes of its line, or with double quotes if it would
// otherwise be read differently.
func written(value string, quote byte) string {
	switch quote {
	case '\'':
		return "'" + strings.ReplaceAll(value, "'", "''") + "'"
	case 0:
		if plain(value) {
			return value
		}
	}
	return flat.quote(value)
}

// plain reports whether a value reads the same without quotes, here and to a YAML parser.
func plain(v string) bool {
	if v == "" {
		return true
	}
	return v == strings.Trim(v, " \t") && !strings.ContainsAny(v, "#\"'") &&
		!strings.ContainsAny(v[:1], "[]{}&*!|>%@`,")
}
