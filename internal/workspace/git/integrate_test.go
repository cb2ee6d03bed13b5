package git

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

const work = "refs/heads/work"

// commitAll calls CommitAll twice: the second call has nothing to do.
func (b *bench) commitAll() (tip string, changed bool) {
	b.t.Helper()
	tip, changed, err := b.w.Exclusive().CommitAll(b.t.Context(), work, "what was left")
	b.ok(err)
	before := b.state()
	again, more, err := b.w.Exclusive().CommitAll(b.t.Context(), work, "again")
	b.ok(err)
	if again != tip || more {
		b.t.Errorf("the second call made %s (%v) after %s", again, more, tip)
	}
	if diff := cmp.Diff(trees(before), trees(b.state())); diff != "" {
		b.t.Error(diff)
	}
	return tip, changed
}

// trees is a state without the index, which is written anew.
func trees(state map[string]string) map[string]string {
	for name := range state {
		if strings.HasSuffix(name, "/index") {
			delete(state, name)
		}
	}
	return state
}

func (b *bench) clean(why string) {
	b.t.Helper()
	if got := b.git("status", "--porcelain", "--branch"); got != "## work" {
		b.t.Errorf("%s: status is %s", why, got)
	}
}

func (b *bench) head() string { b.t.Helper(); return b.git("rev-parse", "HEAD") }

func TestCommitAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(b *bench)
		want string // what the commit's tree has; "" for no commit
	}{
		{"nothing", func(*bench) {}, ""},
		{"edits of all kinds", func(b *bench) {
			b.write("f", "edited")
			b.write("new/file", "n")
			b.write("build/x.o", "ignored")
			b.remove("gone")
			b.write("half", "staged")
			b.git("add", "half")
			b.write("half", "and edited")
			b.write("forced.o", "o")
			b.git("add", "-f", "forced.o")
		}, ".gitignore f forced.o half hidden new/file"},
		{"hidden", func(b *bench) {
			b.git("update-index", "--assume-unchanged", "hidden")
			b.write("hidden", "edited")
		}, ".gitignore f gone half hidden"},
		{"only hidden", func(b *bench) {
			b.git("update-index", "--assume-unchanged", "hidden")
		}, ""},
		{"ignored, and about to be added", func(b *bench) {
			b.write("forced.o", "o")
			b.git("add", "-N", "-f", "forced.o")
		}, ".gitignore f forced.o gone half hidden"},
		{"a merge that was committed, and its file left", func(b *bench) {
			b.ok(os.WriteFile(filepath.Join(b.w.Admin, "MERGE_HEAD"), []byte(b.head()+"\n"), 0o644))
		}, ""},
		{"a repository of the agent's own", func(b *bench) {
			b.write("nr/a", "a")
			b.in(filepath.Join(b.w.Path, "nr"), "init", "-q")
		}, ".gitignore f gone half hidden nr/a"},
		{"a lock of a git that was killed", func(b *bench) {
			b.write("f", "edited")
			b.ok(os.WriteFile(filepath.Join(b.w.Admin, "index.lock"), nil, 0o644))
		}, ".gitignore f gone half hidden"},
		{"no index", func(b *bench) {
			b.write("f", "edited")
			b.ok(os.Remove(filepath.Join(b.w.Admin, "index")))
		}, ".gitignore f gone half hidden"},
		{"hooks and signing", func(b *bench) {
			b.in(b.main, "config", "commit.gpgSign", "true")
			b.in(b.main, "config", "gpg.program", "false")
			hooks := b.t.TempDir()
			for _, hook := range []string{"pre-commit", "commit-msg", "reference-transaction",
				"post-index-change"} {
				b.ok(os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\nexit 1\n"), 0o755))
			}
			b.in(b.main, "config", "core.hooksPath", hooks)
			b.write("f", "edited")
		}, ".gitignore f gone half hidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := worktree(t, map[string]string{"f": "1", "gone": "1", "half": "1", "hidden": "1",
				".gitignore": "*.o\n"})
			first := b.head()
			c.do(b)
			files := b.files(b.w.Path)
			tip, changed := b.commitAll()
			if diff := cmp.Diff(files, b.files(b.w.Path)); diff != "" {
				t.Error(diff)
			}
			b.clean("after")
			if hidden := regexp.MustCompile(`(?m)^[^H] .*`).FindString(b.git("ls-files",
				"-v")); hidden != "" || b.w.Operation() != "" {
				t.Errorf("the index hides %q, %q isn't finished", hidden, b.w.Operation())
			}
			if changed != (c.want != "") || changed == (tip == first) || tip != b.head() {
				t.Fatalf("%s, %v after %s", tip, changed, first)
			}
			if got := strings.ReplaceAll(b.git("ls-tree", "-r", "--name-only", tip), "\n",
				" "); changed && got != c.want {
				t.Errorf("the commit has %s", got)
			}
			if changed && b.git("log", "-1", "--format=%P %s", tip) != first+" what was left" {
				t.Error(b.git("log", "-1", "--format=%P %s", tip))
			}
		})
	}
}

func TestCommitAllRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(b *bench)
		want any
	}{
		{"detached", func(b *bench) { b.git("checkout", "-q", "--detach") }, new(*BranchError)},
		{"another branch", func(b *bench) { b.git("checkout", "-q", "-b", "mine") },
			new(*BranchError)},
		{"a rebase", func(b *bench) {
			b.commitOn("other", "master", map[string]string{"f": "other"})
			b.git("commit", "-q", "--allow-empty", "-m", "x")
			b.write("f", "work")
			b.git("commit", "-qam", "work")
			if out, err := runIn(b.w.Path, "rebase", "other"); err == nil {
				b.t.Fatal(out)
			}
		}, new(*BusyError)},
		{"a cherry-pick", func(b *bench) {
			other := b.commitOn("other", "master", map[string]string{"f": "other"})
			b.write("f", "work")
			b.git("commit", "-qam", "work")
			if out, err := runIn(b.w.Path, "cherry-pick", other); err == nil {
				b.t.Fatal(out)
			}
		}, new(*BusyError)},
		{"a file that can't be read", func(b *bench) {
			if os.Geteuid() == 0 {
				b.t.Skip("root reads everything")
			}
			b.write("closed", "x")
			b.ok(os.Chmod(filepath.Join(b.w.Path, "closed"), 0))
		}, new(*UnkeptError)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := worktree(t, map[string]string{"f": "1"})
			c.do(b)
			b.write("left", "x")
			before := b.state()
			_, _, err := b.w.Exclusive().CommitAll(t.Context(), work, "m")
			if err == nil || !errors.As(err, c.want) {
				t.Fatalf("%v", err)
			}
			if diff := cmp.Diff(before, b.state()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// conflicted is a worktree with a merge that MergeConflicted has left, and the lane's commit.
func conflicted(t *testing.T) (*bench, string) {
	t.Helper()
	b := worktree(t, map[string]string{"f": "1\n", "bin": "\x001", "del": "1\n", "state/S": "0\n",
		".gitignore": "*.o\n", "old": "1\n2\n3\n4\n"})
	lane := b.commitOn("lane", "master", map[string]string{"f": "lane\n", "bin": "\x00lane",
		"del": "lane\n", "state/S": "lane\n", "clean": "c\n", "d/e": "e\n"})
	b.write("f", "work\n")
	b.write("bin", "\x00work")
	b.remove("del")
	b.write("state/S", "work\n")
	b.write("x.o", "ignored")
	b.commitAll()
	return b, lane
}

func mergeConflicted(b *bench, lane string) []string {
	b.t.Helper()
	list, err := b.w.Exclusive().MergeConflicted(b.t.Context(), work, lane, "Merge the lane",
		isState)
	b.ok(err)
	return list
}

func TestMergeConflicted(t *testing.T) {
	t.Parallel()
	b, lane := conflicted(t)
	head := b.head()
	if got := mergeConflicted(b, lane); !slices.Equal(got, []string{"bin", "del", "f"}) {
		t.Fatal(got)
	}
	if got := b.git("status", "--porcelain"); got != "UU bin\nA  clean\nA  d/e\nDU del\nUU f" {
		t.Error(got)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(b.w.Path, name))
		b.ok(err)
		return string(data)
	}
	if got := read("f"); got != "<<<<<<< HEAD\nwork\n=======\nlane\n>>>>>>> MERGE_HEAD\n" {
		t.Error(got)
	}
	if read("state/S") != "work\n" || read("clean") != "c\n" ||
		b.git("show", "MERGE_HEAD:f") != "lane" || b.git("show", ":3:f") != "lane" {
		t.Error(read("state/S"), read("clean"))
	}
	unresolved := func(want ...string) {
		t.Helper()
		_, _, err := b.w.Exclusive().CommitAll(t.Context(), work, "m")
		if e := new(UnresolvedError); !errors.As(err, &e) || !slices.Equal(e.Paths, want) {
			t.Fatalf("%v, want %q", err, want)
		}
	}
	unresolved("bin", "del", "f")
	b.git("add", "f") // marks and all
	unresolved("bin", "del", "f")
	b.write("f", "both\n")
	unresolved("bin", "del")
	b.git("add", "bin")
	b.remove("del")
	tip, _ := b.commitAll()
	b.clean("resolved")
	if got := b.git("log", "-1", "--format=%P", tip); got != head+" "+lane {
		t.Error(got)
	}
	if got := b.git("ls-tree", "-r", "--name-only",
		tip); got != ".gitignore\nbin\nclean\nd/e\nf\nold\nstate/S" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(b.w.Admin, "MERGE_HEAD")); err == nil {
		t.Error("the merge is still unfinished for git")
	}
}

// The agent's own git commit finishes it as well.
func TestMergeConflictedIsCommitted(t *testing.T) {
	t.Parallel()
	b, lane := conflicted(t)
	mergeConflicted(b, lane)
	b.write("f", "both\n")
	b.git("add", "-A")
	b.git("commit", "-q", "--no-edit")
	if got := b.git("log", "-1", "--format=%P%n%B"); !strings.HasSuffix(strings.TrimSpace(got),
		lane+"\nMerge the lane") {
		t.Errorf("%q", got)
	}
	if _, changed := b.commitAll(); changed {
		t.Error("something was left")
	}
}

// A text about conflicts has marks by itself.
func TestMarksOfTheText(t *testing.T) {
	t.Parallel()
	const marks = "<<<<<<< a\n=======\n>>>>>>> b\n"
	b := worktree(t, map[string]string{"doc": marks + "1\n"})
	lane := b.commitOn("lane", "master", map[string]string{"doc": marks + "lane\n"})
	b.write("doc", marks+"work\n")
	b.commitAll()
	mergeConflicted(b, lane)
	b.write("doc", marks+"both\n")
	b.commitAll()
	b.clean("resolved")
}

func TestMergeWithoutConflict(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1\n"})
	lane := b.commitOn("lane", "master", map[string]string{"g": "lane\n"})
	before := b.state()
	if got := mergeConflicted(b, lane); got != nil {
		t.Error(got)
	}
	if diff := cmp.Diff(before, b.state()); diff != "" {
		t.Error(diff)
	}
}

// A merge that was killed at any place is taken back by whatever comes next, and what git ignores
// stays.
func TestMergeKilled(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	for name, kill := range map[string]func(b *bench, m *merged, lane string){
		"before anything": func(*bench, *merged, string) {},
		"files written, index not": func(b *bench, m *merged, _ string) {
			index := filepath.Join(b.w.Admin, "index")
			old, err := os.ReadFile(index)
			b.ok(err)
			b.git("read-tree", "--reset", "-u", m.tree)
			b.ok(os.WriteFile(index, old, 0o644))
			b.ok(os.WriteFile(index+".lock", []byte("half"), 0o644))
		},
		"some files written": func(b *bench, _ *merged, _ string) {
			b.write("d/e", "e\n")
			b.write("f", "<<<<")
			b.remove("bin")
		},
		"all but the note": func(b *bench, m *merged, lane string) {
			b.ok(b.w.Exclusive().writeConflict(b.t.Context(), m, lane, "m"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, lane := conflicted(t)
			head := b.head()
			files := b.files(b.w.Path)
			m, err := b.w.Exclusive().conflict(t.Context(), head, lane, isState)
			b.ok(err)
			b.ok(b.w.Exclusive().move(t.Context(), head, m.tree))
			kill(b, m, lane)
			if tip, changed := b.commitAll(); tip != head || changed {
				t.Errorf("%s, %v", tip, changed)
			}
			b.clean("taken back")
			if diff := cmp.Diff(files, b.files(b.w.Path)); diff != "" {
				t.Error(diff)
			}
			if got := mergeConflicted(b, lane); len(got) != 3 {
				t.Error(got)
			}
		})
	}
}

func TestResetTo(t *testing.T) {
	t.Parallel()
	b, lane := conflicted(t)
	files, head := b.files(b.w.Path), b.head()
	mergeConflicted(b, lane)
	if err := b.w.Exclusive().ResetTo(t.Context(), lane); !errors.Is(err, ErrRefMoved) {
		t.Error(err)
	}
	b.ok(os.WriteFile(filepath.Join(b.w.Admin, "index.lock"), nil, 0o644))
	for range 2 {
		b.ok(b.w.Exclusive().ResetTo(t.Context(), head))
		if diff := cmp.Diff(files, b.files(b.w.Path)); diff != "" {
			t.Error(diff)
		}
		b.clean("reset")
	}
	if b.w.Operation() != "" {
		t.Error(b.w.Operation())
	}
}

// A link that leads out of the worktree doesn't lead gl's deleting there.
func TestResetStaysInside(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1\n"})
	lane := b.commitOn("lane", "master", map[string]string{"d/victim": "lane\n", "f": "lane\n"})
	outside := t.TempDir()
	testfiles.Write(t, outside, map[string]string{"victim": "mine"})
	b.ok(os.Symlink(outside, filepath.Join(b.w.Path, "d")))
	b.write("f", "work\n")
	head, _ := b.commitAll()
	if got := mergeConflicted(b, lane); !slices.Contains(got, "f") {
		t.Fatal(got)
	}
	b.ok(b.w.Exclusive().ResetTo(t.Context(), head))
	b.ok(os.WriteFile(filepath.Join(b.w.Admin, moving), []byte(head+"\n"+lane+"\n"), 0o644))
	b.ok(b.w.Exclusive().Recover(t.Context()))
	if data, err := os.ReadFile(filepath.Join(outside, "victim")); err != nil ||
		string(data) != "mine" {
		t.Error(err)
	}
	b.clean("reset")
}

func TestIntegrate(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1\n", "gone": "1\n", "state/S": "0\n",
		".gitignore": "*.o\n"})
	lane := b.commitOn("lane", "master",
		map[string]string{"g": "lane\n", "gone": "", "x.o": "lane", "d/e": "e"})
	b.write("f", "work\n")
	b.write("y.o", "ignored")
	head, _ := b.commitAll()
	tree, _, err := MergeTree(t.Context(), b.w.Common, head, lane, isState)
	b.ok(err)
	b.write("x.o", "ignored")
	before := b.state()
	_, err = b.w.Exclusive().Integrate(t.Context(), work, lane, tree, "Merge the lane")
	if e := new(OverlapError); !errors.As(err, &e) || !slices.Equal(e.Paths, []string{"x.o"}) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.state()); diff != "" {
		t.Error(diff)
	}
	b.remove("x.o")
	var first string
	for range 2 {
		tip, err := b.w.Exclusive().Integrate(t.Context(), work, lane, tree, "Merge the lane")
		b.ok(err)
		if first == "" {
			first = tip
		}
		b.clean("merged")
		if got := b.git("log", "-1", "--format=%H %P %T"); got != first+" "+head+" "+lane+" "+tree {
			t.Error(got)
		}
	}
	if data, err := os.ReadFile(filepath.Join(b.w.Path, "y.o")); err != nil ||
		string(data) != "ignored" {
		t.Error("an ignored file is gone")
	}
	// Killed after the branch was moved: the files are the old ones, and CommitAll doesn't take
	// that for work.
	b.ok(os.WriteFile(filepath.Join(b.w.Admin, moving), []byte(head+"\n"+first+"\n"), 0o644))
	b.git("read-tree", "--reset", "-u", head)
	b.write("d/e", "half")
	if tip, changed := b.commitAll(); tip != first || changed {
		t.Error(tip, changed)
	}
	b.clean("recovered")
	// The same before it was.
	b.git("reset", "-q", "--hard", head)
	b.ok(os.WriteFile(filepath.Join(b.w.Admin, moving), []byte(head+"\n"+first+"\n"), 0o644))
	tip, err := b.w.Exclusive().Integrate(t.Context(), work, lane, tree, "Merge the lane")
	b.ok(err)
	b.clean("again")
	if got := b.git("log", "-1", "--format=%P %T", tip); got != head+" "+lane+" "+tree {
		t.Error(got)
	}
}

