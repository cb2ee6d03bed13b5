package worktree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A deleted worktree is made again, with the branch's commits and the last snapshot's files; what
// only its entry had is kept by refs.
func TestDeletedByHand(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "s-1")
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "committed\n"})
	commit(t, l.Path, "work")
	dropped := gitIn(t, l.Path, "commit-tree", "-p", "HEAD", "-m", "dropped", "HEAD^{tree}")
	gitIn(t, l.Path, "reset", "-q", "--hard", dropped)
	gitIn(t, l.Path, "reset", "-q", "--hard", "HEAD~1")
	testfiles.Write(t, l.Path, map[string]string{"new/file": "new\n", "sub/b.txt": "edited\n"})
	must(t, os.Remove(filepath.Join(l.Path, ".gitignore")))
	s, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{})
	if err != nil || s.Prefix != "refs/gl/wip/_/_/_s-1/1/1" {
		t.Fatalf("%+v, %v", s, err)
	}
	// As if it came after the snapshot.
	gitIn(t, root, "update-ref", "-d", "refs/gl/wip/_/_/_s-1/1/1/log-1")
	testfiles.Write(t, l.Path, map[string]string{"staged": "staged\n"})
	gitIn(t, l.Path, "add", "staged")
	must(t, os.RemoveAll(l.Path))

	again := plan(t, r, "s-1")
	if again.N != 1 {
		t.Fatalf("%+v", again)
	}
	finish(t, r, again, Making{})
	if got := gitIn(t, l.Path, "log", "-1", "--format=%s"); got != "work" {
		t.Errorf("HEAD is %s", got)
	}
	if got := gitIn(t, l.Path, "status",
		"--porcelain"); got != "D .gitignore\n M sub/b.txt\n?? new/" &&
		got != " D .gitignore\n M sub/b.txt\n?? new/" {
		t.Errorf("status:\n%s", got)
	}
	if again.Again || again.Phase != Ready {
		t.Errorf("%+v", again)
	}
	kept := gitIn(t, root, "for-each-ref", "--format=%(refname) %(objectname)",
		"refs/gl/wip/_/_/_s-1/1/2")
	if !strings.Contains(kept, "/log-1 "+dropped) || strings.Contains(kept, "/tree ") {
		t.Errorf("kept: %s", kept)
	}
	if got := gitIn(t, root, "ls-tree", "-r", "--name-only",
		"refs/gl/wip/_/_/_s-1/1/2/index"); !strings.Contains(got, "staged") {
		t.Errorf("the index: %s", got)
	}
}

