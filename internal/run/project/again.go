package project

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"greenlight/internal/base/trust"
	"greenlight/internal/core/agent"
)

// Again returns the project with the commands now in config.json, for a run in progress; p
// itself if they are unchanged. It follows the test command, git.setup, git.teardown and the
// agents' command lines as far as they are allowed, and a sandbox that was turned on. A command
// that isn't allowed changes nothing, because agents can write the file and must not hold up a
// run that way; Unheeded returns these. Everything else, and settings removed from the file,
// stay as at the start of the run.
func (p *Project) Again(allowed func([]trust.Command) bool) *Project {
	now, err := readConfig(filepath.Join(p.Root, ConfigFile))
	if err != nil { // it may be half written
		return p
	}
	again := *p
	again.unheeded = nil
	takes := func(keys ...string) bool {
		list := slices.DeleteFunc(now.commands(), func(c trust.Command) bool {
			return !slices.Contains(keys, c.Key)
		})
		ok := allowed(list)
		if !ok {
			again.unheeded = append(again.unheeded, list...)
		}
		return ok
	}
	c := &again.Config
	if now.Test.Command.IsSet() && now.Test.Command.Line != c.Test.Command.Line && takes(testKey) {
		c.Test.Command = now.Test.Command
	}
	if now.Git.Setup != nil && !slices.Equal(now.Git.Setup, c.Git.Setup) && takes("git.setup") {
		c.Git.Setup = now.Git.Setup
	}
	if now.Git.Teardown != nil && !slices.Equal(now.Git.Teardown, c.Git.Teardown) &&
		takes("git.teardown") {
		c.Git.Teardown = now.Git.Teardown
	}
	if now.Sandbox == SandboxBwrap {
		c.Sandbox = SandboxBwrap
	}
	if !slices.Equal(now.Flags, c.Flags) && takes(agent.FlagsSetting) {
		c.Flags = now.Flags
	}
	c.Agents = followAgents(c.Agents, now.Agents, takes)
	again.superseded = different(c.chosen(), now.chosen())
	if slices.Equal(c.chosen(), p.Config.chosen()) && maps.Equal(again.superseded, p.superseded) {
		return p
	}
	return &again
}

// followAgents returns the current agents, as far as takes allows each. It adopts new ones:
// they run only once they are allowed.
func followAgents(had, now map[string]agent.Custom,
	takes func(keys ...string) bool) map[string]agent.Custom {
	agents := maps.Clone(had)
	if agents == nil {
		agents = map[string]agent.Custom{}
	}
	for name, a := range now {
		was, known := had[name]
		if known && (reflect.DeepEqual(was, a) ||
			!takes(agent.CustomSetting(name), agent.ExtendsSetting(name), agent.EnvSetting(name),
				agent.ResumeSetting(name))) {
			continue
		}
		agents[name] = a
	}
	return agents
}

// Unheeded returns the commands of config.json that Again ignored, because this person hasn't
// allowed them.
func (p *Project) Unheeded() []trust.Command { return p.unheeded }

// chosen returns all commands and the sandbox.
func (c Config) chosen() []trust.Command { return append(c.commands(), c.SandboxChoice()) }

// different returns the keys of the commands in list that differ from the file's.
func different(list, file []trust.Command) map[string]bool {
	keys := map[string]bool{}
	for _, c := range list {
		if !slices.Contains(file, c) {
			keys[c.Key] = true
		}
	}
	return keys
}

// inForce omits what the file has changed: a person allowed it when the run began, and may have
// allowed the replacement.
func inForce(list []trust.Command, superseded map[string]bool) []trust.Command {
	return slices.DeleteFunc(list, func(c trust.Command) bool { return superseded[c.Key] })
}
