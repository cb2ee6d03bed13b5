package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// Discard leaves nothing of a lineage, however far its worktree is and whatever is in it, and the
// slice's next lineage is the first one again.
func TestDiscard(t *testing.T) {
	t.Parallel()
	r := open(t, project(t))
	l := plan(t, r, "S-1")
	h, err := r.Make(t.Context(), l, Making{})
	must(t, err)
	if err := r.Cleaner.Discard(t.Context(), l); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("while it is held: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(l.Path, "new"), []byte("x"), 0o644))
	if _, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{Last: true, Why: "test"}); err != nil {
		t.Fatal(err)
	}
	must(t, h.Release())
	for range 2 { // a second one finds nothing
		must(t, r.Cleaner.Discard(t.Context(), l))
	}
	if paths.Exists(l.Path) || gitIn(t, r.Git.Top, "for-each-ref", "refs/heads/gl", "refs/gl/wip") != "" ||
		gitIn(t, r.Git.Top, "worktree", "list") == "" {
		t.Error("it left something")
	}
	if again := plan(t, r, "S-1"); again.N != 1 {
		t.Errorf("the next one is %d", again.N)
	} else {
		must(t, r.Cleaner.Discard(t.Context(), again)) // nothing is there yet
	}
}

// A lineage continues at a commit from elsewhere: branch, files and index are its.
func TestContinueElsewhere(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := plan(t, r, "S-1")
	h, err := r.Make(t.Context(), l, Making{})
	must(t, err)
	defer h.Release()
	must(t, os.WriteFile(filepath.Join(root, "later.txt"), []byte("later\n"), 0o644))
	gitIn(t, root, "add", "later.txt")
	gitIn(t, root, "commit", "-qm", "later")
	commit := gitIn(t, root, "rev-parse", "HEAD")
	must(t, os.WriteFile(filepath.Join(l.Path, "stray"), []byte("x"), 0o644))
	gitIn(t, l.Path, "checkout", "-q", "--detach")
	for range 2 {
		must(t, h.Continue(t.Context(), commit))
		if got := gitIn(t, l.Path, "rev-parse", l.Branch, "HEAD"); got != commit+"\n"+commit {
			t.Errorf("it is at %s", got)
		}
		checkMade(t, r, "S-1")
		if paths.Exists(filepath.Join(l.Path, "stray")) || read(t, l.Path, "later.txt") != "later\n" {
			t.Error("its files aren't the commit's")
		}
	}
}
