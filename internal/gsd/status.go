package gsd

import (
	"slices"
	"strings"
	"unicode"
)

// The canonical words of a status; anything else is a person's own text.
const (
	Discussing = "discussing"
	Planning   = "planning"
	Executing  = "executing"
	Verifying  = "verifying"
	Completed  = "completed"
	Paused     = "paused"
	Unknown    = "unknown" // there is no status at all
)

// NormalizeStatus is the canonical word for a status: GSD's own answer in compatible mode, else one without its traps.
func NormalizeStatus(status, pausedAt string, compat bool) string {
	if compat {
		return compatStatus(status, pausedAt)
	}
	return plainStatus(status, pausedAt)
}

// compatStatus is the canonical word for a status exactly as GSD's own tools find it: the first of their words that the
// text contains, anywhere; "paused" for any paused_at that isn't empty, even "null". Text without such a word comes back
// as it is.
func compatStatus(status, pausedAt string) string {
	s := strings.ToLower(status)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
	}
	switch {
	case pausedAt != "" || has("paused", "stopped"):
		return Paused
	case has("executing", "in progress"):
		return Executing
	case has("planning", "ready to plan"):
		return Planning
	case has("discussing"):
		return Discussing
	case has("verif"):
		return Verifying
	case has("complete", "done"):
		return Completed
	case has("ready to execute"):
		return Executing
	case status == "":
		return Unknown
	}
	return status
}

// plainStatus is compatStatus without its traps: it looks for whole words, so that abandoned isn't done, incomplete
// isn't complete and unverified isn't being verified; '_' and '-' are blanks, so that in_progress is executing; what has
// been verified is completed; and a paused_at that says null pauses nothing.
func plainStatus(status, pausedAt string) string {
	words := strings.FieldsFunc(strings.ToLower(status), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	text := " " + strings.Join(words, " ") + " "
	has := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, " "+p+" ") })
	}
	switch {
	case !nullish(pausedAt) || has("paused", "stopped"):
		return Paused
	case has("executing", "in progress"):
		return Executing
	case has("planning", "ready to plan"):
		return Planning
	case has("discussing"):
		return Discussing
	case has("verified", "verification passed", "verification complete", "verification completed"):
		return Completed
	case has("verifying", "verify", "verification"):
		return Verifying
	case has("complete", "completed", "done"):
		return Completed
	case has("ready to execute"):
		return Executing
	case len(words) == 0 && strings.TrimSpace(status) == "":
		return Unknown
	}
	return status
}

// nullish says whether a scalar means that there is none. Writers that know no null leave such words behind.
func nullish(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "null", "~", "none", "undefined":
		return true
	}
	return false
}
