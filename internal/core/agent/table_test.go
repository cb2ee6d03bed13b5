package agent

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOtherCommands(t *testing.T) {
	md := "---\na: b\n---\nBuild $ARGUMENTS; \"quote\" $HOME {dir}\n"
	job := Job{Prompt: "/gl:slice S-1", Instructions: md, Dir: "/it's {slice}", SessionID: "u",
		PluginDirs: []string{"/plug"}, Slice: "S-1"}
	const text = "Build S-1; \"quote\" $HOME {dir}"
	rows := [][]string{
		{"codex", "exec", "--json", "-s", "workspace-write", "-C", "/it's {slice}", text},
		{"gemini", "-p", text, "--approval-mode", "yolo", "--skip-trust", "-o", "stream-json"},
		{"opencode", "run", "--auto", "--format", "json", "--dir", "/it's {slice}", text},
		{"cursor-agent", "-p", "--force", "--trust", "--output-format", "stream-json", text},
	}
	for _, a := range table(Config{}) {
		is := func(row []string) bool { return row[0] == a.Name }
		if a.Prompts == MethodText && !slices.ContainsFunc(rows, is) {
			t.Errorf("no row for %s", a.Name)
		}
	}
	for _, want := range rows {
		a, err := Find(want[0], Config{ClaudeFlags: []string{"--max-turns", "9"}})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, a.Command(job)); d != "" {
			t.Errorf("%s: %s", want[0], d)
		}
		if a.Name != want[0] || a.Program != want[0] || a.Prompts != MethodText || a.Install == "" {
			t.Errorf("%+v", a)
		}
		ready := job
		ready.Instructions = text
		if d := cmp.Diff(want, a.Command(ready)); d != "" {
			t.Errorf("%s, with the text made already: %s", want[0], d)
		}
		ready.Instructions = ""
		if got := a.Command(ready); cmp.Equal(want, got) || len(got) != len(want) {
			t.Errorf("%s without instructions: %q", want[0], got)
		}
	}
}

func TestStreamsAndPrompts(t *testing.T) {
	cfg := Config{Self: "gl", Custom: map[string]Custom{
		"mine":   {Command: []string{"mine", "{prompt}"}},
		"text":   {Command: []string{"mine", "--do={instructions}"}},
		"codex":  {Command: []string{"/opt/codex", "exec", "--json", "-s", "danger-full-access", "{instructions}"}},
		"fast":   {Command: []string{"gemini", "-m", "flash", "-p", "{prompt}"}},
		"odd":    {Command: []string{"{instructions}"}},
		"claude": {Command: []string{"claude", "-p", "{prompt}"}},
	}}
	type row struct {
		stream  string
		prompts PromptKind
		install bool
	}
	builtIn := map[string]row{
		"claude":       {StreamClaude, SlashCommand, true},
		"codex":        {StreamCodex, MethodText, true},
		"gemini":       {StreamGemini, MethodText, true},
		"opencode":     {StreamOpencode, MethodText, true},
		"cursor-agent": {StreamCursor, MethodText, true},
		"rehearsal":    {StreamClaude, SlashCommand, false},
	}
	for _, a := range table(Config{Self: "gl"}) {
		if want, ok := builtIn[a.Name]; !ok {
			t.Errorf("no row for %s", a.Name)
		} else if got := (row{a.Stream, a.Prompts, a.Install != ""}); got != want {
			t.Errorf("%s: %+v, want %+v", a.Name, got, want)
		}
	}
	for name, want := range map[string]row{
		"mine":   {StreamAuto, Brief, false},
		"text":   {StreamAuto, MethodText, false},
		"codex":  {StreamCodex, MethodText, true},
		"fast":   {StreamGemini, Brief, true},
		"odd":    {StreamAuto, Brief, false},
		"claude": {StreamAuto, SlashCommand, false},
	} {
		a, err := Find(name, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if a.Stream != want.stream || a.Prompts != want.prompts ||
			(a.Install != "") != want.install || a.Name != name {
			t.Errorf("%s: %+v", name, a)
		}
	}
	a, _ := Find("text", cfg)
	job := Job{Prompt: "/gl:slice S-1", Instructions: "Build $ARGUMENTS {prompt}", Slice: "S-1"}
	if d := cmp.Diff([]string{"mine", "--do=Build S-1 {prompt}"}, a.Command(job)); d != "" {
		t.Error(d)
	}
}
