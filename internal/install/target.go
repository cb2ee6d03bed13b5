// Package install puts the content that ships into the places where agents look for it, says what is there, and takes it
// out again. It owns what is written there: the formats of the agents, the manifest that remembers each file with its
// hash and what was there before, and the promise that nothing of the user's is lost. What the content says is not its
// business, and it prints nothing.
//
// An installation is a manifest first, with everything that is about to be written, then the files one by one, each
// whole or not at all, then the manifest again, now complete. So whoever comes after a kill knows by hashes how far it
// got: install goes on, uninstall goes back.
package install

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Scope says for whom content is installed.
type Scope string

const (
	Global Scope = "global" // for the user, in all projects
	Local  Scope = "local"  // for one project
)

// Claude is the agent that content is written for; the others get it translated.
const Claude = "claude"

// A Target is a place for content: one agent, one scope. Its paths are relative to Root, with forward slashes.
type Target struct {
	Agent    string
	Scope    Scope
	Root     string // absolute; nothing outside of it is touched
	Home     string // directory of our own: manifest, references, what was saved
	Memory   string // CLAUDE.md; "" for agents that get none
	Settings string // settings.json, where hooks are; "" for agents without

	dirs dirs
}

// dirs are the directories that an agent looks into.
type dirs struct{ commands, agents string }

// Agents are the names of all agents that content can be installed for.
func Agents() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Find returns the place for an agent's content. root is the project's for Local; the environment says where the user's
// configuration is for Global.
func Find(agent string, scope Scope, root string, getenv func(string) string) (Target, error) {
	f, ok := formatOf(agent)
	if !ok {
		return Target{}, fmt.Errorf("gl has no content for an agent %q, but for %s", agent, strings.Join(Agents(), ", "))
	}
	base := root
	if scope == Global {
		if base = getenv("HOME"); !filepath.IsAbs(base) {
			base = ""
		}
	}
	t := Target{Agent: agent, Scope: scope, Root: base}
	if err := f.place(&t, getenv); err != nil {
		return Target{}, err
	}
	if t.Root == "" {
		return Target{}, fmt.Errorf("HOME is not set, so the configuration of %s can't be found", agent)
	}
	return t, nil
}

// moved puts the target where a variable says that the agent's configuration is; "" for where it usually is.
func (t *Target) moved(dir, usual string) (prefix string, err error) {
	switch {
	case t.Scope == Local || dir == "":
		return usual, nil
	case !filepath.IsAbs(dir):
		return "", fmt.Errorf("the directory %q of %s's configuration isn't absolute", dir, t.Agent)
	}
	dir = filepath.Clean(dir)
	if filepath.Dir(dir) == dir {
		return "", errors.New("the root directory can't hold configuration")
	}
	t.Root = filepath.Dir(dir)
	return filepath.Base(dir), nil
}

// Path is the absolute path of something in the target.
func (t Target) Path(rel string) string { return filepath.Join(t.Root, filepath.FromSlash(rel)) }

// Dir is the directory that people know the target by: ~/.claude, not ~/.claude/greenlight.
func (t Target) Dir() string { return filepath.Dir(t.Path(t.Home)) }

// Command is the gl command that installs there.
func (t Target) Command() string {
	command := "gl install --" + string(t.Scope)
	if t.Agent != Claude {
		command += " --agent " + t.Agent
	}
	return command
}

func (t Target) manifestPath() string { return path.Join(t.Home, "manifest.json") }

// backup is where a file of the user's is saved: not below another .claude, for agents look into those, too.
func (t Target) backup(rel string) string {
	return path.Join(t.Home, "backup", strings.TrimPrefix(rel, path.Dir(t.Home)+"/"))
}

// Backups is the directory with copies of files of the user's that nothing was put back from; "" for none.
func (t Target) Backups() string {
	dir := t.Path(t.Home + "/backup")
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// beside is where our CLAUDE.md goes when the user's stays as it is.
func (t Target) beside() string {
	return strings.TrimSuffix(t.Memory, ".md") + "_GREENLIGHT.md"
}

// owns says whether gl ever installs something under that path. A manifest comes with a clone and may name anything.
func (t Target) owns(rel string) bool {
	if !filepath.IsLocal(filepath.FromSlash(rel)) || path.Clean(rel) != rel {
		return false
	}
	if t.Memory != "" && (rel == t.Memory || rel == t.beside() || strings.HasPrefix(rel, t.Memory+".backup")) {
		return true
	}
	name, ours := strings.CutPrefix(rel, t.Home+"/")
	if ours {
		return name != "manifest.json" && name != lockName
	}
	for _, dir := range []string{t.dirs.commands, t.dirs.agents} {
		rest, in := strings.CutPrefix(rel, dir+"/")
		if in && (path.Base(dir) == "gl" || strings.HasPrefix(rest, "gl-")) {
			return true
		}
	}
	return false
}

// ownsDir says whether gl ever makes that directory.
func (t Target) ownsDir(rel string) bool {
	if !filepath.IsLocal(filepath.FromSlash(rel)) || path.Clean(rel) != rel {
		return false
	}
	return t.owns(rel+"/gl-x") || slices.ContainsFunc([]string{t.Home, t.dirs.commands, t.dirs.agents}, func(dir string) bool {
		return dir == rel || strings.HasPrefix(dir, rel+"/")
	})
}