// A snapshot of an older commit isn't written over a newer one: that would undo what was committed
// meanwhile.
func TestOldSnapshotIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "s-1")
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "half\n"})
	if _, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{}); err != nil {
		t.Fatal(err)
	}
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "whole\n"})
	commit(t, l.Path, "whole")
	must(t, os.RemoveAll(l.Path))
	finish(t, r, l, Making{})
	if got := read(t, l.Path, "a.txt"); got != "whole\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestDeletedAndMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, root string, l *Lineage)
		want string // the error of Make, "" for none
		n    int    // of the next lineage
	}{
		"pruned": {func(t *testing.T, root string, l *Lineage) {
			must(t, os.RemoveAll(l.Path))
			must(t, os.RemoveAll(l.Admin))
		}, "", 1},
		"emptied": {func(t *testing.T, root string, l *Lineage) {
			must(t, os.RemoveAll(l.Path))
			must(t, os.Mkdir(l.Path, 0o755))
		}, "", 1},
		"no worktrees at all": {func(t *testing.T, root string,
			l *Lineage) {
			must(t, os.RemoveAll(root+".gl"))
		}, "", 1},
		"moved": {func(t *testing.T, root string, l *Lineage) {
			gitIn(t, root, "worktree", "move", "-f", "-f", l.Path, root+".moved")
		}, "was moved to", 1},
		"branch, too": {func(t *testing.T, root string, l *Lineage) {
			must(t, os.RemoveAll(l.Path))
			must(t, os.RemoveAll(l.Admin))
			gitIn(t, root, "branch", "-D", short(l.Branch))
		}, "another owner", 2},
		"checked out elsewhere": {func(t *testing.T, root string, l *Lineage) {
			must(t, os.RemoveAll(l.Path))
			must(t, os.RemoveAll(l.Admin))
			gitIn(t, root, "switch", "-q", short(l.Branch))
		}, "is checked out in", 1},
		"in another worktree": {func(t *testing.T, root string, l *Lineage) {
			must(t, os.RemoveAll(l.Path))
			must(t, os.RemoveAll(l.Admin))
			gitIn(t, root, "worktree", "add", "-q", root+".other", short(l.Branch))
		}, ".other", 1},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t)
			r := open(t, root)
			l := made(t, r, "s-1")
			c.harm(t, root, l)
			h, err := r.Make(t.Context(), plan(t, r, "s-1"), Making{})
			if c.want == "" {
				must(t, err)
				must(t, h.Release())
				checkMade(t, r, "s-1")
			} else if err == nil || !errors.As(err, new(*Refused)) ||
				!strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if next := plan(t, r, "s-1"); next.N != c.n {
				t.Errorf("the next lineage is %d", next.N)
			}
		})
	}
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "s-1")
	if s, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{}); s != nil || err != nil {
		t.Errorf("of nothing: %+v, %v", s, err)
	}
	finish(t, r, l, Making{})
	take := func() *Snapshot {
		s, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{Last: true})
		must(t, err)
		return s
	}
	take()
	if s := take(); !s.Same || s.Prefix != "refs/gl/wip/_/_/_s-1/1/1" {
		t.Errorf("%+v", s)
	}
	// What is more than a tree stays.
	gitIn(t, root, "update-ref", "refs/gl/wip/_/_/_s-1/1/1/log-1", l.Base)
	for k := 2; k <= mostSnapshots; k++ {
		gitIn(t, root, "update-ref", fmt.Sprintf("refs/gl/wip/_/_/_s-1/1/%d/tree", k), l.Base)
	}
	testfiles.Write(t, l.Path, map[string]string{"new": "new"})
	if s := take(); s.Prefix != fmt.Sprintf("refs/gl/wip/_/_/_s-1/1/%d", mostSnapshots+1) {
		t.Errorf("%+v", s)
	}
	all, err := r.Snapshots.wipRefs(t.Context(), l)
	if err != nil || len(all) != mostSnapshots || all[1] == nil || all[2] != nil {
		t.Errorf("%d are left: %v, %v", len(all), all, err)
	}
}

// A later snapshot doesn't keep a commit that an earlier one has. When that one is given up, the
// commit isn't.
func TestOldSnapshotsLeaveTheirCommits(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "s-1")
	take := func() *Snapshot {
		s, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{Last: true})
		must(t, err)
		return s
	}
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "amended\n"})
	lost := commit(t, l.Path, "first")
	take()
	gitIn(t, l.Path, "commit", "-q", "--amend", "-m", "again")
	take()
	for k := 3; k <= mostSnapshots+1; k++ {
		gitIn(t, root, "update-ref", fmt.Sprintf("refs/gl/wip/_/_/_s-1/1/%d/tree", k), l.Base)
	}
	testfiles.Write(t, l.Path, map[string]string{"new": "new"})
	take()
	if refs := gitIn(t, root, "for-each-ref", "refs/gl/wip/_/_/_s-1/1/1/tree"); refs != "" {
		t.Fatalf("the first isn't given up: %s", refs)
	}
	if refs := gitIn(t, root, "for-each-ref", "--contains", lost); refs == "" {
		t.Error("no ref has the commit that was amended")
	}
}

