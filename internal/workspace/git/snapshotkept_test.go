package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// What only the worktree's own records have is kept: after the worktree, its branches and their
// logs are gone and everything that no ref has is pruned, each commit is still there.
func TestSnapshotKeepsCommits(t *testing.T) {
	testfiles.Slow(t)
	commit := func(b *bench, text string) string {
		b.write("a", text)
		b.git("commit", "-qam", text)
		return b.git("rev-parse", "HEAD")
	}
	for _, tt := range []struct {
		name string
		do   func(b *bench) []string // revisions that must be there
		has  string                  // a ref that must be there
	}{
		{"HEAD off the branch", func(b *bench) []string {
			b.git("checkout", "-q", "--detach")
			return []string{commit(b, "detached")}
		}, "head"},
		{"staged, then edited", func(b *bench) []string {
			b.write("a", "staged")
			b.git("add", "a")
			b.write("a", "edited")
			return []string{b.git("rev-parse", ":a")}
		}, "index"},
		{"amended", func(b *bench) []string {
			first := commit(b, "1")
			b.git("commit", "-q", "--amend", "-m", "2")
			return []string{first, b.git("rev-parse", "HEAD")}
		}, "log-1"},
		{"reset", func(b *bench) []string {
			one, two := commit(b, "1"), commit(b, "2")
			b.git("reset", "-q", "--hard", "HEAD~2")
			return []string{one, two}
		}, "log-1"},
		{"a branch that was removed", func(b *bench) []string {
			b.git("checkout", "-q", "-b", "side")
			id := commit(b, "1")
			b.git("checkout", "-q", "work")
			b.git("branch", "-q", "-D", "side")
			return []string{id}
		}, "log-1"},
		{"stashed twice", func(b *bench) []string {
			var ids []string
			for i := range 2 {
				b.write("a", fmt.Sprint("stash", i))
				b.write("untracked", "x")
				b.git("stash", "-q", "-u")
				ids = append(ids, b.git("rev-parse", "stash"), b.git("rev-parse", "stash^3"))
			}
			return ids
		}, "stash-2"},
		{"a rebase that stopped, with an autostash", func(b *bench) []string {
			mine := commit(b, "mine")
			b.git("checkout", "-q", "-b", "onto", "HEAD~")
			theirs := commit(b, "theirs")
			b.git("checkout", "-q", "work")
			b.write("f", "dirty")
			if exec.Command("git", "-C", b.w.Path, "rebase", "-q", "--autostash",
				"onto").Run() == nil {
				b.t.Fatal("no conflict")
			}
			stash, err := os.ReadFile(filepath.Join(b.w.Admin, "rebase-merge", "autostash"))
			b.ok(err)
			return []string{mine, theirs, strings.TrimSpace(string(stash))}
		}, "log-1"},
		{"a merge that stopped", func(b *bench) []string {
			commit(b, "mine")
			b.git("checkout", "-q", "--detach", "HEAD~")
			theirs := commit(b, "theirs")
			b.git("checkout", "-q", "work")
			if exec.Command("git", "-C", b.w.Path, "merge", "-q", theirs).Run() == nil {
				b.t.Fatal("no conflict")
			}
			return []string{theirs, b.git("rev-parse", "HEAD")}
		}, "log-1"},
		{"an orphan's parent is the last commit", func(b *bench) []string {
			id := commit(b, "1")
			b.git("checkout", "-q", "--orphan", "empty")
			return []string{id}
		}, "tree"},
		{"a ref of the worktree's own", func(b *bench) []string {
			b.git("checkout", "-q", "--detach")
			id := commit(b, "1")
			b.git("update-ref", "refs/worktree/mine", id)
			b.git("checkout", "-q", "work")
			b.ok(os.Remove(filepath.Join(b.w.Admin, "logs", "HEAD")))
			return []string{id}
		}, "log-1"},
		{"commits of a nested repository", func(b *bench) []string {
			nr := filepath.Join(b.w.Path, "nr")
			b.write("nr/x", "1")
			b.in(nr, "init", "-q")
			var ids []string
			for range 2 {
				b.in(nr, "add", "-A")
				b.in(nr, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q",
					"--allow-empty", "-m", "nested")
				ids = append(ids, b.in(nr, "rev-parse", "HEAD"))
			}
			b.in(nr, "reset", "-q", "--hard", "HEAD~")
			return ids
		}, "mod-1"},
		{"commits of the repository that took the top's place", func(b *bench) []string {
			b.remove(".git")
			b.git("init", "-q")
			b.git("add", "-A")
			b.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "mine")
			return []string{b.git("rev-parse", "HEAD")}
		}, "mod-1"},
		{"commits of a repository among tracked files", func(b *bench) []string {
			d := filepath.Join(b.w.Path, "d")
			b.in(d, "init", "-q")
			b.in(d, "add", "-A")
			b.in(d, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "mine")
			return []string{b.in(d, "rev-parse", "HEAD")}
		}, "mod-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := worktree(t, start)
			ids := tt.do(b)
			o := b.options()
			o.Exact = true
			s := b.snapshot(o)
			const prefix = "refs/gl/wip/p/_/s-1/1/1"
			b.ok(Keep(t.Context(), b.w.Common, prefix, s))
			if len(s.Failed) > 0 {
				t.Errorf("failed: %q", s.Failed)
			}
			b.in(b.main, "rev-parse", "-q", "--verify", prefix+"/"+tt.has)
			o.Last = s.Tree
			if again := b.snapshot(o); !again.Same {
				t.Errorf("nothing changed since: %+v", again)
			}
			b.remove("")
			b.ok(os.RemoveAll(b.w.Admin))
			for _, ref := range strings.Fields(b.in(b.main, "for-each-ref", "--format=%(refname)",
				"refs/heads", "refs/stash")) {
				if ref != b.in(b.main, "symbolic-ref", "HEAD") {
					b.in(b.main, "update-ref", "-d", ref)
				}
			}
			b.in(b.main, "reflog", "expire", "--expire=all", "--all")
			b.in(b.main, "gc", "-q", "--prune=now")
			for _, id := range ids {
				b.in(b.main, "cat-file", "-e", id)
			}
			b.in(b.main, "fsck", "--strict", "--no-dangling")
		})
	}
}

