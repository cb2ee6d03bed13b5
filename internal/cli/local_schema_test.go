package cli

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/trust"
	"greenlight/internal/run/project/projecttest"
)

// localSchemas lists the commands that only read files, with the schema of their output.
var localSchemas = map[string][][]string{
	"front":        {{"--json"}},
	"roadmap":      {{"roadmap", "--json"}},
	"changelog":    {{"changelog", "--json"}, {"changelog", "--json", "--milestone", "m1"}, {"changelog", "--json", "--since", "2w"}},
	"settings":     {{"settings", "--json"}},
	"settings-get": {{"settings", "get", "parallel.max", "--json"}, {"settings", "get", "test.security_filter", "--json"}},
	"graph":        {{"graph", "--json"}, {"graph", "--format", "json", "--milestone", "m1"}},
	"check":        {{"check", "--json"}, {"check", "--json", "--local", "--agent", "codex"}},
	"why":          {{"why", "--json"}, {"why", "S-9", "--json"}, {"why", "S-4", "--json"}},
	"hold":         {{"hold", "--json"}},
	"budget":       {{"budget", "--json"}},
	"cost":         {{"cost", "--json"}, {"cost", "--by", "agent", "--json"}, {"cost", "--by", "day", "--json"}},
	"review":       {{"review", "--json"}, {"review", "S-4", "--json"}},
	"clean":        {{"clean", "--json", "--dry-run"}, {"clean", "--json", "--yes"}},
	"report":       {{"report", "--format", "json"}, {"report", "--json", "--since", "2026-01-01"}},
	"salvage":      {{"salvage", "--json"}},
	"version":      {{"version", "--json"}},
	"workers":      {{"workers", "--json"}, {"workers", "drain", "box", "--json"}, {"workers", "revoke", "--forget", "lost", "--json"}},
	"debug":        {{"debug", "--json"}, {"debug", "--json", "--run-tests"}},
}

