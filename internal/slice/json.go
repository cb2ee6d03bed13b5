package slice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A scanner reads JSON in one pass and keeps the order of keys, which the standard decoder loses and which a graph's
// order depends on. It accepts exactly what encoding/json accepts.
type scanner struct {
	b     []byte
	i     int
	depth int
	err   error
}

// maxDepth is that of encoding/json.
const maxDepth = 10000

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.i = min(s.i, len(s.b))
		line := 1 + bytes.Count(s.b[:s.i], []byte("\n"))
		s.err = fmt.Errorf("line %d (byte %d): %s", line, s.i, fmt.Sprintf(format, args...))
	}
}

// peek skips space and returns the next byte, 0 at the end or after an error.
func (s *scanner) peek() byte {
	for s.err == nil && s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte c, or fails.
func (s *scanner) take(c byte) bool {
	if s.peek() == c && s.err == nil && s.i < len(s.b) {
		s.i++
		return true
	}
	s.unexpected()
	return false
}

func (s *scanner) unexpected() {
	switch {
	case s.i >= len(s.b):
		s.fail("unexpected end")
	default:
		s.fail("unexpected %q", s.b[s.i])
	}
}

// end fails unless nothing follows.
func (s *scanner) end() {
	if s.peek(); s.i < len(s.b) {
		s.unexpected()
	}
}

// object calls f for each key; f must consume the value.
func (s *scanner) object(f func(key string)) {
	s.list('{', '}', func() {
		key := s.str()
		if s.take(':') {
			f(key)
		}
	})
}

// array calls f for each element; f must consume it.
func (s *scanner) array(f func()) { s.list('[', ']', f) }

func (s *scanner) list(open, end byte, f func()) {
	if !s.take(open) {
		return
	}
	if s.depth++; s.depth > maxDepth {
		s.fail("nested too deeply")
		return
	}
	defer func() { s.depth-- }()
	if s.peek() == end {
		s.i++
		return
	}
	for s.err == nil {
		f()
		if s.peek() != ',' {
			s.take(end)
			return
		}
		s.i++
	}
}

// str reads a string.
func (s *scanner) str() string {
	from, escaped := s.skipString()
	if s.err != nil {
		return ""
	}
	if !escaped {
		return strings.ToValidUTF8(string(s.b[from+1:s.i-1]), "\ufffd")
	}
	var text string
	if err := json.Unmarshal(s.b[from:s.i], &text); err != nil {
		s.i = from
		s.fail("a string with a wrong escape")
	}
	return text
}

// skipString passes over a string and says where it began and whether it has escapes.
func (s *scanner) skipString() (from int, escaped bool) {
	if !s.take('"') {
		return 0, false
	}
	from = s.i - 1
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return from, escaped
		case c < ' ':
			s.fail("a control character in a string")
			return from, escaped
		case c == '\\':
			escaped = true
			if !s.escape() {
				return from, escaped
			}
		}
	}
	s.unexpected()
	return from, escaped
}

// escape passes over all but the last byte of an escape sequence.
func (s *scanner) escape() bool {
	s.i++
	n := 1
	if s.i < len(s.b) && s.b[s.i] == 'u' {
		n = 5
	} else if s.i < len(s.b) && !strings.ContainsRune(`"\/bfnrt`, rune(s.b[s.i])) {
		s.fail("an unknown escape in a string")
		return false
	}
	for k := 1; k < n; k++ {
		if s.i+k >= len(s.b) || !hex(s.b[s.i+k]) {
			s.fail("a wrong \\u escape in a string")
			return false
		}
	}
	s.i += n - 1
	return true
}

func hex(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// skip passes over any value.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case c == '{':
		s.list('{', '}', func() {
			s.skipString()
			if s.take(':') {
				s.skip()
			}
		})
	case c == '[':
		s.array(s.skip)
	case c == '"':
		s.skipString()
	default:
		s.literal()
	}
}

// literal reads true, false, null or a number and returns its text.
func (s *scanner) literal() string {
	s.peek()
	from := s.i
	for s.i < len(s.b) && (alnum(s.b[s.i]) || strings.IndexByte("+-.", s.b[s.i]) >= 0) {
		s.i++
	}
	text := s.b[from:s.i]
	if len(text) == 0 || !json.Valid(text) {
		s.i = from
		s.unexpected()
		return ""
	}
	return string(text)
}

// scalar reads a value as text: a string, or the text of a number or a bool. null, objects and arrays give "".
func (s *scanner) scalar() string {
	switch s.peek() {
	case '"':
		return s.str()
	case '{', '[':
		s.skip()
		return ""
	}
	if text := s.literal(); text != "null" {
		return text
	}
	return ""
}