// A git that was killed while it wrote refs has left its locks. No later one gets past them.
func TestSnapshotBesideLocks(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "s-1")
	locks := func(refs ...string) {
		for _, ref := range refs {
			testfiles.Write(t, r.Git.Common, map[string]string{ref + ".lock": ""})
		}
	}
	locks(l.Branch)
	finish(t, r, l, Making{})
	take := func(prefix string) {
		t.Helper()
		s, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{Last: true})
		if err != nil || s.Prefix != prefix {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	testfiles.Write(t, l.Path, map[string]string{"new": "1"})
	locks("refs/gl/wip/_/_/_s-1/1/1/tree")
	take("refs/gl/wip/_/_/_s-1/1/2")
	// What can't be given up doesn't cost the new one.
	for k := 3; k <= mostSnapshots+1; k++ {
		gitIn(t, root, "update-ref", fmt.Sprintf("refs/gl/wip/_/_/_s-1/1/%d/tree", k), l.Base)
	}
	locks("packed-refs")
	testfiles.Write(t, l.Path, map[string]string{"new": "2"})
	take(fmt.Sprintf("refs/gl/wip/_/_/_s-1/1/%d", mostSnapshots+2))
	// Of a deleted worktree.
	gitIn(t, l.Path, "checkout", "-q", "--detach")
	commit(t, l.Path, "off the branch")
	locks(fmt.Sprintf("refs/gl/wip/_/_/_s-1/1/%d/head", mostSnapshots+3))
	must(t, os.RemoveAll(l.Path))
	take(fmt.Sprintf("refs/gl/wip/_/_/_s-1/1/%d", mostSnapshots+4))
}

// landed makes a worktree whose work is in the target.
func landed(t *testing.T, root string) (*Repo, *Lineage) {
	t.Helper()
	r := open(t, root)
	l := made(t, r, "s-1")
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "done\n"})
	commit(t, l.Path, "done")
	gitIn(t, root, "merge", "-q", "--ff-only", short(l.Branch))
	return r, l
}

func TestRemove(t *testing.T) {
	t.Parallel()
	root := project(t)
	r, l := landed(t, root)
	cache := filepath.Join(l.Path, "build", "cache")
	testfiles.Write(t, l.Path, map[string]string{"build/cache/x": ""})
	must(t, os.Chmod(cache, 0o500))
	l.Ignored = []string{"build/"}
	must(t, r.Lineages.Save(l))
	if kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil || kept != "" {
		t.Fatalf("%q, %v", kept, err)
	}
	if !gone(l.Path) || !gone(root+".gl") || !gone(l.Admin) || !gone(r.Layout.lockFile(l)) {
		t.Error("something is left")
	}
	if got := gitIn(t, root, "rev-parse", l.Branch); got != gitIn(t, root, "rev-parse", "HEAD") {
		t.Errorf("the branch is at %s", got)
	}
	if kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil || kept != "" {
		t.Errorf("again: %q, %v", kept, err)
	}
	if next := plan(t, r, "s-1"); next.N != 2 {
		t.Errorf("%+v", next)
	}
}

func TestRemoveKeeps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, root string, l *Lineage)
		want   string
	}{
		"a commit": {func(t *testing.T, root string, l *Lineage) {
			testfiles.Write(t, l.Path, map[string]string{"a.txt": "more\n"})
			commit(t, l.Path, "more")
		}, "has 1 commit"},
		"a change": {func(t *testing.T, root string, l *Lineage) {
			testfiles.Write(t, l.Path, map[string]string{"a.txt": "more\n"})
		}, `aren't committed: "a.txt"`},
		"an untracked one": {func(t *testing.T, root string, l *Lineage) {
			testfiles.Write(t, l.Path, map[string]string{"new": ""})
		}, `aren't committed: "new"`},
		"an ignored one": {func(t *testing.T, root string, l *Lineage) {
			testfiles.Write(t, l.Path, map[string]string{"result.o": ""})
		}, `setup didn't make: "result.o"`},
		"another branch": {func(t *testing.T, root string,
			l *Lineage) {
			gitIn(t, l.Path, "switch", "-q", "-c", "mine")
		}, "isn't checked out"},
		"a merge": {func(t *testing.T, root string, l *Lineage) {
			must(t, os.WriteFile(l.Admin+"/MERGE_HEAD", []byte(l.Base+"\n"), 0o644))
		}, "a merge isn't finished"},
		"no .git": {func(t *testing.T, root string,
			l *Lineage) {
			must(t, os.Remove(l.Path+"/.git"))
		}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t)
			r, l := landed(t, root)
			c.change(t, root, l)
			before := stamps(t, l.Path)
			kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{})
			if err != nil || !strings.Contains(kept, c.want) {
				t.Errorf("%q, %v", kept, err)
			}
			if diff := cmp.Diff(before, stamps(t, l.Path)); diff != "" {
				t.Errorf("it has changed:\n%s", diff)
			}
		})
	}
}

func TestRemoveKeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	root := project(t)
	r, l := landed(t, root)
	sleep := exec.Command("sleep", "100")
	sleep.Dir = filepath.Join(l.Path, "sub")
	must(t, sleep.Start())
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("no /proc here")
	}
	if kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil ||
		!strings.Contains(kept, "a process") {
		t.Errorf("%q, %v", kept, err)
	}
	h, err := r.Make(t.Context(), plan(t, r, "s-2"), Making{})
	must(t, err)
	other, err := r.Lineages.Get("", "s-2")
	must(t, err)
	if kept, err := r.Cleaner.Remove(t.Context(), other, RemoveOptions{}); err != nil ||
		!strings.Contains(kept, "at work") {
		t.Errorf("while it is locked: %q, %v", kept, err)
	}
	must(t, h.Release())
}

// A removal that was killed after the rename is finished, with what was written between looking and
// renaming.
func TestRemoveIsFinished(t *testing.T) {
	t.Parallel()
	root := project(t)
	r, l := landed(t, root)
	must(t, r.Lineages.step(l, Gone))
	must(t, os.Rename(l.Path, r.Layout.asideOf(l)))
	testfiles.Write(t, r.Layout.asideOf(l), map[string]string{"late": "late\n"})
	kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{})
	if err != nil || !strings.Contains(kept, "late") {
		t.Errorf("%q, %v", kept, err)
	}
	all, err := r.Snapshots.wipRefs(t.Context(), l)
	must(t, err)
	_, tree := all.latest()
	if got := gitIn(t, root, "show", tree+":late"); got != "late" {
		t.Errorf("late is %q", got)
	}
	must(t, os.Remove(filepath.Join(r.Layout.asideOf(l), "late")))
	if kept, err = r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil || kept != "" ||
		!gone(r.Layout.asideOf(l)) || !gone(l.Admin) {
		t.Errorf("%q, %v", kept, err)
	}
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	kinds := func() []string {
		list, err := r.Cleaner.Leftovers(t.Context())
		must(t, err)
		var kinds []string
		for _, l := range list {
			kinds = append(kinds, strings.TrimSpace(l.Kind+" "+l.Slice))
		}
		slices.Sort(kinds)
		return kinds
	}
	gitIn(t, root, "worktree", "add", "-q", "--lock", root+".mine")
	l := made(t, r, "S-1")
	if _, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{}); err != nil {
		t.Fatal(err)
	}
	made(t, r, "s-2")
	if got := kinds(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	must(t, os.RemoveAll(filepath.Join(root, ".greenlight", "runs")))
	testfiles.Write(t, r.Layout.place, map[string]string{"_/.gone-x/file": ""})
	want := []string{"branch S-1", "branch s-2", "directory", "wip S-1", "worktree", "worktree"}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Error(diff)
	}
	must(t, os.RemoveAll(l.Path))
	testfiles.Write(t, root, map[string]string{".greenlight/runs/lineage/_._s-3.json": "{"})
	if diff := cmp.Diff([]string{"branch S-1", "branch s-2", "directory", "entry", "file",
		"wip S-1", "worktree"}, kinds()); diff != "" {
		t.Error(diff)
	}
}

func TestUnpart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		if got := unpart(part(s)); got != s && !strings.Contains(part(s), "%h") {
			t.Fatalf("%q comes back as %q", s, got)
		}
		if got := unIDPart(idPart(s)); got != s &&
			!strings.Contains(strings.ToLower(idPart(s)), "%h") {
			t.Fatalf("id %q comes back as %q", s, got)
		}
	})
}
