package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/gate"

	"github.com/google/go-cmp/cmp"
)

const target = "refs/heads/master"

// delivered is a repository whose lane is ahead of master, which is checked out at main.
func delivered(t *testing.T) (b *bench, from, to string) {
	t.Helper()
	b = worktree(t, map[string]string{"f": "1\n", "g": "1\n", "other": "1\n", "gone": "1\n",
		"run": "1\n", ".gitignore": "*.o\n.env\n"})
	from = b.in(b.main, "rev-parse", "HEAD")
	to = b.commitOn("lane", "master", map[string]string{"f": "2\n", "g": "2\n", "new": "2\n",
		".env": "2\n", "gone": "", "d/e": "2\n"})
	return b, from, to
}

func (b *bench) forward(from, to string) error {
	return FastForward(b.t.Context(), b.w.Common, target, from, to, passTo(to), nil)
}

// mainState is every file of the checkout and of its git directory, without what a refused merge
// may write: the index's times, ORIG_HEAD, objects and gl's own lock.
func (b *bench) mainState() map[string]string {
	b.t.Helper()
	m := map[string]string{"status": b.in(b.main, "status", "--porcelain", "--ignored", "--branch"),
		"index": b.in(b.main, "ls-files", "-s", "-v")}
	for name, text := range b.files(b.main) {
		rel, isGit := strings.CutPrefix(name, ".git/")
		if !isGit || !strings.HasPrefix(rel, "objects") && rel != "index" && rel != "ORIG_HEAD" &&
			rel != committingLock {
			m[name] = text
		}
	}
	return m
}

// passTo permits a test to move a branch.
func passTo(commit string) gate.Pass {
	pass, err := gate.Ask(gate.Facts{Way: gate.Follow, Left: commit, Lands: commit}).Pass(commit)
	if err != nil {
		panic(err)
	}
	return pass
}

func TestFastForward(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		do     func(b *bench, to string)
		status string // afterwards, in the main checkout
	}{
		{"clean", func(*bench, string) {}, ""},
		{"edits that don't overlap", func(b *bench, _ string) {
			testfiles.Write(b.t, b.main,
				map[string]string{"other": "edited\n", "untracked": "u", "x.o": "o"})
		}, " M other\n?? untracked"},
		{"staged, and edited again", func(b *bench, _ string) {
			testfiles.Write(b.t, b.main, map[string]string{"other": "staged\n", "added": "a"})
			b.in(b.main, "add", "other", "added")
			testfiles.Write(b.t, b.main, map[string]string{"other": "edited\n"})
		}, "A  added\nMM other"},
		{"settings that interfere", func(b *bench, _ string) {
			hooks := b.t.TempDir()
			for _, hook := range []string{"post-merge", "reference-transaction", "post-checkout",
				"post-index-change"} {
				b.ok(os.WriteFile(filepath.Join(hooks, hook),
					[]byte("#!/bin/sh\n[ \"$GIT_REFLOG_ACTION\" ] || exit 0\ntouch "+hooks+
						"/ran\nexit 1\n"), 0o755))
			}
			for key, value := range map[string]string{"merge.ff": "false",
				"branch.master.mergeOptions": "--no-ff --squash --signoff",
				"merge.verifySignatures":     "true",
				"commit.gpgSign":             "true", "gpg.program": "false",
				"core.hooksPath":  hooks,
				"merge.autoStash": "true", "submodule.recurse": "true", "pull.rebase": "true"} {
				b.in(b.main, "config", key, value)
			}
			b.t.Cleanup(func() {
				if _, err := os.Stat(filepath.Join(hooks, "ran")); err == nil {
					b.t.Error("a hook ran")
				}
			})
			testfiles.Write(b.t, b.main, map[string]string{"other": "edited\n"})
		}, " M other"},
		{"files that a killed git had written", func(b *bench, _ string) {
			testfiles.Write(b.t, b.main,
				map[string]string{"f": "2\n", "new": "2\n", ".env": "2\n", "other": "edited\n"})
			b.ok(os.Remove(filepath.Join(b.main, "gone")))
			b.ok(os.Remove(filepath.Join(b.main, "g")))
		}, " M other"},
		{"its files written and staged", func(b *bench, to string) {
			b.in(b.main, "read-tree", "-m", "-u", "HEAD", to)
		}, ""},
		{"what it brings staged, and the files as before", func(b *bench, to string) {
			b.in(b.main, "reset", "-q", to, "--", ".")
		}, ""},
		{"a rebase of another branch elsewhere", func(b *bench, _ string) {
			b.ok(os.MkdirAll(filepath.Join(b.w.Admin, "rebase-merge"), 0o755))
		}, ""},
		{"an entry of a deleted worktree", func(b *bench, _ string) {
			b.in(b.main, "worktree", "add", "-q", "-f", b.w.Path+"2", "master")
			b.ok(os.RemoveAll(b.w.Path + "2"))
		}, ""},
		{"assume-unchanged elsewhere", func(b *bench, _ string) {
			b.in(b.main, "update-index", "--assume-unchanged", "other")
			testfiles.Write(b.t, b.main, map[string]string{"other": "edited\n"})
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, from, to := delivered(t)
			c.do(b, to)
			other, _ := os.ReadFile(filepath.Join(b.main, "other"))
			for range 2 {
				if err := b.forward(from, to); err != nil {
					t.Fatal(err)
				}
				if got := b.in(b.main, "status", "--porcelain"); got != c.status {
					t.Errorf("status:\n%s", got)
				}
				if got := b.in(b.main, "rev-parse", "master"); got != to {
					t.Errorf("master is %s", got)
				}
			}
			if data, err := os.ReadFile(filepath.Join(b.main, "other")); err != nil ||
				string(data) != string(other) {
				t.Errorf("other is %q, %v", data, err)
			}
			if data, err := os.ReadFile(filepath.Join(b.main, "f")); err != nil ||
				string(data) != "2\n" {
				t.Errorf("f is %q, %v", data, err)
			}
		})
	}
}

