// Package install copies the shipped content to where agents look for it, reports what is
// installed, and removes it again. It owns everything written there: the formats of the agents,
// the manifest that records each file with its hash and its predecessor, and the promise that
// no user data is lost. It doesn't interpret the content, and prints nothing.
//
// An installation first writes a manifest with everything about to be written, then the files
// one by one, each all or nothing, then the manifest again, marked as complete. After a kill,
// hashes show how far it got: install continues, uninstall reverts.
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

// A Scope selects the projects that content is installed for.
type Scope string

const (
	Global Scope = "global" // for the user, in all projects
	Local  Scope = "local"  // for one project
)

// Claude is the agent that the content is written for; for others it is translated.
const Claude = "claude"

// A Target is a place for content: one agent and one scope. Its paths are relative to Root,
// with forward slashes.
type Target struct {
	Agent    string
	Scope    Scope
	System   string // the other system whose commands these are; "" for Greenlight
	Root     string // absolute; nothing outside is touched
	Home     string // our own directory: manifest, references, saved files
	Memory   string // CLAUDE.md; "" for agents without one
	Settings string // settings.json with the hooks; "" for agents without one

	dirs dirs
}

// dirs are the directories that an agent reads.
type dirs struct{ commands, agents string }

// Agents returns the names of all agents that content can be installed for.
func Agents() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Find returns the target for an agent's content. root is the project's root, for Local; for
// Global, the environment determines the user's configuration directory.
func Find(agent string, scope Scope, root string, getenv func(string) string) (Target, error) {
	f, ok := formatOf(agent)
	if !ok {
		return Target{}, fmt.Errorf("gl has no content for an agent %q, but for %s", agent,
			strings.Join(Agents(), ", "))
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
		return Target{}, fmt.Errorf("HOME is not set, so the configuration of %s can't be found",
			agent)
	}
	return t, nil
}

// moved sets the target to the directory given by a variable, if not "", instead of the usual
// one.
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

// Path returns the absolute path of something in the target.
func (t Target) Path(rel string) string { return filepath.Join(t.Root, filepath.FromSlash(rel)) }

// Dir returns the directory by which people know the target: ~/.claude, not
// ~/.claude/greenlight.
func (t Target) Dir() string { return filepath.Dir(t.Path(t.Home)) }

// Command returns the gl command that installs there.
func (t Target) Command() string {
	command := "gl install --" + string(t.Scope)
	if t.Agent != Claude {
		command += " --agent " + t.Agent
	}
	if t.System != "" {
		command += " --system " + t.System
	}
	return command
}

func (t Target) manifestPath() string { return path.Join(t.Home, "manifest.json") }

// backup returns where a user's file is saved: not below another .claude, because agents read
// those, too.
func (t Target) backup(rel string) string {
	return path.Join(t.Home, "backup", strings.TrimPrefix(rel, path.Dir(t.Home)+"/"))
}

// Backups returns the directory with copies of users' files that weren't restored; "" for none.
func (t Target) Backups() string {
	dir := t.Path(t.Home + "/backup")
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// beside returns where our CLAUDE.md goes if the user's stays unchanged.
func (t Target) beside() string {
	return strings.TrimSuffix(t.Memory, ".md") + "_GREENLIGHT.md"
}

// owns reports whether gl ever installs something at that path. A manifest may come from a
// clone and name anything.
func (t Target) owns(rel string) bool {
	if !filepath.IsLocal(filepath.FromSlash(rel)) || path.Clean(rel) != rel {
		return false
	}
	if t.Memory != "" &&
		(rel == t.Memory || rel == t.beside() || strings.HasPrefix(rel, t.Memory+".backup")) {
		return true
	}
	name, ours := strings.CutPrefix(rel, t.Home+"/")
	if ours {
		return name != "manifest.json" && name != lockName
	}
	mark := "gl-"
	if s, ok := systemOf(t.System); ok {
		mark = s.prefix
	}
	for _, dir := range []string{t.dirs.commands, t.dirs.agents} {
		rest, in := strings.CutPrefix(rel, dir+"/")
		if in && (path.Base(dir) == "gl" || strings.HasPrefix(rest, mark)) {
			return true
		}
	}
	return false
}

// ownsDir reports whether gl ever creates that directory.
func (t Target) ownsDir(rel string) bool {
	if !filepath.IsLocal(filepath.FromSlash(rel)) || path.Clean(rel) != rel {
		return false
	}
	if s, ok := systemOf(t.System); ok && strings.HasPrefix(rel, t.dirs.commands+"/"+s.prefix) {
		return true
	}
	return t.owns(rel+"/gl-x") || slices.ContainsFunc([]string{t.Home, t.dirs.commands,
		t.dirs.agents}, func(dir string) bool {
		return dir == rel || strings.HasPrefix(dir, rel+"/")
	})
}
