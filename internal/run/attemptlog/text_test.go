package attemptlog

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
)

func TestEventText(t *testing.T) {
	for _, test := range []struct {
		kind agent.Kind
		want string
	}{
		{agent.KindSay, "a\n  b"}, {agent.KindPlain, "a\n  b"}, {agent.KindInit, "- a\n  b"},
		{agent.KindTool, "> a\n  b"},
		{agent.KindToolError, "! a\n  b"}, {agent.KindRetry, "~ a\n  b"},
		{agent.KindLimit, "~ a\n  b"},
		{agent.KindResult, "= a\n  b"},
	} {
		if got := EventText(agent.Event{Kind: test.kind, Text: "a\nb"}); got != test.want {
			t.Errorf("%s: %q, want %q", test.kind, got, test.want)
		}
	}
}

// The actions and words of a sub-agent are marked with its name, and can't be mistaken for the
// agent's own.
func TestSubAgents(t *testing.T) {
	log := strings.Join([]string{
		`{"type":"system","subtype":"init","session_id":"x","slash_commands":["gl:slice"]}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Agent","input":{"subagent_type":"gl:gl-test-writer","description":"tests"}}]},"parent_tool_use_id":null}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"I look\nfirst"},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":"t1"}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no such file"}]},"parent_tool_use_id":"t1"}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t3","name":"Read","input":{"file_path":"a"}}]},"parent_tool_use_id":"unknown"}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"all done"}]},"parent_tool_use_id":null}`,
	}, "\n") + "\n"
	path := filepath.Join(t.TempDir(), "log")
	appendTo(t, path, log)
	want := []string{"- started", "> Agent: tests", "| gl-test-writer: I look", "|   first", "| gl-test-writer > Bash: ls", "| gl-test-writer ! no such file",
		"| sub-agent > Read: a", "all done"}
	if diff := cmp.Diff(want, End(path, "claude", 20)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"all done"}, Said(path, "claude", 20)); diff != "" {
		t.Error(diff)
	}
}

func TestText(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"an event", `{"type":"assistant","message":{"content":[{"type":"text","text":"one\ntwo"}]}}`, "one\n  two"},
		{"several events", `{"type":"assistant","message":{"content":[{"type":"text","text":"look"},` +
			`{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls"}}]}}`, "look|> Bash: ls"},
		{"stderr", `{"gl":"stderr","text":"oops"}`, "oops"},
		{"a note of gl's", `{"gl":"note","text":"no event for 5m"}`, "gl: no event for 5m"},
		{"escapes", `{"gl":"stderr","text":"\u001b[2J"}`, `\x1b[2J`},
		{"no event", "plain", "plain"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(Text(agent.NewDecoder("claude"),
				lines.Piece{Text: []byte(tt.line)}), "|"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	long := strings.Repeat("x", endBytes)
	tests := []struct {
		name, log string
		want      []string
	}{
		{"empty", "", nil},
		{"short", "a\nb\n", []string{"a", "b"}},
		{"longer than asked for", "a\nb\nc\nd\n", []string{"b", "c", "d"}},
		{"an incomplete last line", "a\nb", []string{"a", "b"}},
		{"blank lines at its end", "a\n\n\n", []string{"a"}},
		{"only its end is read", long + "\nb\nc\n", []string{"b", "c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			appendTo(t, path, tt.log)
			if diff := cmp.Diff(tt.want, End(path, "", 3)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := End(filepath.Join(t.TempDir(), "log"), "", 3); got != nil {
		t.Errorf("without a log: %q", got)
	}
}
