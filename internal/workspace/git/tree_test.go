package git

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// commitOn commits files on a branch that begins at another, "" in a text removing the file, and
// returns the commit.
func (b *bench) commitOn(branch, from string, files map[string]string) string {
	b.t.Helper()
	dir := filepath.Join(b.t.TempDir(), "side")
	b.in(b.main, "worktree", "add", "-q", "-f", "-B", branch, dir, from)
	defer b.in(b.main, "worktree", "remove", "-f", dir)
	for name, text := range files {
		if text == "" {
			b.ok(os.Remove(filepath.Join(dir, name)))
			delete(files, name)
		}
	}
	testfiles.Write(b.t, dir, files)
	b.in(dir, "add", "-A", "-f")
	b.in(dir, "commit", "-q", "--allow-empty", "-m", branch)
	return b.in(dir, "rev-parse", "HEAD")
}

// show is the content of a path in a commit or tree, "-" for none.
func (b *bench) show(treeish, path string) string {
	b.t.Helper()
	if !slices.Contains(strings.Split(b.in(b.main, "ls-tree", "-r", "--name-only", treeish), "\n"),
		path) {
		return "-"
	}
	return b.in(b.main, "cat-file", "blob", treeish+":"+path)
}

func isState(p string) bool { return strings.HasPrefix(p, "state/") }

func TestMergeTree(t *testing.T) {
	t.Parallel()
	const lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	edit := func(from, to string) string { return strings.Replace(lines, from, to, 1) }
	for _, c := range []struct {
		name         string
		first        map[string]string
		ours, theirs map[string]string
		want         map[string]string
		conflicts    []string
	}{
		{name: "both sides of a file", first: map[string]string{"f": lines},
			ours:   map[string]string{"f": edit("2", "two")},
			theirs: map[string]string{"f": edit("8", "eight"), "new": "n"},
			want: map[string]string{"f": strings.TrimSuffix(strings.Replace(edit("2", "two"), "8",
				"eight", 1), "\n"), "new": "n"}},
		{name: "a conflict", first: map[string]string{"f": lines},
			ours:   map[string]string{"f": edit("2", "a")},
			theirs: map[string]string{"f": edit("2", "b"), "d/g\n": "b"}, conflicts: []string{"f"}},
		{name: "state of both", first: map[string]string{"state/S": "pending\n"},
			ours:   map[string]string{"state/S": "ours\n"},
			theirs: map[string]string{"state/S": "theirs\n", "x": "1"},
			want:   map[string]string{"state/S": "ours", "x": "1"}},
		{name: "state of theirs alone", first: map[string]string{"state/S": "pending\n"},
			theirs: map[string]string{"state/S": "theirs\n", "state/T": "new", "x": "1"},
			want:   map[string]string{"state/S": "pending", "state/T": "-", "x": "1"}},
		{name: "state removed by theirs", first: map[string]string{"state/S": "pending\n"},
			ours:   map[string]string{"state/S": "ours\n"},
			theirs: map[string]string{"state/S": "", "x": "1"},
			want:   map[string]string{"state/S": "ours", "x": "1"}},
		{name: "state removed by ours", first: map[string]string{"state/S": "pending\n"},
			ours:   map[string]string{"state/S": ""},
			theirs: map[string]string{"state/S": "theirs", "x": "1"},
			want:   map[string]string{"state/S": "-", "x": "1"}},
		{name: "state renamed by theirs", first: map[string]string{"state/S": lines},
			ours:   map[string]string{"state/S": edit("2", "b")},
			theirs: map[string]string{"state/S": "", "state/T": lines},
			want: map[string]string{"state/S": strings.TrimSuffix(edit("2", "b"), "\n"),
				"state/T": "-"}},
		{name: "a file in the place of the state", first: map[string]string{"state/S": "s"},
			theirs: map[string]string{"state/S": "", "x": "1"},
			want:   map[string]string{"state/S": "s", "x": "1"}},
		{name: "merge=union", first: map[string]string{"log": "0\n",
			".gitattributes": "log merge=union\n"}, ours: map[string]string{"log": "0\na\n"},
			theirs: map[string]string{"log": "0\nb\n"},
			want:   map[string]string{"log": "0\na\nb"}},
		{name: "a driver of the repository", first: map[string]string{"log": "0\n",
			".gitattributes": "log merge=evil\n"}, ours: map[string]string{"log": "0\na\n"},
			theirs: map[string]string{"log": "0\nb\n"}, conflicts: []string{"log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := worktree(t, c.first)
			ran := filepath.Join(t.TempDir(), "ran")
			b.in(b.main, "config", "merge.evil.driver", "touch "+ran)
			ours, theirs := b.commitOn("ours", "master", c.ours),
				b.commitOn("theirs", "master", c.theirs)
			before := b.state()
			tree, conflicts, err := MergeTree(t.Context(), b.w.Common, ours, theirs, isState)
			if err != nil || !slices.Equal(conflicts, c.conflicts) ||
				(tree == "") != (c.conflicts != nil) {
				t.Fatalf("%q, %q, %v", tree, conflicts, err)
			}
			if diff := cmp.Diff(before, b.state()); diff != "" {
				t.Error(diff)
			}
			for p, want := range c.want {
				if got := b.show(tree, p); got != want {
					t.Errorf("%s is %q, want %q", p, got, want)
				}
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("a program of the repository ran")
			}
		})
	}
}

