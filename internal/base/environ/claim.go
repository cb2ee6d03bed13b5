package environ

import (
	"slices"
	"strings"
)

// Session is the environment variable that holds the claim's token. An agent has it, and so
// does every process that the agent starts.
const Session = "GL_SESSION"

// Tests is the environment variable that marks processes that tests left running. Its value is the
// worktree the tests ran in, or the purpose of the command.
const Tests = "GL_TESTS"

// MarksOf returns the prefix that "NAME=value" of Tests has for the tests, setup and teardown
// of the project at root.
func MarksOf(root string) string { return Tests + "=" + root + "#" }

// SetupMark returns the variable, "NAME=value", that a project's setup and teardown commands
// run with. Processes they leave running inherit it, which tells such a service from a person's
// program.
func SetupMark(root string) string { return MarksOf(root) + "setup" }

// WithoutClaim returns the environment for a command that works for a worktree rather than for
// the claim: env without the variables that tell an agent about its slice.
func WithoutClaim(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{Session, "GL_SLICE", "GL_TASK", "GL_ATTEMPT", "GL_SUMMARY"},
			name)
	})
}