// Entries of the stash that were there before aren't the worktree's.
func TestSnapshotStashesOfOthers(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.ok(os.WriteFile(filepath.Join(b.main, "a"), []byte("theirs"), 0o644))
	b.in(b.main, "stash", "-q")
	o := b.options()
	var err error
	o.Stashes, err = Stashes(b.w.Common)
	b.ok(err)
	b.write("a", "mine")
	b.git("stash", "-q")
	if s := b.snapshot(o); len(s.Stashes) != 1 || s.Stashes[0] != b.git("rev-parse", "stash") {
		t.Errorf("%+v", s)
	}
}

// A submodule stays a gitlink until it has changes of its own, which are kept as files.
func TestSnapshotSubmodules(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	b := worktree(t, start)
	other := filepath.Join(filepath.Dir(b.main), "other")
	b.in(b.main, "init", "-q", other)
	b.ok(os.WriteFile(filepath.Join(other, "x"), []byte("1"), 0o644))
	b.in(other, "add", "-A")
	b.in(other, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "1")
	b.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	b.git("commit", "-qm", "submodule")
	sub := filepath.Join(b.w.Path, "sub")
	for _, exact := range []bool{false, true} {
		o := b.options()
		o.Exact = exact
		mode := func(s *Snapshot) string { return strings.Fields(b.git("ls-tree", s.Tree, "sub"))[0] }
		if s := b.snapshot(o); mode(s) != gitlink || len(s.Modules) > 0 {
			t.Errorf("clean: %+v", s)
		}
		b.write("sub/new", "1")
		s := b.snapshot(o)
		if mode(s) != "040000" {
			t.Errorf("changed: %s", mode(s))
		}
		b.same("changed", s.Tree)
		b.in(sub, "add", "-A")
		// Another commit each time, also within one second.
		b.in(sub, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m",
			fmt.Sprint("2 ", exact))
		s = b.snapshot(o)
		if mode(s) != "040000" {
			t.Errorf("committed: %s", mode(s))
		}
		b.same("committed", s.Tree)
		if exact && (len(s.Modules) != 1 || s.Modules[0] != b.in(sub, "rev-parse", "HEAD")) {
			t.Errorf("committed: %+v", s)
		}
		b.in(sub, "push", "-q", "origin", fmt.Sprint("HEAD:refs/heads/", exact))
		s = b.snapshot(o)
		if mode(s) != gitlink || len(s.Modules) > 0 ||
			!strings.Contains(b.git("ls-tree", s.Tree, "sub"), b.in(sub, "rev-parse", "HEAD")) {
			t.Errorf("pushed: %+v", s)
		}
		b.in(sub, "reset", "-q", "--hard", "HEAD~")
		b.in(sub, "reflog", "expire", "--expire=all", "--all")
		b.in(sub, "update-ref", "-d", "ORIG_HEAD")
	}
}