// Where histories have crossed there are several merge bases.
func TestMergeTreeWithTwoBases(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1\n", "state/S": "0\n"})
	one := b.commitOn("one", "master", map[string]string{"a": "a", "state/S": "one\n"})
	two := b.commitOn("two", "master", map[string]string{"b": "b", "state/S": "two\n"})
	cross := func(ours, theirs, state string) string {
		tree, conflicts, err := MergeTree(t.Context(), b.w.Common, ours, theirs, isState)
		if err != nil || conflicts != nil {
			t.Fatal(conflicts, err)
		}
		if got := b.show(tree, "state/S"); got != state {
			t.Errorf("state is %q, want %q", got, state)
		}
		id, err := CommitTree(t.Context(), b.w.Common,
			NewCommit{Tree: tree, Parents: []string{ours, theirs}, Message: "m"})
		b.ok(err)
		return id
	}
	x, y := cross(one, two, "one"), cross(two, one, "two")
	z := cross(x, y, "one")
	if got := b.in(b.main, "ls-tree", "--name-only", "-r", z); got != "a\nb\nf\nstate/S" {
		t.Error(got)
	}
}

func TestTreeIDAndChanged(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1", "state/S": "0", "state/d/T": "0", "ü\n": "x"})
	a := b.commitOn("a", "master", map[string]string{"state/S": "1", "state/d/T": ""})
	c := b.commitOn("c", "master", map[string]string{"state/new": "1", "f": "2"})
	key := func(commit string) string {
		files, err := Files(t.Context(), b.w.Common, commit)
		b.ok(err)
		maps.DeleteFunc(files, func(p string, _ File) bool { return isState(p) })
		return TreeID(files, commit)
	}
	if key("master") != key(a) || key(a) == key(c) {
		t.Errorf("%s, %s, %s", key("master"), key(a), key(c))
	}
	// What sorts otherwise as a directory than as a file, an executable, a link, and a submodule.
	d := b.commitOn("d", "master", map[string]string{"d/x": "1", "d.x": "2", "d-x/y": "3",
		"e/d/f": "4"})
	b.in(b.main, "update-index", "--add", "--cacheinfo", "160000,"+a+",sub", "--cacheinfo",
		"100755,"+b.in(b.main, "rev-parse", d+":d/x")+",d/run",
		"--cacheinfo", "120000,"+b.in(b.main, "rev-parse", d+":d.x")+",d0")
	for _, tree := range []string{a, d, b.in(b.main, "write-tree")} {
		files, err := Files(t.Context(), b.w.Common, tree)
		b.ok(err)
		if got, want := TreeID(files, tree),
			b.in(b.main, "rev-parse", tree+"^{tree}"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := TreeID(nil, a); got != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Error(got)
	}
	got, err := Changed(t.Context(), b.w.Common, a, c, nil)
	if want := []string{"f", "state/S", "state/d/T", "state/new"}; err != nil ||
		!slices.Equal(got, want) {
		t.Error(got, err)
	}
	if got, err = Changed(t.Context(), b.w.Common, a+"^{tree}", c, isState); err != nil ||
		!slices.Equal(got, []string{"f"}) {
		t.Error(got, err)
	}
}

func TestCommitTree(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1"})
	b.in(b.main, "config", "commit.gpgSign", "true")
	b.in(b.main, "config", "gpg.program", "false")
	head := b.in(b.main, "rev-parse", "HEAD")
	c := NewCommit{Tree: head + "^{tree}", Parents: []string{head, head}, Message: "ü\n\nbody\n\n",
		When: time.Unix(1e9, 5)}
	c.Tree = b.in(b.main, "rev-parse", c.Tree)
	one, err := CommitTree(t.Context(), b.w.Common, c)
	b.ok(err)
	two, err := CommitTree(t.Context(), b.w.Common, c)
	b.ok(err)
	if one != two {
		t.Errorf("%s, %s", one, two)
	}
	if got := b.in(b.main, "log", "-1", "--format=%an %ce %at %ct %B",
		one); got != "t t@t 1000000000 1000000000 ü\n\nbody\n" {
		t.Errorf("%q", got)
	}
	b.in(b.main, "config", "--unset", "user.name")
	b.in(b.main, "config", "--unset", "user.email")
	id, err := CommitTree(t.Context(), b.w.Common, c)
	b.ok(err)
	if got := b.in(b.main, "log", "-1", "--format=%an %ce",
		id); got != "Greenlight greenlight@localhost" {
		t.Error(got)
	}
}

// runIn runs a git that may fail.
func runIn(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func shell(dir, command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Where a rename leads something to a kept path, base's version stays.
func TestMergeIntoAfterARename(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"d/x": "x\n1\n2\n3\n", "d/y": "y\n1\n2\n3\n", "f": "1"})
	b.in(b.main, "config", "merge.directoryRenames", "true")
	base := b.commitOn("base", "master", map[string]string{"d/x": "", "d/y": "",
		"state/x": "x\n1\n2\n3\n", "state/y": "y\n1\n2\n3\n"})
	theirs := b.commitOn("theirs", "master", map[string]string{"d/new": "n", "f": "2"})
	files, err := Files(t.Context(), b.w.Common, base)
	b.ok(err)
	m, err := MergeInto(t.Context(), b.w.Common, base, files, theirs, isState)
	b.ok(err)
	if got := b.in(b.main, "ls-tree", "-r", "--name-only", m.Tree); got != "f\nstate/x\nstate/y" ||
		len(m.Changed) != 1 || m.Changed["f"] == (File{}) {
		t.Errorf("%s; %+v", got, m)
	}
}
