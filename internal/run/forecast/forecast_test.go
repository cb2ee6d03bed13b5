package forecast

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
	"greenlight/internal/workspace/worktree"

	"github.com/google/go-cmp/cmp"
)

func gitIn(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git",
		append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// Only work that changes the same paths is merged, committed or not, and only if something
// changed since. State doesn't count, and neither the worktrees nor the refs change.
func TestFind(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	root := filepath.Join(t.TempDir(), "p")
	testfiles.Put(t, root, "routes", "1\n2\n3\n")
	testfiles.Put(t, root, "other", "1\n")
	testfiles.Put(t, root, ".greenlight/STATE.md", "state\n")
	testfiles.Put(t, root, ".greenlight/.gitignore", "runs/\n")
	gitIn(t, root, "init", "-q", "-b", "main")
	gitIn(t, root, "add", ".")
	gitIn(t, root, "commit", "-qm", "first")
	ctx := t.Context()
	repo, err := worktree.Open(ctx, root, worktree.Options{Prefix: "gl"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, ".greenlight/runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	var works []Work
	dirs := map[string]string{}
	for _, id := range []string{"S-1", "S-2", "S-3"} {
		base, err := repo.Queue.Base(ctx)
		if err != nil {
			t.Fatal(err)
		}
		l, err := repo.Lineages.Plan(ctx, "greenlight", id, base, false)
		if err != nil {
			t.Fatal(err)
		}
		hold, err := repo.Make(ctx, l, worktree.Making{})
		if err != nil {
			t.Fatal(err)
		}
		hold.Release()
		dirs[id] = repo.Layout.Dir(l)
		works = append(works, Work{Slice: id, Lineage: l, Running: id != "S-3"})
	}
	f := &Forecaster{Repo: repo}
	find := func(merges int, want ...plan.Collision) {
		t.Helper()
		before := f.merges
		got, err := f.Find(ctx, works)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if f.merges-before != merges {
			t.Errorf("%d merges, want %d", f.merges-before, merges)
		}
	}
	find(0)
	testfiles.Put(t, dirs["S-1"], "routes", "1\n2\nS-1\n")
	testfiles.Put(t, dirs["S-1"], ".greenlight/STATE.md", "S-1\n")
	testfiles.Put(t, dirs["S-2"], ".greenlight/STATE.md", "S-2\n")
	testfiles.Put(t, dirs["S-2"], "new", "S-2\n")
	find(0)
	testfiles.Put(t, dirs["S-2"], "routes", "1\n2\nS-2\n")
	find(1, plan.Collision{Slice: "S-1", With: "S-2", Paths: []string{"routes"}})
	find(0, plan.Collision{Slice: "S-1", With: "S-2", Paths: []string{"routes"}})

	// A waiting slice counts by its commits; two waiting slices aren't compared.
	testfiles.Put(t, dirs["S-3"], "routes", "S-3\n2\n3\n")
	testfiles.Put(t, dirs["S-3"], "new", "S-3\n")
	gitIn(t, dirs["S-3"], "commit", "-qam", "S-3")
	gitIn(t, dirs["S-3"], "add", "new")
	gitIn(t, dirs["S-3"], "commit", "-qm", "S-3")
	find(2, plan.Collision{Slice: "S-1", With: "S-2", Paths: []string{"routes"}},
		plan.Collision{Slice: "S-2", With: "S-3", Paths: []string{"new"}})
	works[1].Running = false
	find(0)

	// Work that has landed since counts, too.
	testfiles.Put(t, root, "routes", "1\n2\nlanded\n")
	gitIn(t, root, "commit", "-qam", "landed")
	find(1, plan.Collision{Slice: "S-1", Paths: []string{"routes"}})
}

// Two sorted lists of paths meet if they have a path in common, or if one has a file where the
// other has a directory.
func TestMeet(t *testing.T) {
	for _, c := range []struct {
		a, b []string
		want bool
	}{
		{nil, []string{"a"}, false}, {[]string{"a", "c"}, []string{"b", "c"}, true},
		{[]string{"a"}, []string{"b"}, false},
		{[]string{"a", "d"}, []string{"d/x"}, true}, {[]string{"d/x"}, []string{"d"}, true},
		{[]string{"d-x"}, []string{"d"}, false},
		{[]string{"d", "d-x"}, []string{"d/x"}, true},
	} {
		if meet(c.a, c.b) != c.want || meet(c.b, c.a) != c.want {
			t.Errorf("meet(%q, %q) isn't %t", c.a, c.b, c.want)
		}
	}
}

// A written file reads back the same, and isn't written again without a change.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	list := []plan.Collision{{Slice: "S-1", With: "S-2", Paths: []string{"a"}},
		{Slice: "S-3", Paths: []string{"b"}}}
	if err := Write(dir, list); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(path(dir))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(list, Read(dir)); d != "" {
		t.Error(d)
	}
	if err := Write(dir, list); err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(path(dir)); err != nil || !os.SameFile(was, is) {
		t.Errorf("it was written again: %v", err)
	}
	if err := Write(dir, nil); err != nil || Read(dir) != nil {
		t.Errorf("%v, %v", err, Read(dir))
	}
	testfiles.Put(t, dir, "forecast.json", "{")
	if Read(dir) != nil {
		t.Error("what can't be read says something")
	}
}