// A sparse checkout: what is left out stays as HEAD has it.
func TestSnapshotSparse(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"there", "gone", "sparse"} {
		for _, exact := range []bool{false, true} {
			b := worktree(t, start)
			args := []string{"sparse-checkout", "set", "d"}
			if index == "sparse" {
				args = []string{"sparse-checkout", "set", "--sparse-index", "d"}
			}
			b.git(args...)
			b.write("d/c", "x")
			b.write("g/new", "outside")
			if index == "gone" {
				b.ok(os.Remove(filepath.Join(b.w.Admin, "index")))
			} else {
				b.remove("d/e")
			}
			o := b.options()
			o.Exact = exact
			got := b.tree(b.snapshot(o).Tree)
			_, removed := got["d/e"]
			if got["g/h"] != "6\n" || got["d/c"] != "x" || got["g/new"] != "outside" ||
				removed != (index == "gone") {
				t.Errorf("index %s, exact %v: %q", index, exact, got)
			}
		}
	}
}

// gl's commits have the person's name if there is one, sign nothing, and no hook runs.
func TestSnapshotIdentity(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.git("config", "commit.gpgSign", "true")
	b.git("config", "gpg.program", "/bin/false")
	hooks := filepath.Join(b.w.Common, "hooks")
	b.ok(os.MkdirAll(hooks, 0o755))
	ran := filepath.Join(b.t.(*testing.T).TempDir(), "ran")
	for _, name := range []string{"reference-transaction", "post-index-change", "pre-commit"} {
		b.ok(os.WriteFile(filepath.Join(hooks, name),
			[]byte("#!/bin/sh\ntouch '"+ran+"'\nexit 1\n"), 0o755))
	}
	who := func(k int) string {
		b.write("a", fmt.Sprint(k))
		s, err := b.w.Save(t.Context(), fmt.Sprint("refs/gl/wip/p/_/s-1/1/", k), b.options())
		b.ok(err)
		return b.git("log", "-1", "--format=%an <%ae> %cn <%ce>", s.Tree)
	}
	if got := who(1); got != "t <t@t> t <t@t>" {
		t.Error(got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook ran")
	}
	b.ok(os.RemoveAll(hooks))
	b.git("config", "--unset", "user.name")
	b.git("config", "--unset", "user.email")
	b.git("config", "user.useConfigOnly", "true")
	if got := who(2); got != "Greenlight <greenlight@localhost> Greenlight <greenlight@localhost>" {
		t.Error(got)
	}
}

// A prune between the objects of a snapshot and its refs takes what only gl has. It is put there
// again; after a kill in between, by whatever gl does next in the repository.
func TestPrunedBeforeTheRefs(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"a": "a"})
	b.write("work", "work")
	s, err := b.w.newSnapshot(t.Context(), SnapshotOptions{Exact: true})
	b.ok(err)
	b.ok(s.take(t.Context()))
	b.ok(s.g.q.release())
	b.in(b.main, "prune", "--expire=now")
	b.ok(keep(t.Context(), b.w.Common, "refs/gl/wip/p/s/1/1", &s.Snapshot, s.g.q))
	if got := b.in(b.main, "show", "refs/gl/wip/p/s/1/1/tree:work"); got != "work" {
		t.Errorf("the snapshot has %q", got)
	}
	b.ok(os.Remove(filepath.Join(b.w.Common, "objects", s.Snapshot.Tree[:2], s.Snapshot.Tree[2:])))
	b.ok(s.g.q.lock.Unlock()) // it was killed before it saw that
	q, err := newQuarantine(b.w.Common)
	b.ok(err)
	b.ok(q.remove())
	b.in(b.main, "fsck", "--connectivity-only")
	if left, _ := filepath.Glob(filepath.Join(b.w.Common, quarantines+"*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A prune that was at it when a snapshot got its refs removes its objects all the same. They are
// put back.
func TestPrunedAfterTheRefs(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"a": "a"})
	b.write("work", "work")
	s, err := b.w.Save(t.Context(), "refs/gl/wip/p/s/1/1", SnapshotOptions{Exact: true})
	b.ok(err)
	for _, id := range []string{s.Tree, s.Whole} {
		b.ok(os.Remove(filepath.Join(b.w.Common, "objects", id[:2], id[2:])))
	}
	if gone, err := Pruned(t.Context(), b.w.Common); err != nil || len(gone) != 2 {
		t.Errorf("pruned: %q, %v", gone, err)
	}
	b.ok(Mend(b.w.Common))
	if gone, err := Pruned(t.Context(), b.w.Common); err != nil || len(gone) > 0 {
		t.Errorf("pruned, and put back: %q, %v", gone, err)
	}
	b.in(b.main, "fsck", "--connectivity-only")
	if got := b.in(b.main, "show", "refs/gl/wip/p/s/1/1/tree:work"); got != "work" {
		t.Errorf("the snapshot has %q", got)
	}
	old := filepath.Join(b.w.Common, heldDir, "1")
	b.ok(os.Mkdir(old, 0o755))
	b.ok(Mend(b.w.Common))
	if _, err := os.Stat(old); err == nil {
		t.Error("objects are held for good")
	}
}

