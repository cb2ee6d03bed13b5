package claudetest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gl init and gl design are a conversation: the client has the terminal, begins with the
// command, and the person answers.
func TestInteractive(t *testing.T) {
	for _, name := range []string{"init", "design"} {
		t.Run(name, func(t *testing.T) {
			named := func(r *Request) bool { return r.Says("Harbour") }
			w := newWorld(t, []string{"S-01"},
				Script{named, slices.Repeat([]Reply{Say("A fine name.")}, 20)},
				Script{nil, slices.Repeat([]Reply{Say("What shall it be called?")}, 20)})
			w.knownToClient()
			p := w.pane("gl " + name + "; echo gl ended with $?")
			p.until("What shall it be called?")
			if first := w.first(); !first.Asked("<command-name>/gl:" + name + "</command-name>") {
				t.Errorf("the model was asked %+v", first.Messages)
			}
			p.send("Harbour", "Enter")
			p.until("A fine name.")
			p.send("/exit", "Enter")
			p.until("gl ended with 0")
		})
	}
}

// In a terminal sub-agents run in the background: a model that starts one and ends its turn is
// woken, as the texts say.
func TestInteractiveAgentWakes(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{func(r *Request) bool { return r.Asked("YOUR TASK:") }, []Reply{Say("DONE. The cause is the cache.")}},
		Script{nil, append([]Reply{
			Use("Agent", map[string]any{"description": "ask", "prompt": "YOUR TASK: look", "subagent_type": "gl:gl-debugger"}),
			Say("I wait for the debugger."),
		}, slices.Repeat([]Reply{Say("It has answered me.")}, 20)...)})
	w.knownToClient()
	// By default the client asks its server about each call, and the stand-in doesn't have that
	// server.
	w.write(filepath.Join(w.home, ".claude/settings.json"), `{"permissions": {"defaultMode": "acceptEdits", "allow": ["Agent"]}}`)
	p := w.pane("gl design; echo gl ended with $?")
	p.until("It has answered me.")
	if !slices.ContainsFunc(w.api.Requests(), func(r *Request) bool {
		return !r.Asked("YOUR TASK:") && r.Says("The cause is the cache.")
	}) {
		t.Error("the session was not told what its sub-agent found")
	}
	p.send("/exit", "Enter")
	p.until("gl ended with 0")
}

// knownToClient makes the client skip its questions for a theme, for the key and for trust in
// the directory.
func (w *world) knownToClient() {
	w.Helper()
	root, err := filepath.EvalSymlinks(w.root)
	w.check(err)
	data, err := json.Marshal(object{
		"hasCompletedOnboarding": true, "theme": "dark",
		"customApiKeyResponses": object{"approved": []string{Key[len(Key)-20:]},
			"rejected": []string{}},
		"projects": object{root: object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	w.check(err)
	w.write(filepath.Join(w.home, ".claude.json"), string(data))
}

// A pane is a terminal that runs a shell command.
type pane struct {
	*world
	socket string
}

// pane runs the command in a tmux server of its own, which ends with the test.
func (w *world) pane(command string) *pane {
	w.Helper()
	p := &pane{w, filepath.Join(w.sockets(), "s")}
	cmd := exec.Command("tmux", "-S", p.socket, "-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", "sh", "-c", command+"; cat")
	cmd.Dir, cmd.Env = w.root, w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("tmux: %v\n%s", err, out)
	}
	return p
}

// send types words, and keys by tmux's names.
func (p *pane) send(keys ...string) {
	p.Helper()
	for _, k := range keys {
		p.check(exec.Command("tmux", "-S", p.socket, "send-keys", k).Run())
	}
}

// until waits until the screen shows the words.
func (p *pane) until(words string) {
	p.Helper()
	var screen string
	defer func() {
		if p.Failed() {
			p.Logf("the screen:\n%s", screen)
		}
	}()
	p.within("the screen shows "+words, func() bool {
		out, _ := exec.Command("tmux", "-S", p.socket, "capture-pane", "-p").Output()
		screen = string(out)
		return strings.Contains(screen, words)
	})
}
