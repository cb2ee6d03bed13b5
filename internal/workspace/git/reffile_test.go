package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What refs name is read from files as git reads them, also while git packs them.
func TestRefsFromFiles(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1"})
	one := b.in(b.main, "rev-parse", "HEAD")
	two := b.commitOn("two", "master", map[string]string{"f": "2"})
	b.in(b.main, "update-ref", "refs/gl/wip/x/1", one)
	b.in(b.main, "symbolic-ref", "refs/gl/target/_", "refs/heads/two")
	same := func(when string) {
		t.Helper()
		for _, name := range []string{"refs/heads/two", "refs/gl/wip/x/1", "refs/gl/wip/x",
			"refs/gl/target/_", "refs/heads/none", "refs/heads/two/below", "HEAD"} {
			want, _ := quiet(t.Context(), b.w.Admin, "--git-dir="+b.w.Admin, "rev-parse", "-q",
				"--verify", name+"^{commit}")
			if got, known := readCommit(b.w.Admin, name); !known || got != want {
				t.Errorf("%s, %s: %q, %v; want %q", when, name, got, known, want)
			}
		}
	}
	same("loose")
	b.in(b.main, "pack-refs", "--all", "--prune")
	same("packed")
	b.in(b.main, "update-ref", "refs/heads/two", one, two)
	same("packed and loose")
	if got, err := SymbolicRef(t.Context(), b.w.Common, "refs/gl/target/_"); err != nil ||
		got != "refs/heads/two" {
		t.Error(got, err)
	}
	for _, name := range []string{"refs/heads/../../HEAD", "refs/heads/two^", "refs/heads/two~0",
		"refs/tags/v1", "refs/bisect/bad", "two", one} {
		if _, known := readCommit(b.w.Common, name); known {
			t.Errorf("%s was read from a file", name)
		}
	}
}

// Where the files don't tell, git is asked.
func TestRefsThatFilesDontTell(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1"})
	file := filepath.Join(b.w.Common, "refs", "heads", "x")
	for _, text := range []string{"", "\n", strings.Repeat("0", 40) + "\n", "nonsense\n",
		"ref: refs/heads/x\n", "ref:\n"} {
		b.ok(os.WriteFile(file, []byte(text), 0o644))
		if id, known := readCommit(b.w.Common, "refs/heads/x"); known {
			t.Errorf("%q says %q", text, id)
		}
	}
	// A repository that keeps its refs elsewhere has a file there.
	b.ok(os.Rename(filepath.Join(b.w.Common, "refs", "heads"),
		filepath.Join(b.w.Common, "refs", "was")))
	b.ok(os.WriteFile(filepath.Join(b.w.Common, "refs", "heads"),
		[]byte("this repository uses the reftable format\n"), 0o644))
	for _, name := range []string{"HEAD", "refs/heads/master", "refs/gl/none"} {
		if id, known := readCommit(b.w.Common, name); known {
			t.Errorf("%s: %q", name, id)
		}
	}
}

// What is below a name is read from files as git lists it, and so is what is in the way of a name.
func TestRefsBelow(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1"})
	one := b.in(b.main, "rev-parse", "HEAD")
	two := b.commitOn("two", "master", map[string]string{"f": "2"})
	for _, name := range []string{"refs/gl/wip/x/1/tree", "refs/gl/wip/x/1/stash",
		"refs/gl/wip/x/10/tree", "refs/gl/wip/y/1/tree", "refs/heads/gl/s/x/1",
		"refs/heads/gl/LANE"} {
		b.in(b.main, "update-ref", name, one)
	}
	same := func(when string) {
		t.Helper()
		for _, name := range []string{"refs/gl/wip/x", "refs/gl/wip/x/1", "refs/gl/wip/none",
			"refs/gl", "refs/heads/gl"} {
			want, err := Refs(t.Context(), b.w.Common, name+"/")
			b.ok(err)
			for i := range want {
				want[i].Time = time.Time{}
			}
			if got, known := readRefs(b.w.Common, name); !known || !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, %v; want %v", when, name, got, known, want)
			}
		}
		names := []string{"refs/heads/gl", "refs/heads/gl/lane", "refs/heads/gl/lane/_",
			"refs/heads/TWO", "refs/heads/two", "refs/gl", "refs/gl/wip/x/1/tree"}
		got, err := Present(t.Context(), b.w.Common, names...)
		if want := []string{"refs/heads/gl/LANE", "refs/heads/two",
			"refs/gl/wip/x/1/tree"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", when, got, err, want)
		}
	}
	same("loose")
	b.in(b.main, "pack-refs", "--all", "--prune")
	same("packed")
	b.in(b.main, "update-ref", "refs/gl/wip/x/1/tree", two, one)
	b.in(b.main, "update-ref", "-d", "refs/gl/wip/x/10/tree")
	same("packed and loose")
	times, err := CommitTimes(t.Context(), b.w.Common, one, two)
	if want := b.in(b.main, "log", "-1", "--format=%ct", two); err != nil || len(times) != 2 ||
		fmt.Sprint(times[two].Unix()) != want {
		t.Error(times, err, want)
	}
}
