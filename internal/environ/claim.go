package environ

import (
	"slices"
	"strings"
)

// Session is the variable with the claim's token, in the environment of an agent and of what it starts.
const Session = "GL_SESSION"

// Tests is the variable with which gl finds what tests that it runs have left running: it says where they run, or for what.
const Tests = "GL_TESTS"

// MarksOf is what "NAME=value" of that variable begins with for tests of a project, and for its setup and teardown, whatever follows.
func MarksOf(root string) string { return Tests + "=" + root + "#" }

// SetupMark is the variable, "NAME=value", of a project's setup and teardown commands. What they leave running has it: a service of
// theirs survives, and is no person.
func SetupMark(root string) string { return MarksOf(root) + "setup" }

// WithoutClaim is the environment of a command that works for a worktree and not for the claim: without the variables that tell
// an agent of its slice.
func WithoutClaim(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{Session, "GL_SLICE", "GL_TASK", "GL_ATTEMPT", "GL_SUMMARY"}, name)
	})
}
