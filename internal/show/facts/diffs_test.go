package facts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/run/project"
	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/show/view"
	"greenlight/internal/workspace/worktree"
)

// A running slice changes the paths that its branch has and the lane lacks; the diff is renewed
// after a while, and only if the branch moved.
func TestLookAtWork(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("HOME", t.TempDir())
	root := projecttest.Write(t, map[string]string{"slices/S-1.md": "---\nid: S-1\nstatus: in_progress\nstep: tests\nsession: x\n---\n"})
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
		c.Dir = root
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", name)
		git("commit", "-qm", name)
		return git("rev-parse", "HEAD")
	}
	git("init", "-q", "-b", "main")
	base := commit("a", "one\ntwo\n")
	pr, err := project.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := pr.OpenWorktrees(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l, err := repo.Lineages.Plan(t.Context(), pr.Key(), "S-1", base, false)
	if err == nil {
		err = repo.Lineages.Save(l)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, now := NewReader(pr), time.Now()
	look := func(at time.Time) bool {
		t.Helper()
		p, err := pr.Plan(at, pr.Options())
		if err != nil || len(p.Lists.Running) != 1 {
			t.Fatal(err, p.Lists.Running)
		}
		return r.LookAtWork(t.Context(), p, at)
	}
	if look(now) || len(r.diffs) != 0 {
		t.Errorf("of no work: %v", r.diffs)
	}
	git("checkout", "-q", "--detach")
	git("update-ref", l.Branch, commit("b", "1\n2\n3\n"))
	if look(now.Add(time.Second)) {
		t.Error("it is looked at again at once")
	}
	if want := (view.Diff{Files: 1, Added: 3}); !look(now.Add(time.Minute)) || r.diffs["S-1"] != want {
		t.Errorf("%v, want %v", r.diffs, want)
	}
	git("update-ref", l.Branch, commit("a", "one\n"))
	if want := (view.Diff{Files: 2, Added: 3, Removed: 1}); !look(now.Add(2*time.Minute)) || r.WithWork(view.Facts{}).Diffs["S-1"] != want {
		t.Errorf("%v, want %v", r.diffs, want)
	}
	if look(now.Add(3 * time.Minute)) {
		t.Error("there is news, and nothing has changed")
	}

	// New files that aren't committed count, too.
	l, err = repo.Lineages.Plan(t.Context(), pr.Key(), "S-1", base, true)
	if err == nil {
		err = repo.Lineages.Save(l)
	}
	if err != nil {
		t.Fatal(err)
	}
	hold, err := repo.Make(t.Context(), l, worktree.Making{})
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Release()
	if err := os.WriteFile(filepath.Join(l.Path, "new"), []byte("1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if want := (view.Diff{Files: 1, Added: 2}); !look(now.Add(4*time.Minute)) || r.diffs["S-1"] != want {
		t.Errorf("%v, want %v", r.diffs, want)
	}
}
