package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each agent's counts map to the same four, none counted twice; a killed run has the usage of
// its messages.
func TestTokens(t *testing.T) {
	message := func(id, output string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","model":"m","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":3,"output_tokens":` + output +
			`,"cache_read_input_tokens":50,"cache_creation_input_tokens":7}}}`
	}
	for name, tt := range map[string]struct {
		stream string
		lines  []string
		want   *Tokens
	}{
		"claude": {StreamClaude, []string{initLine, message("a", "1"), `{"type":"result","subtype":"success","num_turns":1,"usage":{"input_tokens":30,"output_tokens":10,"cache_read_input_tokens":500,"cache_creation_input_tokens":70}}`}, &Tokens{30, 10, 500, 70}},
		"claude, killed": {StreamClaude, []string{initLine, message("a", "1"),
			message("a", "9"), message("b", "2")}, &Tokens{6, 11, 100, 14}},
		"claude, says no": {StreamClaude, []string{initLine, successLine}, nil},
		"codex":           {StreamCodex, []string{codexDone}, &Tokens{100, 100, 800, 0}},
		"gemini":          {StreamGemini, []string{`{"type":"result","status":"success","stats":{"total_tokens":130,"input_tokens":100,"output_tokens":30,"cached":40}}`}, &Tokens{60, 30, 40, 0}},
		"opencode": {StreamOpencode, []string{opencodeStepLine, opencodeStepLine},
			&Tokens{20, 14, 6, 2}},
		"cursor":              {StreamCursor, []string{cursorDone}, &Tokens{100, 20, 3, 0}},
		"nonsense is unknown": {StreamCodex, []string{`{"type":"turn.completed","usage":{"input_tokens":-5,"output_tokens":"many"}}`}, nil},
	} {
		d := NewDecoder(tt.stream)
		feed(d, tt.lines...)
		if diff := cmp.Diff(tt.want, d.Summary().Tokens); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

const opencodeStepLine = `{"type":"step_finish","part":{"cost":0.1,"tokens":{"input":10,"output":5,"reasoning":2,"cache":{"read":3,"write":1}}}}`
