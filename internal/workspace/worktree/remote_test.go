package worktree

import (
	"errors"
	"testing"

	"greenlight/internal/base/paths"
)

// The work of another machine is on the lineage's branch, without a checkout, until something
// here needs the files; from then on no other machine goes on with it.
func TestRemoteLineage(t *testing.T) {
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "S-1")
	for range 2 { // a kill in between is no matter
		tip, err := r.Begin(t.Context(), l)
		must(t, err)
		if tip != l.Base || gitIn(t, root, "rev-parse", l.Branch) != tip {
			t.Fatalf("begins at %s", tip)
		}
	}
	work := gitIn(t, root, "commit-tree", "-p", "HEAD", "-m", "work", "HEAD^{tree}")
	for range 2 {
		must(t, r.Carry(t.Context(), l, work, "gl: snapshot"))
	}
	snap, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{Last: true, Why: "end"})
	must(t, err)
	if snap.Tip != work || snap.Whole != gitIn(t, root, "rev-parse", "HEAD^{tree}") ||
		gitIn(t, root, "rev-parse", snap.Prefix+"/tree") != work || paths.Exists(l.Path) {
		t.Errorf("%+v", snap)
	}
	if next := plan(t, r, "S-1"); next.N != l.N {
		t.Errorf("the next attempt begins lineage %d", next.N)
	}
	spare, err := r.Snapshots.Spare(t.Context(), l, l.Base, "gl: late")
	must(t, err)
	if gitIn(t, root, "rev-parse", spare+"/spare") != l.Base || gitIn(t, root, "rev-parse", l.Branch) != work {
		t.Errorf("late work is under %s", spare)
	}

	h, err := r.Make(t.Context(), l, Making{FilesOnly: true})
	must(t, err)
	if gitIn(t, l.Path, "rev-parse", "HEAD") != work || gitIn(t, l.Path, "status", "--short") != "" {
		t.Error("the worktree hasn't the work")
	}
	must(t, h.Release())
	if err := r.Carry(t.Context(), l, l.Base, "gl: late"); !errors.As(err, new(*HereError)) {
		t.Errorf("carried under a worktree: %v", err)
	}
}
