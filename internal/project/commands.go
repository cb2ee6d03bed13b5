package project

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"greenlight/internal/agent"
	"greenlight/internal/shellwords"
	"greenlight/internal/trust"
)

// testCommand is the setting with the command line of the tests.
const testCommand = "test.command"

// Commands are what the configuration says about starting the agent: what a person must have allowed before (package
// trust). There is none for an agent whose command line gl makes by itself.
func (p *Project) Commands(a agent.Agent) []trust.Command {
	return slices.DeleteFunc(p.Config.commands(), func(c trust.Command) bool { return c.Key != a.Setting })
}

// commands are all that the configuration says about starting agents, sorted. The flags that claude gets anyway add nothing.
func (c Config) commands() []trust.Command {
	var list []trust.Command
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		list = append(list, trust.Command{Key: agent.CustomSetting(name), Line: shellwords.Join(c.Agents[name])})
	}
	if len(c.Flags) > 0 && !slices.Equal(c.Flags, DefaultConfig().Flags) {
		list = append(list, trust.Command{Key: agent.FlagsSetting, Line: shellwords.Join(c.Flags)})
	}
	return list
}

// Commands are all commands that the settings name. The error is about the file's values.
func (s *Settings) Commands() ([]trust.Command, error) {
	c, err := parseConfig(s.doc.Bytes())
	return append(c.commands(), s.TestCommand()...), err
}

// TestCommand is the command line of the project's tests, as a list; empty if there is none.
func (s *Settings) TestCommand() []trust.Command {
	set, err := s.Get(testCommand)
	var line string
	if err != nil || json.Unmarshal(set.Value, &line) != nil || strings.TrimSpace(line) == "" {
		return nil
	}
	return []trust.Command{{Key: testCommand, Line: line}}
}

// Agent is the name of the agent that the settings choose.
func (s *Settings) Agent() string {
	c, _ := parseConfig(s.doc.Bytes()) // the default where the file is wrong
	return c.Agent
}
