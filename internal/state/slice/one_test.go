package slice

import (
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// The cost of an attempt doesn't depend on the size of the project: changing one slice reads no
// other.
func TestOneSliceNeedsNoOther(t *testing.T) {
	root := project(t, map[string]string{
		"slices/S-1.md": "---\nid: S-1\nstatus: pending\nstep: none\nsession: \n---\n# S-1: One\n",
		"slices/s1.md":  "---\nstatus: failed\n---\n# Reads the same\n",
		"slices/S-3.md": "---\nid: S-3\nstatus: pending\n---\n",
		"GRAPH.json":    `{"slices": [{"id": "S-1", "name": "Another"}, {"id": "S-2"}, {"id": "S-3", "name": "Three"}]}`,
	})
	s := Open(root)
	err := s.Do(t.Context(), func(x tracker.Tx) error {
		it, err := x.Item("S-1")
		if err != nil || it.ID != "S-1" || it.Name != "One" || it.Status != "pending" || it.File != ".greenlight/slices/S-1.md" {
			t.Errorf("%+v, %v", it, err)
		}
		if err := x.Claim("S-1", "token"); err != nil {
			t.Error(err)
		}
		if mark, err := x.Settle("S-1", tracker.Fail, tracker.Before{}); err != nil || mark != (plan.Mark{Status: "failed", Step: "none"}) {
			t.Errorf("%+v, %v", mark, err)
		}
		if x.(*tx).view != nil || s.Dir.graph != nil {
			t.Error("the list of the slices, or the graph, was read")
		}
		// A slice without a file, without a name, or in another spelling needs the rest.
		for id, name := range map[string]string{"S-2": "S-2", "S-3": "Three", "s-3": "Three"} {
			if it, err := x.Item(id); err != nil || it.Name != name {
				t.Errorf("%s: %+v, %v", id, it, err)
			}
		}
		if err := os.Mkdir(filepath.Join(root, ".greenlight/slices/D.md"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"D", "README", "S-9", "../GRAPH"} {
			if it, err := x.Item(id); err == nil {
				t.Errorf("%s: %+v", id, it)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
