// Package textline holds what every text format here needs of a line: where it ends, with which line end, and any text
// made to fit on one. A line ends with \n or \r\n; the last one may have no end.
package textline

import (
	"bytes"
	"strings"
	"unicode"
)

// BOM is the byte order mark that some editors put at the start of a file.
const BOM = "\ufeff"

// First returns the first line of s with its line end.
func First(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i+1]
	}
	return s
}

// Chomp removes the line's end.
func Chomp(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// End returns the line end of the last line of s: \r\n or, also where it has none, \n.
func End(s string) string {
	if strings.HasSuffix(s, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// Prevailing returns the line end that most lines of a text have.
func Prevailing(text []byte) string {
	if n := bytes.Count(text, []byte("\n")); 2*bytes.Count(text, []byte("\r\n")) > n {
		return "\r\n"
	}
	return "\n"
}

// Blank reports whether there is nothing but blanks, tabs and line ends.
func Blank(s string) bool { return strings.Trim(s, " \t\r\n") == "" }

// Collapse makes any text fit on one line of a display: all white space becomes single blanks.
func Collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// Join makes any text fit on one line of a file, whose owner may mean his blanks: white space at its ends goes, and white space that has a line end, a tab or another
// control character in it becomes one blank. Blanks alone stay as they are.
func Join(s string) string {
	if s = strings.TrimSpace(s); !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	parts := strings.FieldsFunc(s, unicode.IsControl)
	kept := parts[:0]
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}
