package ops

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/run/project"
)

func noEnv(string) string { return "" }

func TestNewProject(t *testing.T) {
	root := tempDir(t)
	must(t, MayBegin(root, false, noEnv))
	graph := filepath.Join(root, "plan.json")
	must(t, os.WriteFile(graph, []byte(`{"slices": {"S-1": {"name": "One"}, "S-2": {"name": "Two", "depends_on": ["S-1"]}}}`), 0o644))
	made, err := NewProject(t.Context(), root, graph)
	must(t, err)
	if !slices.Equal(made.Slices, []string{"S-1", "S-2"}) || !slices.Equal(made.Files, []string{"GRAPH.json", "config.json", "project-state.json", "STATE.md", ".gitignore"}) {
		t.Errorf("%+v", made)
	}
	pr, err := project.Open(root)
	must(t, err)
	if pr.ConfigErr != nil || (&yard{pr, t}).state("S-2").Needs[0] != "S-1" {
		t.Errorf("%v", pr.ConfigErr)
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".greenlight-init-*")); left != nil {
		t.Errorf("left over: %q", left)
	}
	if err := MayBegin(root, true, noEnv); err == nil || !strings.Contains(err.Error(), "already") {
		t.Error(err)
	}
}

// A directory in which only tasks have run becomes a project, and keeps its files.
func TestNewProjectAroundWhatIsThere(t *testing.T) {
	root := tempDir(t)
	home := filepath.Join(root, ".greenlight")
	must(t, os.MkdirAll(filepath.Join(home, "runs"), 0o755))
	must(t,
		os.WriteFile(filepath.Join(home, "config.json"), []byte(`{"parallel": {"max": 7}}`), 0o644))
	must(t, MayBegin(root, false, noEnv))
	made, err := NewProject(t.Context(), root, "")
	if err != nil || slices.Contains(made.Files, "config.json") ||
		!slices.Contains(made.Files, "STATE.md") || len(made.Slices) != 0 {
		t.Errorf("%+v, %v", made, err)
	}
	pr, err := project.Open(root)
	if err != nil || pr.Config.Max != 7 {
		t.Errorf("%+v, %v", pr, err)
	}
}

func TestNewProjectIsMadeWholeOrNotAtAll(t *testing.T) {
	for name, graph := range map[string]string{
		"a cycle": `{"slices": {"S-1": {"depends_on": ["S-2"]}, "S-2": {"depends_on": ["S-1"]}}}`, "no JSON": "{",
		"an unknown dependency": `{"slices": {"S-1": {"depends_on": ["S-9"]}}}`,
	} {
		root := tempDir(t)
		file := filepath.Join(root, "plan.json")
		must(t, os.WriteFile(file, []byte(graph), 0o644))
		if _, err := NewProject(t.Context(), root, file); err == nil ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		if all, _ := os.ReadDir(root); len(all) != 1 {
			t.Errorf("%s: %v", name, all)
		}
	}
}

func TestMayBegin(t *testing.T) {
	root := tempDir(t)
	_, err := NewProject(t.Context(), root, "")
	must(t, err)
	below := filepath.Join(root, "a", "b")
	must(t, os.MkdirAll(below, 0o755))
	if err := MayBegin(below, false, noEnv); err == nil || !strings.Contains(err.Error(), root) {
		t.Errorf("inside another project: %v", err)
	}
	must(t, MayBegin(below, true, noEnv))
	env := func(key string) string { return map[string]string{"GREENLIGHT_ROOT": root}[key] }
	if err := MayBegin(tempDir(t), true, env); err != nil {
		t.Errorf("GREENLIGHT_ROOT counts as a project that is there: %v", err)
	}
}

func TestLinkedWorktreeIsRefused(t *testing.T) {
	dir := tempDir(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "main")
	git("-C", "main", "commit", "-q", "--allow-empty", "-m", "x")
	git("-C", "main", "worktree", "add", "-q", "../linked")
	if err := MayBegin(filepath.Join(dir, "linked"), true, noEnv); err == nil ||
		!strings.Contains(err.Error(), "linked worktree") {
		t.Error(err)
	}
	sub := filepath.Join(dir, "linked", "sub")
	must(t, os.Mkdir(sub, 0o755))
	if err := MayBegin(sub, true, noEnv); err == nil ||
		!strings.Contains(err.Error(), "gl init -C "+filepath.Join(dir, "main", "sub")) {
		t.Error(err)
	}
	git("clone", "-q", "--bare", "main", "bare.git")
	git("-C", "bare.git", "worktree", "add", "-q", "../of-bare")
	must(t, MayBegin(filepath.Join(dir, "of-bare"), true, noEnv)) // there is no main checkout
	below := filepath.Join(dir, "main", "below")
	must(t, os.Mkdir(below, 0o755))
	if note := BelowGitRoot(t.Context(), below); !strings.Contains(note,
		filepath.Join(dir, "main")) {
		t.Errorf("%q", note)
	}
	if note := BelowGitRoot(t.Context(), filepath.Join(dir, "main")); note != "" {
		t.Errorf("%q", note)
	}
}
