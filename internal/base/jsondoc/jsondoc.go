// Package jsondoc has the conventions of gl's JSON documents: null for an unknown value, [] for
// an empty list, and text that is safe to show on a terminal.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marshal is json.Marshal for output that a person may read: it leaves <, > and & unescaped,
// and escapes characters that a terminal may act on.
func Marshal(v any, indent string) (string, error) {
	line, err := Line(v, indent)
	return strings.TrimSuffix(string(line), "\n"), err
}

// Line is Marshal with a newline appended.
func Line(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return escapeInvisible(b.Bytes()), err
}

// escapeInvisible escapes characters that encoding/json passes and a terminal may act on: C1
// controls and the characters that change the direction of text. They occur only inside
// strings, where \u means the same.
func escapeInvisible(text []byte) []byte {
	var b []byte
	done := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7f { // most bytes
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
			b = fmt.Appendf(append(b, text[done:i]...), `\u%04x`, r)
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return text
	}
	return append(b, text[done:]...)
}

// OrNull returns nil, JSON's null, for an empty string.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// OrEmpty returns an empty list, JSON's [], for nil.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
