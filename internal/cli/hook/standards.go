package hook

import (
	"path/filepath"
	"strings"

	"greenlight/content"
	"greenlight/internal/base/durable"
	"greenlight/internal/cli/install"
	"greenlight/internal/run/project"
)

// standards returns the engineering standards, for a session started by gl; "" if the session
// reads them anyway.
func (s *session) standards() string {
	// see package plugin
	unpacked := strings.HasPrefix(filepath.Base(filepath.Dir(s.getenv("CLAUDE_PLUGIN_ROOT"))),
		"plugin-")
	if s.getenv("GL_SESSION") == "" && !unpacked {
		return ""
	}
	dirs := []string{s.getenv("CLAUDE_CONFIG_DIR"),
		filepath.Join(s.getenv("HOME"), ".claude"), s.Cwd}
	if place, err := project.Locate(s.Cwd, s.getenv); err == nil {
		dirs = append(dirs, place.Here)
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		for _, name := range []string{"CLAUDE.md", ".claude/CLAUDE.md"} {
			if text, err := durable.ReadFile(filepath.Join(dir, name)); err == nil &&
				install.HoldsMemory(text) {
				return ""
			}
		}
	}
	return content.Standards
}
