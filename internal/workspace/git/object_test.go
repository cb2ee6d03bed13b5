package git

import (
	"bytes"
	"compress/zlib"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
)

// What commits and trees have is read from objects' own files as git reads it.
func TestObjectsFromFiles(t *testing.T) {
	if testfiles.Long() {
		t.Skip("worktree packs the objects, so that git is asked")
	}
	b := worktree(t, map[string]string{"f": "1", "d/a": "1", "d/b": "1", "d.x": "1",
		"e/deep/er": "1", "gone": "1", "swap/in": "1", "back": "1"})
	one := b.in(b.main, "rev-parse", "HEAD")
	for _, name := range []string{"gone", "swap", "back", "e"} {
		b.remove(name)
	}
	for name, text := range map[string]string{"f": "2", "d/a": "2", "d0": "new", "swap": "a file",
		"back/in": "a directory", "n/e/w": "1"} {
		b.write(name, text)
	}
	b.ok(os.Symlink("f", filepath.Join(b.w.Path, "e")))
	b.ok(os.Chmod(filepath.Join(b.w.Path, "d/b"), 0o755))
	b.git("add", "-A")
	b.git("commit", "-qm", "two\n\nwhy\n\nLast: line")
	two := b.head()
	store := objectsOf(b.w.Admin)
	for _, pair := range [][2]string{{one, two}, {two, one}, {one, one}} {
		got, known := store.changes(pair[0], pair[1])
		want, err := changes(nil, pair[0], pair[1],
			func(args ...string) (string, error) { return run(t.Context(), b.w.Path, args...) })
		b.ok(err)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(change{})); !known || diff != "" {
			t.Errorf("known: %v\n%s", known, diff)
		}
	}
	files, err := Files(t.Context(), b.w.Common, two)
	b.ok(err)
	if got, want := slices.Sorted(maps.Keys(files)),
		strings.Split(b.git("ls-tree", "-r", "--name-only", two), "\n"); !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
	c, known := store.commit(two)
	if want := b.git("log", "-1", "--format=%B"); !known ||
		strings.TrimSpace(c.message) != strings.TrimSpace(want) ||
		!slices.Equal(c.parents, []string{one}) {
		t.Errorf("%v: %+v, want %q", known, c, want)
	}
	for _, c := range []struct {
		old, tip   string
		yes, known bool
	}{{one, two, true, true}, {two, one, false, true}, {one, one, true, true},
		{"HEAD", two, false, false}, {one, strings.Repeat("1", 40), false, false}} {
		if yes, known := store.contains(c.old, c.tip); yes != c.yes || known != c.known {
			t.Errorf("%.5s in %.5s: %v, %v", c.old, c.tip, yes, known)
		}
	}
	revisions := []string{"HEAD^{commit}", "HEAD^{tree}", "refs/heads/work^{commit}",
		"refs/heads/none^{commit}", two + "^1^{commit}", one + "^1^{commit}", ""}
	got, known := store.resolveAll(b.w.Admin, revisions)
	want, err := objects(b.w.Admin, nil, func(in string, args ...string) (string, error) {
		return runInput(t.Context(), b.w.Path, in, args...)
	}, revisions...)
	if err != nil || !known || !slices.Equal(got, want) {
		t.Errorf("%v: %q, want %q (%v)", known, got, want, err)
	}
}

