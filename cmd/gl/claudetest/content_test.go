package claudetest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/content"
	"greenlight/internal/core/agent"
)

// plugin unpacks the content as a plugin and returns its directory.
func (w *world) plugin() string {
	w.Helper()
	dir := filepath.Join(w.home, "plugin")
	sub, err := fs.Sub(content.Plugin, "plugin")
	w.check(err)
	w.check(fs.WalkDir(sub, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sub, path)
		w.write(filepath.Join(dir, path), string(text))
		return err
	}))
	return dir
}

// names returns the names of the content's commands or agents.
func names(t *testing.T, kind string) []string {
	t.Helper()
	files, err := fs.Glob(content.Plugin, "plugin/"+kind+"/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".md")
	}
	return files
}

// An initEvent is the client's list of what it has loaded.
type initEvent struct {
	Subtype       string
	SlashCommands []string `json:"slash_commands"`
	Agents        []string
	Tools         []string
}

// headless runs a prompt as gl does, except for the permissions, and returns what was loaded
// and how it ended.
func (w *world) headless(prompt string, flags ...string) (initEvent, agent.Summary) {
	w.Helper()
	args := append([]string{"-p", prompt, "--output-format", "stream-json", "--verbose"}, flags...)
	r := w.call("claude", args...)
	var up initEvent
	dec := agent.NewDecoder(agent.StreamClaude)
	for _, line := range strings.Split(r.out, "\n") {
		dec.Line([]byte(line))
		var e initEvent
		if json.Unmarshal([]byte(line), &e) == nil && e.Subtype == "init" {
			up = e
		}
	}
	sum := dec.Summary()
	if r.code != 0 || sum.Result == nil || sum.Result.Turns == 0 {
		w.Fatalf("%s: exit %d\n%s%s", prompt, r.code, r.out, r.err)
	}
	return up, sum
}

// Installed or as a plugin, the client lists every command and every agent of the content, and
// each command expands: its allowed-tools cover the commands it inlines.
func TestContentLoads(t *testing.T) {
	for _, how := range []string{"plugin", "installed"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, []string{"S-01", "S-02:S-01"}, Script{Steps: []Reply{Say("Well.")}})
			var flags []string
			prefix := ""
			if how == "plugin" {
				flags, prefix = []string{"--plugin-dir", w.plugin()}, "gl:"
			} else {
				w.must("gl", "install", "--local")
			}
			up, _ := w.headless("hello", flags...)
			for _, name := range names(t, "commands") {
				hidden := slices.Contains([]string{"init", "migrate-state", "ship"}, name)
				if w.last().Says("- gl:"+name+":") == hidden {
					t.Errorf("the model is offered gl:%s: %v", name, !hidden)
				}
			}
			for _, name := range names(t, "agents") {
				if !slices.Contains(up.Agents, prefix+name) {
					t.Errorf("agent %s%s isn't among %q", prefix, name, up.Agents)
				}
			}
			for _, name := range names(t, "commands") {
				if !slices.Contains(up.SlashCommands, "gl:"+name) {
					t.Errorf("command gl:%s isn't among %q", name, up.SlashCommands)
					continue
				}
				// TestHostileArguments expands them; their allowed-tools cover the same
				if how == "plugin" {
					continue
				}
				w.headless("/gl:"+name+" S-01", flags...)
				if last := w.last(); !last.Asked("<command-name>/gl:"+name+"</command-name>") ||
					last.Asked("!`") {
					t.Errorf("/gl:%s was not expanded: %+v", name, last.Messages)
				}
			}
		})
	}
}

// Before there is a project, the prompts of the commands that may come first have what exists,
// and no error.
func TestBeforeAProject(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{Say("Well.")}})
	w.check(os.RemoveAll(filepath.Join(w.root, ".greenlight")))
	// which /gl:init writes first
	w.write(filepath.Join(w.root, ".greenlight", "INTERVIEW.md"), "# Interview\n")
	for _, name := range []string{"init", "design", "map", "assess", "quick", "settings"} {
		w.headless("/gl:"+name+" a shop for tea", "--plugin-dir", w.plugin(), "--allowedTools", "Bash")
		if last := w.last(); !last.Asked("a shop for tea") || last.Asked("no Greenlight project") ||
			last.Asked("gl: ") {
			t.Errorf("/gl:%s: the model reads %+v", name, last.Messages)
		}
	}
}

// A sub-agent is offered exactly the tools of its frontmatter, and its file is its instruction.
func TestAgentTools(t *testing.T) {
	agents := names(t, "agents")
	var main []Reply
	scripts := []Script{{When: func(r *Request) bool { return r.Asked("YOUR TASK:") },
		Steps: []Reply{Say("Done.")}}}
	for _, name := range agents {
		main = append(main, Use("Agent",
			map[string]any{"description": "ask " + name, "prompt": "YOUR TASK: " + name,
				"subagent_type": "gl:" + name, "run_in_background": false}))
	}
	w := newWorld(t, []string{"S-01"},
		append(scripts, Script{Steps: append(main, Say("All asked."))})...)
	w.headless("go", yolo, "--plugin-dir", w.plugin())
	for _, name := range agents {
		allowed, said := agentFile(t, name)
		i := slices.IndexFunc(w.api.Requests(), func(r *Request) bool {
			return r.Asked("YOUR TASK: " + name)
		})
		if i < 0 {
			t.Errorf("%s was never asked", name)
			continue
		}
		r := w.api.Requests()[i]
		if !strings.Contains(r.System, said) {
			t.Errorf("%s wasn't told %q", name, said)
		}
		for _, tool := range r.Tools {
			if !slices.Contains(allowed, tool) {
				t.Errorf("%s is offered %s, and its file allows %q", name, tool, allowed)
			}
		}
	}
}

