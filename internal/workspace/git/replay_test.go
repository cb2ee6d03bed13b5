package git

import (
	"strings"
	"testing"
)

// A replayed commit keeps its author, its date and its message, but for what looks like gl's own
// trailers; merges and what changes nothing are left out. What doesn't apply, or gives another tree
// than the merge, isn't replayed at all.
func TestReplay(t *testing.T) {
	b := worktree(t, map[string]string{"a": "1\n", "b": "1\n"})
	ctx, first := t.Context(), b.head()
	commit := func(message, name, text string) string {
		b.write(name, text)
		b.git("add", "-A")
		b.git("-c", "user.name=Agent", "-c", "user.email=a@a", "commit", "-q", "--allow-empty",
			"--date=@1000000000 +0200", "-m", message)
		return b.head()
	}
	commit("one\n\nSlice: S-9\nwhy", "a", "2\n")
	commit("nothing", "a", "2\n")
	tip := commit("two\n\nCo-authored-by: x <x@x>\nverified : all", "a", "3\n")
	b.git("checkout", "-q", "--detach", first)
	base := commit("other", "b", "2\n")
	want, conflicts, err := MergeTree(ctx, b.w.Common, base, tip, nil)
	if err != nil || len(conflicts) > 0 {
		t.Fatal(conflicts, err)
	}
	replay := func(base, want string) ([]string, bool) {
		t.Helper()
		commits, ok, err := Replay(ctx, b.w.Common, base, tip, want, nil,
			func(text string, last bool) string {
				if last {
					return WithTrailers(text, Trailer{"Slice", "S-1"})
				}
				return WithTrailers(text)
			})
		if err != nil {
			t.Fatal(err)
		}
		return commits, ok
	}
	commits, ok := replay(base, want)
	if !ok || len(commits) != 2 {
		t.Fatalf("%q %t", commits, ok)
	}
	got := b.git("log", "--reverse", "--format=%P|%an|%ad|%B|", "--date=raw", commits[1], "^"+base)
	if got = strings.ReplaceAll(got, "\n", "/"); got != base+"|Agent|1000000000 +0200|one//why/|/"+
		commits[0]+"|Agent|1000000000 +0200|two//Co-authored-by: x <x@x>/Slice: S-1/|" {
		t.Errorf("replayed:\n%s", got)
	}
	if tree := b.git("rev-parse", commits[1]+"^{tree}"); tree != want {
		t.Errorf("tree %s, want %s", tree, want)
	}
	if _, ok := replay(base, b.git("rev-parse", first+"^{tree}")); ok {
		t.Error("it gives another tree")
	}
	b.git("checkout", "-q", "--detach", first)
	if _, ok := replay(commit("clash", "a", "x\n"), want); ok {
		t.Error("it applies to what conflicts")
	}
}
