package gsd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// A failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
}

// write creates files under root; a name that ends in / is a directory.
func write(t failer, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func project(t *testing.T, files map[string]string) *Tracker {
	root := t.TempDir()
	write(t, root, files)
	tr := Open(root)
	tr.getenv = func(string) string { return "" }
	return tr
}

// shown returns one line per item: id, status, step and what it waits for.
func shown(t *testing.T, tr *Tracker) []string {
	t.Helper()
	c, err := tr.Load()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, it := range c.Items {
		line := it.ID + " " + it.Status + " " + it.Step
		if it.WaitingFor != "" {
			line += ": " + it.WaitingFor
		}
		if it.Paused {
			line += " (paused)"
		}
		lines = append(lines, line)
	}
	for _, w := range c.Warnings {
		lines = append(lines, "! "+w.Path+": "+w.Message)
	}
	return lines
}

const talk = `{"workflow": {"skip_discuss": false}}`

const skip = `{"workflow": {"skip_discuss": true}}`

// road is a roadmap with one phase.
const road = "### Phase 1: A\n**Depends on**: Nothing\n"

func TestSteps(t *testing.T) {
	dir := func(files ...string) map[string]string {
		m := map[string]string{".planning/ROADMAP.md": road, ".planning/STATE.md": "", ".planning/phases/01-a/": ""}
		for _, f := range files {
			name, status, _ := strings.Cut(f, "=")
			m[".planning/phases/01-a/"+name] = "---\nstatus: " + status + "\n---\n"
		}
		return m
	}
	with := func(m map[string]string, name, text string) map[string]string {
		m[".planning/"+name] = text
		return m
	}
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"not discussed", dir(), "1 pending plan"},
		{"a discussion wanted", with(dir(), "config.json", talk), "1 pending plan: a discussion"},
		{"being discussed", with(dir(), "STATE.md", "---\nstatus: discussing\ncurrent_phase: 1\n---\n"), "1 pending plan: a discussion"},
		{"discussed", dir("01-CONTEXT.md"), "1 pending plan"},
		{"no discussion wanted", with(dir(), "config.json", skip), "1 pending plan"},
		{"planning is next", with(dir(), "STATE.md", "---\nnext_action: plan-phase\nnext_phases: [\"01\"]\n---\n"), "1 pending plan"},
		{"discussing is next", with(dir(), "STATE.md", "---\nnext_action: discuss-phase\nnext_phases: [1]\n---\n"), "1 pending plan: a discussion"},
		{"planned", dir("01-01-PLAN.md", "01-02-PLAN.md", "01-01-SUMMARY.md"), "1 pending execute"},
		{"no plan but an outline", with(dir("01-01-PLAN-OUTLINE.md"), "config.json", skip), "1 pending plan"},
		{"carried out", dir("01-01-PLAN.md", "01-01-SUMMARY.md"), "1 pending verify"},
		{"superseded plans don't count", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-02-PLAN.md=superseded"), "1 pending verify"},
		{"plans below", dir("plans/PLAN-01-x.md", "plans/SUMMARY-01-x.md", "plans/notes.md"), "1 pending verify"},
		{"older names", dir("1-PLAN-01-setup.md", "1-01-SUMMARY.md"), "1 pending verify"},
		{"plans with a title", dir("01-01-setup-PLAN.md", "01-01-SUMMARY.md", "01-02-login-PLAN.md", "01-02-SUMMARY.md"), "1 pending verify"},
		{"nobody verifies", with(dir("PLAN.md", "SUMMARY.md"), "config.json", `{"workflow.verifier": false}`), "1 complete complete"},
		{"verified", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-VERIFICATION.md=passed"), "1 complete complete"},
		{"a person is needed", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-VERIFICATION.md=human_needed"), "1 pending verify: a person's test"},
		{"a person was there", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-VERIFICATION.md=human_needed", "01-UAT.md=complete"), "1 complete complete"},
		{"a person was there, without a report", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-UAT.md=complete"), "1 complete complete"},
		{"a person is at it", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-VERIFICATION.md=passed", "01-UAT.md=testing"), "1 pending verify: a person's test"},
		{"gaps", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-VERIFICATION.md=gaps_found"), "1 pending verify: a decision about the gaps that were found"},
		{"gaps planned", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-02-PLAN.md", "01-VERIFICATION.md=gaps_found"), "1 pending execute"},
		{"verification is blocked", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-VERIFICATION.md=blocked"), "1 pending verify: what blocks its verification"},
		{"an odd report", dir("01-01-PLAN.md", "01-01-SUMMARY.md", "01-VERIFICATION.md=stale"), "1 pending verify"},
		{"ticked off", with(dir(), "ROADMAP.md", "- [x] **Phase 1: A**\n"), "1 complete complete"},
		{"deferred", with(dir(), "ROADMAP.md", road+"| 1. A | 0/1 | Deferred |\n"), "1 pending plan: its time: the roadmap defers it"},
		{"at work elsewhere", with(dir("01-01-PLAN.md"), "STATE.md", "---\nactive_phase: \"01\"\n---\n"), "1 in_progress execute"},
		{"paused", with(dir("01-01-PLAN.md"), "STATE.md", "---\npaused_at: noon\ncurrent_phase: 1\n---\n"), "1 pending execute (paused)"},
		{"not paused", with(dir("01-01-PLAN.md"), "STATE.md", "---\npaused_at: null\ncurrent_phase: 1\n---\n"), "1 pending execute"},
		{"asked", with(dir("01-01-PLAN.md"), "WAITING.json", `{"status": "waiting", "question": "red or blue?", "phase": "1"}`), "1 pending execute: an answer: red or blue?"},
		{"asked elsewhere", with(dir("01-01-PLAN.md"), "WAITING.json", `{"question": "?", "phase": "2"}`), "1 pending execute"},
		{"the next milestone", with(with(dir("01-01-PLAN.md"), "STATE.md", "---\nmilestone: v1.0\n---\n"), "ROADMAP.md", "## v1.0 Now\n## v2.0 Then\n"+road),
			"1 pending execute: milestone v2.0, STATE.md is at v1.0"},
	}
	for _, tt := range tests {
		if got := strings.Join(shown(t, project(t, tt.files)), "\n"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestPrompts(t *testing.T) {
	tr := project(t, map[string]string{
		".planning/ROADMAP.md":                     road + "### Phase 02.1: B\n### Phase 3: C\n### Phase 4: D\n",
		".planning/phases/01-a/01-01-PLAN.md":      "",
		".planning/phases/02.1-b/02.1-RESEARCH.md": "",
		".planning/phases/APP-4-d/4-01-PLAN.md":    "",
		".planning/phases/APP-4-d/4-01-SUMMARY.md": "",
		".planning/phases/99-left/99-01-PLAN.md":   "",
		".planning/phases/00-before/00-01-PLAN.md": "",
		".planning/phases/notes/1-PLAN.md":         "",
		".planning/phases/01.5-done/01-PLAN.md":    "",
		".planning/phases/01.5-done/01-SUMMARY.md": "",
	})
	for id, want := range map[string]string{"1": "/gsd-execute-phase 1", "02.1": "/gsd-plan-phase 02.1", "3": "/gsd-plan-phase 3 --research",
		"4": "/gsd-verify-work 4", "none": "/gsd-progress"} {
		if got := tr.Prompt(id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	write(t, tr.root, map[string]string{".claude/commands/gsd/plan-phase.md": "", ".planning/config.json": `{"workflow": {"research": false}}`})
	if got := tr.Prompt("3"); got != "/gsd:plan-phase 3 --skip-research" {
		t.Error(got)
	}
	c, _ := tr.Load()
	if len(c.Warnings) != 2 || c.Warnings[0].Path != ".planning/phases/00-before" || c.Warnings[1].Path != ".planning/phases/99-left" {
		t.Errorf("%+v", c.Warnings)
	}
}

// Phases that the roadmap has dropped with their milestone block nothing; unknown ones do.
func TestDependencies(t *testing.T) {
	tr := project(t, map[string]string{".planning/ROADMAP.md": "### Phase 5: A\n**Depends on**: Phase 4\n### Phase 6: B\n**Depends on**: Phase 05, Phase 9\n"})
	c, err := tr.Load()
	if err != nil {
		t.Fatal(err)
	}
	var deps [][]string
	for _, it := range c.Items {
		deps = append(deps, it.Deps)
	}
	if d := cmp.Diff([][]string{{"4"}, {"5", "9"}}, deps); d != "" || c.Evidence["4"] != "complete" || c.Evidence["9"] != "" {
		t.Error(d, c.Evidence)
	}
}

// A phase asks for a person only when its turn has come.
func TestDue(t *testing.T) {
	tr := project(t, map[string]string{".planning/config.json": talk, ".planning/ROADMAP.md": "### Phase 3: A\n**Depends on**: Phase 2\n### Phase 4: B\n### Phase 5: C\n**Depends on**: Phase 9\n"})
	want := []string{"3 pending plan: a discussion", "4 pending plan", "5 pending plan"}
	if d := cmp.Diff(want, shown(t, tr)); d != "" {
		t.Error(d)
	}
}

func TestWithoutRoadmap(t *testing.T) {
	tr := project(t, map[string]string{".planning/STATE.md": "", ".planning/phases/01-base-camp/": "", ".planning/phases/02-top/02-01-PLAN.md": ""})
	c, _ := tr.Load()
	if len(c.Items) != 2 || c.Items[0].Name != "base camp" || len(c.Items[1].Deps) != 1 || c.Items[1].Deps[0] != "1" || len(c.Warnings) != 0 {
		t.Errorf("%+v", c)
	}
	// half-written: nothing is inferred
	write(t, tr.root, map[string]string{".planning/ROADMAP.md": "# Road"})
	if c, _ := tr.Load(); len(c.Items) != 0 || c.Unsure == "" {
		t.Errorf("%+v", c)
	}
	none := project(t, map[string]string{".planning/STATE.md": ""})
	if lines := shown(t, none); len(lines) != 1 || !strings.HasPrefix(lines[0], "! .planning/ROADMAP.md") {
		t.Error(lines)
	}
}

func TestWorkstreams(t *testing.T) {
	tr := project(t, map[string]string{
		".planning/workstreams/api/ROADMAP.md": road, ".planning/workstreams/api/STATE.md": "---\nstatus: api\n---\n",
		".planning/workstreams/web/": "",
	})
	if lines := shown(t, tr); len(lines) != 1 || !strings.Contains(lines[0], "workstreams") {
		t.Error(lines)
	}
	tr.getenv = func(key string) string { return map[string]string{"GSD_WORKSTREAM": "api"}[key] }
	if lines := shown(t, tr); len(lines) != 1 || !strings.HasPrefix(lines[0], "1 pending plan") {
		t.Error(lines)
	}
}

func TestClaims(t *testing.T) {
	tr := project(t, map[string]string{".planning/ROADMAP.md": road, ".planning/phases/01-a/01-01-PLAN.md": ""})
	ctx := context.Background()
	do := func(f func(tracker.Tx) error) {
		t.Helper()
		if err := tr.Do(ctx, f); err != nil {
			t.Fatal(err)
		}
	}
	want := func(mark plan.Mark) {
		t.Helper()
		do(func(tx tracker.Tx) error {
			it, err := tx.Item("1")
			if got := (plan.Mark{Status: it.Status, Step: it.Step, Session: it.Session}); got != mark {
				t.Errorf("%+v, want %+v", got, mark)
			}
			return err
		})
	}
	do(func(tx tracker.Tx) error { return tx.Claim("1", "tok") })
	want(plan.Mark{Status: "in_progress", Step: "execute", Session: "tok"})
	write(t, tr.root, map[string]string{".planning/phases/01-a/01-01-SUMMARY.md": ""})
	do(func(tx tracker.Tx) error {
		mark, err := tx.Settle("1", tracker.Fail, tracker.Before{})
		if mark != (plan.Mark{Status: "pending", Step: "verify"}) {
			t.Errorf("%+v", mark)
		}
		return err
	})
	before := tracker.Before{Mark: plan.Mark{Session: "old"}, Started: "2026-01-02"}
	do(func(tx tracker.Tx) error { _, err := tx.Settle("1", tracker.Restore, before); return err })
	want(plan.Mark{Status: "in_progress", Step: "verify", Session: "old"})
	write(t, tr.root, map[string]string{".planning/phases/01-a/01-VERIFICATION.md": "---\nstatus: passed\n---\n"})
	want(plan.Mark{Status: "complete", Step: "complete", Session: "old"})
	if err := tr.Do(ctx, func(tx tracker.Tx) error { return tx.Claim("7", "x") }); !errors.Is(err, tracker.ErrNotFound) {
		t.Error(err)
	}
	write(t, tr.root, map[string]string{".greenlight/runs/gsd.json": "{"})
	if err := tr.Do(ctx, func(tx tracker.Tx) error { return tx.Claim("1", "x") }); err == nil {
		t.Error("claimed in a file that can't be read")
	}
	if lines := shown(t, tr); len(lines) != 2 || !strings.HasPrefix(lines[1], "! .greenlight/runs/gsd.json") {
		t.Error(lines)
	}
}

// While a phase is being worked on, STATE.md says so and recommends nothing.
func TestLifecycleOfAClaim(t *testing.T) {
	tr := project(t, map[string]string{".planning/ROADMAP.md": road,
		".planning/STATE.md": "---\nstatus: executing\nowner: kim\nnext_action: execute-phase\nnext_phases: [\"1\"]\n---\n\nStatus: Executing\n"})
	line := func(want string) {
		t.Helper()
		if got := tr.Line(false).Text; got != want {
			t.Errorf("the status line shows %q, want %q", got, want)
		}
	}
	do := func(f func(tracker.Tx) error) {
		t.Helper()
		if err := tr.Do(context.Background(), f); err != nil {
			t.Fatal(err)
		}
	}
	line("next execute-phase 1")
	for _, e := range []struct {
		effect tracker.Effect
		after  string
	}{{tracker.Restore, "next execute-phase 1"}, {tracker.Release, "executing"}} {
		do(func(tx tracker.Tx) error { return tx.Claim("1", "tok") })
		line("Phase 1 executing")
		if text, _ := os.ReadFile(tr.place().State()); !strings.Contains(string(text), "active_phase: \"1\"\nowner: kim\nnext_action: null\nnext_phases: null\n---\n\nStatus: Exec") {
			t.Errorf("the file is\n%s", text)
		}
		do(func(tx tracker.Tx) error { _, err := tx.Settle("1", e.effect, tracker.Before{}); return err })
		line(e.after)
	}
}

func TestCheck(t *testing.T) {
	front := "---\nstatus: x\nprogress:\n  total_plans: 2\n  completed_plans: 2\n---\n"
	for state, want := range map[string]string{
		front: "counts 2 of 2 plans",
		strings.Replace(front, "completed_plans: 2", "completed_plans: 1", 1): "",
		"\ufeff# S\n":      "byte order mark",
		"---\nstatus: x\n": "isn't closed",
		"---\nstatus: x\n---\n\n---\nmilestone: y\n---\n": "several times",
		"# S\n\na\x00b\n":                   "line 3 has a NUL",
		"# S\n<<<<<<< HEAD\n":               "merge conflict in line 2",
		"---\nstatus: x\nstatus: y\n---\n":  "status is there twice",
		"---\nstatus: x\n--\nBody\n\n---\n": "line 3 is --",
		strings.Repeat("# filler\n", 40000): "the status line reads the first 256",
	} {
		tr := project(t, map[string]string{".planning/ROADMAP.md": road, ".planning/STATE.md": state,
			".planning/phases/01-a/01-01-PLAN.md": "", ".planning/phases/01-a/01-01-SUMMARY.md": "", ".planning/phases/01-a/01-02-PLAN.md": ""})
		list := tr.Check()
		if want == "" && len(list) == 0 {
			continue
		}
		if len(list) != 1 || !strings.Contains(list[0].Message, want) || want == "" {
			t.Errorf("%.60q: %+v, want %q", state, list, want)
		}
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"flat/.planning/STATE.md":                    "---\nstatus: flat\n---\n",
		"flat/a/b/":                                  "",
		"flat/deep/1/2/3/4/5/6/7/8/9/":               "",
		"ws/.planning/workstreams/api/STATE.md":      "---\nstatus: api\n---\n",
		"ws/.planning/workstreams/web/":              "",
		"ws/.planning/active-workstream":             " api\n",
		"lost/.planning/workstreams/api/STATE.md":    "",
		"lost/.planning/active-workstream":           "gone",
		"escape/.planning/workstreams/api/STATE.md":  "",
		"escape/.planning/active-workstream":         "../../../flat/.planning",
		"none/.planning/config.json":                 "{}",
		"home/project/":                              "",
		".planning/STATE.md":                         "---\nstatus: above\n---\n",
		"dir/.planning/STATE.md/":                    "",
		"session/.planning/workstreams/api/STATE.md": "---\nstatus: api\n---\n",
		"session/.planning/workstreams/web/STATE.md": "---\nstatus: web\n---\n",
		"session/.planning/active-workstream":        "api",
	})
	t.Setenv("TMPDIR", filepath.Join(root, "tmp"))
	env := map[string]string{"HOME": filepath.Join(root, "home")}
	getenv := func(key string) string { return env[key] }
	pointer := sessionPointer(filepath.Join(root, "session", ".planning"), func(string) string { return "%7 x" })
	write(t, "", map[string]string{pointer: "web\n"})
	tests := []struct{ dir, workstream, tmux, want string }{
		{"flat", "", "", "flat"}, {"flat/a/b", "", "", "flat"}, {"flat/deep/1/2/3/4/5/6/7/8/9", "", "", ""},
		{"ws", "", "", "api"}, {"ws", "api", "", "api"}, {"ws", "web", "", ""}, {"ws", "../x", "", "no active workstream"},
		{"lost", "", "", "no active workstream"}, {"escape", "", "", "no active workstream"},
		{"none", "", "", "above"}, {"home/project", "", "", ""}, {"dir", "", "", "above"},
		{"session", "", "", "api"}, {"session", "", "%7 x", "web"}, {"session", "api", "%7 x", "api"},
	}
	for _, tt := range tests {
		env["GSD_WORKSTREAM"], env["GSD_SESSION_KEY"] = tt.workstream, tt.tmux
		p, _ := ReadPosition(filepath.Join(root, filepath.FromSlash(tt.dir)), getenv)
		if got := p.String(); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// For any files, every phase has a step, a waiting phase says for what, and a complete one
// waits for nothing.
func TestItemsOfAnything(t *testing.T) {
	names := rapid.SampledFrom([]string{"01-01-PLAN.md", "01-01-SUMMARY.md", "01-CONTEXT.md", "01-VERIFICATION.md", "01-UAT.md", "02-PLAN.md", "plans/PLAN-1.md"})
	texts := rapid.SampledFrom([]string{"", "---\nstatus: passed\n---\n", "---\nstatus: gaps_found\n---\n", "---\nstatus: human_needed\nwave: 2\n---\n", "\x00---"})
	dirs := rapid.SampledFrom([]string{"01-a", "02-b", "2.1-c", "x", "999-later", "1"})
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "gsd")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		files := map[string]string{".planning/ROADMAP.md": rapid.SampledFrom([]string{"", road, road + "- [x] **Phase 2: B**\n", "### Phase 1: A\n### Phase 2: B\n**Depends on**: 7\n"}).Draw(t, "road"),
			".planning/STATE.md": string(shredded().Draw(t, "state"))}
		for range rapid.IntRange(0, 6).Draw(t, "files") {
			files[fmt.Sprintf(".planning/phases/%s/%s", dirs.Draw(t, "dir"), names.Draw(t, "name"))] = texts.Draw(t, "text")
		}
		write(t, root, files)
		tr := Open(root)
		tr.getenv = func(string) string { return "" }
		c, err := tr.Load()
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range c.Items {
			done := plan.Classify(it.Status) == plan.Done
			if done != (it.Step == stepDone) || done && it.WaitingFor != "" || it.WaitingFor == "" && it.Next != nil && !it.Paused || tr.Prompt(it.ID) == "/gsd-progress" {
				t.Fatalf("%+v", it)
			}
		}
		_ = plan.New(&plan.Snapshot{Items: c.Items, Evidence: c.Evidence}, time.Now(), plan.Options{})
		_ = tr.Check()
	})
}

func TestWaves(t *testing.T) {
	tr := project(t, map[string]string{
		".planning/ROADMAP.md":                     road,
		".planning/phases/01-a/01-01-PLAN.md":      "---\nwave: 2\n---\n",
		".planning/phases/01-a/01-02-PLAN.md":      "---\nwave: 1\n---\n",
		".planning/phases/01-a/01-02-SUMMARY.md":   "",
		".planning/phases/01-a/01-03-PLAN.md":      "no wave\n",
		".planning/phases/01-a/01-04-PLAN.md":      "---\nwave: 1\nstatus: superseded\n---\n",
		".planning/phases/99-nobody/99-01-PLAN.md": "",
	})
	want := []tracker.Wave{{Item: "1", N: 1, Parts: []string{"01-02", "01-03"}, Done: 1}, {Item: "1", N: 2, Parts: []string{"01-01"}}}
	c, err := tr.Load()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, c.Waves); d != "" {
		t.Error(d)
	}
}