// Where the files don't tell, git is asked.
func TestObjectsThatFilesDontTell(t *testing.T) {
	b := worktree(t, map[string]string{"f": "1"})
	b.git("commit", "-q", "--allow-empty", "-m", "second")
	head := b.head()
	known := func(when string, want bool) {
		t.Helper()
		if _, got := objectsOf(b.w.Admin).commit(head); got != want {
			t.Errorf("%s: %v", when, got)
		}
	}
	known("loose", true)
	b.git("replace", "--graft", head)
	known("replaced", false)
	b.git("pack-refs", "--all")
	known("replaced, packed", false)
	b.git("replace", "-d", head)
	b.git("update-ref", "refs/heads/other", head)
	b.ok(os.RemoveAll(filepath.Join(b.w.Common, "refs", "replace")))
	known("not anymore", true)
	file := filepath.Join(b.w.Common, "objects", head[:2], head[2:])
	text, err := os.ReadFile(file)
	b.ok(err)
	b.ok(os.Remove(file))
	known("gone", false)
	var forged bytes.Buffer
	z := zlib.NewWriter(&forged)
	_, err = z.Write([]byte("commit 5\x00tree "))
	b.ok(err)
	b.ok(z.Close())
	for name, other := range map[string][]byte{"of another hash": forged.Bytes(),
		"cut off": text[:len(text)/2], "empty": nil} {
		b.ok(os.WriteFile(file, other, 0o644))
		known(name, false)
	}
	b.ok(os.WriteFile(file, text, 0o644))
	known("again", true)
	b.git("repack", "-adq")
	known("packed", false)
}

// An index of the plainest form is read as git reads it.
func TestIndexFromFile(t *testing.T) {
	b := worktree(t, map[string]string{"f": "1", "d/a": "1", "d.x": "1",
		strings.Repeat("long/", 30) + "x": "1"})
	tree := b.git("rev-parse", "HEAD^{tree}")
	file := filepath.Join(b.w.Admin, "index")
	same := func(when string, isHead bool) {
		t.Helper()
		out, err := run(t.Context(), b.w.Path, "ls-files", "-z", "-v", "-s")
		b.ok(err)
		want, err := readEntries(out)
		b.ok(err)
		x, known := readIndexFile(file, len(tree))
		if !known {
			t.Fatalf("%s: isn't known", when)
		}
		if diff := cmp.Diff(want, x.entries, cmp.AllowUnexported(entry{})); diff != "" ||
			x.isTree(tree) != isHead {
			t.Errorf("%s: is HEAD's: %v\n%s", when, x.isTree(tree), diff)
		}
		bare := filepath.Join(t.TempDir(), "index")
		b.ok(os.WriteFile(bare, x.bare(), 0o600))
		t.Setenv("GIT_INDEX_FILE", bare)
		if isHead && b.git("write-tree") != tree {
			t.Errorf("%s: the bare one is another tree", when)
		}
		if got := b.git("ls-files", "-v"); strings.Contains(got, "h ") {
			t.Errorf("%s: the bare one hides files:\n%s", when, got)
		}
		b.ok(os.Unsetenv("GIT_INDEX_FILE"))
	}
	same("as made", true)
	b.git("update-index", "--assume-unchanged", "f")
	same("assume-unchanged", true)
	b.write("n", "new")
	b.git("add", "n")
	same("staged", false)
	b.git("reset", "-q", "--hard")
	b.git("checkout", "-qb", "side")
	b.write("d/a", "2")
	b.git("commit", "-qam", "2")
	b.git("checkout", "-q", "work")
	b.write("d/a", "3")
	b.git("commit", "-qam", "3")
	tree = b.git("rev-parse", "HEAD^{tree}")
	_, err := run(t.Context(), b.w.Path, "merge", "-q", "side")
	if err == nil {
		t.Fatal("merged")
	}
	same("in conflict", false)
	for name, do := range map[string]func(){
		"skip-worktree": func() { b.git("update-index", "--skip-worktree", "f") },
		"intent to add": func() { b.write("later", "1"); b.git("add", "-N", "later") },
		"split":         func() { b.git("update-index", "--split-index") },
		"version 4":     func() { b.git("update-index", "--index-version", "4") },
		"cut off":       func() { b.ok(os.Truncate(file, 200)) },
		"missing":       func() { b.ok(os.Remove(file)) },
	} {
		b.git("reset", "-q", "--hard")
		do()
		if _, known := readIndexFile(file, len(tree)); known {
			t.Errorf("%s: is known", name)
		}
		b.ok(os.RemoveAll(file))
		b.git("reset", "-q", "--hard")
	}
}