func TestCheckoutDetached(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1\n", "d/e": "1\n", ".gitignore": "*.o\n",
		"keep/x": "1"})
	other := b.commitOn("other", "master",
		map[string]string{"f": "other\n", "g": "g\n", "d/e": "", "keep/x": "", "keep/y": "1"})
	for name, dirty := range map[string]func(){
		"nothing": func() {},
		"edits": func() {
			b.write("f", "edited")
			b.write("g", "untracked")
			b.write("new/deep/file", "x")
			b.remove("keep")
		},
		"staged":                func() { b.write("f", "edited"); b.write("n", ""); b.git("add", "-A") },
		"hidden":                func() { b.git("update-index", "--assume-unchanged", "f"); b.write("f", "edited") },
		"skipped":               func() { b.git("update-index", "--skip-worktree", "f"); b.write("f", "edited") },
		"a directory":           func() { b.remove("f"); b.write("f/x/y", "z") },
		"a repository":          func() { b.write("nr/a", "x"); b.in(filepath.Join(b.w.Path, "nr"), "init", "-q") },
		"one instead of a file": func() { b.remove("f"); b.write("f/a", "x"); b.in(filepath.Join(b.w.Path, "f"), "init", "-q") },
		"killed": func() {
			b.write("f", "ha")
			b.write("g", "")
			b.ok(os.WriteFile(filepath.Join(b.w.Admin, "index.lock"), nil, 0o644))
		},
		"broken index":                      func() { b.ok(os.WriteFile(filepath.Join(b.w.Admin, "index"), []byte("x"), 0o644)) },
		"a merge":                           func() { b.ok(os.WriteFile(filepath.Join(b.w.Admin, "MERGE_HEAD"), []byte(other+"\n"), 0o644)) },
		"another branch":                    func() { b.git("checkout", "-q", "-f", "-B", "elsewhere") },
		"a directory that can't be written": func() { b.write("ro/x", "1"); b.ok(os.Chmod(filepath.Join(b.w.Path, "ro"), 0o555)) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, commit := range []string{other, b.in(b.main, "rev-parse", "master"), other} {
				b.write("x.o", "ignored")
				dirty()
				b.ok(b.w.Exclusive().CheckoutDetached(t.Context(), commit, b.main))
				if got := b.git("status", "--porcelain", "--branch",
					"--ignored"); got != "## HEAD (no branch)\n!! x.o" || b.head() != commit ||
					b.w.Operation() != "" {
					t.Errorf("%s at %s, %s", got, b.head(), b.w.Operation())
				}
				u, err := b.w.Unsaved(t.Context(), []string{"x.o"})
				if err != nil || !u.None() {
					t.Errorf("%+v, %v", u, err)
				}
			}
		})
	}
	if got := b.in(b.main, "rev-parse", "work"); got != b.in(b.main, "rev-parse", "master") {
		t.Error("a branch has moved")
	}
}

