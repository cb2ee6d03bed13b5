// Package linecolor gives the lines of diffs and of agents' logs their colors. gl diff, gl logs and
// the board share it.
package linecolor

import (
	"strings"

	"greenlight/internal/base/term"
)

// Diff returns the color of a line of a patch, as git colors it.
func Diff(line string) term.Color {
	switch {
	case strings.HasPrefix(line, "@@"):
		return term.Cyan
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"),
		strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
		return term.Bold
	case strings.HasPrefix(line, "+"):
		return term.Green
	case strings.HasPrefix(line, "-"):
		return term.Red
	}
	return ""
}

// SubAgent is the mark of a sub-agent's event in a log.
const SubAgent = "| "

// Log returns the color of an event in a log, by its leading mark: see attemptlog.EventText.
func Log(text string) term.Color {
	switch text[:min(2, len(text))] {
	case "- ":
		return term.Dim
	case "> ":
		return term.Blue
	case "! ":
		return term.Red
	case "~ ":
		return term.Yellow
	case "= ":
		return term.Bold
	case SubAgent:
		return term.Violet
	}
	return ""
}
