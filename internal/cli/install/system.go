package install

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A system is another system of state whose commands gl ships, too, for projects where the
// original isn't installed.
type system struct {
	name    string   // as in project.System's key
	prefix  string   // of its commands' names
	probe   string   // the command by which the original is found
	old     string   // where the original kept that command in earlier versions; "" for nowhere
	plugins []string // names of the original as a plugin of Claude Code
}

func systems() []system {
	return []system{
		{"specwright", "sw-", "sw-build", "", []string{"specwright"}},
		{"gsd", "gsd-", "gsd-execute-phase", "commands/gsd/execute-phase.md", []string{"gsd", "gsd-core",
			"get-shit-done"}},
	}
}

// Systems returns the names of the systems whose commands gl ships.
func Systems() []string {
	var names []string
	for _, s := range systems() {
		names = append(names, s.name)
	}
	return names
}

func systemOf(name string) (system, bool) {
	all := systems()
	i := slices.IndexFunc(all, func(s system) bool { return s.name == name })
	if i < 0 {
		return system{}, false
	}
	return all[i], true
}

// FindSystem returns the target for the commands of another system, for Claude Code.
func FindSystem(name string, scope Scope, root string, getenv func(string) string) (Target, error) {
	s, ok := systemOf(name)
	if !ok {
		return Target{}, fmt.Errorf("gl has no commands for a system %q, but for %s", name,
			strings.Join(Systems(), " and "))
	}
	t, err := Find(Claude, scope, root, getenv)
	if err != nil {
		return Target{}, err
	}
	prefix := strings.TrimSuffix(t.Home, "/greenlight")
	t.System, t.Home = name, prefix+"/greenlight-"+name
	t.Memory, t.Settings = "", ""
	t.dirs = dirs{prefix + "/skills", prefix + "/" + s.prefix + "agents"}
	return t, nil
}

// An Answer is where Claude Code finds the commands of another system.
type Answer struct {
	// the command's file, or the name of a plugin; "" if nothing answers the commands
	Where string
	Ours  bool // gl install --system put it there
}

// Answers returns what answers the commands of another system in the project at root: in the
// project, then in the user's own configuration.
func Answers(name, root string, getenv func(string) string) (Answer, error) {
	s, ok := systemOf(name)
	if !ok {
		return Answer{}, nil
	}
	ours := Answer{}
	for _, scope := range []Scope{Local, Global} {
		t, err := FindSystem(name, scope, root, getenv)
		if err != nil {
			continue // without a home directory, the user has nothing
		}
		m, _, err := readManifest(t)
		if err != nil {
			return Answer{}, err
		}
		prefix := strings.TrimSuffix(t.dirs.commands, "skills")
		for _, file := range []string{"skills/" + s.probe + "/SKILL.md", "commands/" + s.probe + ".md", s.old} {
			if info, err := os.Stat(t.Path(prefix + file)); file == "" || err != nil ||
				!info.Mode().IsRegular() {
				continue
			}
			if m != nil && m.entry(prefix+file) != nil {
				ours = Answer{t.Path(prefix + file), true}
				continue
			}
			return Answer{Where: t.Path(prefix + file)}, nil
		}
	}
	if plugin := enabledPlugin(root, s.plugins, getenv); plugin != "" {
		return Answer{Where: "plugin " + plugin}, nil
	}
	return ours, nil
}