// Objects are held before refs have them, so a kill at the change of the refs leaves nothing that
// can't be put back.
func TestHeldBeforeTheRefs(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"a": "a"})
	head := b.head()
	commit := b.in(b.main, "commit-tree", "-m", "new", "-p", head, head+"^{tree}")
	file := filepath.Join(b.w.Common, "objects", commit[:2], commit[2:])
	lock := filepath.Join(b.w.Common, "refs", "heads", "new.lock")
	b.ok(os.WriteFile(lock, nil, 0o644))
	change := RefChange{Name: "refs/heads/new", New: commit}
	if err := ChangeWhole(t.Context(), b.w.Common, "test", []string{head},
		change); !errors.Is(err, ErrRefLocked) {
		t.Fatal(err)
	}
	for range 2 {
		b.ok(os.Remove(file))
		b.ok(putBack(t.Context(), b.w.Common, []string{commit}))
	}
	b.ok(os.Remove(lock))
	b.ok(ChangeWhole(t.Context(), b.w.Common, "test", []string{head}, change))
	b.ok(os.Remove(file))
	b.ok(os.RemoveAll(filepath.Join(b.w.Common, heldDir)))
	if err := putBack(t.Context(), b.w.Common, []string{commit}); !errors.Is(err, ErrLost) {
		t.Errorf("put back from nowhere: %v", err)
	}
}

// A prune beside an agent's own commit leaves its branch at a commit that isn't there. The branch
// goes back to the last one that is.
func TestLastWhole(t *testing.T) {
	t.Parallel()
	for _, lose := range []string{"the newest", "one below", "its tree"} {
		t.Run(lose, func(t *testing.T) {
			b := worktree(t, map[string]string{"a": "a"})
			base := b.head()
			b.write("a", "whole")
			b.git("commit", "-qam", "whole")
			head := b.head()
			b.write("a", "work")
			b.git("commit", "-qam", "work")
			lost := b.head()
			if lose != "the newest" {
				b.write("c", "upon it")
				b.git("add", "c")
				b.git("commit", "-qm", "upon it")
			}
			if lose == "its tree" {
				lost = b.git("rev-parse", lost+"^{tree}")
			}
			b.ok(os.Remove(filepath.Join(b.w.Common, "objects", lost[:2], lost[2:])))
			from, to, err := b.w.LastWhole(t.Context(), work, base)
			b.ok(err)
			b.ok(b.w.Exclusive().MoveLost(t.Context(), work, from, to))
			if got := b.head(); got != head {
				t.Errorf("the branch is at %s", got)
			}
			tip, changed, err := b.w.Exclusive().CommitAll(t.Context(), work, "left")
			b.ok(err)
			if !changed || b.tree(tip)["a"] != "work" {
				t.Errorf("committed: %v, %v", changed, b.tree(tip))
			}
			b.in(b.main, "rev-list", "--objects", "--all", "HEAD")
			b.in(b.main, "gc", "-q")
		})
	}
}

