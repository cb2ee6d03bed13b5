package plugin

import (
	"strings"
	"testing"
)

// Agents without slash commands have no hooks either: the text itself refers them to the
// standards.
func TestCommandTextNamesTheStandards(t *testing.T) {
	text, err := CommandText("slice")
	if err != nil || !strings.Contains(text, "`gl ref CLAUDE`") ||
		!strings.HasPrefix(text, "---\n") {
		t.Errorf("%v: %q", err, text)
	}
	if _, err := CommandText("nothing"); err == nil ||
		!strings.Contains(err.Error(), "/gl:nothing") {
		t.Error(err)
	}
	for _, name := range []string{"specwright", "gsd", "dispatch", "agents/gl-verifier"} {
		if Documents()[name] == "" {
			t.Errorf("gl ref has no %s", name)
		}
	}
}
