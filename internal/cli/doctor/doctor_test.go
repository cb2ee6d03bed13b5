package doctor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/cli/install"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/project"
	"greenlight/internal/run/project/projecttest"
)

func examine(t *testing.T, pr *project.Project) *Report {
	t.Helper()
	r, err := Check(t.Context(), pr, Options{
		Content: install.Content{Plugin: fstest.MapFS{}},
		Self:    func() (string, error) { return "/gl", nil },
		Getenv:  func(string) string { return "" }, Now: time.Now(), Begin: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheck(t *testing.T) {
	const conflict = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> c\n"
	tests := []struct {
		name  string
		files map[string]string
		check string
		want  []string
	}{
		{"a corrupt slice", map[string]string{"slices/S-1.md": "---\nnonsense\n---\n"}, "slices",
			[]string{`error .greenlight/slices/S-1.md S-1 → edit .greenlight/slices/S-1.md`}},
		{"a slice with a merge conflict", map[string]string{"slices/S-1.md": "---\nid: S-1\n" + conflict + "---\n"}, "slices",
			[]string{`error .greenlight/slices/S-1.md S-1 → edit .greenlight/slices/S-1.md: keep one side of the conflict, or combine both`}},
		{"an unknown status", map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: donne\n---\n"}, "slices",
			[]string{`warning .greenlight/slices/S-1.md S-1 → gl state set S-1 status=pending`}},
		{"an unknown dependency", map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: pending\ndeps: S-9\n---\n"}, "graph",
			[]string{`error .greenlight/slices/S-1.md S-1 → gl add-slice NAME --id S-9, or gl state set S-1 deps=…`}},
		{"a dependency that can't be an id", map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: pending\ndeps: the login\n---\n"}, "graph",
			[]string{`error .greenlight/slices/S-1.md S-1 → gl state set S-1 deps=…`}},
		{"a cycle in the graph", map[string]string{"GRAPH.json": `{"slices": {"S-1": {"deps": ["S-2"]}, "S-2": {"deps": ["S-1"]}}}`}, "graph",
			[]string{`error - S-1 → edit .greenlight/GRAPH.json: change what S-2 depends on`}},
		{"a graph that can't be read", map[string]string{"GRAPH.json": `{`}, "graph",
			[]string{`error .greenlight/GRAPH.json - → edit .greenlight/GRAPH.json`}},
		{"a graph with a merge conflict", map[string]string{"GRAPH.json": conflict}, "graph", nil},
		{"merge conflicts", map[string]string{"GRAPH.json": conflict, "STATE.md": conflict, "slices/S-1.md": "---\nid: S-1\n---\n"}, "conflicts", []string{
			`error .greenlight/GRAPH.json - → edit .greenlight/GRAPH.json: keep one side of the conflict, or combine both`,
			`error .greenlight/STATE.md - → gl state render`}},
		{"a claim", map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: implementing\nsession: t\n---\n"}, "claims",
			[]string{`note .greenlight/slices/S-1.md S-1 → gl state release S-1 --force, if no one works on it`}},
		{"a record that can't be read", map[string]string{"slices/S-1.md": "---\nid: S-1\n---\n", "runs/live/S-1.1.json": "{"}, "records",
			[]string{`warning .greenlight/runs/live/S-1.1.json - → gl doctor --fix`}},
		{"a record of another version", map[string]string{"slices/S-1.md": "---\nid: S-1\n---\n",
			"runs/live/S-1.1.json": `{"schema_version": 2, "slice": "S-1", "n": 1}`}, "records",
			[]string{`warning .greenlight/runs/live/S-1.1.json - → run the gl that wrote it, or rm .greenlight/runs/live/S-1.1.json`}},
		{"a hold that can't be", map[string]string{"runs/hold.json": `{"count": -5, "until": "2031-01-01T00:00:00Z"}`}, "records",
			[]string{`warning .greenlight/runs/hold.json - → gl doctor --fix`}},
		{"a record of no slice", map[string]string{"runs/done/S-9.1.failed.json": `{"schema_version": 1, "slice": "S-9", "n": 1, "phase": "settled", "outcome": "failed"}`},
			"records", []string{`note .greenlight/runs/done S-9 → gl logs S-9`}},
		{"a key that nothing reads", map[string]string{"config.json": `{"parallel": {"maxx": 1}}`}, "config",
			[]string{`warning .greenlight/config.json - → edit .greenlight/config.json`}},
		{"an unknown agent", map[string]string{"config.json": `{"parallel": {"agent": "cluade"}}`}, "agent",
			[]string{`error .greenlight/config.json - → edit .greenlight/config.json`}},
		{"the built-in agent", map[string]string{"config.json": `{"parallel": {"agent": "rehearsal"}}`}, "agent", nil},
		{"a pause of no slice", map[string]string{"project-state.json": `{"paused": {"S-9": {}}}`}, "project-state",
			[]string{`note .greenlight/project-state.json S-9 → edit .greenlight/project-state.json`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range examine(t, projecttest.Open(t, tt.files)).Findings {
				if f.Check == tt.check {
					got = append(got, fmt.Sprintf("%s %s %s → %s", f.Severity, orDash(f.Path),
						orDash(f.Slice), orDash(f.Help)))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func TestReportCounts(t *testing.T) {
	r := examine(t, projecttest.Open(t, map[string]string{"slices/S-1.md": "---\nnonsense\n---\n", "slices/S-2.md": "---\nid: S-2\nstatus: donne\n---\n"}))
	counts := map[Severity]int{}
	for _, f := range r.Findings {
		counts[f.Severity]++
	}
	if want := (map[Severity]int{Error: r.Errors, Warning: r.Warnings,
		Note: r.Notes}); counts[Error] != want[Error] ||
		counts[Warning] != want[Warning] || counts[Note] != want[Note] {
		t.Errorf("%v, but the report says %v", counts, want)
	}
	if r.Slices != 2 {
		t.Errorf("%d slices", r.Slices)
	}
}

// People, programs and trackers refer to checks by name.
func TestCheckNames(t *testing.T) {
	var names []string
	for _, c := range checks() {
		if slices.Contains(names, c.name) {
			t.Errorf("two checks are called %s", c.name)
		}
		names = append(names, c.name)
	}
}

// Fix reports what each fix did, continues after a failed one, and does nothing the second time.
func TestFix(t *testing.T) {
	pr := projecttest.Open(t, map[string]string{
		"slices/S-1.md":     "---\nid: S-1\nstatus: pending\n---\n",
		"runs/env/S-1.1":    "SECRET=1",
		"runs/env/S-2.1/no": "",
	})
	var got []string
	var failed []string
	for _, f := range Fix(t.Context(), pr) {
		got = append(got, f.Did...)
		if f.Err != nil {
			failed = append(failed, f.Fix)
		}
	}
	if diff := cmp.Diff([]string{"regenerated .greenlight/STATE.md", "removed .greenlight/runs/env/S-1.1"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"environments"}, failed); diff != "" {
		t.Error(diff)
	}
	if err := os.RemoveAll(filepath.Join(pr.Root, ".greenlight", "runs", "env",
		"S-2.1")); err != nil {
		t.Fatal(err)
	}
	if again := Fix(t.Context(), pr); len(again) > 0 {
		t.Errorf("the second time: %+v", again)
	}
}

// The settings that gl init writes are the defaults.
func TestDefaultConfigSaysTheDefaults(t *testing.T) {
	pr := projecttest.Open(t, map[string]string{"config.json": string(project.DefaultFile())})
	if pr.ConfigErr != nil {
		t.Fatal(pr.ConfigErr)
	}
	want := project.DefaultConfig()
	want.Agents = map[string]agent.Custom{}
	if diff := cmp.Diff(want, pr.Config); diff != "" {
		t.Error(diff)
	}
	if stray := strayKeys(project.DefaultFile()); len(stray) > 0 {
		t.Error(stray)
	}
}

// Every key that gl init writes, and so every key that gl doctor knows, is read.
func TestEveryKnownKeyIsRead(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(project.DefaultFile(), &doc); err != nil {
		t.Fatal(err)
	}
	parallel := doc["parallel"].(map[string]any)
	for key := range parallel {
		parallel[key] = true
	}
	bad, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	pr := projecttest.Open(t, map[string]string{"config.json": string(bad)})
	for key := range parallel {
		if pr.ConfigErr == nil || !strings.Contains(pr.ConfigErr.Error(), "parallel."+key+" ") {
			t.Errorf("parallel.%s isn't read: %v", key, pr.ConfigErr)
		}
	}
}

func TestStrayKeys(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{`{"own": 1, "mode": "yolo", "parallel": {"max": 1}}`, nil},
		{`{"parallel": {"Max": 1}}`, []string{"parallel.Max isn't a setting, did you mean max?"}},
		{`{"parallel": {"watch": 1, "zzz": 2}}`, []string{"parallel.watch isn't a setting, did you mean watch_interval_seconds?", "parallel.zzz isn't a setting"}},
		{`{"Parallel": {}}`, []string{`"Parallel" isn't a section, did you mean parallel?`}},
		{`{"max": 3, "agents": {}}`, []string{"max belongs in the section parallel"}},
		{`{"parallel": 3, "git": 4}`, nil},
		{`{"git": {"setup": "x", "setpu": "x"}}`, []string{"git.setpu isn't a setting, did you mean setup?"}},
		{`{"setup": "x"}`, nil}, // may be another program's
		{`[`, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, strayKeys([]byte(tt.text))); diff != "" {
			t.Errorf("%s: %s", tt.text, diff)
		}
	}
}

func TestOlder(t *testing.T) {
	for version, want := range map[string]bool{
		"3.2": false, "3.3a": false, "3.1c": true, "2.9": true, "next-3.5": false, "openbsd-7.4": false, "10.0": false,
		"master": false, "": false,
	} {
		if got := older(version, oldestTmux); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
	if older("2.39.5.windows.1", oldestGit) || !older("2.29.3", oldestGit) ||
		older("2.30.0", oldestGit) {
		t.Error("git's versions")
	}
}
