package agent

import (
	"os"
	"strings"
	"testing"
)

// Every built-in client acts without asking, and gl can tell by which flags.
func TestUnasked(t *testing.T) {
	for _, a := range table(Config{ClaudeFlags: []string{"--max-turns", "200", "--dangerously-skip-permissions"}, Self: "/bin/gl"}) {
		if got := Unasked(a.Command(Job{Prompt: "--auto", Dir: "/d"})); (got == "") != (a.Program == "/bin/gl") {
			t.Errorf("%s: %q", a.Name, got)
		}
	}
	for want, argv := range map[string][]string{
		"":                                    {"claude", "-p", "x", "--allowedTools", "Edit"},
		"--permission-mode bypassPermissions": {"/opt/claude", "--permission-mode", "bypassPermissions"},
		"--approval-mode yolo":                {"gemini", "--approval-mode", "yolo"},
	} {
		if got := Unasked(argv); got != want {
			t.Errorf("%q: %q, want %q", argv, got, want)
		}
	}
	if got := Unasked([]string{"sh", "--force"}) + Unasked([]string{"claude", "--permission-mode"}) + Unasked(nil); got != "" {
		t.Error(got)
	}
}

// SECURITY.md says by which flags each built-in client acts without asking.
func TestSecurityNamesTheFlags(t *testing.T) {
	data, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n**What agents do.**")
	text, _, _ = strings.Cut(text, "\n\n")
	for _, a := range table(Config{ClaudeFlags: []string{"--dangerously-skip-permissions"}}) {
		flags := Unasked(a.Command(Job{Dir: "/d"}))
		if a.Name != rehearsalName && (flags == "" || !strings.Contains(text, "`"+flags)) {
			t.Errorf("no row for %s in SECURITY.md: \"What agents do\" must name its flags, %q", a.Name, flags)
		}
	}
}
