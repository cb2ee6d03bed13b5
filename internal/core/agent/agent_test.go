package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommand(t *testing.T) {
	job := Job{Prompt: "/gl:slice S-1", Dir: "/p/{slice}", SessionID: "u-1",
		PluginDirs: []string{"/plug in"}, Slice: "S-1"}
	bare := Job{Prompt: "do {dir}", Dir: "/p", Slice: "S-2"}
	cfg := Config{
		ClaudeFlags: []string{"--max-turns", "200"},
		Self:        "/opt/gl",
		Custom:      map[string]Custom{"codex": {Command: []string{"codex", "exec", "-C", "{dir}", "{slice}: {prompt}", "{other}"}}},
	}
	for _, tt := range []struct {
		name string
		job  Job
		want []string
	}{
		{"claude", job, []string{"claude", "-p", "/gl:slice S-1", "--output-format", "stream-json", "--verbose",
			"--session-id", "u-1", "--plugin-dir", "/plug in", "--max-turns", "200"}},
		{"claude", bare, []string{"claude", "-p", "do {dir}", "--output-format", "stream-json", "--verbose",
			"--max-turns", "200"}},
		{"rehearsal", job, []string{"gl", "rehearsal-agent", "--spec", "", "--prompt=/gl:slice S-1", "S-1"}},
		{"rehearsal:seed=1,crash=S-3#1", job, []string{"gl", "rehearsal-agent", "--spec", "seed=1,crash=S-3#1", "--prompt=/gl:slice S-1", "S-1"}},
		{"codex", job, []string{"codex", "exec", "-C", "/p/{slice}", "S-1: /gl:slice S-1", "{other}"}},
		{"codex", bare, []string{"codex", "exec", "-C", "/p", "S-2: do {dir}", "{other}"}},
	} {
		a, err := Find(tt.name, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, a.Command(tt.job)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		program := tt.want[0]
		if program == "gl" {
			program = cfg.Self
		}
		if a.Program != program || a.Name != tt.name {
			t.Errorf("%s: program %q, name %q", tt.name, a.Program, a.Name)
		}
	}
}

func TestCommandsShareNothing(t *testing.T) {
	cfg := Config{ClaudeFlags: make([]string, 1, 8)}
	cfg.ClaudeFlags[0] = "--a"
	a, _ := Find("claude", cfg)
	one := a.Command(Job{Prompt: "1"})
	cfg.ClaudeFlags[0] = "--changed"
	two := a.Command(Job{Prompt: "2"})
	if one[2] != "1" || two[2] != "2" || two[len(two)-1] != "--a" {
		t.Errorf("one %q, two %q", one, two)
	}
}

func TestFind(t *testing.T) {
	cfg := Config{Custom: map[string]Custom{"codex": {Command: []string{"codex"}}, "none": {},
		"blank": {Command: []string{""}}, "claude": {Command: []string{"my-claude", "{prompt}"}}, "rehearsal": {Command: []string{"costly"}}}, Self: "gl"}
	if a, err := Find("claude", cfg); err != nil || a.Program != "my-claude" ||
		a.Stream != StreamAuto {
		t.Errorf("a custom claude: %+v, %v", a, err)
	}
	if a, err := Find("rehearsal", cfg); err != nil || a.Program != "gl" ||
		a.Stream != StreamClaude {
		t.Errorf("rehearsal is never custom: %+v, %v", a, err)
	}
	if a, err := Find("claude", Config{}); err != nil || a.Install == "" ||
		a.Login != "claude /login" {
		t.Errorf("claude: %+v, %v", a, err)
	}
	for name, want := range map[string][]string{
		"cluade":     {`"cluade"`, `did you mean "claude"?`, "known: claude, codex, cursor-agent, gemini, none, opencode, rehearsal;"},
		"codx":       {`did you mean "codex"?`},
		"gemni":      {`did you mean "gemini"?`},
		"open-code":  {`did you mean "opencode"?`},
		"cursor":     {`did you mean "cursor-agent"?`},
		"bin/codex":  {`no agent is called "bin/codex"`},
		"rehersal":   {`did you mean "rehearsal"?`},
		"":           {`no agent is called ""`},
		"no-such-ai": {"known: "},
		"none":       {`agent "none" has no program`},
		"blank":      {`agent "blank" has no program`},
		"rehearsals": {"did you mean"},
	} {
		if name == "cluade" {
			cfg := cfg
			cfg.Custom = map[string]Custom{"codex": {Command: []string{"x"}},
				"none": {Command: []string{"y"}}}
			checkError(t, name, cfg, want)
			continue
		}
		checkError(t, name, cfg, want)
	}
}

func checkError(t *testing.T, name string, cfg Config, want []string) {
	t.Helper()
	_, err := Find(name, cfg)
	if err == nil {
		t.Errorf("%q: no error", name)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q: error %q lacks %q", name, err, w)
		}
	}
	if name == "no-such-ai" && strings.Contains(err.Error(), "did you mean") {
		t.Errorf("%q is near nothing: %v", name, err)
	}
}

func TestScrubEnv(t *testing.T) {
	stay := []string{"PATH=/bin", "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_OAUTH_TOKEN=t", "CLAUDE_CONFIG_DIR=/c",
		"CLAUDECODE_X=1", "GREENLIGHT_ROOT=/r", "GL_OTHER=1", "ODD", "=C:=C", "EMPTY=", "MY_CLAUDE_CODE_SESSION_ID=1"}
	go_ := []string{"CLAUDECODE=1", "CLAUDE_CODE=", "CLAUDE_PID=3", "CLAUDE_EFFORT=high", "AI_AGENT=x", "GL_SLICE=S-1",
		"GL_SESSION=t", "GL_ATTEMPT=2"}
	for _, v := range strings.Fields("ENTRYPOINT EXECPATH SESSION_ID SESSION_ATTENDED CHILD_SESSION CHILD_NOTES_DIR " +
		"MESSAGING_SOCKET MESSAGING_TOKEN SSE_PORT") {
		go_ = append(go_, "CLAUDE_CODE_"+v+"=x=y")
	}
	var env []string
	for i := range max(len(stay), len(go_)) {
		env = append(env, go_[min(i, len(go_)-1)])
		if i < len(stay) {
			env = append(env, stay[i])
		}
	}
	before := slices.Clone(env)
	if d := cmp.Diff(stay, ScrubEnv(env)); d != "" {
		t.Error(d)
	}
	if !slices.Equal(before, env) {
		t.Error("the caller's environment was changed")
	}
}

// The rest of a slice's budget is passed to a client that supports a limit; a person's own flag
// takes precedence.
func TestClaudeBudget(t *testing.T) {
	for flags, want := range map[string]string{"": "--max-budget-usd 1.75", "--max-budget-usd 9": "--max-budget-usd 9"} {
		a, err := Find("claude", Config{ClaudeFlags: strings.Fields(flags)})
		if err != nil {
			t.Fatal(err)
		}
		for _, argv := range [][]string{a.Command(Job{Prompt: "/gl:slice S-1", BudgetUSD: 1.75}),
			a.Resume(Job{Conversation: "c", Note: "go on", BudgetUSD: 1.75})} {
			if line := strings.Join(argv, " "); !strings.HasSuffix(line, want) ||
				strings.Count(line, "budget") != 1 {
				t.Errorf("%q: %q", flags, line)
			}
		}
	}
	if a, _ := Find("claude", Config{}); strings.Contains(strings.Join(a.Command(Job{Prompt: "x"}),
		" "), "budget") {
		t.Error("a limit that wasn't set")
	}
}
