package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContained(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   func(b *bench)
		want bool
		why  string
	}{
		{"nothing done", func(b *bench) {}, true, "is an ancestor of master"},
		{"a commit", func(b *bench) { b.write("a", "x"); b.git("commit", "-qam", "1") }, false,
			"has 1 commit that master doesn't have"},
		{"merged", func(b *bench) {
			b.write("a", "x")
			b.git("commit", "-qam", "1")
			b.in(b.main, "commit", "-q", "--allow-empty", "-m", "theirs")
			b.in(b.main, "merge", "-q", "work")
		}, true, "is an ancestor of master"},
		{"squashed", func(b *bench) {
			b.write("a", "x")
			b.git("commit", "-qam", "1")
			b.write("b", "x")
			b.git("commit", "-qam", "2")
			b.in(b.main, "merge", "-q", "--squash", "work")
			b.in(b.main, "commit", "-q", "-m", "both")
		}, true, "has the same files as master"},
		{"rebased", func(b *bench) {
			b.write("a", "x")
			b.git("commit", "-qam", "1")
			b.in(b.main, "commit", "-q", "--allow-empty", "-m", "theirs")
			b.in(b.main, "cherry-pick", "work")
			b.in(b.main, "rm", "-q", "f")
			b.in(b.main, "commit", "-q", "-m", "theirs")
		}, true, "has only commits whose changes are in master"},
		{"picked, but the merge's own change is missing", func(b *bench) {
			b.git("checkout", "-q", "-b", "side")
			b.write("b", "x")
			b.git("commit", "-qam", "side")
			b.git("checkout", "-q", "work")
			b.write("a", "x")
			b.git("commit", "-qam", "1")
			b.git("merge", "-q", "--no-commit", "side")
			b.write("d/c", "only in the merge")
			b.git("commit", "-qam", "merge")
			b.in(b.main, "cherry-pick", "side", "work~")
			b.in(b.main, "rm", "-q", "f")
			b.in(b.main, "commit", "-q", "-m", "theirs")
		}, false, "has merges (1) that master doesn't have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := worktree(t, start)
			b.in(b.main, "branch", "-q", "-M", "master")
			base := b.git("rev-parse", "HEAD")
			tt.do(b)
			got, why, err := Contained(t.Context(), b.w.Common, "refs/heads/work", base, "master")
			if err != nil || got != tt.want || why != tt.why {
				t.Errorf("%v, %q, %v", got, why, err)
			}
		})
	}
	b := worktree(t, start)
	if _, _, err := Contained(t.Context(), b.w.Common, "refs/heads/none", "", "HEAD"); err == nil {
		t.Error("a tip that isn't there")
	}
}

func TestUnsaved(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.write("build/old", "1")
	before, err := b.w.Ignored(t.Context())
	b.ok(err)
	if u, err := b.w.Unsaved(t.Context(), before); err != nil || !u.None() {
		t.Errorf("%+v, %v", u, err)
	}
	b.write("d/c", "staged")
	b.git("add", "d/c")
	b.write("d/c", "3\n") // as it was
	b.git("update-index", "--assume-unchanged", "a")
	b.write("a", "hidden")
	b.write("new", "1")
	b.write("x.log", "1")
	b.write(".GIT", "1")
	was := b.state()
	u, err := b.w.Unsaved(t.Context(), before)
	b.ok(err)
	want := &Unsaved{Changed: []string{".GIT", "a", "new"}, Staged: []string{"d/c"},
		Ignored: []string{"x.log"}}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(was, b.state()); diff != "" {
		t.Errorf("something changed: %s", diff)
	}
}

// A worktree that has been moved away to be removed is still compared with its own HEAD.
func TestUnsavedAfterARename(t *testing.T) {
	t.Parallel()
	b := worktree(t, start)
	b.git("commit", "-q", "--allow-empty", "-m", "mine")
	b.write("a", "x")
	gone := filepath.Join(filepath.Dir(b.w.Path), ".gone")
	b.ok(os.Rename(b.w.Path, gone))
	b.w.Path = gone
	u, err := b.w.Unsaved(t.Context(), nil)
	b.ok(err)
	if diff := cmp.Diff(&Unsaved{Changed: []string{"a"}}, u); diff != "" {
		t.Error(diff)
	}
}
