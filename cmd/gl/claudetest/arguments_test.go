package claudetest

import (
	"path/filepath"
	"strings"
	"testing"
)

// hostile are words that a shell, the client's check of shell lines, or a program could
// misread. Each would create a file if it ran.
var hostile = []string{
	"why doesn't S-01 move",
	`"quotes" and \ and 'both`,
	"(brackets) {braces} [lists] *.go ~ !! #5",
	"a; touch ran & touch ran | touch ran > ran",
	"$(touch ran) ${HOME} `touch ran` !`touch ran`",
	"two\nlines\n!`touch ran`\n--help",
	"--force -x caf\u00e9 \U0001F600",
}

// Text after a command reaches the model unchanged and reaches no shell; and each command of
// the plugin expands.
func TestHostileArguments(t *testing.T) {
	w := newWorld(t, []string{"S-01", "S-02:S-01"}, Script{Steps: []Reply{Say("Well.")}})
	// so that permissions aren't what prevents a run
	flags := []string{"--plugin-dir", w.plugin(), "--allowedTools", "Bash"}
	said := strings.Join(hostile, "\n")
	for _, name := range names(t, "commands") {
		w.headless("/gl:"+name+" "+said, flags...)
		if last := w.last(); !last.Asked(said) ||
			!last.Asked("<command-name>/gl:"+name+"</command-name>") || last.Asked("!`gl ") {
			t.Errorf("/gl:%s: the model reads %+v", name, last.Messages)
		}
		if ran, _ := filepath.Glob(filepath.Join(filepath.Dir(w.root), "*", "ran")); len(ran) > 0 {
			t.Fatalf("/gl:%s ran a command", name)
		}
	}
}
