package agent

import "testing"

// The sandbox of an agent is detected from its tools' errors.
func TestReadOnly(t *testing.T) {
	for _, c := range []struct{ stream, line, want string }{
		{StreamCodex, `{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"git add x","aggregated_output":"one\nfatal: Unable to create '/p/.git/index.lock': Read-only file system\n","exit_code":128,"status":"failed"}}`,
			"fatal: Unable to create '/p/.git/index.lock': Read-only file system"},
		{StreamCodex, `{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"cat x","aggregated_output":"Read-only file system","exit_code":0,"status":"completed"}}`, ""},
		{StreamClaude, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"touch: cannot touch 'x': Read-only file system"}]}}`,
			"touch: cannot touch 'x': Read-only file system"},
		{StreamClaude, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"exit 1"}]}}`, ""},
	} {
		d := NewDecoder(c.stream)
		d.Line([]byte(c.line))
		if got := d.Summary().ReadOnly; got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}