// An agent that has switched to another branch, or to none, has gone on from its own: that takes
// over what it did. What doesn't go on from there is left alone.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string // of git, before a commit
		ok   bool
	}{
		"another branch":  {[]string{"switch", "-q", "-c", "other"}, true},
		"detached":        {[]string{"switch", "-q", "--detach"}, true},
		"its own":         {[]string{"status"}, true},
		"an older commit": {[]string{"switch", "-q", "--detach", "HEAD~1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := worktree(t, map[string]string{"f": "1"})
			b.git("commit", "-q", "--allow-empty", "-m", "second")
			b.git(c.args...)
			b.write("new", "built")
			b.git("add", "new")
			b.git("commit", "-qm", "built")
			b.write("f", "edited")
			err := b.w.Exclusive().Adopt(t.Context(), work)
			branch, branchErr := b.w.Branch()
			b.ok(branchErr)
			if (err == nil) != c.ok || (branch == work) != c.ok ||
				!c.ok && !errors.As(err, new(*BranchError)) {
				t.Fatalf("on %q: %v", branch, err)
			}
			if got := b.git("status", "--porcelain"); got != " M f" && got != "M f" {
				t.Errorf("status is %q", got)
			}
			if !c.ok {
				return
			}
			if got := b.git("show", "work:new"); got != "built" {
				t.Errorf("work has %q", got)
			}
			b.ok(b.w.Exclusive().Adopt(t.Context(), work))
		})
	}
}

// The other side of a merge that an agent has resolved may have been pruned. What the agent left is
// committed without it.
func TestCommitAllWithoutTheOtherSide(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"a": "a"})
	head := b.head()
	b.write("a", "resolved")
	b.ok(os.WriteFile(filepath.Join(b.w.Admin, "MERGE_HEAD"), []byte(strings.Repeat("1", 40)+"\n"),
		0o644))
	tip, changed, err := b.w.Exclusive().CommitAll(t.Context(), work, "left")
	b.ok(err)
	if got := b.git("log", "-1", "--format=%P", tip); got != head || !changed {
		t.Errorf("its parents are %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.w.Admin, "MERGE_HEAD")); err == nil {
		t.Error("the merge isn't over")
	}
}
