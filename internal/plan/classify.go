package plan

import (
	"slices"
	"strings"
)

// Class is what a status means for scheduling. Statuses are free text in the wild; there are only these classes.
type Class string

const (
	Done      Class = "done"
	Available Class = "available" // ready once its dependencies are done
	Active    Class = "active"    // somebody works on it
	Landing   Class = "landing"   // its agent calls it complete, and it awaits the lane: no slot, but its dependents wait
	Failed    Class = "failed"
	Red       Class = "red"      // the tests failed on its merged work, also after its agent was told
	Conflict  Class = "conflict" // its work doesn't merge, also after its agent was told
	Stalled   Class = "stalled"  // an attempt ended without completing it, and nothing has changed since
	Waiting   Class = "waiting"  // for a person
	Unknown   Class = "unknown"  // a status that nobody knows; never launched
	Corrupt   Class = "corrupt"  // its file can't be read; never launched, never done
)

// Classify gives the class of a raw status. Case doesn't count; '-', '_' and space are the same. Landing, Red, Conflict,
// Stalled and Corrupt are never the answer: no status says them.
func Classify(status string) Class {
	c := classOf(status) // as gl writes it, and ten thousand files have it
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

// StepReached says whether a step's name means that work has begun.
func StepReached(step string) bool {
	switch normal(step) {
	case "", "none", "pending":
		return false
	}
	return true
}

// IsStep says whether a status is itself a step of the TDD loop, and so says more than "in progress".
func IsStep(status string) bool {
	return Classify(status) == Active && normal(status) != "in_progress"
}

// HandsOver says whether a slice that goes from one status and step to others leaves the writing of tests behind. Going past
// implementing at once does only where its tests were being written: else none were, as such.
func HandsOver(fromStatus, fromStep, status, step string) bool {
	was := []string{normal(fromStatus), normal(fromStep)}
	is := []string{normal(status), normal(step)}
	if slices.ContainsFunc(was, afterTests) || !slices.ContainsFunc(is, afterTests) {
		return false
	}
	return WritesTests(fromStatus, fromStep) || slices.Contains(is, "implementing")
}

// WritesTests reports whether a slice's status or step says that its tests are being written.
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