// Killed before it moves a branch, MoveLost has cleaned its logs already, and is called again.
// Another broken ref is in the way of neither.
func TestMoveLostKilled(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	b := worktree(t, map[string]string{"a": "a"})
	base := b.head()
	b.write("a", "work")
	b.git("commit", "-qam", "work")
	lost := b.head()
	b.git("commit", "-q", "--allow-empty", "-m", "upon it")
	tip := b.head()
	b.in(b.main, "update-ref", "refs/heads/other",
		b.in(b.main, "commit-tree", "-m", "other", "-p", base, base+"^{tree}"))
	for _, id := range []string{lost, b.in(b.main, "rev-parse", "other")} {
		b.ok(os.Remove(filepath.Join(b.w.Common, "objects", id[:2], id[2:])))
	}
	// As if it ended before the branch was moved.
	if err := b.w.Exclusive().MoveLost(t.Context(), work, base,
		base); !errors.Is(err, ErrRefMoved) {
		t.Error(err)
	}
	from, to, err := b.w.LastWhole(t.Context(), work, base)
	if err != nil || from != tip || to != base {
		t.Fatalf("from %s to %s, %v", from, to, err)
	}
	b.ok(b.w.Exclusive().MoveLost(t.Context(), work, from, to))
	b.git("reset", "-q")
	b.in(b.main, "update-ref", "-d", "refs/heads/other")
	b.in(b.main, "gc", "-q")
}

// What gl makes is held from then on, before any ref has it.
func TestHeldFromTheStart(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"a": "a"})
	has := b.head()
	b.ok(os.WriteFile(filepath.Join(b.w.Common, "new"), []byte("new"), 0o644))
	blob := b.in(b.main, "hash-object", "-w", filepath.Join(b.w.Common, "new"))
	tree, err := TreeWith(t.Context(), b.w.Common, has, map[string]File{"new": {"100644", blob}})
	b.ok(err)
	id, err := CommitTree(t.Context(), b.w.Common,
		NewCommit{Tree: tree, Parents: []string{has}, Message: "new"})
	b.ok(err)
	b.in(b.main, "prune", "--expire=now")
	if back, err := PutBack(t.Context(), b.w.Common); err != nil || !back {
		t.Errorf("put back: %v, %v", back, err)
	}
	if got := b.in(b.main, "ls-tree", "--name-only", id); got != "a\nnew" {
		t.Errorf("the commit has %q", got)
	}
	if back, err := PutBack(t.Context(), b.w.Common); err != nil || back {
		t.Errorf("put back once more: %v, %v", back, err)
	}
}

// A branch whose base is lost is put back from what is held. Where that isn't enough, it is
// ErrLost, and nothing moves.
func TestLastWholeBase(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{true, false} {
		b := worktree(t, map[string]string{"a": "a"})
		has := b.head()
		base, err := CommitTree(t.Context(), b.w.Common,
			NewCommit{Tree: has + "^{tree}", Parents: []string{has}, Message: "brought back"})
		b.ok(err)
		if !held {
			b.ok(os.RemoveAll(filepath.Join(b.w.Common, heldDir)))
		}
		b.ok(ChangeRefs(t.Context(), b.w.Common, "test",
			RefChange{Name: work, New: base, Old: has}))
		b.ok(os.Remove(filepath.Join(b.w.Common, "objects", base[:2], base[2:])))
		if _, _, err := b.w.LastWhole(t.Context(), work, base, has); held && err != nil ||
			!held && !errors.Is(err, ErrLost) {
			t.Errorf("held %v: %v", held, err)
		}
		if got := b.head(); got != base {
			t.Errorf("held %v: the branch is at %s", held, got)
		}
		if held {
			b.in(b.main, "fsck", "--connectivity-only")
		}
	}
}

