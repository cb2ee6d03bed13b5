package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/suggest"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
)

// checkConfig reports what is wrong in config.json, and keys that nothing reads.
func checkConfig(x *exam) []Finding {
	var all []Finding
	path := filepath.Join(x.pr.Root, project.ConfigFile)
	if err := x.pr.ConfigErr; err != nil && x.conflicts[project.ConfigFile] == 0 {
		for line := range strings.SplitSeq(strings.TrimPrefix(err.Error(), path+": "), "\n") {
			all = append(all, found(Error, project.ConfigFile, line, "edit "+project.ConfigFile))
		}
	}
	data, err := durable.ReadFile(path)
	if err != nil {
		return all
	}
	for _, key := range strayKeys(data) {
		if slices.ContainsFunc(all, func(f Finding) bool { return f.Message == key }) {
			// a known key in another case is reported as an error
			continue
		}
		all = append(all, found(Warning, project.ConfigFile, key, "edit "+project.ConfigFile))
	}
	return all
}

// strayKeys returns the keys of config.json that nothing reads: all unknown ones in "parallel" and
// "git", and, at the top, where other programs may keep settings too, those that resemble gl's.
func strayKeys(data []byte) []string {
	var top map[string]json.RawMessage
	if jsonedit.Unmarshal(data, &top) != nil {
		return nil
	}
	stray := slices.Concat(strayIn("parallel", top["parallel"]), strayIn("git", top["git"]))
	names := namesIn("parallel")
	for key := range top {
		if key != "parallel" && suggest.Match(key, []string{"parallel"}) != "" {
			stray = append(stray, fmt.Sprintf("%q isn't a section, did you mean parallel?", key))
		} else if slices.Contains(names, key) && key != "agents" {
			stray = append(stray, fmt.Sprintf("%s belongs in the section parallel", key))
		}
	}
	sort.Strings(stray)
	return stray
}

// strayIn returns the keys of a section that nothing reads.
func strayIn(section string, raw json.RawMessage) []string {
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(raw, &keys) // a wrong type is reported elsewhere
	names := namesIn(section)
	var stray []string
	for key := range keys {
		if slices.Contains(names, key) {
			continue
		}
		text := fmt.Sprintf("%s.%s isn't a setting", section, key)
		if meant := suggest.Match(key, names); meant != "" {
			text += fmt.Sprintf(", did you mean %s?", meant)
		}
		stray = append(stray, text)
	}
	return stray
}

// namesIn returns the keys of a section.
func namesIn(section string) []string {
	var names []string
	for _, key := range project.SettingKeys() {
		if name, ok := strings.CutPrefix(key, section+"."); ok {
			names = append(names, name)
		}
	}
	return names
}

// checkTrust reports commands in config.json and in git's configuration that this person hasn't
// allowed. gl doesn't run them, and starts no run that needs one.
func checkTrust(x *exam) []Finding {
	s, err := x.pr.Settings()
	if err != nil { // checkConfig reports it
		return nil
	}
	commands, _ := s.Commands() // those that can be read
	if x.inWorktrees() {        // otherwise nothing runs them
		filters, err := x.pr.MustAllow().Filters(x.ctx)
		if err != nil {
			return []Finding{found(Warning, "",
				"filters of the repository's configuration: "+err.Error(), "")}
		}
		commands = append(commands, filters...)
	}
	pending, err := trust.Open(x.Getenv).Pending(x.pr.Root, commands)
	if err != nil {
		return []Finding{found(Warning, "", err.Error(), "")}
	}
	byFile := map[string][]trust.Command{}
	for _, c := range pending {
		file := trust.Files([]trust.Command{c})
		byFile[file] = append(byFile[file], c)
	}
	needed := neededToRun(x)
	var all []Finding
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		severity, effect := Note, ""
		if slices.ContainsFunc(byFile[file], func(c trust.Command) bool { return needed[c.Key] }) {
			severity, effect = Error, ", and gl slice doesn't start"
		}
		all = append(all, found(severity, file, "you haven't allowed what it names as "+
			trust.Keys(byFile[file])+", so gl doesn't run it"+effect, "gl trust"))
	}
	return all
}

// neededToRun returns the keys of the commands that a run of the configured agents needs.
func neededToRun(x *exam) map[string]bool {
	parent, err := x.Self()
	if err != nil { // checkAgent reports it
		return nil
	}
	var agents []agent.Agent
	for _, name := range x.pr.Config.Agent {
		if a, err := x.pr.Config.FindAgent(name, parent); err == nil {
			agents = append(agents, a)
		}
	}
	commands, _ := x.pr.MustAllow().ForAgents(x.ctx, agents...)
	keys := map[string]bool{}
	for _, c := range commands {
		keys[c.Key] = true
	}
	return keys
}
