package install

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A format describes the commands and agents of one agent.
type format struct {
	name    string
	place   func(t *Target, getenv func(string) string) error
	command func(t Target, d doc) File
	agent   func(t Target, d doc) File
}

// formats returns all formats. References: code.claude.com/docs (slash commands, sub-agents),
// developers.openai.com/codex (skills, subagents), geminicli.com/docs (custom commands,
// subagents), opencode.ai/docs (commands, agents).
func formats() []format {
	return []format{
		{Claude, placeClaude, claudeCommand, claudeAgent},
		{"codex", placeCodex, codexSkill, codexAgent},
		{"gemini", placeGemini, geminiCommand, geminiAgent},
		{"opencode", placeOpencode, opencodeCommand, opencodeAgent},
	}
}

func formatOf(agent string) (format, bool) {
	for _, f := range formats() {
		if f.name == agent {
			return f, true
		}
	}
	return format{}, false
}

// Claude Code uses the content unchanged.

func placeClaude(t *Target, getenv func(string) string) error {
	prefix, err := t.moved(getenv("CLAUDE_CONFIG_DIR"), ".claude")
	t.Home = prefix + "/greenlight"
	t.dirs = dirs{prefix + "/commands/gl", prefix + "/agents"}
	t.Settings = prefix + "/settings.json"
	t.Memory = "CLAUDE.md"
	if t.Scope == Global {
		t.Memory = prefix + "/CLAUDE.md"
	}
	return err
}

func claudeCommand(t Target, d doc) File {
	return File{t.dirs.commands + "/" + d.name + ".md", d.raw}
}
func claudeAgent(t Target, d doc) File { return File{t.dirs.agents + "/" + d.name + ".md", d.raw} }

// Codex replaced its prompts directory by skills, which have neither arguments nor inlined
// commands.

func placeCodex(t *Target, getenv func(string) string) error {
	root := t.Root
	prefix, err := t.moved(getenv("CODEX_HOME"), ".codex")
	t.Home = prefix + "/greenlight"
	t.dirs = dirs{".agents/skills", prefix + "/agents"}
	if err == nil && root != t.Root {
		// which codex still reads, and which is below the same directory
		t.dirs.commands = prefix + "/skills"
	}
	return err
}

func codexSkill(t Target, d doc) File {
	name := "gl-" + flat(d.name)
	body := bangs(d.body, readCommand)
	const given = "<arguments>"
	if strings.Contains(body, "$ARGUMENTS") {
		body = "Where this text says " + given +
			", put what the user wrote behind the skill's name; nothing, if that is nothing.\n\n" +
			strings.ReplaceAll(body, "$ARGUMENTS", given)
	}
	head := yaml([2]any{"name", name}, [2]any{"description", d.description()})
	return File{path.Join(t.dirs.commands, name, "SKILL.md"), []byte(head + slashes(body, "$gl-"))}
}

func codexAgent(t Target, d doc) File {
	name := d.agentName()
	return File{t.dirs.agents + "/" + name + ".toml",
		[]byte(toml([2]string{"name", name}, [2]string{"description", d.description()},
			[2]string{"developer_instructions", slashes(d.body, "$gl-")}))}
}

// Gemini CLI stores commands as TOML. It quotes {{args}} inside !{…} as one shell word, so
// commands with arguments are left to the model.

func placeGemini(t *Target, _ func(string) string) error {
	t.Home = ".gemini/greenlight"
	t.dirs = dirs{".gemini/commands/gl", ".gemini/agents"}
	return nil
}

func geminiCommand(t Target, d doc) File {
	const mark = "\x00" // so that only real commands become commands
	inlined := false
	body := bangs(d.body, func(command string) string {
		if strings.Contains(command, "$ARGUMENTS") {
			return readCommand(command)
		}
		inlined = true
		return mark + "{" + command + "}"
	})
	if inlined { // printed by Gemini CLI 0.61 below the output of a successful command
		body = "A line below that ends in \"terminated by signal 0]\" is Gemini CLI's, and means that the command succeeded.\n\n" + body
	}
	body = strings.ReplaceAll(body, "!{", "! {")
	body = strings.ReplaceAll(body, mark, "!")
	body = strings.ReplaceAll(body, "$ARGUMENTS", "{{args}}")
	return File{t.dirs.commands + "/" + d.name + ".toml",
		[]byte(toml([2]string{"description", d.description()}, [2]string{"prompt", body}))}
}

