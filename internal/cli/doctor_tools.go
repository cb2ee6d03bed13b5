package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"greenlight/internal/agent"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/git"
	"greenlight/internal/install"
	"greenlight/internal/paths"
	"greenlight/internal/project"
	"greenlight/internal/rehearsal"
	"greenlight/internal/sanitize"
	"greenlight/internal/statedir"
	"greenlight/internal/suggest"
	"greenlight/internal/text/jsonedit"
	"greenlight/internal/tmux"
	"greenlight/internal/words"
)

// checkConfig names what is wrong in config.json, and keys that nobody reads.
func checkConfig(x *exam) []finding {
	var all []finding
	if err := x.pr.ConfigErr; err != nil && x.conflicts[configPath] == 0 {
		text := strings.TrimPrefix(err.Error(), filepath.Join(x.pr.Root, configPath)+": ")
		for _, line := range strings.Split(text, "\n") {
			all = append(all, found(isError, configPath, line, "edit "+configPath))
		}
	}
	data, err := os.ReadFile(filepath.Join(x.pr.Root, configPath))
	if err != nil {
		return all
	}
	for _, key := range strayKeys(data) {
		all = append(all, found(isWarning, configPath, key, "edit "+configPath))
	}
	return all
}

// strayKeys says which keys of config.json nobody reads: any in "parallel", and what looks like gl's at the top, where
// others keep settings, too.
func strayKeys(data []byte) []string {
	var top, parallel map[string]json.RawMessage
	if jsonedit.Unmarshal(data, &top) != nil {
		return nil
	}
	_ = json.Unmarshal(top["parallel"], &parallel) // of another type: an error already
	var names []string
	for _, key := range project.SettingKeys() {
		if name, ok := strings.CutPrefix(key, "parallel."); ok {
			names = append(names, name)
		}
	}
	var stray []string
	for key := range parallel {
		if slices.Contains(names, key) {
			continue
		}
		text := fmt.Sprintf("parallel.%s is no setting", key)
		if meant := suggest.Match(key, names); meant != "" {
			text += fmt.Sprintf(", did you mean %s?", meant)
		}
		stray = append(stray, text)
	}
	for key := range top {
		if key != "parallel" && suggest.Match(key, []string{"parallel"}) != "" {
			stray = append(stray, fmt.Sprintf("%q is no section, did you mean parallel?", key))
		} else if slices.Contains(names, key) && key != "agents" {
			stray = append(stray, fmt.Sprintf("%s belongs into the section parallel", key))
		}
	}
	sort.Strings(stray)
	return stray
}

// checkAgent looks whether the configured agent is there, and knows its command.
func checkAgent(x *exam) []finding {
	parent, err := cmdutil.Self()
	if err != nil {
		return []finding{found(isError, "", err.Error(), "")}
	}
	name := x.pr.Config.Agent
	a, err := agent.Find(name, agent.Config{ClaudeFlags: x.pr.Config.Flags, Custom: x.pr.Config.Agents, Self: parent})
	if err != nil {
		return []finding{found(isError, configPath, "parallel.agent: "+err.Error(), "edit "+configPath)}
	}
	if a.Program == parent {
		_, spec, _ := strings.Cut(name, ":")
		if _, err := rehearsal.ParseSpec(spec); err != nil {
			return []finding{found(isError, configPath, "parallel.agent: "+err.Error(), "edit "+configPath)}
		}
		return nil
	}
	if _, err := exec.LookPath(a.Program); err != nil {
		help := a.Install
		if help == "" {
			help = "edit " + configPath + ": parallel.agents." + name + ".command begins with the program"
		}
		return []finding{found(isError, "", fmt.Sprintf("%s, the agent, is not on PATH", a.Program), help)}
	}
	if a.Stream == agent.StreamClaude && a.Login != "" && !install.Has(x.pr.Root, "slice", x.app.Getenv) {
		return []finding{found(isNote, "", "the /gl: commands aren't installed for Claude Code; agents that gl starts get them all the same",
			"gl install --global, or gl install --local")}
	}
	return nil
}

