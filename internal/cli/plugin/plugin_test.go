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

// Every command that the trackers of other systems launch has a text for agents without slash
// commands, in both ways in which GSD's are called.
func TestSiblingText(t *testing.T) {
	for prompt, system := range map[string]string{"/gsd-plan-phase 1 --research": "gsd", "/gsd:execute-phase 2.1": "gsd",
		"/gsd-verify-work 0": "gsd", "/gsd-progress": "gsd", "/sw-build": "specwright", "/sw-verify": "specwright"} {
		if text, err := SiblingText(system, prompt); err != nil || !strings.HasPrefix(text, "---\nname: ") {
			t.Errorf("%s: %v: %q", prompt, err, text)
		}
	}
	for _, prompt := range []string{"/gsd-nothing 1", "/../../plugin", ""} {
		if _, err := SiblingText("gsd", prompt); err == nil {
			t.Errorf("%q has a text", prompt)
		}
	}
}
