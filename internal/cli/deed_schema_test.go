package cli

import (
	"bytes"
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/run/project/projecttest"
)

// A deed is a command that changes something, or needs a particular project, with the files of a
// project for it.
type deed struct {
	files map[string]string
	args  []string
}

// deedSchemas lists such commands, by the name of their schema; each runs in its own project.
var deedSchemas = map[string][]deed{
	"init": {{nil, []string{"init", "--no-agent", "--json"}}},
	"add-slice": {{everyClass, []string{"add-slice", "A name", "--deps", "S-1", "--json"}},
		{legacy, []string{"add-slice", "A name", "--json"}}},
	"import": {{map[string]string{"../todo.md": "- [ ] T1 One\n- [ ] T2 Two (needs T1)\n"},
		[]string{"import", "todo.md", "--json"}}},
	"migrate": {{legacy, []string{"migrate", "--dry-run", "--json"}}, {legacy, []string{"migrate", "--json"}}, {everyClass, []string{"migrate", "--json"}}},
	"pause":   {{everyClass, []string{"pause", "S-2", "--json"}}},
	"resume":  {{paused, []string{"resume", "--json"}}, {map[string]string{".continue-here.md": "Go on.\n"}, []string{"resume", "--json"}}},
	"retry":   {{everyClass, []string{"retry", "--all-failed", "--json"}}, {everyClass, []string{"retry", "S-1", "S-2", "S-5", "--json"}}},
	"stop":    {{vanished, []string{"stop", "--all", "--json"}}, {vanished, []string{"stop", "S-2", "--json"}}, {nil, []string{"stop", "--all", "--json"}}},
	"doctor": {{everyClass, []string{"doctor", "--json"}},
		{vanished, []string{"doctor", "--fix", "--json"}}},
	"task": {{everyClass, []string{"quick", "a text", "--dry-run", "--json", "--agent", "rehearsal"}},
		{nil, []string{"assess", "--dry-run", "--json", "--agent", "rehearsal"}}},
	"slice":          {{everyClass, []string{"slice", "--dry-run", "--json", "--agent", "rehearsal"}}},
	"state-overview": {{everyClass, []string{"state", "overview", "--json"}}},
	"state-show":     {{everyClass, []string{"state", "show", "S-1", "--json"}}, {graphOnly, []string{"state", "show", "S-1", "--json"}}},
	"gsd-line":       {{position, []string{"gsd", "line", "--json"}}, {map[string]string{"../.planning/STATE.md": ""}, []string{"gsd", "line", "--json"}}},
	"change": {
		{everyClass, []string{"accept", "S-6", "--force", "--json"}}, {everyClass, []string{"answer", "S-5", "blue", "--json"}}, {everyClass, []string{"reject", "S-6", "no", "--json"}},
		{everyClass, []string{"say", "S-12", "a word", "--json"}}, {everyClass, []string{"remove", "S-12", "--json"}}, {everyClass, []string{"rename", "S-12", "S-20", "--json"}}, {everyClass, []string{"undo", "S-1", "--json"}},
		{everyClass, []string{"state", "claim", "S-12", "--json"}}, {everyClass, []string{"state", "release", "S-3", "--json"}},
		{everyClass, []string{"state", "set", "S-12", "step=tests", "--json"}}, {everyClass, []string{"state", "note", "S-12", "--why", "x", "--json"}},
		{nil, []string{"state", "render", "--json"}}, {nil, []string{"land", "--json"}}, {nil, []string{"sw", "init", "--json"}},
		{nil, []string{"sw", "reset", "--json"}}, {nil, []string{"install", "--local", "--agent", "codex", "--json"}}, {nil, []string{"uninstall", "--local", "--agent", "codex", "--json"}},
	},
	"trust":          {{commanded, []string{"trust", "--json"}}, {commanded, []string{"trust", "--yes", "--json"}}, {commanded, []string{"trust", "--revoke", "--json"}}},
	"settings-get":   {{nil, []string{"settings", "set", "--json", "parallel.max", "6"}}, {nil, []string{"settings", "mode", "yolo", "--json"}}, {nil, []string{"settings", "profile", "budget", "--json"}}, {nil, []string{"settings", "set", "--json", "model_overrides.security", "opus"}}},
	"settings-model": {{nil, []string{"settings", "model", "--json"}}, {nil, []string{"settings", "model", "security", "opus", "--json"}}},
	"logs": {{logged, []string{"logs", "S-5", "--json"}},
		{vanished, []string{"logs", "S-2", "--json"}}},
}

