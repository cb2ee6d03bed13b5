package gsd

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const noWorkstream = "no active workstream"

// String returns the position as shown in the status line: the milestone with its bar, then the
// first that applies of: a running command, the command to run next, the milestone being
// complete, or the status and the phase. The result may be empty, and is file content that
// isn't sanitized for a terminal.
func (p Position) String() string {
	if p.NoWorkstream {
		return noWorkstream
	}
	var parts []string
	if p.Milestone != "" || p.MilestoneName != "" {
		name := p.MilestoneName
		if name == "milestone" { // GSD's placeholder for an unnamed milestone
			name = ""
		}
		parts = append(parts, join(" ", p.Milestone, name, Bar(p.Percent)))
	}
	switch {
	case p.ActivePhase != "":
		parts = append(parts, join(" ", "Phase", p.ActivePhase, p.Status))
	case p.NextAction != "" && len(p.NextPhases) > 0:
		parts = append(parts, "next "+p.NextAction+" "+strings.Join(p.NextPhases, "/"))
	case p.complete():
		parts = append(parts, "milestone complete")
	default:
		parts = append(parts, p.Status, p.phase())
	}
	return join(" · ", parts...)
}

// Compact returns the position in few columns: "v1.12 · P7/12 · executing".
func (p Position) Compact() string {
	if p.NoWorkstream {
		return noWorkstream
	}
	parts := []string{p.Milestone}
	id := p.ActivePhase
	if id == "" {
		id = p.PhaseNum
	}
	switch {
	case id != "" && p.PhaseTotal != "":
		parts = append(parts, "P"+id+"/"+p.PhaseTotal)
	case id != "":
		parts = append(parts, "P"+id)
	}
	switch short := shortStatus(p.Status); {
	case p.ActivePhase == "" && p.complete():
		parts = append(parts, "complete")
	case short != "":
		parts = append(parts, short)
	case id == "" && p.NextAction != "":
		parts = append(parts, join(" ", "next", p.NextAction, strings.Join(p.NextPhases, "/")))
	}
	return join(" · ", parts...)
}

// complete reports whether the milestone is complete. A project with 0 of 0 phases hasn't
// begun.
func (p Position) complete() bool {
	if n, err := strconv.Atoi(p.Percent); err == nil && n == 100 {
		return true
	}
	return p.CompletedPhases == p.TotalPhases && strings.Trim(p.TotalPhases, "0") != ""
}

func (p Position) phase() string {
	switch {
	case p.PhaseNum == "" || p.PhaseTotal == "":
		return ""
	case p.PhaseName == "":
		return "ph " + p.PhaseNum + "/" + p.PhaseTotal
	}
	return p.PhaseName + " (" + p.PhaseNum + "/" + p.PhaseTotal + ")"
}

// barCells is the width of a bar.
const barCells = 10

// Bar returns a percentage, given as digits, as a bar: "[█████░░░░░] 59%". It returns "" for
// anything but a number, and limits it to 100.
func Bar(percent string) string {
	if percent == "" {
		return ""
	}
	n, err := strconv.Atoi(percent)
	switch {
	case err != nil && digits(percent) != percent:
		return ""
	case err != nil: // more digits than an int holds
		n = 100
	}
	n = max(0, min(100, n))
	full := n * barCells / 100
	return "[" + strings.Repeat("█", full) + strings.Repeat("░", barCells-full) + "] " +
		strconv.Itoa(n) + "%"
}

// maxShort is the maximum number of characters of a free-text status in the compact line.
const maxShort = 16

// shortStatus returns one word for a status: the canonical one, in capitals if work is stopped,
// or else the first of the text.
func shortStatus(status string) string {
	if status == "" {
		return ""
	}
	canonical := []string{Discussing, Planning, Executing, Verifying, Completed}
	switch word := compatStatus(status, ""); {
	case word == Paused:
		return "PAUSED"
	case slices.Contains(canonical, word):
		return word
	}
	text := trim(status)
	if i := strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || r == '-' || r == '–' || r == '—'
	}); i >= 0 {
		text = text[:i]
	}
	if r := []rune(text); len(r) > maxShort {
		text = string(r[:maxShort])
	}
	return text
}

// join joins the nonempty parts.
func join(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}
