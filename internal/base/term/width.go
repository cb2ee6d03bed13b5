// Package term lays out text for a terminal: its width, where to cut or wrap it, and its
// colors. Text from files must be sanitized first, see package sanitize. The package prints
// nothing and doesn't query the terminal.
package term

import (
	"strings"

	"greenlight/internal/base/sanitize"

	"github.com/clipperhouse/displaywidth"
)

// columns counts as terminals do: by grapheme cluster; escape sequences take no column.
var columns = displaywidth.Options{ControlSequences: true}

// Width returns the number of columns of s: two for most CJK characters and emoji, none for
// combining marks and escape sequences.
func Width(s string) int { return columns.String(s) }

// Truncate cuts s to at most width columns; cut text ends in "…".
func Truncate(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return columns.TruncateString(s, width, "…")
}

// Cut returns the start of s, at most width columns.
func Cut(s string, width int) string { return columns.TruncateString(s, max(width, 0), "") }

// Pad pads s with spaces to width columns. A wider s is returned unchanged.
func Pad(s string, width int) string { return s + strings.Repeat(" ", max(width-Width(s), 0)) }

// OneLine turns text from a file into one safe line of at most width columns. It reads only as
// much of it as it needs.
func OneLine(s string, width int) string {
	if limit := 8 * width; len(s) > limit { // no character that takes a column is longer
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return Truncate(sanitize.Line(s), width)
}
