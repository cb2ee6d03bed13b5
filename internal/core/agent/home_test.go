package agent

import (
	"path/filepath"
	"strings"
	"testing"
)

// Every agent with a login has a directory of its own, which protects the commands for its
// other sessions.
func TestHomes(t *testing.T) {
	for _, a := range table(Config{Self: "/bin/gl"}) {
		if a.Login != "" && len(a.Homes) == 0 {
			t.Errorf("%s has no directory of its own", a.Name)
		}
		for _, h := range a.Homes {
			for _, name := range append([]string{h.Dir}, append(h.Fixed, h.Copies...)...) {
				if name = strings.TrimSuffix(name, "/"); !filepath.IsLocal(name) ||
					name != filepath.Clean(name) {
					t.Errorf("%s: %q", a.Name, name)
				}
			}
		}
		if a.Login != "" && len(HomesOf("/opt/bin/"+a.Program)) == 0 {
			t.Errorf("%s isn't known by its program", a.Name)
		}
	}
	if HomesOf("sh") != nil || HomesOf("gl") != nil {
		t.Error("a program that is no agent has a directory")
	}
}
