package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each client reports the id of its conversation in its own way. An id that is unsafe as an
// argument is ignored, and so is one that the client didn't find.
func TestConversation(t *testing.T) {
	for _, tt := range []struct {
		stream string
		lines  []string
		want   string
	}{
		{StreamClaude, []string{`{"type":"system","subtype":"init","session_id":"c-1"}`}, "c-1"},
		{StreamAuto, []string{`{"type":"system","subtype":"init","session_id":"c-1"}`}, "c-1"},
		{StreamClaude, []string{`{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"c-2","errors":["No conversation found with session ID: c-2"]}`}, ""},
		{StreamClaude, []string{`{"type":"system","subtype":"init","session_id":"--dangerously-skip-permissions"}`}, ""},
		{StreamClaude, []string{`{"type":"system","subtype":"init","session_id":"a b"}`}, ""},
		{StreamClaude, []string{`{"type":"system","subtype":"init","session_id":"` + strings.Repeat("x", 201) + `"}`}, ""},
		{StreamClaude, []string{`{"type":"system","subtype":"init","session_id":"ü"}`}, ""},
		{StreamClaude, []string{`{"type":"system","subtype":"init","session_id":7}`}, ""},
		{StreamCodex, []string{codexStart}, "th-1"},
		{StreamGemini, []string{geminiInit}, "s-1"},
		{StreamCursor, []string{cursorInit}, "u-1"},
		{StreamOpencode, []string{`{"type":"step_start","sessionID":"ses_1","part":{}}`}, "ses_1"},
		{StreamOpencode, []string{`{"type":"error","sessionID":"ses_2","error":{"name":"NotFoundError","data":{"message":"Session not found: ses_2"}}}`}, ""},
		{StreamText, []string{codexStart}, ""},
	} {
		d := NewDecoder(tt.stream)
		feed(d, tt.lines...)
		if got := d.Summary().Conversation; got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.stream, tt.lines, got, tt.want)
		}
	}
}

func TestResume(t *testing.T) {
	job := Job{Prompt: "/gl:slice S-1", Instructions: "Build $ARGUMENTS", Dir: "/d", SessionID: "new", PluginDirs: []string{"/plug"}, Slice: "S-1",
		Conversation: "c-1", Note: "Go on {dir}."}
	cfg := Config{ClaudeFlags: []string{"--max-turns", "9"}, Custom: map[string]Custom{
		"mine": {Command: []string{"mine", "{prompt}"}, Resume: []string{"mine", "--go-on={conversation}", "{prompt}", "{slice}", "{dir}", "{instructions}"}},
		"once": {Command: []string{"codex", "{prompt}"}},
	}}
	rows := map[string][]string{
		"claude":       {"claude", "-p", "Go on {dir}.", "--output-format", "stream-json", "--verbose", "--resume", "c-1", "--plugin-dir", "/plug", "--max-turns", "9"},
		"codex":        {"codex", "exec", "--json", "-s", "workspace-write", "-C", "/d", "resume", "c-1", "Go on {dir}."},
		"gemini":       {"gemini", "-p", "Go on {dir}.", "--approval-mode", "yolo", "--skip-trust", "-o", "stream-json", "--resume", "c-1"},
		"opencode":     {"opencode", "run", "--auto", "--format", "json", "--dir", "/d", "--session", "c-1", "Go on {dir}."},
		"cursor-agent": {"cursor-agent", "-p", "--force", "--trust", "--output-format", "stream-json", "--resume", "c-1", "Build S-1"},
		"mine":         {"mine", "--go-on=c-1", "Go on {dir}.", "S-1", "/d", "Build S-1"},
		"once":         nil,
		"rehearsal":    nil,
	}
	for _, name := range BuiltIn() {
		if _, ok := rows[name]; !ok {
			t.Errorf("no row for %s", name)
		}
	}
	for name, want := range rows {
		a, err := Find(name, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, a.Resume(job)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		fresh := job
		fresh.Conversation = ""
		if got := a.Resume(fresh); got != nil {
			t.Errorf("%s resumes nothing: %q", name, got)
		}
		if d := cmp.Diff(a.Command(fresh), a.Command(job)); d != "" {
			t.Errorf("%s: a new conversation depends on an old one: %s", name, d)
		}
	}
	if a, _ := Find("mine", cfg); !cmp.Equal(a.Keys, []string{"parallel.agents.mine.command", "parallel.agents.mine.resume"}) {
		t.Errorf("a person must have allowed both command lines: %q", a.Keys)
	}
}

// Limits and conversations belong to a login: the directory of the client's files, determined
// by its own variables first, or an environment of its own.
func TestAccount(t *testing.T) {
	cfg := Config{Custom: map[string]Custom{
		"mine": {Command: []string{"/opt/claude", "-p"}}, "other": {Command: []string{"other"}},
		"work":  {Extends: "claude", Env: map[string]string{"CLAUDE_CONFIG_DIR": "~/work"}},
		"same":  {Extends: "claude", Env: map[string]string{"CLAUDE_CONFIG_DIR": "/c"}},
		"keyed": {Extends: "codex", Env: map[string]string{"OPENAI_API_KEY": "${WORK_KEY}"}},
	}}
	for name, want := range map[string]string{
		"claude": "claude CLAUDE_CONFIG_DIR=/c", "mine": "claude CLAUDE_CONFIG_DIR=/c", "codex": "codex CODEX_HOME=/x", "gemini": "gemini HOME=/h",
		"other": "other HOME=/h", "work": "claude CLAUDE_CONFIG_DIR=/h/work", "keyed": "codex CODEX_HOME=/x keyed", "same": "claude CLAUDE_CONFIG_DIR=/c same",
		"rehearsal:fail=1%": "rehearsal:fail=1% HOME=/h",
	} {
		a, err := Find(name, cfg)
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x"}
		if got := a.Account(func(name string) string { return env[name] }); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
