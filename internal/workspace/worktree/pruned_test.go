package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/workspace/git"
)

// broughtBack plans a lineage at a commit that no ref has, as of a slice that was taken back.
func broughtBack(t *testing.T, r *Repo, held bool) *Lineage {
	t.Helper()
	base, err := r.Queue.Base(t.Context())
	must(t, err)
	commit, err := git.CommitTree(t.Context(), r.Git.Common,
		git.NewCommit{Tree: base + "^{tree}", Parents: []string{base}, Message: "Bring back"})
	must(t, err)
	if held {
		must(t, git.Hold(t.Context(), r.Git.Common, commit, base))
	}
	l, err := r.Lineages.Plan(t.Context(), "", "S-1", commit, false)
	must(t, err)
	return l
}

func lose(t *testing.T, r *Repo, id string) {
	t.Helper()
	must(t, os.Remove(filepath.Join(r.Git.Common, "objects", id[:2], id[2:])))
}

// A base that a prune takes before git worktree add, or right after the branch was made, is put
// back from what is held.
func TestPrunedBase(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"planned", "with a branch", "made"} {
		t.Run(when, func(t *testing.T) {
			root := project(t)
			r := open(t, root)
			l := broughtBack(t, r, when == "planned")
			switch when {
			case "with a branch":
				must(t, holding(t, r, l).makeBranch(t.Context()))
			case "made":
				finish(t, r, l, Making{})
			}
			lose(t, r, l.Base)
			next, err := r.Lineages.Plan(t.Context(), "", "S-1", l.Base, false)
			must(t, err)
			finish(t, r, next, Making{})
			if next.N != 1 || next.Phase != Ready {
				t.Errorf("%+v", next)
			}
			gitIn(t, root, "fsck", "--connectivity-only")
		})
	}
}

