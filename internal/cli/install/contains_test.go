package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whether a project's file is read or written through a link depends on where it leads, even if
// nothing exists there yet.
func TestContains(t *testing.T) {
	for _, tt := range []struct {
		links map[string]string
		path  string
		ok    bool
	}{
		{nil, "CLAUDE.md", true},
		{nil, ".claude/commands/gl/x.md", true},
		{map[string]string{"CLAUDE.md": "-> AGENTS.md"}, "CLAUDE.md", true},
		{map[string]string{".claude": "-> dot"}, ".claude/x", true},
		{map[string]string{"dot/": "", ".claude": "-> dot"}, ".claude/commands/x", true},
		{map[string]string{"CLAUDE.md": "-> ../none"}, "CLAUDE.md", false},
		{map[string]string{"CLAUDE.md": "-> /none/at/all"}, "CLAUDE.md", false},
		{map[string]string{".claude": "-> ../out"}, ".claude/x", false},
		{map[string]string{".claude": "-> .git/hooks"}, ".claude/x", false},
		{map[string]string{"CLAUDE.md": "-> .GIT/config"}, "CLAUDE.md", false},
		{map[string]string{"CLAUDE.md": "-> CLAUDE.md"}, "CLAUDE.md", false},
		{map[string]string{"a": "-> b", "b": "-> a"}, "a/x", false},
		// cleaned, it would be x
		{map[string]string{"deep/": "", "l": "-> ../out/deep", "CLAUDE.md": "-> l/../x"}, "CLAUDE.md", false},
		{map[string]string{"CLAUDE.md": "-> none/../../x"}, "CLAUDE.md", false},
	} {
		base := t.TempDir()
		root := filepath.Join(base, "p")
		must(t, os.MkdirAll(root, 0o755))
		must(t, os.MkdirAll(filepath.Join(base, "out", "deep"), 0o755))
		plant(t, root, tt.links)
		tg := local(t, Claude, root)
		if err := tg.contains(tt.path); (err == nil) != tt.ok {
			t.Errorf("%v, %s: %v", tt.links, tt.path, err)
		} else if err != nil && !strings.Contains(err.Error(), filepath.Join(root, tt.path)) {
			t.Errorf("%v, %s: error %v doesn't name the path", tt.links, tt.path, err)
		}
		tg.Scope = Global
		if err := tg.contains(tt.path); err != nil {
			t.Errorf("the user's own: %v", err)
		}
	}
}
