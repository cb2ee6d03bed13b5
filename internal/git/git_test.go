package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repo makes a repository with one commit of the files and returns its root.
func repo(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir) // nobody's settings
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	write(t, dir, files)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func TestDirty(t *testing.T) {
	dir := repo(t, map[string]string{"a": "1", "b": "2\n2\n2\n", "sub/c": "3", ".greenlight/x": "4"})
	if got, err := Dirty(t.Context(), dir, ".greenlight"); err != nil || len(got) > 0 {
		t.Fatalf("%q, %v", got, err)
	}
	write(t, dir, map[string]string{"a": "other", ".greenlight/x": "5", "new file\n": "", "sub/ü": "", "new/1": "", "new/2": ""})
	git(t, dir, "mv", "b", "moved")
	index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Dirty(t.Context(), filepath.Join(dir, "sub"), "")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{" M .greenlight/x", " M a", "?? new file\n", "?? new/", "?? sub/ü", "R  moved <- b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := Dirty(t.Context(), dir, ".greenlight"); err != nil || len(got) != 5 || slices.Contains(got, " M .greenlight/x") {
		t.Errorf("%q, %v", got, err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, ".git", "index")); err != nil || string(after) != string(index) {
		t.Errorf("the index was written, %v", err)
	}
}

func TestQuestions(t *testing.T) {
	dir := repo(t, map[string]string{"g/STATE.md": "", "g/runs/1": "", "g/runs/2": "", "*": "",
		".gitattributes": "g/STATE.md merge=ours\n"})
	write(t, dir, map[string]string{"g/.gitignore": "*.tmp\nruns/\n"})
	ctx := t.Context()
	if got, err := Tracked(ctx, dir, "g/runs", "*"); err != nil || !slices.Equal(got, []string{"*", "g/runs/1", "g/runs/2"}) {
		t.Errorf("tracked: %q, %v", got, err)
	}
	if got, err := Tracked(ctx, dir, "g/none"); err != nil || got != nil {
		t.Errorf("tracked: %q, %v", got, err)
	}
	for _, tt := range []struct{ paths, want []string }{
		{[]string{"g/runs/x", "g/a.tmp", "g/.lock"}, []string{"g/.lock"}},
		{[]string{"g/.lock"}, []string{"g/.lock"}},
		{[]string{"g/a.tmp"}, nil},
	} {
		if got, err := Unignored(ctx, dir, tt.paths...); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("unignored %q: %q, %v", tt.paths, got, err)
		}
	}
	for path, want := range map[string]string{"g/STATE.md": "ours", "other": "unspecified"} {
		if got, err := Attribute(ctx, dir, "merge", path); err != nil || got != want {
			t.Errorf("attribute of %s: %q, %v", path, got, err)
		}
	}
	if got, err := Config(ctx, dir, "merge.ours.driver"); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	git(t, dir, "config", "merge.ours.driver", "true")
	if got, err := Config(ctx, dir, "merge.ours.driver"); err != nil || got != "true" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Root(ctx, filepath.Join(dir, "g")); err != nil || got != dir {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Version(ctx); err != nil || !strings.Contains(got, ".") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLinked(t *testing.T) {
	dir := repo(t, map[string]string{"sub/a": "1"})
	tree := filepath.Join(dir, "tree")
	git(t, dir, "worktree", "add", "-q", tree)
	for d, want := range map[string]string{dir: "", tree: dir, filepath.Join(tree, "sub"): "", t.TempDir(): ""} {
		if main, linked := Linked(t.Context(), d); main != want || linked != (want != "") {
			t.Errorf("%s: %q, %v", d, main, linked)
		}
	}
}

// A hook that calls gl has variables set that lead git to another repository.
func TestHooksDontLeadAstray(t *testing.T) {
	dir := repo(t, map[string]string{"a": "1"})
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
	t.Setenv("GIT_INDEX_FILE", "/nowhere")
	if got, err := Root(t.Context(), dir); err != nil || got != dir {
		t.Errorf("%q, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	repo(t, nil)
	if _, err := Dirty(t.Context(), t.TempDir(), ""); !errors.Is(err, ErrNone) {
		t.Errorf("no repository: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Version(ctx); err == nil {
		t.Error("a call that was cancelled succeeds")
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Version(t.Context()); !errors.Is(err, ErrMissing) {
		t.Errorf("no git: %v", err)
	}
}