// A lineage whose base is lost for good ends, and the slice's next attempt begins anew. Nothing of
// it breaks a git of the person's, and its files are saved. A kill between two steps changes
// nothing of that.
func TestLostBase(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	for _, when := range []string{"planned", "with a branch", "made", "moved"} {
		t.Run(when, func(t *testing.T) {
			root := project(t)
			r := open(t, root)
			main := gitIn(t, root, "rev-parse", "main")
			l := broughtBack(t, r, false)
			if when == "with a branch" {
				must(t, holding(t, r, l).makeBranch(t.Context()))
			}
			if when == "made" || when == "moved" {
				finish(t, r, l, Making{})
				testfiles.Write(t, l.Path,
					map[string]string{"work": "work\n", "a.txt": "changed\n"})
				gitIn(t, l.Path, "add", "work")
				gitIn(t, l.Path, "commit", "-qm", "work")
			}
			must(t, os.RemoveAll(filepath.Join(r.Git.Common, "gl-held")))
			lose(t, r, l.Base)
			if when == "moved" {
				must(t, r.Layout.Worktree(l).Exclusive().MoveLost(t.Context(), l.Branch,
					gitIn(t, root, "rev-parse", l.Branch), main))
			}
			_, err := r.Make(t.Context(), l, Making{})
			lost := new(LostError)
			if !errors.As(err, &lost) {
				t.Fatal(err)
			}
			if lost.NotKept != nil ||
				when != "planned" && when != "with a branch" && lost.Kept == "" {
				t.Errorf("%+v", lost)
			}
			if lost.Kept != "" {
				for name, want := range map[string]string{"work": "work", "a.txt": "changed"} {
					if got := gitIn(t, root, "show", lost.Kept+"/tree:"+name); got != want {
						t.Errorf("%s is %q", name, got)
					}
				}
				gitIn(t, l.Path, "gc", "-q", "--prune=now")
			}
			gitIn(t, root, "gc", "-q", "--prune=now")
			gitIn(t, root, "fsck", "--connectivity-only")
			next := made(t, r, "S-1")
			if next.N != 2 || next.Base != main {
				t.Errorf("%+v", next)
			}
			if _, err := r.Archive.Kept(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A base that is gone before the worktree is made isn't planned with.
func TestLostBasePlanned(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := broughtBack(t, r, false)
	must(t, holding(t, r, l).makeBranch(t.Context()))
	must(t, os.RemoveAll(filepath.Join(r.Git.Common, "gl-held")))
	lose(t, r, l.Base)
	next := made(t, r, "S-1")
	if next.N != 2 || next.Phase != Ready {
		t.Errorf("%+v", next)
	}
	gitIn(t, root, "gc", "-q", "--prune=now")
}

// What git has lost of the target isn't a slice's: its lineage stays.
func TestLostTarget(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	l := made(t, r, "S-1")
	lose(t, r, gitIn(t, root, "rev-parse", "main^{tree}"))
	if _, err := r.Make(t.Context(), l, Making{}); errors.As(err, new(*LostError)) {
		t.Error(err)
	}
	if now, err := r.Lineages.Get("", "S-1"); err != nil || now.Phase != Ready {
		t.Errorf("%+v, %v", now, err)
	}
}

// What a prune has taken of slices that aren't attempted anymore is mended, too, but for one where
// an agent works.
func TestMendBroken(t *testing.T) {
	t.Parallel()
	root := project(t)
	r := open(t, root)
	var lost []string
	work := func(slice string) *Lineage {
		l := made(t, r, slice)
		testfiles.Write(t, l.Path, map[string]string{"work": slice})
		gitIn(t, l.Path, "add", "work")
		gitIn(t, l.Path, "commit", "-qm", "work")
		lost = append(lost, gitIn(t, l.Path, "rev-parse", "HEAD"))
		gitIn(t, l.Path, "commit", "-qm", "more", "--allow-empty")
		testfiles.Write(t, l.Path, map[string]string{"left": slice})
		_, err := r.Snapshots.Take(t.Context(), l, SnapshotOptions{Last: true})
		must(t, err)
		must(t, r.Queue.NoteQueued(t.Context(), l, 1, []byte(`{}`)))
		return l
	}
	again, over, busy := work("S-1"), work("S-2"), work("S-3")
	must(t, r.Lineages.Retire("", "S-2", 1))
	must(t, os.RemoveAll(filepath.Join(r.Git.Common, "gl-held")))
	for _, id := range lost {
		lose(t, r, id)
	}
	h, err := r.Make(t.Context(), made(t, r, "S-4"), Making{}) // of another slice
	must(t, err)
	must(t, h.Release())
	lock, err := durable.TryLock(r.Layout.lockFile(busy))
	must(t, err)
	broken, err := r.Cleaner.Broken(t.Context())
	must(t, err)
	if len(broken) != 9 {
		t.Errorf("broken: %v", broken)
	}
	mended, err := r.Cleaner.MendBroken(t.Context())
	must(t, err)
	if len(mended) != 6 {
		t.Errorf("mended %q", mended)
	}
	must(t, lock.Unlock())
	mended, err = r.Cleaner.MendBroken(t.Context())
	must(t, err)
	if len(mended) != 3 {
		t.Errorf("mended %q", mended)
	}
	for _, l := range []*Lineage{again, over, busy} {
		for name, want := range map[string]string{"left": l.Slice, "work": l.Slice} {
			if got := gitIn(t, root, "show", r.Layout.wip(l)+"/1/tree:"+name); got != want {
				t.Errorf("%s has %q", name, got)
			}
		}
		if got := read(t, l.Path, "left"); got != l.Slice {
			t.Errorf("left: %q", got)
		}
	}
	gitIn(t, root, "gc", "-q", "--prune=now")
	if broken, err = r.Cleaner.Broken(t.Context()); err != nil || len(broken) > 0 {
		t.Errorf("broken: %v, %v", broken, err)
	}
}