// checkInstalled says where installed commands aren't those of this gl: agents use them all the same.
func checkInstalled(x *exam) []finding {
	var all []finding
	for _, scope := range []install.Scope{install.Local, install.Global} {
		t, err := install.Find(install.Claude, scope, x.pr.Root, x.app.Getenv)
		if err != nil {
			continue
		}
		st, err := t.Check(shipped())
		theirs := func(d install.Difference) bool { return d.What == install.Changed }
		switch dir := short(x.app, t.Dir()); {
		case err != nil:
			all = append(all, found(isWarning, "", err.Error(), ""))
		case st.Installed && !st.Complete:
			all = append(all, found(isWarning, "", "the installation in "+dir+" was cut short", installCommand(t)))
		case st.Installed && len(slices.DeleteFunc(st.Diffs, theirs)) > 0:
			all = append(all, found(isNote, "", fmt.Sprintf("the /gl: commands in %s, installed by gl %s, aren't those of this gl (%s)", dir, st.Version, Version),
				installCommand(t)+" (gl check says which differ)"))
		}
	}
	return all
}

// The oldest versions that do all that gl asks of them.
const (
	oldestGit  = "2.30"
	oldestTmux = "3.2"
)

const gitHint = "install it (apt install git, brew install git)"

func checkTools(x *exam) []finding {
	var all []finding
	switch version, err := git.Version(x.ctx); {
	case errors.Is(err, git.ErrMissing):
		all = append(all, found(isWarning, "", "git is not on PATH: nobody can tell what agents changed", gitHint))
	case err != nil:
		all = append(all, found(isWarning, "", err.Error(), gitHint))
	case older(version, oldestGit):
		all = append(all, found(isWarning, "", "git is version "+version+", gl wants "+oldestGit, "update it (apt install git, brew upgrade git)"))
	}
	if !tmux.Installed() {
		return append(all, found(isWarning, "", "tmux is not on PATH: slices are built one after the other, or with --runner process", tmuxHint))
	}
	switch version, err := tmux.Version(x.ctx); {
	case err != nil:
		all = append(all, found(isWarning, "", "tmux doesn't tell its version: "+err.Error(), tmuxHint))
	case older(version, oldestTmux):
		all = append(all, found(isWarning, "", "tmux is version "+version+", gl wants "+oldestTmux, "update it (apt install tmux, brew upgrade tmux)"))
	}
	return all
}

// older compares the first two numbers of versions such as "3.3a" and "next-3.5"; one without numbers is not old.
func older(version, oldest string) bool {
	have, want := versionNumbers(version), versionNumbers(oldest)
	if len(have) < 2 {
		return false
	}
	return have[0] < want[0] || have[0] == want[0] && have[1] < want[1]
}

func versionNumbers(version string) []int {
	var all []int
	for _, word := range strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(word); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// checkGit looks whether git leaves alone what belongs to this machine.
func checkGit(x *exam) []finding {
	root := x.pr.Root
	if !paths.Exists(statedir.Path(root)) { // a sibling's project: it comes with its .gitignore
		return nil
	}
	left, err := git.Unignored(x.ctx, root, statedir.Ignored()...)
	switch {
	case errors.Is(err, git.ErrNone), errors.Is(err, git.ErrMissing):
		return nil
	case err != nil:
		return []finding{found(isNote, "", sanitize.Line(err.Error()), "")}
	}
	var all []finding
	if len(left) > 0 {
		all = append(all, fixable(".greenlight/.gitignore", "git doesn't ignore "+strings.Join(left, ", ")))
	}
	own := []string{".greenlight/runs", ".greenlight/.lock"}
	tracked, err := git.Tracked(x.ctx, root, own...)
	if err == nil && len(tracked) > 0 {
		all = append(all, found(isWarning, ".greenlight/runs", "git keeps "+strings.Join(tracked[:min(3, len(tracked))], ", ")+
			words.More(len(tracked)-3)+", which belongs to this machine", "git rm -r --cached --ignore-unmatch "+strings.Join(own, " ")))
	}
	return all
}

// checkMerges suggests what keeps merges from conflicting in a file that is generated.
func checkMerges(x *exam) []finding {
	view := x.pr.Tracker.Traits().View
	if view == "" {
		return nil
	}
	tracked, err := git.Tracked(x.ctx, x.pr.Root, view)
	if err != nil || len(tracked) == 0 {
		return nil
	}
	driver, err := git.Attribute(x.ctx, x.pr.Root, "merge", view)
	if err != nil {
		return nil
	}
	const enable = "git config merge.ours.driver true"
	if driver == "unspecified" {
		return []finding{found(isNote, view, "is generated, and will conflict whenever branches are merged",
			"echo '"+view+" merge=ours' >> .gitattributes && "+enable+" (gl state render afterwards)")}
	}
	if set, err := git.Config(x.ctx, x.pr.Root, "merge.ours.driver"); driver == "ours" && err == nil && set == "" {
		return []finding{found(isNote, view, "is to be merged by the driver ours, which this clone doesn't know", enable)}
	}
	return nil
}
