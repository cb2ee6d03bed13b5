package agent

import (
	"bytes"
	"fmt"
	"slices"

	"greenlight/internal/base/text/lines"
)

// Piece decodes a line that may exceed the limit. It decodes the beginning of such a line and
// adds an event that notes the cut.
func (d *Decoder) Piece(p lines.Piece) []Event {
	switch {
	case p.Rest:
		return nil
	case !p.More:
		return d.Line(p.Text)
	}
	text := p.Text
	if start := bytes.TrimLeft(text, " \t"); len(start) > 0 && start[0] == '{' {
		text = closeJSON(start)
	}
	return append(d.Line(text), Event{Kind: KindPlain, Text: fmt.Sprintf("(truncated: the line is longer than %d MiB; the log file has the rest)", lines.Max>>20)})
}

// closeJSON completes a truncated JSON text: a truncated string ends there, any other truncated
// value or key is dropped, and whatever is open is closed.
func closeJSON(cut []byte) []byte {
	var open []byte // closing brackets of the open objects and arrays
	whole := 0      // up to here the text is complete, except for open
	key := false    // the next string is a key
	for i := 0; i < len(cut); i++ {
		switch c := cut[i]; c {
		case '{', '[':
			open = append(open, c+2) // '}' and ']' are two code points further on
			whole, key = i+1, c == '{'
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return cut // not JSON
			}
			open = open[:len(open)-1]
			whole = i + 1
		case ',':
			whole, key = i, len(open) > 0 && open[len(open)-1] == '}'
		case ':':
			key = false
		case '"':
			end, closed := stringEnd(cut, i+1)
			if !closed && !key {
				return closing(cut[:end], "\"", open)
			}
			if i = end; !key && closed {
				whole = i + 1
			}
		}
	}
	return closing(cut[:whole], "", open)
}

// stringEnd returns where the string that starts at i is closed, or the end of its complete
// part.
func stringEnd(text []byte, i int) (end int, closed bool) {
	for i < len(text) {
		switch text[i] {
		case '"':
			return i, true
		case '\\':
			size := 2
			if i+1 < len(text) && text[i+1] == 'u' {
				size = 6
			}
			if i+size > len(text) {
				return i, false
			}
			i += size
		default:
			i++
		}
	}
	return i, false
}

// closing returns text, the quote, and the closing brackets, innermost first.
func closing(text []byte, quote string, open []byte) []byte {
	slices.Reverse(open)
	return slices.Concat(text, []byte(quote), open)
}
