package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"greenlight/content"
	"greenlight/internal/agent"
	"greenlight/internal/install"
	"greenlight/internal/project"
)

// methodText is what /gl:slice says, for agents that know no slash commands.
func methodText() string {
	text, _ := readShipped("commands/slice.md") // embedded: it is there
	return string(text)
}

// readShipped reads a file of the embedded plugin.
func readShipped(name string) ([]byte, error) { return content.Plugin.ReadFile("plugin/" + name) }

// pluginDir is the directory of the plugin that Claude Code is to load so that /gl:slice exists; "" where the content
// is installed, and for other agents.
func pluginDir(e *env, pr *project.Project, a agent.Agent) (string, error) {
	if a.Stream != agent.StreamClaude || a.Login == "" {
		return "", nil
	}
	if install.Commands(pr.Root, e.getenv) {
		return "", nil
	}
	dir, err := unpackPlugin(pr.Runs.Dir())
	if err != nil {
		return "", fmt.Errorf("unpack the plugin for %s: %w", a.Name, err)
	}
	return dir, nil
}

// unpackPlugin writes the plugin into a directory whose name is its content's, unless it is there: one rename, so that
// it is there whole or not at all.
func unpackPlugin(runs string) (string, error) {
	files := make(map[string][]byte)
	sum := sha256.New()
	err := fs.WalkDir(content.Plugin, "plugin", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := content.Plugin.ReadFile(path)
		files[path] = data
		fmt.Fprintf(sum, "%s\x00%d\x00%s", path, len(data), data)
		return err
	})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(runs, "plugin-"+hex.EncodeToString(sum.Sum(nil))[:12])
	if _, err := os.Stat(dir); err == nil {
		return filepath.Join(dir, "plugin"), nil
	}
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(runs, ".plugin-*.tmp")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for path, data := range files {
		to := filepath.Join(tmp, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return "", err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "plugin"), nil
}
