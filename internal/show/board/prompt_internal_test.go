package board

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/show/view"
)

// The input line is edited with the keys of shells.
func TestLine(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"left x", "gl x█d"}, {"left left left left x left right", "x█gl d"},
		{"home delete", "█l d"}, {"ctrl+a x end y", "xgl dy█"}, {"ctrl+w", "gl █"}, {"ctrl+w ctrl+w", "█"},
		{"ctrl+u x", "x█"}, {"home ctrl+k", "█"}, {"alt+b x", "gl x█d"}, {"home backspace", "█gl d"},
	} {
		l := newLine("gl d")
		for key := range strings.FieldsSeq(tt.keys) {
			if !l.edit(key) {
				l.insert(key)
			}
		}
		if got := strings.TrimPrefix(l.show("", 40), "> "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.keys, got, tt.want)
		}
	}
	l := newLine("")
	l.insert("注文\nof\x1b[2J" + strings.Repeat("x", 40))
	if got := l.show("gl", 10); got != "gl> xxxxx█" {
		t.Errorf("the end of a long line: %q", got)
	}
	if l.edit("home"); !strings.HasPrefix(l.show("gl", 30), `gl> █注文 of\x1b[2Jxx`) {
		t.Errorf("the start of a long line: %q", l.show("gl", 30))
	}
}

const answer = "S-2\tBasket\nS-3\tCheckout \x1b[2J\nS-31\nother\n:4\n"

// What gl completes is offered with the selected slice first; Tab puts one after the other on the
// line, in place of the word that was begun.
func TestCompletion(t *testing.T) {
	b := fixture(0)
	b.list.selected = "S-3"
	if press(b, ":") == nil {
		t.Fatal("gl isn't asked")
	}
	in := b.prompt.input
	for _, r := range "retry S-" {
		press(b, string(r))
	}
	if !in.menu.busy {
		t.Fatal("gl isn't asked")
	}
	if _, cmd := b.Update(completed{in: in, of: "", list: []candidate{{"status", ""}}}); cmd == nil || len(in.menu.list) > 0 {
		t.Error("an answer to an earlier line is shown, or the line isn't asked for")
	}
	b.Update(completed{in, "retry S-", "S-", candidates(answer, "S-", "S-3")})
	b.showing(t, "  S-3   Checkout \\x1b[2J\n  S-2   Basket\n  S-31\ngl> retry S-█")
	for _, want := range []string{"S-3", "S-2", "S-31", "S-3"} {
		press(b, "tab")
		b.showing(t, "gl> retry "+want+"█", "\n> "+want)
	}
	if cmd := press(b, "enter"); cmd == nil || b.prompt.running != "gl retry S-3" {
		t.Errorf("runs %q", b.prompt.running)
	}
	b.prompt.running = ""
	press(b, ":")
	in = b.prompt.input
	b.Update(completed{in: in})
	b.Update(tea.KeyPressMsg{Code: tea.KeyUp})
	b.showing(t, "gl> retry S-3█")
	b.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	b.showing(t, "gl> █")
	press(b, strings.Split("sta", "")...)
	b.Update(completed{in: in})
	b.Update(completed{in, "sta", "sta", []candidate{{"status", ""}}})
	if press(b, "tab"); in.line.String() != "status " {
		t.Errorf("the only candidate: %q", in.line.String())
	}
	if cmd := press(b, "esc", ":", "q", "enter"); cmd == nil {
		t.Error(":q does nothing")
	} else if _, quit := cmd().(tea.QuitMsg); !quit {
		t.Error(":q doesn't quit")
	}
}

// n starts what is ready only after it has said with which agent, and not beside another run.
func TestStart(t *testing.T) {
	pr, err := project.Open(projecttest.Write(t, map[string]string{"config.json": `{"parallel": {"agent": "codex"}}`}))
	if err != nil {
		t.Fatal(err)
	}
	b := fixture(0, func(s *plan.Snapshot) {
		s.Items = append(s.Items, &plan.Item{ID: "S-10", Agent: "gemini", Changed: now})
	})
	b.cfg.Project, b.list.facts.Slots = pr, 4
	if cmd := press(b, "n"); cmd != nil {
		t.Error("it doesn't ask")
	}
	b.showing(t, "start 2 ready slices with codex and gemini, at most 4 at once, until nothing is\n  left? [y/n]")
	if cmd := press(b, "x"); cmd != nil || b.prompt.confirm != nil {
		t.Error("x starts it")
	}
	b.list.leader = "1 gl slice --watch"
	if press(b, "n"); b.prompt.confirm != nil {
		t.Error("it starts another run")
	}
	b.showing(t, "a run is on")
	b.list.leader = ""
	b.list.snapshot = snapshot{model: view.New(plan.New(&plan.Snapshot{}, now, plan.Options{}), view.Facts{}, now)}
	if press(b, "n"); b.prompt.confirm != nil {
		t.Error("it starts nothing")
	}
	b.showing(t, "nothing is ready")
}

// Commands that ask, follow or show tmux have the terminal; the output of others is in a panel.
func TestWhoGetsTheTerminal(t *testing.T) {
	for line, want := range map[string]bool{"review": true, "attach S-1": true, "logs -f S-1": true, "status --watch": true, "diff S-1 --tool=meld": true,
		"status": false, "why S-1": false, "logs S-1": false} {
		if got := needsTerminal(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	if !slices.IsSorted(terminalCommands) {
		t.Error("the list isn't sorted")
	}
}
