package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// stateRepo is a repository with state files and others, and its main checkout.
func stateRepo(t *testing.T) (*bench, Checkout) {
	t.Helper()
	b := worktree(t, map[string]string{"state/S": "0\n", "state/T": "0\n", "f": "1\n", "g": "1\n",
		".gitignore": "*.log\n"})
	return b, Checkout{Top: b.main, GitDir: b.w.Common, Common: b.w.Common}
}

var statePaths = []string{"state/S", "state/T", "state/new", "state/x.log", "state/none"}

func (b *bench) commitPaths(c Checkout) (string, []string) {
	b.t.Helper()
	id, left, err := CommitPaths(b.t.Context(), c, target, statePaths, "state", time.Unix(1e9, 0))
	b.ok(err)
	for _, name := range []string{"index.lock", nextIndex, committing} {
		if _, err := os.Lstat(filepath.Join(c.GitDir, name)); err == nil {
			b.t.Errorf("%s was left", name)
		}
	}
	return id, left
}

func TestCommitPaths(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		do     func(b *bench)
		paths  string // in the commit
		left   []string
		status string // afterwards
	}{
		{"nothing", func(*bench) {}, "", nil, ""},
		{"edits, a new file, a deletion", func(b *bench) {
			testfiles.Write(b.t, b.main,
				map[string]string{"state/S": "1\n", "state/new": "1\n", "state/x.log": "ignored"})
			b.ok(os.Remove(filepath.Join(b.main, "state/T")))
		}, "M state/S,D state/T,A state/new", nil, ""},
		{"a person's edits", func(b *bench) {
			testfiles.Write(b.t, b.main,
				map[string]string{"f": "staged\n", "added": "1", "state/S": "1\n"})
			b.in(b.main, "add", "f", "added")
			testfiles.Write(b.t, b.main,
				map[string]string{"f": "edited\n", "g": "edited\n", "untracked": ""})
		}, "M state/S", nil, "A  added\nMM f\n M g\n?? untracked"},
		{"a person's staged state", func(b *bench) {
			testfiles.Write(b.t, b.main,
				map[string]string{"state/S": "staged\n", "state/new": "1\n"})
			b.in(b.main, "add", "state")
			testfiles.Write(b.t, b.main, map[string]string{"state/S": "1\n", "state/T": "1\n"})
		}, "M state/T", []string{"state/S", "state/new"}, "MM state/S\nA  state/new"},
		{"removed from the index",
			func(b *bench) { b.in(b.main, "rm", "-q", "--cached", "state/S") }, "",
			[]string{"state/S"}, "D  state/S\n?? state/S"},
		{"an ignored file that git has", func(b *bench) {
			testfiles.Write(b.t, b.main, map[string]string{"state/x.log": "1"})
			b.in(b.main, "add", "-f", "state/x.log")
			b.in(b.main, "commit", "-q", "-m", "log")
			testfiles.Write(b.t, b.main, map[string]string{"state/x.log": "2"})
		}, "M state/x.log", nil, ""},
		{"sparse", func(b *bench) {
			b.in(b.main, "sparse-checkout", "set", "--no-cone", "/f", "/g", "/.gitignore",
				"/state/T")
			testfiles.Write(b.t, b.main, map[string]string{"state/T": "1\n"})
		}, "M state/T", nil, ""},
		{"split index", func(b *bench) {
			b.in(b.main, "config", "core.splitIndex", "true")
			b.in(b.main, "update-index", "--split-index")
			testfiles.Write(b.t, b.main, map[string]string{"state/T": "1\n", "f": "x\n"})
		}, "M state/T", nil, " M f"},
		{"hooks and signing", func(b *bench) {
			hooks := b.t.TempDir()
			for _, hook := range []string{"pre-commit", "commit-msg", "reference-transaction",
				"post-commit", "prepare-commit-msg"} {
				b.ok(os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\nexit 1\n"), 0o755))
			}
			for key, value := range map[string]string{"core.hooksPath": hooks,
				"commit.gpgSign": "true", "gpg.program": "false"} {
				b.in(b.main, "config", key, value)
			}
			testfiles.Write(b.t, b.main, map[string]string{"state/T": "1\n"})
		}, "M state/T", nil, ""},
		{"a symbolic link leads elsewhere", func(b *bench) {
			elsewhere := b.t.TempDir()
			testfiles.Write(b.t, elsewhere,
				map[string]string{"S": "secret", "T": "secret", "new": "secret"})
			b.ok(os.RemoveAll(filepath.Join(b.main, "state")))
			b.ok(os.Symlink(elsewhere, filepath.Join(b.main, "state")))
		}, "", nil, " D state/S\n D state/T\n?? state"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, at := stateRepo(t)
			c.do(b)
			head, files := b.in(b.main, "rev-parse", "HEAD"), b.files(b.main)
			id, left := b.commitPaths(at)
			if got := b.in(b.main, "status", "--porcelain"); got != c.status {
				t.Errorf("status:\n%s", got)
			}
			if !slices.Equal(left, c.left) || (id == "") != (c.paths == "") {
				t.Fatalf("%s, left %q", id, left)
			}
			if id != "" {
				got := b.in(b.main, "diff-tree", "-r", "--name-status", head, id)
				if got = strings.NewReplacer("\t", " ", "\n", ",").Replace(got); got != c.paths ||
					b.in(b.main, "log", "-1", "--format=%P %ct", "master") != head+" 1000000000" {
					t.Errorf("the commit has %s", got)
				}
			}
			for name, text := range files {
				if !strings.HasPrefix(name, ".git/") && b.files(b.main)[name] != text {
					t.Errorf("%s was changed", name)
				}
			}
			if again, _ := b.commitPaths(at); again != "" {
				t.Error("something was left for a second commit")
			}
		})
	}
}

