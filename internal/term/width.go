// Package term lays text out for a terminal: how wide it is, where it is cut or wrapped, and its colors. Text from
// files must have passed package sanitize first. The package prints nothing and asks the terminal nothing.
package term

import (
	"strings"

	"greenlight/internal/sanitize"

	"github.com/clipperhouse/displaywidth"
)

// columns counts as terminals do: by grapheme cluster, with escape sequences taking no column.
var columns = displaywidth.Options{ControlSequences: true}

// Width is the number of columns that s takes: two for most CJK characters and emoji, none for combining marks and
// escape sequences.
func Width(s string) int { return columns.String(s) }

// Truncate cuts s to at most width columns; what was cut ends in "…".
func Truncate(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return columns.TruncateString(s, width, "…")
}

// Cut is the start of s, at most width columns.
func Cut(s string, width int) string { return columns.TruncateString(s, max(width, 0), "") }

// Pad fills s up with spaces to width columns. A wider s is returned unchanged.
func Pad(s string, width int) string { return s + strings.Repeat(" ", max(width-Width(s), 0)) }

// OneLine makes text from a file one safe line of at most width columns, without reading more of it than that needs.
func OneLine(s string, width int) string {
	if limit := 8 * width; len(s) > limit { // no character that takes a column is longer
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return Truncate(sanitize.Line(s), width)
}
