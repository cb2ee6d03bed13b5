package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"greenlight/content"
	"greenlight/internal/agent"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/install"
)

// readShipped reads a file of the embedded plugin.
func readShipped(name string) ([]byte, error) { return content.Plugin.ReadFile("plugin/" + name) }

// commandText is what the slash command /gl:NAME says, for agents that know no slash commands.
func commandText(name string) (string, error) {
	text, err := readShipped("commands/" + name + ".md")
	if err != nil {
		return "", fmt.Errorf("this gl has no text for /gl:%s: install a newer one (gl version)", name)
	}
	return string(text), nil
}

// pluginDir is the directory of the plugin that Claude Code is to load so that /gl:NAME exists; where the content is
// installed without hooks, of one that has the hooks alone; "" where both are installed, and for other agents. runs is
// the project's directory of runs.
func pluginDir(app *cmdutil.App, root, runs string, a agent.Agent, name string) (string, error) {
	if a.Stream != agent.StreamClaude || a.Login == "" {
		return "", nil
	}
	which := wholePlugin
	if install.Has(root, name, app.Getenv) {
		which = hooksPlugin
		if install.HasHooks(root, app.Getenv) {
			return "", nil
		}
	} else if _, err := commandText(name); err != nil {
		return "", err
	}
	dir, err := unpackPlugin(runs)
	if err != nil {
		return "", fmt.Errorf("unpack the plugin for %s: %w", a.Name, err)
	}
	return filepath.Join(dir, which), nil
}

// The directories of an unpacked plugin.
const (
	wholePlugin = "plugin"
	hooksPlugin = "hooks" // the same hooks, and nothing else
)

// hooksManifest is the plugin.json of the one that has the hooks alone: two of one name would be one too many.
const hooksManifest = `{"name": "gl-hooks", "description": "Greenlight: the hooks, where only the commands are installed"}` + "\n"

// unpackPlugin writes the plugin into a directory whose name is its content's, unless it is there: one rename, so that
// it is there whole or not at all.
func unpackPlugin(runs string) (string, error) {
	files, sum, err := pluginFiles()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(runs, "plugin-"+sum)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
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
	return dir, nil
}

// pluginFiles are what is unpacked, by path, and a name for exactly that.
func pluginFiles() (files map[string][]byte, sum string, err error) {
	files = make(map[string][]byte)
	hash := sha256.New()
	err = fs.WalkDir(content.Plugin, "plugin", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := content.Plugin.ReadFile(path)
		files[path] = data
		if rest, ok := strings.CutPrefix(path, "plugin/hooks/"); ok {
			files[hooksPlugin+"/hooks/"+rest] = data
		}
		fmt.Fprintf(hash, "%s\x00%d\x00%s", path, len(data), data)
		return err
	})
	files[hooksPlugin+"/.claude-plugin/plugin.json"] = []byte(hooksManifest)
	fmt.Fprint(hash, hooksManifest)
	return files, hex.EncodeToString(hash.Sum(nil))[:12], err
}
