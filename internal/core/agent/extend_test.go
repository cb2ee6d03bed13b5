package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An agent that extends another has the same command line and another environment.
func TestExtends(t *testing.T) {
	cfg := Config{ClaudeFlags: []string{"--max-turns", "3"}, Self: "/gl", Custom: map[string]Custom{
		"work2":  {Extends: "claude", Env: map[string]string{"CLAUDE_CONFIG_DIR": "~/work", "KEY": "${WORK_KEY}", "MODE": "$a"}},
		"claude": {Extends: "claude", Env: map[string]string{"A": "b"}},
		"tool": {Command: []string{"tool", "{prompt}"},
			Env: map[string]string{"A": "b", "C": "d"}},
		"tool2": {Extends: "tool", Env: map[string]string{"A": "z"}},
		"round": {Extends: "robin"},
		"robin": {Extends: "round"},
		"mock":  {Extends: "rehearsal:fail=1%"},
		"self":  {Extends: "self"},
		"lost":  {Extends: "missing"},
	}}
	getenv := func(name string) string {
		return map[string]string{"HOME": "/h", "WORK_KEY": "secret"}[name]
	}
	job := Job{Prompt: "/gl:slice S-1", Slice: "S-1", SessionID: "u"}
	for name, want := range map[string]struct {
		argv, env string
		keys      []string
	}{
		"work2": {"claude -p /gl:slice S-1 --output-format stream-json --verbose --session-id u --max-turns 3", "A=b CLAUDE_CONFIG_DIR=/h/work KEY=secret MODE=$a",
			[]string{FlagsSetting, "parallel.agents.claude.extends", "parallel.agents.claude.env", "parallel.agents.work2.extends", "parallel.agents.work2.env"}},
		"claude": {"claude -p /gl:slice S-1 --output-format stream-json --verbose --session-id u --max-turns 3", "A=b",
			[]string{FlagsSetting, "parallel.agents.claude.extends", "parallel.agents.claude.env"}},
		"tool2": {"tool /gl:slice S-1", "A=z C=d", []string{"parallel.agents.tool.command", "parallel.agents.tool.env", "parallel.agents.tool2.extends", "parallel.agents.tool2.env"}},
		"mock":  {"gl rehearsal-agent --spec fail=1% --prompt=/gl:slice S-1 S-1", "", []string{"parallel.agents.mock.extends"}},
	} {
		a, err := Find(name, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.Command(job), " "); got != want.argv || a.Name != name {
			t.Errorf("%s: %q", name, got)
		}
		if got := strings.Join(a.Environ(getenv), " "); got != want.env {
			t.Errorf("%s: %q, want %q", name, got, want.env)
		}
		if d := cmp.Diff(want.keys, a.Keys); d != "" {
			t.Errorf("%s: a person must have allowed %s", name, d)
		}
	}
	for name, want := range map[string]string{
		"round": `agent "round": agent "robin": no agent is called "round"`,
		"self":  `agent "self": no agent is called "self"`,
		"lost":  `agent "lost": no agent is called "missing"`,
	} {
		if _, err := Find(name, cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSplitNames(t *testing.T) {
	custom := map[string]Custom{"mine": {}}
	for text, want := range map[string][]string{
		"claude":                  {"claude"},
		"claude,codex, mine":      {"claude", "codex", "mine"},
		"rehearsal:a=1,b=2":       {"rehearsal:a=1,b=2"},
		"rehearsal:here,mine,x":   {"rehearsal:here", "mine", "x"},
		"rehearsal:a=1,rehearsal": {"rehearsal:a=1", "rehearsal"},
		"x,rehearsal:fail=5%,limit=S-1,rehearsal:b=2,c=3": {"x", "rehearsal:fail=5%,limit=S-1", "rehearsal:b=2,c=3"},
		"rehearsal,codex": {"rehearsal", "codex"},
	} {
		if got := SplitNames(text, custom); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// Each client gets the model in its own way; a model's name can't become an option.
func TestModels(t *testing.T) {
	cfg := Config{Self: "/gl", Custom: map[string]Custom{"can": {Command: []string{"can", "-m",
		"{model}"}}, "cant": {Command: []string{"cant", "{prompt}"}}}}
	for _, name := range append(BuiltIn(), "can", "cant") {
		a, err := Find(name, cfg)
		if err != nil {
			t.Fatal(err)
		}
		job := Job{Prompt: "p", Note: "n", Conversation: "c", Model: "opus-5[1m]"}
		given := slices.Contains(a.Command(job), "opus-5[1m]")
		if given == (name == "cant" || name == "rehearsal") || a.TakesModel() == (name == "cant") {
			t.Errorf("%s: %q, takes a model: %v", name, a.Command(job), a.TakesModel())
		}
		if again := a.Resume(job); again != nil && !slices.Contains(again, "opus-5[1m]") {
			t.Errorf("%s: %q", name, again)
		}
		job.Model = ""
		if slices.Contains(a.Command(job), "--model") {
			t.Errorf("%s: %q", name, a.Command(job))
		}
	}
	for name, want := range map[string]bool{"opus": true, "anthropic/claude-opus-5@2026[1m]": true, "": false, "--dangerous": false, "a b": false, "ö": false,
		strings.Repeat("a", 101): false} {
		if IsModel(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