// A ref whose objects are gone fails nothing but what asks for it.
func TestBrokenRef(t *testing.T) {
	for _, lose := range []string{"its commit", "one below", "its tree"} {
		t.Run(lose, func(t *testing.T) {
			b := worktree(t, map[string]string{"a": "a"})
			good := b.head()
			commit := func(tree, parent string) string {
				id, err := CommitTree(t.Context(), b.w.Common,
					NewCommit{Tree: tree, Parents: []string{parent}, Message: tree + parent})
				b.ok(err)
				return id
			}
			tree, err := TreeWith(t.Context(), b.w.Common, good, map[string]File{})
			b.ok(err)
			b.write("a", "lost")
			b.ok(os.WriteFile(filepath.Join(b.w.Common, "lost"), []byte("lost"), 0o644))
			blob := b.in(b.main, "hash-object", "-w", filepath.Join(b.w.Common, "lost"))
			other, err := TreeWith(t.Context(), b.w.Common, good,
				map[string]File{"lost": {"100644", blob}})
			b.ok(err)
			below := commit(other, good)
			broken := commit(other, below)
			upon := commit(tree, broken)
			lost := map[string]string{"its commit": broken, "one below": below,
				"its tree": other}[lose]
			for _, name := range []string{"refs/heads/gl/s/_/S-1/1", "refs/gl/wip/p/s/1/1/tree"} {
				b.ok(ChangeRefs(t.Context(), b.w.Common, "test",
					RefChange{Name: name, New: broken}))
			}
			b.ok(os.RemoveAll(filepath.Join(b.w.Common, heldDir)))
			b.ok(os.Remove(filepath.Join(b.w.Common, "objects", lost[:2], lost[2:])))

			b.ok(ChangeWhole(t.Context(), b.w.Common, "test", []string{good},
				RefChange{Name: "refs/gl/next/p/main", New: commit(tree, good)}))
			b.ok(ChangeWhole(t.Context(), b.w.Common, "test", []string{"--branches"},
				RefChange{Name: "refs/gl/next/p/other", New: commit(tree, good)}))
			b.ok(DropLost(t.Context(), b.w.Common, "refs/gl/next/p/main", "--branches"))
			for k := 1; k < 3; k++ {
				b.write("a", fmt.Sprint(k))
				s, err := b.w.Save(t.Context(), fmt.Sprint("refs/gl/wip/p/s/2/", k),
					SnapshotOptions{Exact: true})
				b.ok(err)
				if s.Tree == "" {
					t.Error("no snapshot")
				}
			}
			_, err = OnlyBelow(t.Context(), b.w.Common, []string{"refs/gl/wip/p/s/2/1/tree"})
			b.ok(err)
			refs, err := Refs(t.Context(), b.w.Common, "refs/gl/")
			b.ok(err)
			for _, r := range refs {
				if r.Time.IsZero() {
					t.Errorf("no time: %+v", r)
				}
			}
			want := 7
			if lose == "its commit" {
				want--
			}
			if len(refs) != want {
				t.Errorf("refs: %v", refs)
			}
			err = ChangeWhole(t.Context(), b.w.Common, "test", []string{good},
				RefChange{Name: "refs/gl/next/p/third", New: upon})
			if !errors.Is(err, ErrLost) {
				t.Errorf("upon the lost: %v", err)
			}
			b.ok(DropLost(t.Context(), b.w.Common, "refs/heads/gl/s/_/S-1/1", good))
			if got, err := ResolveCommit(t.Context(), b.w.Common,
				"refs/heads/gl/s/_/S-1/1"); got != "" || err != nil {
				t.Errorf("a lost ref stays: %s, %v", got, err)
			}
		})
	}
}