// agentFile returns the tools that an agent's frontmatter allows, and the first line of its text.
func agentFile(t *testing.T, name string) (tools []string, said string) {
	t.Helper()
	data, err := content.Plugin.ReadFile("plugin/agents/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	front, text, _ := strings.Cut(strings.TrimPrefix(string(data), "---\n"), "\n---\n")
	for _, line := range strings.Split(front, "\n") {
		if list, ok := strings.CutPrefix(line, "tools:"); ok {
			for _, tool := range strings.Split(list, ",") {
				tools = append(tools, strings.TrimSpace(tool))
			}
		}
	}
	said, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return tools, said
}

// The client's choice among a project's own files and a plugin's: the table in
// docs/claude-code.md.
func TestWhatIsLoaded(t *testing.T) {
	for _, tt := range []struct {
		name              string
		installed, plugin bool
		bare              bool
		command           string // the one whose /gl:probe runs; "" for none
		agents, hooks     []string
	}{
		{"installed", true, false, false, "installed", []string{"gl-probe"}, []string{"installed"}},
		{"plugin", false, true, false, "plugin", []string{"gl:gl-probe"}, []string{"plugin"}},
		{"both", true, true, false, "installed", []string{"gl-probe", "gl:gl-probe"}, []string{"installed", "plugin"}},
		{"installed, bare", true, false, true, "", nil, nil},
		{"plugin, bare", false, true, true, "plugin", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{Say("Well.")}})
			var flags []string
			if tt.installed {
				w.probe(filepath.Join(w.root, ".claude"), "installed", "commands/gl/probe.md", "settings.json")
			}
			if tt.plugin {
				dir := filepath.Join(w.home, "probe")
				w.write(filepath.Join(dir, ".claude-plugin/plugin.json"), `{"name": "gl"}`)
				w.probe(dir, "plugin", "commands/probe.md", "hooks/hooks.json")
				flags = append(flags, "--plugin-dir", dir)
			}
			if tt.bare {
				flags = append(flags, "--bare")
			}
			up, _ := w.headless("/gl:probe", flags...)
			agents := slices.DeleteFunc(up.Agents, func(a string) bool {
				return !strings.Contains(a, "gl-probe")
			})
			if !slices.Equal(agents, tt.agents) {
				t.Errorf("agents %q, not %q", agents, tt.agents)
			}
			if got := slices.Contains(up.SlashCommands, "gl:probe"); got != (tt.command != "") {
				t.Errorf("gl:probe is a command: %v", got)
			}
			for _, from := range []string{"installed", "plugin"} {
				if got := w.last().Asked("the command of " + from); got != (from == tt.command) {
					t.Errorf("the command of %s: %v", from, got)
				}
				_, err := os.Stat(filepath.Join(w.root, "hook-of-"+from))
				if got := err == nil; got != slices.Contains(tt.hooks, from) {
					t.Errorf("the hook of %s: %v", from, got)
				}
			}
		})
	}
}

// A skill of a plugin is listed with the plugin's name as prefix. It can be typed without the
// prefix if its frontmatter has a name; otherwise the text goes to the model unchanged.
func TestPluginSkillsAreTypedShort(t *testing.T) {
	w := newWorld(t, []string{"S-01"}, Script{Steps: []Reply{Say("Well.")}})
	dir := filepath.Join(w.home, "plugin")
	w.write(filepath.Join(dir, ".claude-plugin/plugin.json"), `{"name": "specwright"}`)
	w.write(filepath.Join(dir, "skills/sw-build/SKILL.md"), "---\nname: sw-build\ndescription: Builds\n---\nThe text of the skill.\n")
	w.write(filepath.Join(dir, "skills/nameless/SKILL.md"), "---\ndescription: Builds\n---\nThe text of the skill.\n")
	for prompt, expands := range map[string]bool{"/sw-build": true, "/specwright:sw-build": true, "/nameless": false, "/specwright:nameless": true} {
		up, _ := w.headless(prompt, "--plugin-dir", dir)
		if name := "specwright:" + prompt[strings.LastIndexAny(prompt, "/:")+
			1:]; !slices.Contains(up.SlashCommands, name) {
			t.Errorf("%s isn't among %q", name, up.SlashCommands)
		}
		if got := w.last().Asked("The text of the skill."); got != expands {
			t.Errorf("%s expands: %v", prompt, got)
		}
	}
}

// probe writes a command, an agent and a hook that report where they come from.
func (w *world) probe(dir, from, command, hooks string) {
	w.Helper()
	w.write(filepath.Join(dir, command), "This is the command of "+from+".\n")
	w.write(filepath.Join(dir, "agents/gl-probe.md"), "---\nname: gl-probe\ndescription: A probe\n---\nYou are a probe.\n")
	w.write(filepath.Join(dir, hooks), `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch hook-of-`+from+`"}]}]}}`)
}
