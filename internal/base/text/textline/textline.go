// Package textline contains what every text format needs for lines: line endings, the byte
// order mark, and fitting any text on one line. A line ends in \n or \r\n; the last one may
// have no line ending.
package textline

import (
	"bytes"
	"strings"
	"unicode"
)

// BOM is the byte order mark that some editors put at the start of a file.
const BOM = "\ufeff"

// First returns the first line of s with its line ending.
func First(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i+1]
	}
	return s
}

// Chomp removes the line ending.
func Chomp(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// End returns the line ending of the last line of s; \n if it has none.
func End(s string) string {
	if strings.HasSuffix(s, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// Prevailing returns the line ending of most lines of a text.
func Prevailing(text []byte) string {
	if n := bytes.Count(text, []byte("\n")); 2*bytes.Count(text, []byte("\r\n")) > n {
		return "\r\n"
	}
	return "\n"
}

// Blank reports whether s has only blanks, tabs and line endings.
func Blank(s string) bool { return strings.Trim(s, " \t\r\n") == "" }

// Collapse fits any text on one line of a display: every run of white space becomes one blank.
func Collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// Join fits any text on one line of a file. It trims white space at both ends and replaces a
// run of white space by one blank if it contains a line ending, a tab or another control
// character. Other blanks stay, because they may be intended.
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

// Boundary returns the first index from i on at which a character begins.
func Boundary(s string, i int) int {
	for i < len(s) && s[i]&0xc0 == 0x80 {
		i++
	}
	return i
}

// Last returns the last whole lines of a text that are no longer than n bytes together, or the
// end of a longer line. An ellipsis replaces what is left out.
func Last(text string, n int) string {
	text = strings.Trim(text, "\n")
	if len(text) <= n {
		return text
	}
	text = text[Boundary(text, len(text)-n):]
	if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
		text = rest
	}
	return "…\n" + text
}

// Indent puts four blanks in front of every line.
func Indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }
