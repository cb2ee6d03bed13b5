package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/gate"
	"greenlight/internal/workspace/git"
)

func TestLaneRef(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	if got := r.Queue.Ref(); got != "refs/heads/gl/lane/_/main" {
		t.Error(got)
	}
	first := gitIn(t, root, "rev-parse", "HEAD")
	if base, err := r.Queue.Base(t.Context()); err != nil || base != first {
		t.Errorf("without a lane work begins at %s, %v", base, err)
	}
	for range 2 {
		if tip, err := r.Queue.Tip(t.Context()); err != nil || tip != first {
			t.Errorf("%s, %v", tip, err)
		}
	}
	if got := gitIn(t, root, "symbolic-ref", "refs/gl/target/_"); got != "refs/heads/main" {
		t.Errorf("the target is recorded as %s", got)
	}
	gitIn(t, root, "commit", "-q", "--allow-empty", "-m", "a person's")
	second := gitIn(t, root, "rev-parse", "HEAD")
	if base, err := r.Queue.Base(t.Context()); err != nil || base != second {
		t.Errorf("a lane that the target has: work begins at %s, %v", base, err)
	}
	landed := gitIn(t, root, "commit-tree", "-p", second, "-m", "landed", "HEAD^{tree}")
	if err := r.Queue.Move(t.Context(), second, landed, "land S-1",
		passTo(t, landed)); !errors.Is(err, git.ErrRefMoved) {
		t.Error(err)
	}
	must(t, r.Queue.Move(t.Context(), first, landed, "land S-1", passTo(t, landed)))
	if base, err := r.Queue.Base(t.Context()); err != nil || base != landed {
		t.Errorf("work begins at %s, %v", base, err)
	}
	if l := made(t, r, "S-1"); gitIn(t, l.Path, "rev-parse", "HEAD") != landed {
		t.Error("a new lineage doesn't begin at the lane")
	}
	for _, target := range []string{"feature/X", "Main"} {
		gitIn(t, root, "branch", target)
		r, err := Open(t.Context(), root, Options{Target: target})
		must(t, err)
		if _, err := r.Queue.Tip(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := gitIn(t, root, "for-each-ref", "--format=%(refname)", "refs/heads/gl/lane"); got != "refs/heads/gl/lane/_/%4dain\nrefs/heads/gl/lane/_/feature%2f%58\nrefs/heads/gl/lane/_/main" {
		t.Error(got)
	}
}

func TestLaneIsRefused(t *testing.T) {
	t.Parallel()
	for _, branch := range []string{"gl/lane", "gl/lane/_", "gl/LANE"} {
		checkRefusal(t, refusal{name: branch, make: func(t *testing.T, root string) {
			gitIn(t, root, "branch", branch)
		}, want: "the branch " + branch + " is in the way"})
	}
	root := project(t)
	gitIn(t, root, "branch", "gl/lane/_/main/x")
	if _, err := open(t, root).Queue.Tip(t.Context()); !errors.As(err, new(*Refused)) {
		t.Error(err)
	}
}

// lane makes the lane's worktree, in a Repo of its own.
func lane(t *testing.T, root string, m Making) (*Repo, *Lineage) {
	t.Helper()
	r := open(t, root)
	l, err := r.Lineages.Lane(t.Context())
	must(t, err)
	finish(t, r, l, m)
	return r, l
}

func leftKinds(t *testing.T, r *Repo) string {
	t.Helper()
	list, err := r.Cleaner.Leftovers(t.Context())
	must(t, err)
	var kinds []string
	for _, l := range list {
		kinds = append(kinds, l.Kind)
	}
	return strings.Join(kinds, " ")
}

func TestLaneWorktree(t *testing.T) {
	t.Parallel()
	root := project(t)
	setups := 0
	m := Making{Command: "set up", Setup: func(_ context.Context, dir string, _ []*os.File) error {
		setups++
		return os.WriteFile(filepath.Join(dir, "setup.o"), nil, 0o644)
	}}
	r, l := lane(t, root, m)
	if l.Path != root+".gl/_/lane.1" || l.Phase != Ready || l.Branch != "" || !l.IsLane() ||
		setups != 1 {
		t.Fatalf("%+v", l)
	}
	if got := gitIn(t, l.Path, "status", "--porcelain", "--branch"); got != "## HEAD (no branch)" {
		t.Error(got)
	}
	h, err := r.Make(t.Context(), l, m)
	must(t, err)
	next := commitOn(t, root)
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "a test's\n", "left": "by a test",
		"kept.o": ""})
	must(t, h.Checkout(t.Context(), next))
	if got := gitIn(t, l.Path, "status", "--porcelain",
		"--ignored"); got != "!! kept.o\n!! setup.o" ||
		gitIn(t, l.Path, "rev-parse", "HEAD") != next {
		t.Error(got)
	}
	must(t, h.SetUp(t.Context(), m))
	if setups != 2 || l.Phase != Ready {
		t.Errorf("%d, %+v", setups, l)
	}
	if kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil ||
		!strings.Contains(kept, "at work") {
		t.Errorf("%q, %v", kept, err)
	}
	must(t, h.Release())
}

// It doesn't count as a slice's, or as a leftover.
func TestLaneWorktreeIsNoOnesWork(t *testing.T) {
	t.Parallel()
	root := project(t)
	r, l := lane(t, root, Making{})
	testfiles.Write(t, l.Path, map[string]string{"deep/left": ""})
	check := func(when string) {
		t.Helper()
		if kept, err := r.Archive.Kept(t.Context()); err != nil || len(kept) > 0 {
			t.Errorf("%s: kept %+v, %v", when, kept, err)
		}
		if got := leftKinds(t, r); got != "" {
			t.Errorf("%s: left over: %s", when, got)
		}
	}
	check("made")
	must(t, os.RemoveAll(filepath.Join(root, ".greenlight", "runs")))
	check("without runs")
	if _, again := lane(t, root, Making{}); again.Path != l.Path || again.Admin != l.Admin {
		t.Errorf("%+v", again)
	}
	check("taken up")
	must(t, os.RemoveAll(l.Path))
	if _, again := lane(t, root, Making{}); again.Path != l.Path ||
		read(t, again.Path, "a.txt") != "a\n" {
		t.Errorf("%+v", again)
	}
	check("made again")
}

// Each of several worktrees that the lane tests in has a lineage of its own, which is found again.
func TestCars(t *testing.T) {
	t.Parallel()
	root := project(t)
	r, first := lane(t, root, Making{})
	var paths []string
	for k := 1; k <= 2; k++ {
		l, err := r.Lineages.Car(t.Context(), k)
		must(t, err)
		hold, err := r.Make(t.Context(), l, Making{})
		must(t, err)
		must(t, hold.Checkout(t.Context(), l.Base))
		must(t, hold.Release())
		if again, err := r.Lineages.Car(t.Context(), k); err != nil || again.Path != l.Path {
			t.Error(again, err)
		}
		must(t, os.Remove(r.Layout.file("", l.Slice)))
		if again, err := r.Lineages.Car(t.Context(), k); err != nil || again.Path != l.Path || again.Phase != Added {
			t.Error(again, err)
		}
		paths = append(paths, l.Path)
	}
	want := []string{root + ".gl/_/lane-1.1", root + ".gl/_/lane-2.1"}
	if !slices.Equal(paths, want) || slices.Contains(paths, first.Path) {
		t.Errorf("%q", paths)
	}
	if got := leftKinds(t, r); got != "" {
		t.Error(got)
	}
	all, err := r.Lineages.CleanableLanes()
	must(t, err)
	for _, l := range all {
		if kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil || kept != "" || !gone(l.Path) {
			t.Error(kept, err)
		}
	}
	if len(all) != 3 || !gone(root+".gl") {
		t.Errorf("%d worktrees of the lane", len(all))
	}
}

func TestLaneWorktreeIsRemoved(t *testing.T) {
	t.Parallel()
	root := project(t)
	r, l := lane(t, root, Making{})
	testfiles.Write(t, l.Path, map[string]string{"left": "by a test", "x.o": ""})
	must(t, os.WriteFile(filepath.Join(l.Admin, "MERGE_HEAD"), []byte(l.Base+"\n"), 0o644))
	all, err := r.Lineages.CleanableLanes()
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	c := all[0]
	if yes, why, err := r.Cleaner.Removable(t.Context(), c, RemoveOptions{}); err != nil || !yes {
		t.Error(why, err)
	}
	if kept, err := r.Cleaner.Remove(t.Context(), c, RemoveOptions{}); err != nil || kept != "" || !gone(l.Path) ||
		!gone(l.Admin) || !gone(root+".gl") {
		t.Error(kept, err)
	}
	if all, err := r.Lineages.CleanableLanes(); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	if got := leftKinds(t, r); got != "" {
		t.Error(got)
	}
	if _, l = lane(t, root, Making{}); l.N != 2 {
		t.Errorf("%+v", l)
	}
}

// What a git worktree add leaves that is killed before HEAD is there.
func TestLaneHalfAdded(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l, err := r.Lineages.Lane(t.Context())
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(l.Path), 0o755))
	must(t, git.AddWorktree(t.Context(), r.Git.GitDir, l.Path, l.Base, git.LockReason(l.Path)))
	must(t, os.WriteFile(filepath.Join(r.Git.Common, "worktrees", "lane.1", "HEAD"),
		[]byte(strings.Repeat("0", 40)+"\n"), 0o644))
	finish(t, r, l, Making{})
	if got := gitIn(t, l.Path, "status", "--porcelain", "--branch"); got != "## HEAD (no branch)" ||
		l.N != 1 {
		t.Error(got, l.N)
	}
}

