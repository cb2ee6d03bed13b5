package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/paths"
)

// The work of another machine is on the lineage's branch, without a checkout, until something
// here needs the files; from then on no other machine goes on with it.
func TestRemoteLineage(t *testing.T) {
	t.Parallel()
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

// A worktree that only the merge queue has used goes again when another machine is to continue. A
// person's changes there, an unfinished merge, and a worktree that was set up keep the work here.
func TestLeave(t *testing.T) {
	t.Parallel()
	work := func(t *testing.T) (string, *Repo, *Lineage) {
		root := project(t)
		r := open(t, root)
		l := plan(t, r, "S-1")
		_, err := r.Begin(t.Context(), l)
		must(t, err)
		done := gitIn(t, root, "commit-tree", "-p", "HEAD", "-m", "work", "HEAD^{tree}")
		must(t, r.Carry(t.Context(), l, done, "gl: end"))
		return root, r, l
	}
	tests := []struct {
		name  string
		do    func(t *testing.T, root string, r *Repo, l *Lineage)
		stays bool
	}{
		{"as it was made", func(*testing.T, string, *Repo, *Lineage) {}, false},
		{"committed", func(t *testing.T, _ string, _ *Repo, l *Lineage) {
			gitIn(t, l.Path, "commit", "--allow-empty", "-qm", "merged")
		}, false},
		{"killed after the removal", func(t *testing.T, root string, r *Repo, l *Lineage) {
			must(t, os.Rename(l.Path, r.Layout.asideOf(l)))
		}, false},
		{"changed", func(t *testing.T, _ string, _ *Repo, l *Lineage) {
			must(t, os.WriteFile(filepath.Join(l.Path, "new"), []byte("a person's\n"), 0o600))
		}, true},
		{"another branch", func(t *testing.T, _ string, _ *Repo, l *Lineage) {
			gitIn(t, l.Path, "switch", "-qc", "other")
		}, true},
		{"set up", func(t *testing.T, _ string, r *Repo, l *Lineage) {
			h, err := r.Make(t.Context(), l, Making{})
			must(t, err)
			must(t, h.Release())
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, r, l := work(t)
			h, err := r.Make(t.Context(), l, Making{FilesOnly: true})
			must(t, err)
			must(t, h.Release())
			tt.do(t, root, r, l)
			now, err := r.Lineages.Get("", "S-1")
			must(t, err)
			needless, err := r.Needless(t.Context(), now)
			must(t, err)
			branch := gitIn(t, root, "rev-parse", l.Branch)
			tip, err := r.Begin(t.Context(), now)
			switch {
			case needless == tt.stays, tt.stays != errors.As(err, new(*HereError)), tt.stays != paths.Exists(l.Path):
				t.Fatalf("needless: %v; begins: %v; there: %v", needless, err, paths.Exists(l.Path))
			case tt.stays:
				return
			}
			if tip != branch || !now.Remote || strings.Contains(gitIn(t, root, "worktree", "list"), l.Path) {
				t.Errorf("begins at %s, not %s: %+v", tip, branch, now)
			}
			must(t, r.Carry(t.Context(), now, l.Base, "gl: end"))
			h, err = r.Make(t.Context(), now, Making{FilesOnly: true}) // and is made again
			must(t, err)
			must(t, h.Release())
			if gitIn(t, l.Path, "rev-parse", "HEAD") != l.Base || gitIn(t, l.Path, "status", "--short") != "" {
				t.Error("the worktree hasn't the work")
			}
		})
	}
}
