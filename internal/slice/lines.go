package slice

import "strings"

// A value is the place of a value in its line.
type value struct {
	from, to int    // in the line, quotes included
	quote    byte   // 0, ' or "
	text     string // unquoted
	comment  bool   // a comment follows at to, with no space between
}

// span finds the value in a `key: value` line. With comments, " #" ends an unquoted value.
func span(line string, comments bool) value {
	body := chomp(line)
	colon := strings.IndexByte(body, ':')
	return spanFrom(body, colon+1, comments)
}

// spanFrom finds the value that begins at or behind from.
func spanFrom(body string, from int, comments bool) value {
	at := from
	for at < len(body) && (body[at] == ' ' || body[at] == '\t') {
		at++
	}
	if at < len(body) && (body[at] == '"' || body[at] == '\'') {
		if end, text, ok := unquote(body, at); ok {
			return value{from: at, to: end, quote: body[at], text: text}
		}
	}
	end := len(body)
	if comments {
		for i := at; i < len(body); i++ {
			if body[i] == '#' && i > from && (body[i-1] == ' ' || body[i-1] == '\t') {
				end = i
				break
			}
		}
	}
	text := strings.TrimRight(body[at:end], " \t")
	return value{from: at, to: at + len(text), text: text, comment: text == "" && end < len(body)}
}

// unquote reads a quoted string that is followed by nothing or a comment.
func unquote(s string, at int) (end int, text string, ok bool) {
	quote := s[at]
	var b strings.Builder
	for i := at + 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote == '"' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		case c == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
			b.WriteByte(c)
		case c == quote:
			after := strings.TrimLeft(s[i+1:], " \t")
			ok = after == "" || after[0] == '#' && len(after) < len(s)-i-1
			return i + 1, b.String(), ok
		default:
			b.WriteByte(c)
		}
	}
	return 0, "", false
}

// replace puts new in the place of the value.
func (v value) replace(line, new string) string {
	head, tail := line[:v.from], line[v.to:]
	switch {
	case new == "" && blank(tail):
		head = strings.TrimRight(head, " \t")
	case new != "" && strings.HasSuffix(head, ":") && v.from == v.to:
		head += " "
	}
	if v.comment && new != "" {
		tail = " " + tail
	}
	return head + new + tail
}

// nextLine returns the first line of s with its end.
func nextLine(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i+1]
	}
	return s
}

// chomp removes the line's end, be it \n or \r\n.
func chomp(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// lineEnd returns the end of the last line of s: \r\n or, also where it has none, \n.
func lineEnd(s string) string {
	if strings.HasSuffix(s, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

func blank(line string) bool { return strings.Trim(line, " \t\r\n") == "" }

func delimiter(line string) bool {
	return strings.HasPrefix(line, "---") && blank(line[3:])
}

// clip shortens a text for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