// A lineage file can't make the lane's worktree of a slice's, whose files are work.
func TestLaneForged(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "S-1")
	forged := *l
	forged.Slice, forged.Branch = LaneSlice, ""
	must(t, r.Lineages.Save(&forged))
	if _, err := r.Lineages.Get("", LaneSlice); !errors.As(err, new(*BadLineage)) {
		t.Error(err)
	}
	if got, err := r.Lineages.Lane(t.Context()); err != nil || got.Path == l.Path {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "S-1")
	if got, err := r.Snapshots.HandedOver(t.Context(), l); err != nil || got != "" {
		t.Error(got, err)
	}
	testfiles.Write(t, l.Path, map[string]string{"a_test.txt": "1\n", "x.o": "ignored"})
	first, err := r.Snapshots.HandOver(t.Context(), l)
	must(t, err)
	if again, err := r.Snapshots.HandOver(t.Context(), l); err != nil || again != first {
		t.Error(again, err)
	}
	commit(t, l.Path, "tests")
	testfiles.Write(t, l.Path, map[string]string{"a_test.txt": "2\n"})
	second, err := r.Snapshots.HandOver(t.Context(), l)
	must(t, err)
	if got, err := r.Snapshots.HandedOver(t.Context(), l); err != nil || got != second ||
		gitIn(t, root, "rev-parse", second+"^") != first {
		t.Error(got, err)
	}
	if got := gitIn(t, root, "ls-tree", "-r", "--name-only",
		"refs/gl/tests/_/_/S-1/1"); !strings.Contains(got, "a_test.txt") ||
		strings.Contains(got, "x.o") {
		t.Error(got)
	}
	if got := gitIn(t, root, "show", second+":a_test.txt"); got != "2" {
		t.Error(got)
	}
	must(t, os.RemoveAll(filepath.Join(root, ".greenlight", "runs")))
	if got := leftKinds(t, r); got != "worktree wip branch" {
		t.Error(got)
	}
	gitIn(t, root, "worktree", "remove", "-f", "-f", l.Path)
	gitIn(t, root, "branch", "-D", short(l.Branch))
	if n := plan(t, r, "S-1").N; n != 2 {
		t.Errorf("lineage %d has the tests of another", n)
	}
}

// What has landed can be removed before it is delivered.
func TestRemoveWhatTheLaneHas(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "S-1")
	testfiles.Write(t, l.Path, map[string]string{"a.txt": "done\n"})
	tip := commit(t, l.Path, "done")
	if kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil ||
		!strings.Contains(kept, "that main doesn't have") {
		t.Errorf("%q, %v", kept, err)
	}
	base, err := r.Queue.Tip(t.Context())
	must(t, err)
	landed := gitIn(t, root, "commit-tree", "-p", base, "-p", tip, "-m", "land", tip+"^{tree}")
	must(t, r.Queue.Move(t.Context(), base, landed, "land S-1", passTo(t, landed)))
	if kept, err := r.Archive.Kept(t.Context()); err != nil || len(kept) != 1 ||
		!kept[0].Contained || kept[0].Why != "is an ancestor of gl/lane/_/main" {
		t.Errorf("%+v, %v", kept, err)
	}
	if yes, why, err := r.Cleaner.Removable(t.Context(), l, RemoveOptions{}); err != nil || !yes ||
		why != "gl/lane/_/main has all that is in it" {
		t.Error(why, err)
	}
	if kept, err := r.Cleaner.Remove(t.Context(), l, RemoveOptions{}); err != nil || kept != "" || !gone(l.Path) {
		t.Errorf("%q, %v", kept, err)
	}
}

// A merge that was killed is taken back before an agent is let in.
func TestMakeRecovers(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "S-1")
	other := commitOn(t, root)
	must(t, os.WriteFile(filepath.Join(l.Admin, "gl-moving"), []byte(l.Base+"\n"+other+"\n"),
		0o644))
	gitIn(t, l.Path, "read-tree", "--reset", "-u", other)
	finish(t, r, l, Making{})
	checkMade(t, r, "S-1")
}

// passTo permits a test to move the lane.
func passTo(t *testing.T, commit string) gate.Pass {
	t.Helper()
	pass, err := gate.Ask(gate.Facts{Way: gate.Follow, Left: commit, Lands: commit}).Pass(commit)
	must(t, err)
	return pass
}