func TestFastForwardRefuses(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	overlap := func(paths ...string) func(t *testing.T, err error) {
		return func(t *testing.T, err error) {
			t.Helper()
			if e := new(OverlapError); !errors.As(err, &e) || !slices.Equal(e.Paths, paths) {
				t.Errorf("%v, want overlap in %q", err, paths)
			}
		}
	}
	busy := func(operation string) func(t *testing.T, err error) {
		return func(t *testing.T, err error) {
			t.Helper()
			if e := new(BusyError); !errors.As(err, &e) || e.Operation != operation ||
				e.Where == "" {
				t.Errorf("%v, want %s", err, operation)
			}
		}
	}
	for _, c := range []struct {
		name string
		do   func(b *bench)
		want func(t *testing.T, err error)
	}{
		{"an edit",
			func(b *bench) { testfiles.Write(b.t, b.main, map[string]string{"f": "mine\n"}) },
			overlap("f")},
		{"an edit, and one that is as it is to be", func(b *bench) { testfiles.Write(b.t, b.main, map[string]string{"f": "mine\n", "g": "2\n"}) }, overlap("f", "g")},
		{"a staged edit", func(b *bench) {
			testfiles.Write(b.t, b.main, map[string]string{"f": "mine\n"})
			b.in(b.main, "add", "f")
		}, overlap("f")},
		{"staged, and then as it is to be", func(b *bench) {
			testfiles.Write(b.t, b.main, map[string]string{"f": "mine\n"})
			b.in(b.main, "add", "f")
			testfiles.Write(b.t, b.main, map[string]string{"f": "2\n"})
		}, overlap("f")},
		{"an ignored file",
			func(b *bench) { testfiles.Write(b.t, b.main, map[string]string{".env": "secret"}) },
			overlap(".env")},
		{"an untracked file",
			func(b *bench) { testfiles.Write(b.t, b.main, map[string]string{"new": "mine"}) },
			overlap("new")},
		{"an untracked directory",
			func(b *bench) { testfiles.Write(b.t, b.main, map[string]string{"new/mine": "mine"}) },
			overlap("new")},
		{"an untracked file in the place of a directory",
			func(b *bench) { testfiles.Write(b.t, b.main, map[string]string{"d": "mine"}) },
			overlap("d")},
		{"assume-unchanged", func(b *bench) {
			b.in(b.main, "update-index", "--assume-unchanged", "f")
			testfiles.Write(b.t, b.main, map[string]string{"f": "mine\n"})
		}, overlap("f")},
		{"a merge", func(b *bench) {
			b.commitOn("side", "master", map[string]string{"s": "s"})
			b.in(b.main, "merge", "-q", "--no-ff", "--no-commit", "side")
		}, busy("merge")},
		{"a cherry-pick", func(b *bench) {
			b.commitOn("side", "master", map[string]string{"s": "s", "other": ""})
			testfiles.Write(b.t, b.main, map[string]string{"other": "2\n"})
			b.in(b.main, "stash", "-q")
			b.ok(os.WriteFile(filepath.Join(b.w.Common, "CHERRY_PICK_HEAD"),
				[]byte(b.in(b.main, "rev-parse", "side")+"\n"), 0o644))
		}, busy("cherry-pick")},
		{"an interactive rebase", func(b *bench) {
			b.in(b.main, "commit", "-q", "--allow-empty", "-m", "second")
			b.in(b.main, "-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i",
				"--keep-empty", "HEAD~1")
		}, busy("rebase")},
		{"a rebase in another worktree", func(b *bench) {
			b.in(b.main, "checkout", "-q", "--detach")
			b.git("checkout", "-q", "master")
			b.git("commit", "-q", "--allow-empty", "-m", "second")
			b.git("-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "--keep-empty",
				"HEAD~1")
		}, busy("rebase")},
		{"a bisect", func(b *bench) {
			b.in(b.main, "commit", "-q", "--allow-empty", "-m", "second")
			b.in(b.main, "commit", "-q", "--allow-empty", "-m", "third")
			b.in(b.main, "bisect", "start", "HEAD", "HEAD~2")
		}, busy("bisect")},
		{"unmerged files", func(b *bench) {
			testfiles.Write(b.t, b.main, map[string]string{"other": "stashed\n"})
			b.in(b.main, "stash", "-q")
			testfiles.Write(b.t, b.main, map[string]string{"other": "mine\n"})
			b.in(b.main, "add", "other")
			id := b.in(b.main, "rev-parse", ":other")
			cmd := "printf '0 0000000000000000000000000000000000000000\tother\n100644 %s 2\tother\n100644 %s 3\tother\n' " + id + " " + id + " | git update-index --index-info"
			b.sh(b.main, cmd)
		}, busy("unmerged files, and so a conflict")},
		{"two checkouts",
			func(b *bench) { b.in(b.main, "worktree", "add", "-q", "-f", b.w.Path+"2", "master") },
			busy("a second checkout of the branch")},
		{"a checkout on a disk that is away", func(b *bench) {
			b.in(b.main, "checkout", "-q", "--detach")
			b.in(b.main, "worktree", "add", "-q", "--lock", b.w.Path+"2", "master")
			b.ok(os.RemoveAll(b.w.Path + "2"))
		}, busy("checkout without its directory")},
		{"a lock of git's", func(b *bench) { b.ok(os.WriteFile(filepath.Join(b.w.Common, "index.lock"), nil, 0o644)) }, func(t *testing.T, err error) {
			if e := new(LockedError); !errors.As(err, &e) ||
				!strings.HasSuffix(e.File, "/.git/index.lock") {
				t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _, _ := delivered(t)
			c.do(b)
			from := b.in(b.main, "rev-parse", "master")
			to := b.commitOn("lane", "master", map[string]string{"f": "2\n", "g": "2\n",
				"new": "2\n", ".env": "2\n", "d/e": "2\n"})
			before := b.mainState()
			err := b.forward(from, to)
			c.want(t, err)
			if diff := cmp.Diff(before, b.mainState()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (b *bench) sh(dir, command string) {
	b.t.Helper()
	if out, err := shell(dir, command); err != nil {
		b.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func TestFastForwardWithoutACheckout(t *testing.T) {
	t.Parallel()
	b, from, to := delivered(t)
	side := b.commitOn("side", "master", map[string]string{"s": "s"})
	b.in(b.main, "checkout", "-q", "-b", "mine")
	testfiles.Write(b.t, b.main, map[string]string{"f": "mine\n"})
	before := b.in(b.main, "status", "--porcelain")
	if err := b.forward(side, to); !errors.Is(err, ErrRefMoved) {
		t.Error(err)
	}
	if err := FastForward(t.Context(), b.w.Common, "refs/heads/side", side, to,
		passTo(to), nil); !errors.As(err, new(*NotForwardError)) {
		t.Error(err)
	}
	if err := FastForward(t.Context(), b.w.Common, "refs/heads/none", side, to,
		passTo(to), nil); !errors.Is(err, ErrRefMoved) {
		t.Error(err)
	}
	b.ok(b.forward(from, to))
	if got := b.in(b.main, "rev-parse", "master"); got != to ||
		b.in(b.main, "status", "--porcelain") != before {
		t.Error(got)
	}
}

func TestFastForwardInALinkedWorktree(t *testing.T) {
	t.Parallel()
	b, from, to := delivered(t)
	b.in(b.main, "checkout", "-q", "--detach")
	b.git("checkout", "-q", "master")
	b.write("other", "edited\n")
	b.ok(b.forward(from, to))
	if got := b.git("status", "--porcelain", "--branch"); got != "## master\n M other" ||
		b.head() != to {
		t.Error(got)
	}
	if got := b.in(b.main, "rev-parse", "HEAD"); got != from {
		t.Error("the main checkout has moved")
	}
}

func TestFastForwardInABareRepository(t *testing.T) {
	t.Parallel()
	b, from, to := delivered(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	b.in(b.main, "clone", "-q", "--bare", b.main, bare)
	top := filepath.Join(t.TempDir(), "top")
	b.in(bare, "worktree", "add", "-q", top, "master")
	b.ok(FastForward(t.Context(), bare, target, from, to, passTo(to), nil))
	if got := b.in(top, "status", "--porcelain", "--branch"); got != "## master" {
		t.Error(got)
	}
	b.in(bare, "worktree", "remove", top)
	b.in(bare, "update-ref", target, from)
	// HEAD names it, and nothing is checked out.
	b.ok(FastForward(t.Context(), bare, target, from, to, passTo(to), nil))
	if got := b.in(bare, "rev-parse", "master"); got != to {
		t.Error(got)
	}
}

func TestFastForwardSparse(t *testing.T) {
	t.Parallel()
	b, from, to := delivered(t)
	b.in(b.main, "sparse-checkout", "set", "--no-cone", "/f", "/other", "/.gitignore")
	b.ok(b.forward(from, to))
	if got := b.in(b.main, "status", "--porcelain"); got != "" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(b.main, "g")); err == nil {
		t.Error("a file was checked out that the patterns leave out")
	}
}

// A git merge that dies half-way leaves torn files, which the next call knows. What isn't its doing
// stays.
func TestFastForwardHalfWay(t *testing.T) {
	testfiles.Slow(t)
	const tear = `case "$*" in *" merge "*)
	[ -e "$TOP/.git/torn" ] && exec "$REAL" "$@"
	touch "$TOP/.git/torn"
	cd "$TOP"
	rm f gone
	printf 2 >f
	printf '2\n' >new
	mkdir d
	: >d/e
	%s;;
esac
exec "$REAL" "$@"
`
	for name, c := range map[string]struct{ end, left string }{
		"no space": {"echo 'error: unable to write file g' >&2; exit 1", " M other"},
		"killed":   {"kill -9 $$", " M other"},
	} {
		t.Run(name, func(t *testing.T) {
			b, from, to := delivered(t)
			testfiles.Write(t, b.main, map[string]string{"other": "edited\n"})
			t.Setenv("TOP", b.main)
			fakeGit(t, strings.Replace(tear, "%s", c.end, 1))
			if err := b.forward(from, to); err == nil || errors.As(err, new(*OverlapError)) {
				t.Fatalf("no error of git's: %v", err)
			}
			if got := b.in(b.main, "status", "--porcelain"); !sameLines(got, c.left) {
				t.Errorf("status:\n%s", got)
			}
			b.ok(b.forward(from, to))
			if got := b.in(b.main, "status", "--porcelain"); got != " M other" {
				t.Errorf("status:\n%s", got)
			}
		})
	}
	const torn = " D gone\n M f\n M other\n?? d/\n?? new"
	// gl is killed with it. Then a person may remove the lock.
	for name, c := range map[string]struct{ begin, left, then string }{
		"with gl":             {"", torn, ""},
		"and unlocked":        {"", torn, "rm .git/index.lock"},
		"and the branch left": {"", torn, "rm .git/index.lock && git checkout -q side"},
		"after HEAD": {"GIT_INDEX_FILE=.git/" + mergeIndex + " git merge -q lane",
			"", ""},
		"after HEAD, and unlocked": {"GIT_INDEX_FILE=.git/" + mergeIndex + " git merge -q lane",
			"", "rm .git/index.lock"},
		"the index unlocked, and HEAD": {"git read-tree -m -u master lane", "",
			"rm -f .git/index.lock && git checkout -q side"},
	} {
		t.Run(name, func(t *testing.T) {
			b, from, to := delivered(t)
			b.in(b.main, "branch", "side")
			testfiles.Write(t, b.main, map[string]string{"other": "edited\n"})
			p := place{gitDir: b.w.Common, top: b.main}
			b.ok(p.noteDelivery(from, to))
			if !strings.Contains(c.then, "-f") {
				b.ok(p.lockIndex())
			}
			b.ok(copyFile(filepath.Join(b.w.Common, "index"),
				filepath.Join(b.w.Common, mergeIndex)))
			if c.begin == "" {
				c.begin = "rm f gone; printf 2 >f; echo 2 >new; mkdir d; : >d/e"
			}
			b.sh(b.main, c.begin)
			if got := b.in(b.main, "status", "--porcelain"); c.left == torn &&
				!sameLines(got, c.left) {
				t.Errorf("status:\n%s", got)
			}
			b.sh(b.main, "true; "+c.then)
			b.ok(Settle(t.Context(), b.w.Common, target))
			if got := b.in(b.main, "status", "--porcelain"); got != " M other" {
				t.Errorf("status:\n%s", got)
			}
			b.ok(b.forward(from, to))
			b.in(b.main, "checkout", "-q", "master")
			if got := b.in(b.main, "status", "--porcelain"); got != " M other" ||
				b.in(b.main, "rev-parse", "HEAD") != to {
				t.Errorf("status:\n%s", got)
			}
		})
	}
	t.Run("edited since", func(t *testing.T) {
		b, from, to := delivered(t)
		b.ok(place{gitDir: b.w.Common, top: b.main}.noteDelivery(from, to))
		testfiles.Write(t, b.main, map[string]string{"f": "mine\n", "new": "mine\n", "d/e": ""})
		if err := new(OverlapError); !errors.As(b.forward(from, to), &err) ||
			!slices.Equal(err.Paths, []string{"f", "new"}) {
			t.Errorf("%v", err)
		}
		if got := b.in(b.main, "status", "--porcelain"); got != " M f\n?? new" {
			t.Errorf("status:\n%s", got)
		}
	})
	t.Run("an edit that looks like it", func(t *testing.T) {
		b, from, to := delivered(t)
		testfiles.Write(t, b.main, map[string]string{"f": "", "new": ""})
		for range 2 {
			if err := new(OverlapError); !errors.As(b.forward(from, to), &err) {
				t.Errorf("%v", err)
			}
		}
		if got := b.in(b.main, "status", "--porcelain"); got != " M f\n?? new" {
			t.Errorf("status:\n%s", got)
		}
	})
}

// Files that are in the way, and that are as the branch had them before, are named with all others
// that are: the person may know of none.
func TestFastForwardFormer(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	for name, c := range map[string]struct {
		do   string
		want []string
	}{
		"files": {"git checkout -q master~1 -- f run && git rm -q --cached new && rm new && git reset -q", []string{"f", "new", "run"}},
		"index": {"git reset -q master~1 -- f new run",
			[]string{"f", "new", "run"}},
		"both": {"git checkout -q master~2 -- f", []string{"f"}},
		"another file of their own": {"git checkout -q master~1 -- f; echo mine >g; git add g",
			[]string{"f"}},
		"edited": {"git checkout -q master~1 -- f; echo mine >f", nil},
		"staged": {"echo mine >f; git add f; git show master~1:f >f", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, _ := delivered(t)
			testfiles.Write(t, b.main, map[string]string{"f": "1.5\n"})
			b.in(b.main, "commit", "-qam", "second")
			testfiles.Write(t, b.main, map[string]string{"f": "2\n", "new": "2\n", "run": "2\n"})
			b.in(b.main, "add", ".")
			b.in(b.main, "commit", "-qm", "third")
			from := b.in(b.main, "rev-parse", "master")
			to := b.commitOn("lane2", "master", map[string]string{"f": "3\n"})
			testfiles.Write(t, b.main, map[string]string{"other": "mine\n"})
			b.sh(b.main, c.do)
			err := new(OverlapError)
			if !errors.As(b.forward(from, to), &err) || !slices.Equal(err.Former, c.want) {
				t.Fatalf("%v, %q\n%s", err, err.Former, b.in(b.main, "status", "--porcelain"))
			}
			if c.want == nil {
				return
			}
			b.in(b.main, append([]string{"restore", "--source=HEAD", "--staged", "--worktree",
				"--"}, err.Former...)...)
			b.ok(b.forward(from, to))
			if got := b.in(b.main, "status", "--porcelain"); got != " M other" &&
				got != "M  g\n M other" {
				t.Errorf("status:\n%s", got)
			}
		})
	}
}

func sameLines(a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// What is to be kept isn't in the way: it stays as it is, and the index has what was merged. What
// the person has staged of it, or edited elsewhere, is in the way.
func TestFastForwardKeeps(t *testing.T) {
	t.Parallel()
	keep := func(path string) bool { return path == "f" || path == "new" }
	edits := map[string]string{"f": "mine\n", "new": "mine\n"}
	t.Run("kept", func(t *testing.T) {
		b, from, to := delivered(t)
		testfiles.Write(t, b.main, edits)
		b.ok(FastForward(t.Context(), b.w.Common, target, from, to, passTo(to), keep))
		if got := b.in(b.main, "status", "--porcelain"); got != " M f\n M new" {
			t.Error(got)
		}
		for name, want := range edits {
			if data, err := os.ReadFile(filepath.Join(b.main, name)); string(data) != want {
				t.Errorf("%s: %q %v", name, data, err)
			}
		}
		if data, _ := os.ReadFile(filepath.Join(b.main, "g")); string(data) != "2\n" {
			t.Errorf("g: %q", data)
		}
	})
	for name, do := range map[string]func(b *bench){
		"staged": func(b *bench) { b.in(b.main, "add", "f") },
		"another": func(b *bench) {
			testfiles.Write(b.t, b.main, map[string]string{"g": "mine\n"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, from, to := delivered(t)
			testfiles.Write(t, b.main, edits)
			do(b)
			before := b.mainState()
			err := FastForward(t.Context(), b.w.Common, target, from, to, passTo(to), keep)
			if !errors.As(err, new(*OverlapError)) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, b.mainState()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