// geminiAgent gives the agent the tools listed in the content; without a list it has all.
func geminiAgent(t Target, d doc) File {
	name := d.agentName()
	front := [][2]any{{"name", name}, {"description", d.description()}}
	if tools := d.tools(); len(tools) > 0 {
		names := map[string][]string{"Read": {"read_file", "list_directory"},
			"Grep": {"grep_search"}, "Glob": {"glob"}, "Write": {"write_file"}, "Edit": {"replace"},
			"Bash": {"run_shell_command"}}
		list := []string{}
		for _, tool := range tools {
			list = append(list, names[tool]...)
		}
		front = append(front, [2]any{"tools", list})
	}
	return File{t.dirs.agents + "/" + name + ".md", []byte(yaml(front...) + d.body)}
}

// opencode supports Claude's placeholders, but has no name spaces that work in both of its
// versions.

func placeOpencode(t *Target, getenv func(string) string) error {
	prefix := ".opencode"
	if t.Scope == Global {
		prefix = ".config/opencode"
		if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
			moved, err := t.moved(dir, "")
			if err != nil {
				return err
			}
			prefix = moved + "/opencode"
		}
	}
	t.Home = prefix + "/greenlight"
	t.dirs = dirs{prefix + "/commands", prefix + "/agents"}
	return nil
}

func opencodeCommand(t Target, d doc) File {
	return File{t.dirs.commands + "/gl-" + flat(d.name) + ".md",
		[]byte(yaml([2]any{"description", d.description()}) +
			slashes(bangs(d.body, merged), "/gl-"))}
}

// opencodeAgent denies the agent the tools that the content doesn't list. Version 2 also reads
// these rules of version 1.
func opencodeAgent(t Target, d doc) File {
	front := [][2]any{{"description", d.description()}, {"mode", "subagent"}}
	if tools := d.tools(); len(tools) > 0 {
		denied := map[string]string{}
		for rule, names := range map[string][]string{"bash": {"Bash"}, "edit": {"Write", "Edit"},
			"grep": {"Grep"}, "glob": {"Glob"}, "read": {"Read"}} {
			if !slices.ContainsFunc(names, func(name string) bool {
				return slices.Contains(tools, name)
			}) {
				denied[rule] = "deny"
			}
		}
		front = append(front, [2]any{"permission", denied})
	}
	return File{t.dirs.agents + "/" + d.agentName() + ".md",
		[]byte(yaml(front...) + slashes(d.body, "/gl-"))}
}

// bangs converts commands that Claude Code inlines, !`cmd`, to the agent's form. It tells gl
// that an agent is calling, because gl slice in a shell starts agents, and not every version of
// every agent is recognizable from its environment.
func bangs(body string, form func(command string) string) string {
	return banged().ReplaceAllStringFunc(body, func(match string) string {
		command := strings.Trim(match, "!`")
		if rest, ours := strings.CutPrefix(command, "gl "); ours {
			command = "gl --context claude " + rest
		}
		return form(command)
	})
}

// readCommand leaves a command to the model. merged is for opencode, whose model sees only
// stdout and would miss an error.
func readCommand(command string) string { return "Run `" + command + "` and read what it prints." }
func merged(command string) string {
	return "!`" + strings.TrimSuffix(command, " || true") + " 2>&1 || true`"
}

// banged matches a command that Claude Code inlines: !`cmd`.
var banged = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("!`([^`\n]+)`") })

// slashes converts /gl:NAME to the agent's command syntax.
func slashes(body, prefix string) string { return strings.ReplaceAll(body, "/gl:", prefix) }

func flat(name string) string { return strings.ReplaceAll(name, "/", "-") }

func (d doc) description() string {
	if text := d.front["description"]; text != "" {
		return text
	}
	return "Greenlight: " + d.name
}

// tools returns the tools that the content gives an agent; none means all.
func (d doc) tools() []string {
	return strings.FieldsFunc(d.front["tools"], func(r rune) bool { return r == ',' || r == ' ' })
}

func (d doc) agentName() string {
	if name := d.front["name"]; name != "" {
		return name
	}
	return flat(d.name)
}
