package gsd

import (
	"slices"
	"strings"
	"unicode"
)

// The canonical status words; any other status is free text.
const (
	Discussing = "discussing"
	Planning   = "planning"
	Executing  = "executing"
	Verifying  = "verifying"
	Completed  = "completed"
	Paused     = "paused"
	Unknown    = "unknown" // no status at all
)

// normalizeStatus returns the canonical word for a status: exactly as GSD finds it if compat is
// true, otherwise without GSD's pitfalls.
func normalizeStatus(status, pausedAt string, compat bool) string {
	if compat {
		return compatStatus(status, pausedAt)
	}
	return plainStatus(status, pausedAt)
}

// compatStatus returns the canonical word for a status exactly as GSD's own tools find it: the
// first of their words contained anywhere in the text; "paused" for any nonempty paused_at,
// even "null". Text without such a word is returned unchanged.
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

// plainStatus is compatStatus without its pitfalls: it matches whole words, so that abandoned
// isn't done, incomplete isn't complete and unverified isn't being verified; '_' and '-' are
// blanks, so that in_progress means executing; verified means completed; and a paused_at of
// null pauses nothing.
func plainStatus(status, pausedAt string) string {
	words := strings.FieldsFunc(strings.ToLower(status), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	text := " " + strings.Join(words, " ") + " "
	has := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(p string) bool {
			return strings.Contains(text, " "+p+" ")
		})
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

// nullish reports whether a scalar means "no value". Writers without a notion of null produce
// such words.
func nullish(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "null", "~", "none", "undefined":
		return true
	}
	return false
}
