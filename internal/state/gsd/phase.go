package gsd

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

// prosePatterns are compiled on first use rather than at every start.
var prosePatterns = sync.OnceValue(func() (p struct {
	id, total, paren, tail, statusy, marker *regexp.Regexp
}) {
	const id = `(?i)^\s*(?:Phase\s+)?(?:[A-Z][A-Z0-9_]*-)?(\d+[A-Z]?(?:\.\d+)*)\b`
	p.id = regexp.MustCompile(id)
	p.total = regexp.MustCompile(id + `\s+of\s+(\d+)\b`)
	p.paren = regexp.MustCompile(`\(([^)]{1,200})\)`)
	p.tail = regexp.MustCompile(`—\s*([^(\n]{1,200}?)\s*$`)
	p.statusy = regexp.MustCompile(`(?i)^(?:completed?|executing|not started|planning|planned|ready(?:\s+to\s+\S.{0,50})?|` +
		`done|in progress|blocked|paused|verifying)$`)
	p.marker = regexp.MustCompile(`^[A-Z][A-Z0-9_-]*$`)
	return p
})

// A prosePhase is a parsed `Phase: 2 of 5 (Name) — EXECUTING`.
type prosePhase struct{ id, of, name string }

// readPhase parses the value of a Phase field: `2 of 5 (Name)`, `2 — Name (aside)`, `2 (Name) —
// EXECUTING`. The value must begin with a phase's number: "Milestone v0.5 complete" doesn't
// contain phase 5.
func readPhase(value string) prosePhase {
	p := prosePatterns()
	var out prosePhase
	if m := p.id.FindStringSubmatch(value); m != nil {
		out.id = m[1]
	}
	paren := ""
	if m := p.paren.FindStringSubmatch(value); m != nil {
		paren = strings.TrimSpace(m[1])
	}
	// what is in parentheses is neither the total nor the tail: `54 (third of 10 in v1.8)`
	bare := p.paren.ReplaceAllString(value, " ")
	if m := p.total.FindStringSubmatch(bare); m != nil {
		out.of = m[2]
	}
	tail := ""
	if m := p.tail.FindStringSubmatch(bare); m != nil {
		tail = strings.TrimSpace(m[1])
	}
	isName := tail != "" && !p.statusy.MatchString(tail) &&
		!foldPrefix([]byte(tail), "milestone:") &&
		(paren == "" || !p.marker.MatchString(tail))
	out.name = paren
	if isName || paren == "" {
		out.name = tail
	}
	switch strings.ToLower(out.name) {
	case "complete", "executing", "not started":
		out.name = ""
	}
	return out
}

// label formats a phase for Current Position: `2 of 5 (Name) — EXECUTING`, or without the dash
// for an empty mark. The total stays if the file had one, because the status line reads it.
func (p prosePhase) label(mark string) string {
	text := p.id
	if p.of != "" {
		text += " of " + p.of
	}
	if p.name != "" {
		text += " (" + p.name + ")"
	}
	if mark != "" {
		text += " — " + mark
	}
	return text
}

// samePhase reports whether two ids mean the same phase: 2 and 02 do, 4.1 and 4.10 don't.
func samePhase(a, b string) bool {
	if key := PhaseKey(a); key != "" {
		return key == PhaseKey(b)
	}
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

// isoTime formats a time for last_updated: UTC, with milliseconds.
func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// localDate formats a time for last_activity: the person's local date.
func localDate(t time.Time) string { return t.Format(time.DateOnly) }