// A prune that was at it while state was committed removes the commit and its tree all the same.
// They are put back.
func TestCommitPathsPruned(t *testing.T) {
	t.Parallel()
	b, at := stateRepo(t)
	testfiles.Write(t, b.main, map[string]string{"state/S": "new\n"})
	commit, _ := b.commitPaths(at)
	for _, id := range []string{commit, b.in(b.main, "rev-parse", commit+"^{tree}"),
		b.in(b.main, "rev-parse", commit+":state/S")} {
		b.ok(os.Remove(filepath.Join(b.w.Common, "objects", id[:2], id[2:])))
	}
	b.ok(Mend(b.w.Common))
	b.in(b.main, "fsck", "--connectivity-only")
}

func TestCommitPathsRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(b *bench)
		want any
	}{
		{"another branch", func(b *bench) { b.in(b.main, "checkout", "-q", "-b", "mine") },
			new(*BranchError)},
		{"detached", func(b *bench) { b.in(b.main, "checkout", "-q", "--detach") },
			new(*BranchError)},
		{"a merge", func(b *bench) {
			b.commitOn("side", "master", map[string]string{"s": "s"})
			b.in(b.main, "merge", "-q", "--no-ff", "--no-commit", "side")
		}, new(*BusyError)},
		{"a git at work", func(b *bench) { b.ok(os.WriteFile(filepath.Join(b.w.Common, "index.lock"), nil, 0o644)) }, new(*LockedError)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, at := stateRepo(t)
			c.do(b)
			testfiles.Write(t, b.main, map[string]string{"state/S": "1\n"})
			before := b.mainState()
			if id, _, err := CommitPaths(t.Context(), at, target, statePaths, "state",
				time.Time{}); id != "" || !errors.As(err, c.want) {
				t.Errorf("%s, %v", id, err)
			}
			if diff := cmp.Diff(before, b.mainState()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a killed call left is finished by the next one, and by a delivery.
func TestCommitPathsKilled(t *testing.T) {
	testfiles.Slow(t)
	for _, c := range []struct {
		name string
		kill func(b *bench, p place, head, commit string)
	}{
		{"with the lock", func(b *bench, p place, _, _ string) { b.ok(p.lockIndex()) }},
		{"before the branch was moved", func(b *bench, p place, _, commit string) {
			b.ok(p.lockIndex())
			b.ok(os.WriteFile(filepath.Join(p.gitDir, nextIndex), []byte("half"), 0o644))
			b.ok(os.WriteFile(filepath.Join(p.gitDir, committing), []byte(commit+"\n"), 0o644))
		}},
		{"before the branch was moved, and the commit was pruned",
			func(b *bench, p place, _, commit string) {
				b.ok(p.lockIndex())
				b.ok(os.WriteFile(filepath.Join(p.gitDir, committing), []byte(commit+"\n"), 0o644))
				b.ok(os.Remove(filepath.Join(b.w.Common, "objects", commit[:2], commit[2:])))
			}},
		{"after it was", func(b *bench, p place, head, commit string) {
			b.ok(p.lockIndex())
			b.ok(os.WriteFile(filepath.Join(p.gitDir, committing), []byte(commit+"\n"), 0o644))
			b.in(b.main, "update-ref", target, commit, head)
		}},
		{"after it was, and the person removed the lock",
			func(b *bench, p place, head, commit string) {
				b.ok(os.WriteFile(filepath.Join(p.gitDir, committing), []byte(commit+"\n"), 0o644))
				b.in(b.main, "update-ref", target, commit, head)
				testfiles.Write(b.t, b.main, map[string]string{"state/T": "2\n"})
				b.in(b.main, "add", "state/T")
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, at := stateRepo(t)
			p := place{gitDir: at.GitDir, top: at.Top}
			testfiles.Write(t, b.main, map[string]string{"state/S": "1\n", "state/T": "1\n",
				"state/new": "1\n", "f": "staged\n"})
			b.in(b.main, "add", "f")
			head := b.in(b.main, "rev-parse", "HEAD")
			commit, err := p.commit(t.Context(), at.Common, head,
				[]string{"state/S", "state/T", "state/new"}, "state", time.Unix(1e9, 0))
			b.ok(err)
			c.kill(b, p, head, commit)
			staged := strings.Contains(c.name, "person")
			_, left := b.commitPaths(at)
			want, status := commit, "M  f"
			if staged {
				status = "M  f\nM  state/T"
			}
			if got := b.in(b.main, "rev-parse", "master"); got != want {
				t.Errorf("master is %s, want %s", got, want)
			}
			if got := b.in(b.main, "status", "--porcelain"); got != status ||
				staged != slices.Contains(left, "state/T") {
				t.Errorf("status:\n%s\nleft %q", got, left)
			}
		})
	}
	b, from, to := delivered(t)
	b.ok(place{gitDir: b.w.Common, top: b.main}.lockIndex())
	b.ok(b.forward(from, to))
}
