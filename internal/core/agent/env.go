package agent

import (
	"slices"
	"strings"
)

// ScrubEnv returns env without the variables that Claude Code and others mark their child processes
// with, and without those that name a claim of gl, since an agent gets its own. Settings of the
// user, such as CLAUDE_CODE_USE_BEDROCK, stay. The order is kept and env isn't changed.
func ScrubEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); !isMark(name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// WithEnv returns env with the variables in more added, replacing those of the same name.
func WithEnv(env, more []string) []string {
	replaced := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(more, func(m string) bool {
			return strings.HasPrefix(m, name+"=")
		})
	}
	return append(slices.DeleteFunc(slices.Clone(env), replaced), more...)
}

func isMark(name string) bool {
	switch name {
	case "CLAUDECODE", "CLAUDE_CODE", "CLAUDE_PID", "CLAUDE_EFFORT", "AI_AGENT",
		"CODEX_THREAD_ID", "CODEX_SESSION_ID", "GEMINI_CLI", "OPENCODE", "OPENCODE_PID",
		"GL_SLICE", "GL_TASK", "GL_SUMMARY", "GL_SESSION", "GL_ATTEMPT", "GL_AGENT_ENV", "GL_TESTS":
		return true
	}
	session, ok := strings.CutPrefix(name, "CLAUDE_CODE_")
	if !ok {
		return false
	}
	switch session {
	case "ENTRYPOINT", "EXECPATH", "SESSION_ID", "SESSION_ATTENDED", "CHILD_SESSION",
		"CHILD_NOTES_DIR",
		"MESSAGING_SOCKET", "MESSAGING_TOKEN", "SSE_PORT":
		return true
	}
	return false
}

// forwardSubagents makes Claude Code print the output of its sub-agents, not only their tool
// calls. It equals the flag --forward-subagent-text, which clients that don't know it would
// reject.
const forwardSubagents = "CLAUDE_CODE_FORWARD_SUBAGENT_TEXT"

// StreamEnv returns env extended so that an agent with that stream reports everything a Decoder
// understands. The user's own settings stay.
func StreamEnv(stream string, env []string) []string {
	if stream != StreamClaude || slices.ContainsFunc(env, func(kv string) bool {
		return strings.HasPrefix(kv, forwardSubagents+"=")
	}) {
		return env
	}
	return append(slices.Clip(env), forwardSubagents+"=1")
}
