// Package agent knows the coding agents that gl runs: how each is called, what its output means, and the words that
// tell a person what it does. It is pure: it starts no process, reads no file and keeps no state but a Decoder's.
// Starting, logging and judging an attempt is package attempt's business; the built-in agent's own work is package
// rehearsal's.
package agent

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/suggest"
)

// The streams that a Decoder knows.
const (
	StreamClaude   = "claude"   // Claude Code's stream-json: one JSON object a line
	StreamCodex    = "codex"    // codex exec --json
	StreamGemini   = "gemini"   // gemini -o stream-json
	StreamOpencode = "opencode" // opencode run --format json
	StreamCursor   = "cursor"   // cursor-agent --output-format stream-json
	StreamText     = "text"     // lines for people
	StreamAuto     = "auto"     // the first line that isn't blank decides between claude and text
)

// An Agent is one way to have work done. Find makes it; its fields are for reading.
type Agent struct {
	Name    string     // as the user gave it: "claude", "rehearsal:crash=5%", a custom name
	Program string     // what to start: a name to look up on PATH, or a path; argv[0] is only the name it goes by
	Stream  string     // what it writes to stdout: StreamClaude, …
	Prompts PromptKind // which of a Job's prompts it is given
	Install string     // command line that installs it; "" for unknown
	Login   string     // command line that logs in; "" for unknown
	Setting string     // key of config.json that its command line is from, or has arguments from; "" for none

	argv func(Job) []string
}

// A Job is what one attempt asks of an agent.
type Job struct {
	Prompt       string // the slash command
	Instructions string // the command's Markdown, or what Instructions made of it; "" has Prompt stand in for it
	Dir          string // absolute directory it works in
	SessionID    string // a fresh uuid; "" lets the agent choose
	PluginDir    string // directory of the plugin to load; "" for none
	Slice        string // id of the slice, or of the task
}

// A Config is what the project's configuration says about agents.
type Config struct {
	ClaudeFlags []string            // further arguments for claude
	Custom      map[string][]string // command lines by name; their elements may hold {prompt}, {instructions}, {slice} and {dir}
	Self        string              // path of gl itself, which is also the rehearsal's program
}

// FlagsSetting is the key of config.json with the arguments for claude.
const FlagsSetting = "parallel.claude_flags"

// CustomSetting is the key of config.json with the command line of a custom agent.
func CustomSetting(name string) string { return "parallel.agents." + name + ".command" }

const (
	claudeName    = "claude"
	rehearsalName = "rehearsal"
)

// Command is the command line of one job, argv[0] first. It never passes through a shell. A prompt is one of its
// elements, so that Linux allows it 128 KB.
func (a Agent) Command(j Job) []string { return a.argv(j) }

// BuiltIn are the names of the built-in agents, in the order in which help lists them.
func BuiltIn() []string {
	var names []string
	for _, a := range table(Config{}) {
		names = append(names, a.Name)
	}
	return names
}

// Usage are the built-in agents as help lists them: the rehearsal takes a SPEC.
func Usage() []string {
	names := BuiltIn()
	for i, name := range names {
		if name == rehearsalName {
			names[i] += ":SPEC"
		}
	}
	return names
}

// Names are the agents that Find knows, sorted: the built-in ones and the custom ones.
func Names(custom map[string][]string) []string {
	known := BuiltIn()
	for n := range custom {
		if !slices.Contains(known, n) {
			known = append(known, n)
		}
	}
	slices.Sort(known)
	return known
}

// Find returns the agent called name: a built-in one, "rehearsal:SPEC", or a custom one. A custom agent may take any
// place but the rehearsal's, which promises to cost nothing. SPEC isn't looked into: rehearsal.ParseSpec checks it. The
// error names the agents there are.
func Find(name string, cfg Config) (Agent, error) {
	if name == rehearsalName || strings.HasPrefix(name, rehearsalName+":") {
		return rehearsal(name, cfg), nil
	}
	if command, ok := cfg.Custom[name]; ok {
		return custom(name, command)
	}
	for _, a := range table(cfg) {
		if a.Name == name {
			return a, nil
		}
	}
	known := Names(cfg.Custom)
	hint := ""
	if n := suggest.Match(name, known); n != "" {
		hint = fmt.Sprintf(", did you mean %q?", n)
	}
	return Agent{}, fmt.Errorf("no agent is called %q%s (known: %s; parallel.agents in config.json adds more)",
		name, hint, strings.Join(known, ", "))
}

func claude(cfg Config) Agent {
	flags := slices.Clone(cfg.ClaudeFlags)
	return Agent{
		Name:    claudeName,
		Program: claudeName,
		Stream:  StreamClaude,
		Prompts: SlashCommand,
		Install: "npm install -g @anthropic-ai/claude-code",
		Login:   "claude /login",
		Setting: FlagsSetting,
		argv: func(j Job) []string {
			// A slash command counts only at the very start of the prompt, and stream-json asks for --verbose.
			argv := []string{claudeName, "-p", j.Prompt, "--output-format", "stream-json", "--verbose"}
			if j.SessionID != "" {
				argv = append(argv, "--session-id", j.SessionID)
			}
			if j.PluginDir != "" {
				argv = append(argv, "--plugin-dir", j.PluginDir)
			}
			return append(argv, flags...)
		},
	}
}

func rehearsal(name string, cfg Config) Agent {
	_, spec, _ := strings.Cut(name, ":")
	return Agent{
		Name:    name,
		Program: cfg.Self,
		Stream:  StreamClaude,
		Prompts: SlashCommand,
		argv: func(j Job) []string {
			// In one word with its flag: whether the client lists the command is asked of those that get it as a prompt.
			return []string{"gl", "rehearsal-agent", "--spec", spec, "--prompt=" + j.Prompt, j.Slice}
		},
	}
}

// custom makes an agent of a command line. One that calls a program we know is known by its stream, whatever its name:
// it is the same agent with other options.
func custom(name string, command []string) (Agent, error) {
	if len(command) == 0 || command[0] == "" {
		return Agent{}, fmt.Errorf("agent %q has no program: give parallel.agents.%s a command in config.json", name, name)
	}
	command = slices.Clone(command)
	a := Agent{Name: name, Program: command[0], Stream: StreamAuto, Prompts: SlashCommand, Setting: CustomSetting(name)}
	if known, ok := inWords(command[0]); ok {
		a.Stream, a.Install, a.Login = known.Stream, known.Install, known.Login
	}
	if slices.ContainsFunc(command[1:], func(w string) bool { return strings.Contains(w, "{instructions}") }) {
		a.Prompts = MethodText
	}
	a.argv = func(j Job) []string {
		// One pass: what a prompt or a path holds in braces stays as it is.
		fill := strings.NewReplacer("{prompt}", j.Prompt, "{instructions}", j.instructions(),
			"{slice}", j.Slice, "{dir}", j.Dir)
		argv := []string{command[0]}
		for _, word := range command[1:] {
			argv = append(argv, fill.Replace(word))
		}
		return argv
	}
	return a, nil
}
