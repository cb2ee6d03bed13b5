package doctor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/cli/install"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/run/tmux"
	"greenlight/internal/run/wrapper"
	"greenlight/internal/workspace/git"
)

// checkAgent checks that the configured agent is on PATH and has its commands.
func checkAgent(x *exam) []Finding {
	parent, err := x.Self()
	if err != nil {
		return []Finding{found(Error, "", err.Error(), "")}
	}
	badAgent := func(err error) []Finding {
		return []Finding{found(Error, project.ConfigFile, "parallel.agent: "+err.Error(),
			"edit "+project.ConfigFile)}
	}
	var all []Finding
	for _, name := range x.pr.Config.Agent {
		all = append(all, checkNamedAgent(x, name, parent, badAgent)...)
	}
	return all
}

// startable reports whether one of the agents can be started: with it gl slice works.
func startable(x *exam, parent string) bool {
	return slices.ContainsFunc(x.pr.Config.Agent, func(name string) bool {
		a, err := x.pr.Config.FindAgent(name, parent)
		if err != nil {
			return false
		}
		_, err = paths.Program(a.Program, x.pr.Root)
		return err == nil
	})
}

func checkNamedAgent(x *exam, name, parent string, badAgent func(error) []Finding) []Finding {
	a, err := x.pr.Config.FindAgent(name, parent)
	if err != nil {
		return badAgent(err)
	}
	if a.Program == parent {
		_, spec, _ := strings.Cut(a.Rehearses(), ":")
		if _, err := rehearsal.ParseSpec(spec); err != nil {
			return badAgent(err)
		}
		return nil
	}
	if _, err := paths.Program(a.Program, x.pr.Root); err != nil {
		help := a.Install
		if help == "" {
			help = "edit " + project.ConfigFile + ": parallel.agents." + name +
				".command begins with the program"
		}
		if len(x.pr.Config.Agent) == 1 {
			return []Finding{found(Error, "", a.Program+", the agent's program, is not on PATH", help)}
		}
		severity := Error
		if startable(x, parent) {
			severity = Note
		}
		return []Finding{found(severity, "",
			a.Program+", the program of the agent "+name+", is not on PATH", help)}
	}
	all := append(checkLoginPath(x, a), checkClientTrust(x, a)...)
	if self, err := os.Executable(); err == nil {
		if _, err := wrapper.WithGL([]string{"PATH=" + x.Getenv("PATH")}, self); err != nil {
			all = append(all, found(Error, "", err.Error(), ""))
		}
	}
	if x.pr.Slices != nil && a.Stream == agent.StreamClaude && a.Login != "" &&
		!install.Has(x.pr.Root, "slice", x.Getenv) {
		all = append(all, found(Note, "", "the /gl: commands aren't installed for Claude Code; agents that gl starts have them anyway",
			"gl install --global, or gl install --local"))
	}
	return all
}

// checkInstalled reports installed commands that differ from this gl's. Agents still use them.
func checkInstalled(x *exam) []Finding {
	var all []Finding
	for _, scope := range []install.Scope{install.Local, install.Global} {
		t, err := install.Find(install.Claude, scope, x.pr.Root, x.Getenv)
		if err != nil {
			continue
		}
		st, err := t.Check(x.Content)
		theirs := func(d install.Difference) bool { return d.What == install.Changed }
		switch dir := paths.Short(t.Dir(), x.Dir, x.Getenv("HOME")); {
		case err != nil:
			all = append(all, found(Warning, "", err.Error(), ""))
		case st.Installed && !st.Complete:
			all = append(all,
				found(Warning, "", "the installation in "+dir+" was cut short", t.Command()))
		case st.Installed && len(slices.DeleteFunc(st.Diffs, theirs)) > 0:
			all = append(all, found(Note, "", fmt.Sprintf("the /gl: commands in %s, installed by gl %s, differ from those of this gl (%s)", dir, st.Version, x.Version),
				t.Command()+" (gl check says which differ)"))
		}
	}
	return all
}

// The oldest versions with all the features that gl needs.
const (
	oldestGit  = "2.30"
	oldestTmux = "3.2"
)

func checkTools(x *exam) []Finding {
	var all []Finding
	switch version, err := git.Version(x.ctx); {
	case errors.Is(err, git.ErrMissing):
		all = append(all, found(Warning, "",
			"git is not on PATH: gl can't tell what agents changed", git.InstallHint))
	case err != nil:
		all = append(all, found(Warning, "", err.Error(), git.InstallHint))
	case older(version, oldestGit):
		all = append(all, found(Warning, "", "git is version "+version+", but gl needs "+oldestGit,
			"update it (apt install git, brew upgrade git)"))
	}
	if !tmux.Installed() {
		return append(all, found(Warning, "", "tmux is not on PATH: slices are built one after the other, or with --runner process", tmux.InstallHint))
	}
	switch version, err := tmux.Version(x.ctx); {
	case err != nil:
		all = append(all,
			found(Warning, "", "can't get the version of tmux: "+err.Error(), tmux.InstallHint))
	case older(version, oldestTmux):
		all = append(all, found(Warning, "", "tmux is version "+version+", but gl needs "+
			oldestTmux, "update it (apt install tmux, brew upgrade tmux)"))
	}
	return all
}

// older compares the first two numbers of versions such as "3.3a" and "next-3.5"; a version without
// numbers isn't old.
func older(version, oldest string) bool {
	have, want := versionNumbers(version), versionNumbers(oldest)
	if len(have) < 2 {
		return false
	}
	return have[0] < want[0] || have[0] == want[0] && have[1] < want[1]
}

func versionNumbers(version string) []int {
	var all []int
	for _, word := range strings.FieldsFunc(version, func(r rune) bool {
		return r < '0' || r > '9'
	}) {
		if n, err := strconv.Atoi(word); err == nil {
			all = append(all, n)
		}
	}
	return all
}
