package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/paths"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project/projecttest"
)

// openTask is everyClass with a running task.
func openTask() map[string]string {
	files := maps.Clone(everyClass)
	files["runs/live/@quick.2.json"] = `{"schema_version": 1, "slice": "@quick", "prompt": "/gl:quick a", "title": "a", "n": 2, "agent": "claude",
		"phase": "started", "started_at": "2026-01-01T00:00:00Z", "summary": ".greenlight/summaries/quick-x-SUMMARY.md"}`
	files["runs/live/@map.1.json"] = `{"schema_version": 1, "slice": "@map", "prompt": "/gl:map", "n": 1, "token": "t", "agent": "claude", "phase": "claimed"}`
	files["runs/done/@quick.1.done.json"] = `{"schema_version": 1, "slice": "@quick", "prompt": "/gl:quick b", "n": 1, "agent": "claude",
		"phase": "settled", "outcome": "done", "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:07Z",
		"evidence": {"exit_code": 0, "result": {"turns": 3, "cost_usd": 0.5}}}`
	return files
}

func TestTaskDocumentsAreAsTheirSchemasSay(t *testing.T) {
	root := projecttest.Write(t, openTask())
	for _, c := range []struct {
		schema string
		words  []string
	}{
		{"status", []string{"status", "--json"}},
		{"debug", []string{"debug", "@quick", "--json"}},
		{"debug", []string{"debug", "@map.1", "--json"}},
		{"task", []string{"quick", "x", "--dry-run", "--json"}},
	} {
		if err := conforms(t, c.schema, output(t, append(c.words, "-C", root)...)); err != nil {
			t.Errorf("gl %s: %v", strings.Join(c.words, " "), err)
		}
	}
	doc := object(t, output(t, "status", "--json", "-C", root))
	if tasks := doc["tasks"].([]any); len(tasks) != 2 {
		t.Errorf("tasks are %v", tasks)
	}
	printed := output(t, "assess", "--agent", "rehearsal", "--dry-run", "--json", "-C", projecttest.Write(t, nil))
	if err := conforms(t, "task", printed); err != nil || object(t, printed)["hold"] != nil {
		t.Errorf("gl assess: %v", err)
	}
}

// An agent without slash commands gets the command's text, with the arguments filled in.
func TestTaskForAnAgentWithoutSlashCommands(t *testing.T) {
	a, err := agent.Find("x", agent.Config{Custom: map[string]agent.Custom{"x": {Command: []string{"x", "{instructions}"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"Do: $ARGUMENTS.": "Do: fix it.",
		"Do it.":          "Do it.\n\nARGUMENTS: fix it",
	} {
		job := agent.Job{Prompt: "/gl:quick fix it", Slice: "@quick", Instructions: text}
		if got := a.Command(job); !slices.Equal(got, []string{"x", want}) {
			t.Errorf("%q", got)
		}
	}
}

// Without a project the plugin is unpacked where only the user can write; a command that isn't
// embedded is named.
func TestPluginOfATalk(t *testing.T) {
	a, _ := agent.Talk("", "", "")
	home := t.TempDir()
	app := &cmdutil.App{Environ: []string{"HOME=" + home}}
	dir, err := talkPlugin(app, talk{name: "slice", root: t.TempDir()}, a)
	if err != nil || !strings.HasPrefix(dir, home) ||
		!paths.Exists(filepath.Join(dir, "commands", "slice.md")) {
		t.Errorf("%q, %v", dir, err)
	}
	if dir, err = talkPlugin(app, talk{name: "no-such", root: t.TempDir()}, a); err == nil ||
		!strings.Contains(err.Error(), "/gl:no-such") {
		t.Errorf("%q, %v", dir, err)
	}
	for _, environ := range [][]string{nil, {"HOME=."},
		{"HOME=" + home, "XDG_CACHE_HOME=relative"}} {
		app := &cmdutil.App{Environ: environ}
		if dir, err := talkPlugin(app, talk{name: "slice", root: t.TempDir()}, a); err == nil {
			t.Errorf("%q: unpacked into %s", environ, dir)
		}
	}
}