// localProject has content for each of them, in addition to a slice of every class.
func localProject(t *testing.T) string {
	t.Helper()
	files := maps.Clone(everyClass)
	maps.Copy(files, map[string]string{
		"ROADMAP.md":                            "# Roadmap\n\n## Milestone: m1 [active]\n\n| S-1 | a | 2026-01-02 |\n\n## Milestone: m2 [planning]\n",
		"summaries/S-1-SUMMARY.md":              "# S-1: A\n\n## What Changed\nA.\n",
		"summaries/S-2-SUMMARY.md":              "# S-2\n",
		"summaries/quick-20260101-b-SUMMARY.md": "B.\n",
		"CONTRACTS.md":                          "# Contracts\n\n## C-1: First\n",
		"runs/hub/roster.json": `{"server": {"addresses": ["box:7433"], "pin": "x"}, "workers": [{"name": "box", "since": "2026-01-01T00:00:00Z"},
			{"name": "lost", "since": "2026-01-01T00:00:00Z", "revoked": true}]}`,
		"runs/hub/workers.json": `{"schema_version": 1, "server": {"pid": 1}, "workers": [{"name": "box", "seen": "2026-01-01T00:00:00Z",
			"hello": {"host": "box", "os": "linux", "arch": "amd64", "slots": 4, "agents": ["claude"], "lacks": ["bwrap isn't installed"]}}]}`,
		"config.json": `{"test": {"command": "git --version"}, "own": {"x": [1, null]}, "model_overrides": {"security": "opus"},
			"model_profile": "none", "parallel": {"max": 0, "agent": "rehearsal"}}`,
		"slices/S-4.md": "---\nid: S-4\nstatus: failed\n---\n# S-4\n\n## Contracts\n- C-1: First\n- C-2\n\n## Files\n- `a.txt` (new)\n",
		"runs/done/S-4.1.failed.json": `{"schema_version": 1, "slice": "S-4", "n": 1, "agent": "claude", "phase": "settled", "outcome": "failed",
			"detail": "exit 7", "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:07Z",
			"evidence": {"exit_code": 7, "result": {"turns": 3, "cost_usd": 0.5}}}`,
		"runs/log/S-4.1.log":       `{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}}` + "\n",
		"runs/live/S-3.1.json":     `{"schema_version": 1, "slice": "S-3", "n": 1, "agent": "codex", "phase": "started", "process": {"pid": 1, "start": "1", "boot": "-", "host": "-"}}`,
		"runs/claims/S-3.json":     `{"token": "abc", "holder": "some-session"}`,
		"runs/done/S-9.1.bad.json": `{}`,
	})
	root := projecttest.Write(t, files)
	tests := []trust.Command{{Key: "test.command", Line: "git --version"}}
	if err := trust.Open(os.Getenv).Allow(t.Context(), root, tests); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		c := exec.Command("git",
			append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err == nil {
		// without git the document is still valid
		git("init", "-q")
		git("commit", "-q", "--allow-empty", "-m", "first")
		git("tag", "greenlight/checkpoint/S-4")
		for _, ref := range []string{"heads/gl/s/_/greenlight/S-1/1", "gl/wip/_/greenlight/S-1/1/1/tree", "gl/wip/_/greenlight/S-1/1/1/index"} {
			git("update-ref", "refs/"+ref, "HEAD")
		}
		if err := os.WriteFile(filepath.Join(root, "a.txt"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLocalDocumentsAreAsTheirSchemasSay(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	root := localProject(t)
	for name, commands := range localSchemas {
		if name == "debug" {
			for i := range 10 {
				commands = append(commands, []string{"debug", fmt.Sprintf("S-%d", i+1), "--json"})
			}
		}
		for _, words := range commands {
			if err := conforms(t, name, output(t, append(words, "-C", root)...)); err != nil {
				t.Errorf("gl %s: %v", strings.Join(words, " "), err)
			}
		}
	}
}

// The output of gl verify contains a verdict for every kind of check.
func TestVerifyDocuments(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	root := localProject(t)
	for _, words := range [][]string{{"verify", "--json"}, {"verify", "--audit", "--json"}} {
		var stdout, stderr bytes.Buffer
		Main(t.Context(), append(words, "-C", root), strings.NewReader(""), &stdout,
			&stderr, os.Environ())
		if err := conforms(t, "verify", stdout.Bytes()); err != nil {
			t.Errorf("gl %s: %v\n%s%s", strings.Join(words, " "), err, &stdout, &stderr)
		}
	}
}

// Landed work without a record is found by its commit's trailers.
func TestDiffDocument(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	root := localProject(t)
	c := exec.Command("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "Land S-1\n\nSlice: S-1")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := conforms(t, "diff", output(t, "diff", "S-1", "--json", "-C", root)); err != nil {
		t.Error(err)
	}
}

// Without content the documents are still complete.
func TestLocalDocumentsOfAnEmptyProject(t *testing.T) {
	root := projecttest.Write(t, map[string]string{"ROADMAP.md": ""})
	for name, commands := range localSchemas {
		words := slices.DeleteFunc(slices.Clone(commands[0]), func(w string) bool {
			return w == "m1"
		})
		if err := conforms(t, name, output(t, append(words, "-C", root)...)); err != nil {
			t.Errorf("gl %s: %v", strings.Join(words, " "), err)
		}
	}
}

// No part of a full document is null or empty, so that its schema is tested.
func TestLocalDocumentsAreFull(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	root := localProject(t)
	at := func(doc map[string]any, path string) any {
		var v any = doc
		for _, key := range strings.Split(path, ".") {
			v = v.(map[string]any)[key]
		}
		return v
	}
	for command, paths := range map[string][]string{
		"debug S-4 --json --run-tests": {"slice.log.lines", "slice.contracts", "slice.files", "slice.why.attempts", "git.tags", "git.dirty",
			"tests.exit_code", "tests.output", "hold"},
		"debug S-3 --json": {"slice.claim.session", "slice.claim.holder"},
		"debug --json":     {"project.tools", "project.settings", "project.attempts", "project.warnings", "git.commits", "git.branch"},
		"graph --json":     {"nodes", "edges", "critical_path", "cycles", "missing"},
		"changelog --json": {"milestones", "quick"},
		"roadmap --json":   {"milestones", "text"},
		"salvage --json":   {"target", "work"},
		"settings --json":  {"settings", "models", "warnings", "profiles"},
	} {
		doc := object(t, output(t, append(strings.Fields(command), "-C", root)...))
		for _, path := range paths {
			switch v := at(doc, path).(type) {
			case nil:
				t.Errorf("gl %s: %s is null", command, path)
			case []any:
				if len(v) == 0 {
					t.Errorf("gl %s: %s is empty", command, path)
				}
			case string:
				if v == "" {
					t.Errorf("gl %s: %s is empty", command, path)
				}
			}
		}
	}
}
