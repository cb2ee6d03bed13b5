package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCriticalPath(t *testing.T) {
	wave := func(it Item, w int) Item { it.Wave = w; return it }
	milestone := func(it Item, m string) Item { it.Milestone = m; return it }
	for _, c := range []struct {
		name  string
		items []Item
		o     Options
		want  []string
	}{
		{"nothing", nil, Options{}, nil},
		{"all done", []Item{item("S-1", "complete"), item("S-2", "done", "S-1")}, Options{}, nil},
		{"one left", []Item{item("S-1", "complete"), item("S-2", "pending", "S-1")}, Options{}, []string{"S-2"}},
		{"the longer of two", []Item{item("S-1", "pending"), item("S-2", "pending", "S-1"),
			item("S-3", "failed"), item("S-4", "pending", "S-3"), item("S-5", "pending", "S-4", "S-1")},
			Options{}, []string{"S-3", "S-4", "S-5"}},
		{"done ones don't count", []Item{item("S-1", "complete"), item("S-2", "complete", "S-1"), item("S-3", "pending", "S-2"),
			item("S-4", "pending"), item("S-5", "pending", "S-4")}, Options{}, []string{"S-4", "S-5"}},
		{"of equals the first to be launched", []Item{item("S-1", "pending"), wave(item("S-2", "pending"), 1),
			item("S-3", "pending", "S-1", "S-2"), wave(item("S-4", "pending", "S-2"), 1)}, Options{}, []string{"S-2", "S-4"}},
		{"a cycle", []Item{item("S-1", "pending", "S-2"), item("S-2", "pending", "S-1"), item("S-3", "pending", "S-2")},
			Options{}, []string{"S-3"}},
		{"an unknown need", []Item{item("S-1", "pending", "S-9")}, Options{}, []string{"S-1"}},
		{"in a milestone", []Item{milestone(item("S-1", "pending"), "a"), milestone(item("S-2", "pending", "S-1"), "b"),
			milestone(item("S-3", "pending", "S-2"), "a"), milestone(item("S-4", "pending"), "a"),
			milestone(item("S-5", "pending", "S-4"), "a")}, Options{Milestone: "a"}, []string{"S-4", "S-5"}},
	} {
		p := New(&Snapshot{Items: Pointers(c.items)}, now, c.o)
		if d := cmp.Diff(c.want, p.CriticalPath()); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestLayers(t *testing.T) {
	p := planOf(item("S-10", "pending"), item("S-2", "complete"), item("S-3", "pending", "S-2", "S-99"),
		item("S-4", "pending", "S-3", "S-2"), item("S-5", "pending", "S-6"), item("S-6", "pending", "S-5", "S-6"))
	want := [][]string{{"S-2", "S-6", "S-10"}, {"S-3", "S-5"}, {"S-4"}}
	// The member of a cycle that is visited first is above the other.
	if d := cmp.Diff(want, p.Layers()); d != "" {
		t.Error(d)
	}
	if got := planOf().Layers(); len(got) != 0 {
		t.Errorf("layers of nothing: %v", got)
	}
}

// anyGraph draws a graph without cycles: each item depends on some before it.
func anyGraph(t *rapid.T) *Plan {
	var items []Item
	for i := range rapid.IntRange(0, 12).Draw(t, "n") {
		it := item(fmt.Sprintf("S-%d", i), rapid.SampledFrom([]string{"complete", "pending", "failed", "odd"}).Draw(t, "status"))
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "dep") == 0 {
				it.Deps = append(it.Deps, fmt.Sprintf("S-%d", j))
			}
		}
		items = append(items, it)
	}
	return planOf(items...)
}

// The critical path is a chain of unfinished items, and none is longer.
func TestCriticalPathOfAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyGraph(t)
		path := p.CriticalPath()
		for i, id := range path {
			if p.State(id).Class == Done {
				t.Fatalf("%s is done", id)
			}
			if i > 0 && !slices.Contains(p.State(id).Needs, path[i-1]) {
				t.Fatalf("%s doesn't need %s", id, path[i-1])
			}
		}
		longest := 0
		var walk func(id string, n int)
		walk = func(id string, n int) {
			longest = max(longest, n)
			for _, need := range p.State(id).Needs {
				walk(need, n+1)
			}
		}
		for _, id := range p.IDs() {
			if p.State(id).Class != Done {
				walk(id, 1)
			}
		}
		if len(path) != longest {
			t.Fatalf("%v is %d long, the longest chain is %d", path, len(path), longest)
		}
	})
}

// Every item is in one layer, below all its dependencies and right below one of them.
func TestLayersOfAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyGraph(t)
		depth := map[string]int{}
		for n, layer := range p.Layers() {
			for _, id := range layer {
				if _, twice := depth[id]; twice {
					t.Fatalf("%s is there twice", id)
				}
				depth[id] = n
			}
		}
		for _, id := range p.IDs() {
			want := 0
			for _, d := range p.State(id).Deps {
				want = max(want, depth[d]+1)
			}
			if n, ok := depth[id]; !ok || n != want {
				t.Fatalf("%s is in layer %d, want %d", id, n, want)
			}
		}
	})
}
