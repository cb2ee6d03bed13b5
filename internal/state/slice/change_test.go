package slice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/state/tracker"

	"github.com/google/go-cmp/cmp"
)

// A change of several files, killed at any step, is complete or undone for the next process
// that takes the lock.
func TestChangeIsWholeOrNot(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes, which the race detector sees nothing of")
	}
	files := map[string]string{
		"slices/S-1.md": sliceText("S-1", "pending", "step: none\n"), "slices/S-2.md": sliceText("S-2", "pending", "deps: [S-1]\n"),
		"GRAPH.json": `{"slices":{"S-1":{},"S-2":{"depends_on":["S-1"]}}}`,
	}
	state := func(root string) map[string]string {
		if err := open(root).Do(t.Context(), func(tracker.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		left := tree(t, root)
		for name := range left {
			if !strings.HasPrefix(name, "slices/S-") && !strings.HasPrefix(name, "slices/A-") && name != "GRAPH.json" && name != "slices/"+changeFile {
				delete(left, name)
			}
		}
		return left
	}
	whole := project(t, files)
	if err := crashOps["rename"](t.Context(), open(whole)); err != nil {
		t.Fatal(err)
	}
	before, after := files, state(whole)
	if after["slices/A-1.md"] == "" || after["slices/S-1.md"] != "" || !strings.Contains(after["slices/S-2.md"], "A-1") || !strings.Contains(after["GRAPH.json"], `"A-1":{}`) {
		t.Fatalf("renamed: %q", after)
	}
	const stride = 4 // a different sample every time
	seen := map[string]bool{}
	for step := 1 + int(time.Now().UnixNano()/1000)%stride; ; step += stride {
		root := project(t, files)
		killed, call := crashtest.At(t, step, "GREENLIGHT_TEST_CHILD=crash", "GREENLIGHT_TEST_ROOT="+root, "GREENLIGHT_TEST_OP=rename")
		left := state(root)
		switch {
		case cmp.Equal(left, before):
			seen["before"] = true
		case cmp.Equal(left, after):
			seen["after"] = true
		default:
			t.Errorf("%d %s: neither old nor new: %s", step, call, cmp.Diff(before, left))
		}
		if !killed {
			break
		}
	}
	if len(seen) != 2 {
		t.Errorf("seen only %v", seen)
	}
}

// A clone may bring a change file; it must not reach other files.
func TestForgedChange(t *testing.T) {
	for _, name := range []string{"../x", "config.json", "slices/../../x.md", "slices/.hidden.md", "runs/x"} {
		root := project(t, map[string]string{"slices/S-1.md": sliceText("S-1", "pending", ""),
			"slices/" + changeFile: fmt.Sprintf(`{"schema_version": 1, "files": [{"name": %q, "old": null, "new": "evil"}]}`, name)})
		if err := open(root).Do(t.Context(), func(tracker.Tx) error { return nil }); err == nil || !strings.Contains(err.Error(), "isn't a change that gl has begun") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Edits of the graph keep every other byte, in each shape found in practice; gl refuses an edit
// it can't make safely.
func TestRenameAndRemoveInGraph(t *testing.T) {
	for _, tt := range []struct{ graph, renamed, removed string }{
		{`{"slices":["S-1", "S-2"]}`, `{"slices":["A-1", "S-2"]}`, `{"slices":["S-2"]}`},
		{`{"slices":{"S-1":[], "S-2":["S-1","S-3"], "S-3":[]}}`, `{"slices":{"A-1":[], "S-2":["A-1","S-3"], "S-3":[]}}`, `{"slices":{"S-2":["S-3"], "S-3":[]}}`},
		{`[{"id":"S-1","name":"S-1"},{"id":"S-2","deps":["S-3", "S-1"]},{"id":"S-3"}]`, `[{"id":"A-1","name":"S-1"},{"id":"S-2","deps":["S-3", "A-1"]},{"id":"S-3"}]`, ""},
		{`{"slices":[{"id":"S-1"},{"id":"S-2","depends_on":"S-1, S-3"},{"id":"S-3"}]}`, "", ""},
		{`{"slices":[{"id":1},{"id":2,"deps":[1]}]}`, "", ""},
	} {
		id := "S-1"
		if !strings.Contains(tt.graph, id) {
			id = "1"
		}
		for want, f := range map[string]func() ([]byte, error){
			tt.renamed: func() ([]byte, error) { return renameInGraph([]byte(tt.graph), id, "A-1") },
			tt.removed: func() ([]byte, error) { return removeFromGraph([]byte(tt.graph), id) },
		} {
			got, err := f()
			if err == nil && want != "" && string(got) != want {
				t.Errorf("%s became %s, want %s", tt.graph, got, want)
			}
			if err != nil && want != "" {
				t.Errorf("%s: %v", tt.graph, err)
			}
			if err == nil { // even where nothing is promised
				if _, err := parseGraph(got); err != nil {
					t.Errorf("%s became %s: %v", tt.graph, got, err)
				}
			}
		}
	}
}

func FuzzRenameInGraph(f *testing.F) {
	f.Add(`{"slices":{"S-1":["S-2"]},"edges":[["S-1","S-2"]],"waves":{"1":["S-1"]}}`)
	f.Add(`[{"id":"S-1"},"S-1",{"id":"S-2","deps":["S-1"]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, change := range []func([]byte) ([]byte, error){
			func(data []byte) ([]byte, error) { return renameInGraph(data, "S-1", "A-1") },
			func(data []byte) ([]byte, error) { return removeFromGraph(data, "S-1") },
		} {
			out, err := change([]byte(text))
			if err != nil {
				continue
			}
			g, err := parseGraph(out)
			if err != nil {
				t.Fatalf("%q became %q: %v", text, out, err)
			}
			if slices.ContainsFunc(g.entries, func(e entry) bool { return e.id == "S-1" || slices.Contains(e.deps, "S-1") }) {
				t.Errorf("%q became %q", text, out)
			}
		}
	})
}
