package worktree

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// gitIn runs git in dir and returns what it prints.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tempDir is a new directory's real path.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// project makes a repository with one commit and the state directory of a project in its root.
func project(t testing.TB) string {
	t.Helper()
	root := filepath.Join(tempDir(t), "repo")
	newRepo(t, root)
	return root
}

func newRepo(t testing.TB, root string) {
	t.Helper()
	testfiles.Write(t, root, map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n",
		".gitignore": "*.o\nbuild/\n", ".greenlight/.gitignore": "*\n"})
	gitIn(t, root, "init", "-q", "-b", "main")
	for key, value := range map[string]string{"user.name": "t", "user.email": "t@t",
		"gc.auto": "0"} {
		gitIn(t, root, "config", key, value)
	}
	commit(t, root, "first")
}

func commit(t testing.TB, dir, message string) string {
	t.Helper()
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", message)
	return gitIn(t, dir, "rev-parse", "HEAD")
}

func open(t testing.TB, root string) *Repo {
	t.Helper()
	r, err := Open(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plan plans a lineage of the slice at the target's tip.
func plan(t testing.TB, r *Repo, slice string) *Lineage {
	t.Helper()
	base, err := r.Queue.Base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Lineages.Plan(t.Context(), "", slice, base, false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// finish makes the worktree and lets go of it.
func finish(t testing.TB, r *Repo, l *Lineage, m Making) {
	t.Helper()
	h, err := r.Make(t.Context(), l, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
}

// made makes a worktree for the slice.
func made(t testing.TB, r *Repo, slice string) *Lineage {
	t.Helper()
	l := plan(t, r, slice)
	finish(t, r, l, Making{})
	return l
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMake(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "S-1")
	if want := root + ".gl/_/_/S-1.1"; l.Path != want || l.Phase != Ready ||
		l.Branch != "refs/heads/gl/s/_/_/S-1/1" {
		t.Errorf("%+v, want path %s", l, want)
	}
	if got := read(t, l.Path, "a.txt"); got != "a\n" {
		t.Errorf("a.txt is %q", got)
	}
	if got := gitIn(t, l.Path, "status", "--porcelain", "--branch"); got != "## gl/s/_/_/S-1/1" {
		t.Errorf("status: %s", got)
	}
	if got := gitIn(t, root, "symbolic-ref", "refs/gl/target/_"); got != "refs/heads/main" {
		t.Errorf("the target is recorded as %s", got)
	}
	if got := read(t, root, ".git/gl-root"); got != root+"\n" {
		t.Errorf("gl-root is %q", got)
	}
	again := plan(t, r, "S-1")
	finish(t, r, again, Making{})
	if again.Path != l.Path || again.Phase != Ready {
		t.Errorf("the next attempt has %+v", again)
	}
	base, err := r.Queue.Base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := r.Lineages.Plan(t.Context(), "", "S-1", base, true)
	if err != nil || fresh.N != 2 || fresh.Phase != Planned {
		t.Errorf("a fresh one: %+v, %v", fresh, err)
	}
}

// asJSON is the lineage as JSON.
func asJSON(t *testing.T, l *Lineage) string {
	t.Helper()
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// holding returns what a killed Make of the lineage was: a Hold whose lock is free again.
func holding(t *testing.T, r *Repo, l *Lineage) *Hold {
	t.Helper()
	h, err := takeHold(t.Context(), r.parts, l)
	must(t, err)
	must(t, h.Release())
	return h
}
