package git

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A commit's size and its patch are what it changes, a merge's against its first parent; one that
// isn't there has neither. Text that looks like the end of a patch is none.
func TestStatsAndPatches(t *testing.T) {
	dir := repo(t, map[string]string{"a": "1\n"})
	git(t, dir, "config", "log.showSignature", "true")
	commit(t, dir, "second", "2026-03-01T12:00:00Z", map[string]string{"a": "2\n" +
		strings.Repeat("x\n", 5000) + "\x00" + strings.Repeat("0", 40) + "\n", "b": "1\n"})
	git(t, dir, "switch", "-qc", "side", "HEAD~1")
	commit(t, dir, "side", "2026-03-01T12:00:00Z", map[string]string{"c": "1\n2\n"})
	git(t, dir, "switch", "-q", "-")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@t", "merge", "-q", "--no-ff", "-m",
		"merge", "side")
	full, second := ask(t, dir, "rev-parse", "HEAD"), ask(t, dir, "rev-parse", "HEAD~1")
	gone := strings.Repeat("1", 40)
	stats, err := Stats(t.Context(), dir, []string{full, second, gone})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]DiffStat{full: {Files: 1, Insertions: 2},
		second: {Files: 2, Insertions: 5003, Deletions: 1}}
	if diff := cmp.Diff(want, stats); diff != "" {
		t.Error(diff)
	}
	patches, err := Patches(t.Context(), dir, []string{full, second, gone})
	if err != nil || len(patches) != 2 {
		t.Fatalf("%d patches: %v", len(patches), err)
	}
	if p := patches[full]; !strings.HasPrefix(p, "diff --git a/c b/c\n") ||
		!strings.HasSuffix(p, "@@ -0,0 +1,2 @@\n+1\n+2") {
		t.Errorf("the merge's: %q", p)
	}
	if p := patches[second]; !strings.Contains(p, "+\x00"+strings.Repeat("0", 40)) ||
		!strings.HasSuffix(p, "+1") {
		t.Errorf("the second one's ends with %q", p[max(0, len(p)-100):])
	}
	if none, err := Patches(t.Context(), dir, nil); err != nil || none != nil {
		t.Errorf("of nothing: %v, %v", none, err)
	}
}
