package cli

import (
	"strings"
	"testing"

	"greenlight/internal/base/term"
)

// The first help fits a screen and has commands that exist, each once; the whole help has every
// command on one line of 80 columns.
func TestHelpFits(t *testing.T) {
	const columns, rows = 80, 42
	first := string(output(t, "help"))
	if n := strings.Count(first, "\n"); n > rows {
		t.Errorf("gl help has %d lines", n)
	}
	root, _ := commandTree()
	seen := map[string]bool{}
	for _, g := range firstHelp() {
		list := strings.Fields(g.commands)
		if found := inGroup(root, g); len(found) != len(list) {
			t.Errorf("%s: of %s there are %d commands", g.title, g.commands, len(found))
		}
		for _, name := range list {
			if seen[name] {
				t.Errorf("%s is in the help twice", name)
			}
			seen[name] = true
		}
	}
	whole := string(output(t, "help", "--all"))
	for _, c := range root.Commands() {
		line := "\n  gl " + c.Name() + " "
		if n := strings.Count(whole, line); c.GroupID != "" && !c.Hidden && n != 1 {
			t.Errorf("gl help --all has %s %d times", c.Name(), n)
		}
	}
	commands, _, _ := strings.Cut(whole, "Flags of every command")
	for line := range strings.Lines(first + commands) {
		if n := term.Width(strings.TrimRight(line, "\n")); n > columns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
