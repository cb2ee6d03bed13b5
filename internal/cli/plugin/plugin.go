// Package plugin gives agents the content that ships with gl: as a plugin directory for Claude
// Code, as text for agents without slash commands, and as documents for gl ref.
package plugin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/content"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/cli/install"
	"greenlight/internal/core/agent"
)

// Read reads a file of the embedded plugin.
func Read(name string) ([]byte, error) { return content.Plugin.ReadFile("plugin/" + name) }

// CommandText returns the text of the slash command /gl:NAME, for agents that have neither
// slash commands nor hooks that pass on the engineering standards.
func CommandText(name string) (string, error) {
	text, err := Read("commands/" + name + ".md")
	if err != nil {
		return "", fmt.Errorf("this gl has no text for /gl:%s: install a newer one (gl version)",
			name)
	}
	return string(text) + "\nThe engineering standards for all work here are what `gl ref CLAUDE` prints: read them before you change anything.\n", nil
}

// Dir returns the plugin directory that Claude Code must load for /gl:NAME to exist in the
// project at root. If the commands are installed without the hooks, it is a plugin with only
// the hooks; if both are installed, and for other agents, it is "". The plugin is unpacked
// below the directory runs.
func Dir(root, runs string, a agent.Agent, name string,
	getenv func(string) string) (string, error) {
	if a.Stream != agent.StreamClaude || a.Login == "" {
		return "", nil
	}
	which := wholePlugin
	if install.Has(root, name, getenv) {
		which = hooksPlugin
		if install.HasHooks(root, shipped(), getenv) {
			return "", nil
		}
	} else if _, err := CommandText(name); err != nil {
		return "", err
	}
	dir, err := unpack(runs)
	if err != nil {
		return "", fmt.Errorf("unpack the plugin for %s: %w", a.Name, err)
	}
	return filepath.Join(dir, which), nil
}

// Whole returns the plugin directory with all commands and hooks, for the agents of a worker: what
// its home has installed doesn't matter there. It is unpacked below dir.
func Whole(dir string) (string, error) {
	unpacked, err := unpack(dir)
	if err != nil {
		return "", fmt.Errorf("unpack the plugin: %w", err)
	}
	return filepath.Join(unpacked, wholePlugin), nil
}

// Sibling returns the plugin directory with the commands of another system of state, "" if
// something else in the project at root answers them, or if gl has none for the system. It is
// unpacked with the others.
func Sibling(system, root, runs string, a agent.Agent, getenv func(string) string) (string, error) {
	if a.Stream != agent.StreamClaude || a.Login == "" ||
		!slices.Contains(install.Systems(), system) {
		return "", nil
	}
	answer, err := install.Answers(system, root, getenv)
	if err != nil || answer.Where != "" {
		return "", err
	}
	dir, err := unpack(runs)
	if err != nil {
		return "", fmt.Errorf("unpack the plugin for %s: %w", a.Name, err)
	}
	return filepath.Join(dir, system), nil
}

// SiblingText returns the text of another system's command that a prompt names, for agents
// without slash commands: of "/gsd-execute-phase 2", and of "/gsd:execute-phase 2", as older
// installations call it.
func SiblingText(system, prompt string) (string, error) {
	command, _, _ := strings.Cut(strings.TrimPrefix(prompt, "/"), " ")
	name := strings.Replace(command, ":", "-", 1)
	text, err := fs.ReadFile(ShippedSystem(system).Plugin, "skills/"+name+"/SKILL.md")
	if err != nil {
		return "", fmt.Errorf("this gl has no text for /%s: install a newer one (gl version)", command)
	}
	return string(text), nil
}

// ShippedSystem returns the content of this gl for another system.
func ShippedSystem(system string) install.Content {
	plugin, _ := fs.Sub(content.Siblings, "siblings/"+system) // the name is one of install.Systems
	return install.Content{Plugin: plugin}
}

func shipped() install.Content {
	plugin, _ := fs.Sub(content.Plugin, "plugin") // the name is valid
	return install.Content{Plugin: plugin}
}

// The directories of an unpacked plugin.
const (
	wholePlugin = "plugin"
	hooksPlugin = "hooks" // only the hooks
)

// hooksManifest is the plugin.json of the plugin that has only the hooks. It has a name of its
// own because plugin names must be unique.
const hooksManifest = `{"name": "gl-hooks", "description": "Greenlight: the hooks, where only the commands are installed"}` + "\n"

// unpack writes the plugin into a directory named after the hash of its content, unless the
// directory exists with exactly that content: it may have come with a clone. A rename puts it
// in place, so it never exists in part.
func unpack(runs string) (string, error) {
	content, sum, err := files()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(runs, "plugin-"+sum)
	if err := durable.MkdirPrivate(runs); err != nil {
		return "", err
	}
	if holds(dir, content) {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(runs, ".plugin-*.tmp")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for path, data := range content {
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
	// another process may have been faster
	if err := os.Rename(tmp, dir); err != nil && !holds(dir, content) {
		return "", err
	}
	return dir, nil
}

// holds reports whether the directory has exactly these files with this content.
func holds(dir string, content map[string][]byte) bool {
	left := len(content)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, ours := content[paths.Relative(dir, path)]
		data, err := durable.ReadFile(path)
		if err != nil || !ours || !bytes.Equal(data, want) {
			return errors.Join(err, errForeign)
		}
		left--
		return nil
	})
	return err == nil && left == 0
}

var errForeign = errors.New("not the plugin's")

// files returns the files to unpack by path, and a hash of them.
func files() (list map[string][]byte, sum string, err error) {
	list = make(map[string][]byte)
	hash := sha256.New()
	add := func(in embed.FS, top string) error {
		return fs.WalkDir(in, top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := in.ReadFile(path)
			list[strings.TrimPrefix(path, "siblings/")] = data
			if rest, ok := strings.CutPrefix(path, "plugin/hooks/"); ok {
				list[hooksPlugin+"/hooks/"+rest] = data
			}
			fmt.Fprintf(hash, "%s\x00%d\x00%s", path, len(data), data)
			return err
		})
	}
	err = errors.Join(add(content.Plugin, "plugin"), add(content.Siblings, "siblings"))
	list[hooksPlugin+"/.claude-plugin/plugin.json"] = []byte(hooksManifest)
	fmt.Fprint(hash, hooksManifest)
	return list, hex.EncodeToString(hash.Sum(nil))[:12], err
}
