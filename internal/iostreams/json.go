package iostreams

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// JSON prints one document to stdout.
func (s *Streams) JSON(v any) error {
	text, err := Marshal(v, "  ")
	if err == nil {
		_, err = io.WriteString(s, text+"\n")
	}
	return err
}

// Marshal is json.Marshal for output that a person may look at: <, > and & are not escaped, and characters that a
// terminal may act on are.
func Marshal(v any, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return escapeInvisible(strings.TrimSuffix(b.String(), "\n")), err
}

// escapeInvisible escapes what encoding/json leaves alone and a terminal may act on: C1 controls and the characters that
// change the direction of text. They occur only inside strings, where \u means the same.
func escapeInvisible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if 0x7f <= r && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