var (
	commanded = map[string]string{"config.json": `{"test": {"command": "true"}}`}
	legacy    = map[string]string{"STATE.md": "| ID | Name | Status | Deps |\n|----|------|--------|------|\n| S-1 | Sign up | done | — |\n| S-2 | Log in | pending | S-1 |\n"}
	position  = map[string]string{"../.planning/STATE.md": "---\nstatus: x\nmilestone: v1\nnext_phases: [1]\nprogress: {percent: 50}\n---\nPhase: 1 of 2 (A)\n"}
	graphOnly = map[string]string{"GRAPH.json": `{"slices": [{"id": "S-1"}]}`}
	paused    = map[string]string{"slices/S-2.md": "---\nid: S-2\nstatus: pending\n---\n", ".continue-here.S-2.md": "# Go on\n",
		"project-state.json": `{"paused": {"S-2": {"paused_at": "2026-01-01T00:00:00Z", "resume_file": ".greenlight/.continue-here.S-2.md"}}}`}
	// The gl process of this attempt is from an earlier boot.
	vanished = map[string]string{"slices/S-2.md": "---\nid: S-2\nstatus: in_progress\nsession: tok\n---\n",
		"runs/live/S-2.1.json": `{"schema_version": 1, "slice": "S-2", "n": 1, "token": "tok", "agent": "claude", "phase": "started",
			"claimed_at": "2026-01-01T00:00:00Z", "launcher": {"pid": 1, "start": "1", "boot": "-", "host": "HOST"},
			"process": {"pid": 1, "start": "1", "boot": "-", "host": "HOST"}}`}
	logged = map[string]string{"slices/S-5.md": "---\nid: S-5\nstatus: failed\n---\n",
		"runs/done/S-5.1.failed.json": `{"schema_version": 1, "slice": "S-5", "n": 1, "agent": "claude", "phase": "settled", "outcome": "failed", "stream": "claude"}`,
		"runs/log/S-5.1.log": `{"type":"system","subtype":"init","session_id":"x","slash_commands":["gl:slice"]}` + "\n" +
			`{"type":"assistant","message":{"content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls"}}]}}` + "\nplain\n"}
)

func TestDeedsAreAsTheirSchemasSay(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for name, deeds := range deedSchemas {
		for _, d := range deeds {
			line := strings.Join(d.args, " ")
			code, stdout, stderr := d.run(t, name, host, home, d.args)
			if code == cmdutil.ExitUsage || len(stdout) == 0 {
				t.Errorf("gl %s: exit code %d: %s", line, code, stderr)
				continue
			}
			if err := conforms(t, name, stdout); err != nil {
				t.Errorf("gl %s: %v", line, err)
			}
			doc := object(t, stdout)
			for _, list := range []string{"slices", "events"} { // or its schema isn't tried
				if all, ok := doc[list].([]any); ok && len(all) == 0 && d.files != nil &&
					name != "slice" && line != "logs S-2 --json" {
					t.Errorf("gl %s: no %s\n%s", line, list, stderr)
				}
			}
		}
	}
}

// run runs a command line in the deed's project; name is that of its schema.
func (d deed) run(t *testing.T, name, host, home string,
	args []string) (code int, stdout, stderr []byte) {
	t.Helper()
	root := t.TempDir()
	if name != "init" {
		files := maps.Clone(d.files)
		for path, text := range files {
			files[path] = strings.ReplaceAll(text, "HOST", host)
		}
		root = projecttest.Write(t, files)
	}
	var out, errs bytes.Buffer
	code = Main(context.Background(), append([]string{"-C", root}, args...), strings.NewReader(""),
		&out, &errs, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home})
	return code, out.Bytes(), errs.Bytes()
}

// shownQuietly lists commands whose text isn't about their actions, so that --quiet keeps it.
var shownQuietly = map[string]string{
	`^add-slice `:      "the new id",
	`^import `:         "the new slices",
	`^state claim `:    "the token",
	`^state overview$`: "the overview",
	`^state show `:     "the slice",
	`^resume$`:         "the hand-off",
	`^doctor`:          "what is wrong",
	`^logs `:           "the log",
	`^gsd line$`:       "the line",
	`^settings model$`: "the models",
	`^trust$`:          "what there is to allow",
	`--dry-run`:        "what would happen",
}

// With --quiet, a command that changes something prints nothing, unless printing is its purpose.
func TestQuietTellsNothing(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	used := map[string]bool{}
	for name, deeds := range deedSchemas {
		for _, d := range deeds {
			args := slices.DeleteFunc(slices.Clone(d.args), func(a string) bool {
				return a == "--json"
			})
			line := strings.Join(args, " ")
			asked := ""
			for pattern := range shownQuietly {
				if regexp.MustCompile(pattern).MatchString(line) {
					asked = pattern
				}
			}
			code, stdout, stderr := d.run(t, name, host, home, append([]string{"--quiet"}, args...))
			switch {
			case code == cmdutil.ExitUsage:
				t.Errorf("gl %s --quiet: %s", line, stderr)
			case asked == "" && len(stdout) > 0:
				t.Errorf("gl %s --quiet prints %q", line, stdout)
			case asked != "" && len(stdout) > 0:
				used[asked] = true
			}
		}
	}
	for pattern := range shownQuietly {
		if !used[pattern] {
			t.Errorf("%s prints nothing: take it out of the list", pattern)
		}
	}
}
