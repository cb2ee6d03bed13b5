package agent

import "strings"

// ScrubEnv returns env without the variables by which Claude Code and others mark what runs inside them, and without those
// that name a claim of gl: an agent gets its own. Settings of the user, such as CLAUDE_CODE_USE_BEDROCK, stay. The
// order is kept and env isn't changed.
func ScrubEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); !isMark(name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func isMark(name string) bool {
	switch name {
	case "CLAUDECODE", "CLAUDE_CODE", "CLAUDE_PID", "CLAUDE_EFFORT", "AI_AGENT",
		"CODEX_THREAD_ID", "CODEX_SESSION_ID", "GEMINI_CLI", "OPENCODE", "OPENCODE_PID",
		"GL_SLICE", "GL_TASK", "GL_SUMMARY", "GL_SESSION", "GL_ATTEMPT":
		return true
	}
	session, ok := strings.CutPrefix(name, "CLAUDE_CODE_")
	if !ok {
		return false
	}
	switch session {
	case "ENTRYPOINT", "EXECPATH", "SESSION_ID", "SESSION_ATTENDED", "CHILD_SESSION", "CHILD_NOTES_DIR",
		"MESSAGING_SOCKET", "MESSAGING_TOKEN", "SSE_PORT":
		return true
	}
	return false
}
