package jsonedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Scanner reads a JSON text in one pass and preserves what encoding/json loses: the order of
// keys, duplicate keys, and the positions of values. It accepts exactly what encoding/json
// accepts. After an error it stops reading, so a caller may check Err once, at the end.
type Scanner struct {
	text  []byte
	at    int
	depth int
	err   error
}

// maxDepth is encoding/json's limit.
const maxDepth = 10000

// NewScanner returns a Scanner at the start of the text, after a byte order mark if there is one.
func NewScanner(text []byte) *Scanner {
	s := &Scanner{text: text}
	if bytes.HasPrefix(text, []byte(bom)) {
		s.at = len(bom)
	}
	return s
}

// Seek continues at an offset, such as that of a value found earlier.
func (s *Scanner) Seek(at int) { s.at = at }

// Err returns the first error, which names the line.
func (s *Scanner) Err() error { return s.err }

// Pos returns the offset up to which the text has been read.
func (s *Scanner) Pos() int { return s.at }

func (s *Scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.at = min(s.at, len(s.text))
		line := 1 + bytes.Count(s.text[:s.at], []byte("\n"))
		s.err = fmt.Errorf("line %d (byte %d): %s", line, s.at, fmt.Sprintf(format, args...))
	}
}

// Peek skips white space and returns the byte that the next value or bracket begins with; 0 at
// the end or after an error.
func (s *Scanner) Peek() byte {
	for s.err == nil && s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// take reads the byte c, or fails.
func (s *Scanner) take(c byte) bool {
	if s.Peek() == c && s.err == nil && s.at < len(s.text) {
		s.at++
		return true
	}
	s.unexpected()
	return false
}

func (s *Scanner) unexpected() {
	switch {
	case s.at >= len(s.text):
		s.fail("unexpected end")
	default:
		s.fail("unexpected %q", s.text[s.at])
	}
}

// End fails unless only white space follows.
func (s *Scanner) End() {
	if s.Peek(); s.at < len(s.text) {
		s.unexpected()
	}
}

// Object reads an object and calls f for each key; f must read the value.
func (s *Scanner) Object(f func(key string)) {
	s.list('{', '}', func() {
		key := s.str()
		if s.take(':') {
			f(key)
		}
	})
}

// Array reads a list and calls f for each element; f must read it.
func (s *Scanner) Array(f func()) { s.list('[', ']', f) }

func (s *Scanner) list(open, end byte, f func()) {
	if !s.take(open) {
		return
	}
	if s.depth++; s.depth > maxDepth {
		s.fail("nested too deeply")
		return
	}
	defer func() { s.depth-- }()
	if s.Peek() == end {
		s.at++
		return
	}
	for s.err == nil {
		f()
		if s.Peek() != ',' {
			s.take(end)
			return
		}
		s.at++
	}
}

// A Member is a key of an object with its value, or an element of a list, as offsets into the
// text.
type Member struct {
	Key        string // for an element, its index in the list
	From       int    // the key's opening quote; for an element, the value
	Value, End int    // the value
}

// Members reads the next object or list and returns its members.
func (s *Scanner) Members() []Member {
	var all []Member
	add := func(m Member) {
		s.Peek()
		m.Value = s.at
		s.Skip()
		m.End = s.at
		all = append(all, m)
	}
	if s.Peek() == '[' {
		s.Array(func() {
			s.Peek()
			add(Member{Key: strconv.Itoa(len(all)), From: s.at})
		})
		return all
	}
	s.list('{', '}', func() {
		s.Peek()
		m := Member{From: s.at}
		if m.Key = s.str(); s.take(':') {
			add(m)
		}
	})
	return all
}

// str reads a string.
func (s *Scanner) str() string {
	from, escaped := s.skipString()
	if s.err != nil {
		return ""
	}
	if text := s.text[from+1 : s.at-1]; !escaped && utf8.Valid(text) {
		return string(text)
	}
	var text string
	if err := json.Unmarshal(s.text[from:s.at], &text); err != nil {
		s.at = from
		s.fail("a string with a wrong escape")
	}
	return text
}

// skipString skips a string and returns where it begins and whether it has escapes.
func (s *Scanner) skipString() (from int, escaped bool) {
	if !s.take('"') {
		return 0, false
	}
	from = s.at - 1
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
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

// escape skips all but the last byte of an escape sequence.
func (s *Scanner) escape() bool {
	s.at++
	n := 1
	if s.at < len(s.text) && s.text[s.at] == 'u' {
		n = 5
	} else if s.at < len(s.text) && !strings.ContainsRune(`"\/bfnrt`, rune(s.text[s.at])) {
		s.fail("an unknown escape in a string")
		return false
	}
	for k := 1; k < n; k++ {
		if s.at+k >= len(s.text) ||
			strings.IndexByte("0123456789abcdefABCDEF", s.text[s.at+k]) < 0 {
			s.fail("a wrong \\u escape in a string")
			return false
		}
	}
	s.at += n - 1
	return true
}

// Skip skips any value.
func (s *Scanner) Skip() {
	switch c := s.Peek(); {
	case c == '{':
		s.list('{', '}', func() {
			s.skipString()
			if s.take(':') {
				s.Skip()
			}
		})
	case c == '[':
		s.Array(s.Skip)
	case c == '"':
		s.skipString()
	default:
		s.literal()
	}
}

// literal reads true, false, null or a number and returns its text.
func (s *Scanner) literal() string {
	s.Peek()
	from := s.at
	for s.at < len(s.text) && literalByte(s.text[s.at]) {
		s.at++
	}
	text := s.text[from:s.at]
	if len(text) == 0 || !json.Valid(text) {
		s.at = from
		s.unexpected()
		return ""
	}
	return string(text)
}

func literalByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '+' ||
		c == '-' || c == '.'
}

// Scalar reads a value as text: a string, or the text of a number or a bool. It returns "" for
// null, objects and lists.
func (s *Scanner) Scalar() string {
	switch s.Peek() {
	case '"':
		return s.str()
	case '{', '[':
		s.Skip()
		return ""
	}
	if text := s.literal(); text != "null" {
		return text
	}
	return ""
}

// token reads a bracket, a comma, a colon, a string or a literal and returns its text; nil at
// the end. The text must be valid JSON, because the order of tokens isn't checked.
func (s *Scanner) token() []byte {
	c := s.Peek()
	from := s.at
	switch c {
	case 0:
		return nil
	case '{', '}', '[', ']', ',', ':':
		s.at++
	case '"':
		s.skipString()
	default:
		s.literal()
	}
	return s.text[from:s.at]
}
