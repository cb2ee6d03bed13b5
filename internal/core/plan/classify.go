package plan

import (
	"slices"
	"strings"
)

// Class is what a status means for scheduling. In practice statuses are free text; each maps to
// one of these classes.
type Class string

const (
	Done      Class = "done"
	Available Class = "available" // ready once its dependencies are done
	Active    Class = "active"    // in progress
	// its agent reports it complete, and it awaits the merge queue: it takes no slot, but its
	// dependents wait
	Landing Class = "landing"
	Failed  Class = "failed"
	// the tests failed on its merged work, even after its agent was told
	Red      Class = "red"
	Conflict Class = "conflict" // its work doesn't merge, even after its agent was told
	// an attempt ended without completing it, and nothing has changed since
	Stalled Class = "stalled"
	Waiting Class = "waiting" // for a person
	Unknown Class = "unknown" // an unknown status; never launched
	Corrupt Class = "corrupt" // its file is unreadable; never launched, never done
)

// Classify returns the class of a raw status. It ignores case; '-', '_' and space are
// equivalent. It never returns Landing, Red, Conflict, Stalled or Corrupt, which no status
// expresses.
func Classify(status string) Class {
	c := classOf(status) // fast path: the spelling that gl writes
	if c == Unknown {
		c = classOf(normal(status))
	}
	return c
}

func classOf(status string) Class {
	switch status {
	case "complete", "completed", "done":
		return Done
	case "", "pending", "ready":
		return Available
	case "in_progress", "tests", "implementing", "security", "fixing", "verifying":
		return Active
	case "paused":
		return Waiting
	case "failed":
		return Failed
	}
	return Unknown
}

// StepReached reports whether a step's name means that work has begun.
func StepReached(step string) bool {
	switch normal(step) {
	case "", "none", "pending":
		return false
	}
	return true
}

// IsStep reports whether a status is itself a step of the TDD loop, and so more specific than
// "in progress".
func IsStep(status string) bool {
	return Classify(status) == Active && normal(status) != "in_progress"
}

// HandsOver reports whether a slice that moves between these statuses and steps has finished
// writing tests. Skipping past implementing counts only if its tests were being written.
func HandsOver(fromStatus, fromStep, status, step string) bool {
	was := []string{normal(fromStatus), normal(fromStep)}
	is := []string{normal(status), normal(step)}
	if slices.ContainsFunc(was, afterTests) || !slices.ContainsFunc(is, afterTests) {
		return false
	}
	return WritesTests(fromStatus, fromStep) || slices.Contains(is, "implementing")
}

// WritesTests reports whether a slice's status or step means that its tests are being written.
func WritesTests(status, step string) bool {
	return normal(status) == "tests" || normal(step) == "tests"
}

func afterTests(s string) bool {
	return slices.Contains([]string{"implementing", "security", "fixing", "verifying"}, s) || isDone(s)
}

func isDone(s string) bool { return Classify(s) == Done }

func normal(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return '_'
		}
		return r
	}, strings.ToLower(strings.TrimSpace(s)))
}
