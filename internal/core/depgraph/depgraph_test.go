package depgraph

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func of(edges map[string][]string) func(string) []string {
	return func(node string) []string { return edges[node] }
}

func TestCycles(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []string
		edges map[string][]string
		want  []Cycle
	}{
		{"none", []string{"a", "b", "c"}, map[string][]string{"a": {"b", "c"}, "b": {"c"}}, nil},
		{"two nodes", []string{"a", "b"}, map[string][]string{"b": {"a"}, "a": {"b"}}, []Cycle{{[]string{"a", "b"}, []string{"a", "b"}}}},
		{"in the caller's order", []string{"c", "a", "b"}, map[string][]string{"c": {"b"}, "a": {"c"}, "b": {"a"}},
			[]Cycle{{[]string{"c", "a", "b"}, []string{"c", "b", "a"}}}},
		{"a node on itself", []string{"a", "b"}, map[string][]string{"a": {"a"}}, []Cycle{{[]string{"a"}, []string{"a"}}}},
		{"two cycles", []string{"a", "b", "c", "d", "e"}, map[string][]string{"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}, "e": {"a"}},
			[]Cycle{{[]string{"c", "d"}, []string{"c", "d"}}, {[]string{"a", "b"}, []string{"a", "b"}}}},
		{"a knot whose first node is on the way", []string{"a", "b", "c"}, map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b", "a"}},
			[]Cycle{{[]string{"a", "b", "c"}, []string{"b", "c"}}}},
		{"through a node that isn't one", []string{"a"}, map[string][]string{"a": {"x"}, "x": {"a"}}, nil},
	} {
		if d := cmp.Diff(c.want, Cycles(c.nodes, of(c.edges))); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestPath(t *testing.T) {
	edges := of(map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"e"}, "d": {"e", "a"}, "x": {"x"}})
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"a", "e", []string{"a", "c", "e"}}, {"d", "b", []string{"d", "a", "b"}}, {"a", "a", []string{"a"}}, {"e", "a", nil}, {"a", "x", nil}, {"?", "a", nil},
	} {
		if d := cmp.Diff(c.want, Path(c.from, c.to, edges)); d != "" {
			t.Errorf("%s to %s: %s", c.from, c.to, d)
		}
	}
}

func TestALongChain(t *testing.T) {
	const n = 100_000
	edges, nodes := map[string][]string{}, make([]string, n)
	for i := range n {
		nodes[i] = fmt.Sprint(i)
		edges[nodes[i]] = []string{fmt.Sprint(i + 1)}
	}
	if all := Cycles(nodes, of(edges)); all != nil {
		t.Errorf("a chain is no cycle: %d", len(all))
	}
	if path := Path("0", nodes[n-1], of(edges)); len(path) != n {
		t.Errorf("the path has %d nodes", len(path))
	}
	edges[nodes[n-1]] = []string{"0"}
	if all := Cycles(nodes, of(edges)); len(all) != 1 || len(all[0].Path) != n || len(all[0].Members) != n {
		t.Errorf("%d cycles", len(all))
	}
}

// In any graph: two nodes are in one cycle exactly if there is a way from each to the other;
// and every path is one.
func TestAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]string, rapid.IntRange(0, 9).Draw(t, "n"))
		edges := map[string][]string{}
		for i := range nodes {
			nodes[i] = fmt.Sprint(i)
			for _, d := range rapid.SliceOfN(rapid.IntRange(0, 10), 0, 3).Draw(t, "deps") {
				edges[nodes[i]] = append(edges[nodes[i]], fmt.Sprint(d))
			}
		}
		deps := func(node string) []string { // edges to existing nodes
			return slices.DeleteFunc(slices.Clone(edges[node]), func(d string) bool { return !slices.Contains(nodes, d) })
		}
		in := map[string]int{}
		for i, c := range Cycles(nodes, of(edges)) {
			for _, m := range c.Members {
				if in[m] != 0 {
					t.Fatalf("%s is in two cycles", m)
				}
				in[m] = i + 1
			}
			for j, node := range c.Path {
				if !slices.Contains(c.Members, node) || !slices.Contains(edges[node], c.Path[(j+1)%len(c.Path)]) {
					t.Fatalf("%v is no closed path through %v", c.Path, c.Members)
				}
			}
		}
		for _, a := range nodes {
			for _, b := range nodes {
				way, back := around(a, b, deps), around(b, a, deps)
				if together := in[a] != 0 && in[a] == in[b]; together != (way && back) {
					t.Fatalf("%s and %s are in the cycles %d and %d; there is a way: %v, and back: %v", a, b, in[a], in[b], way, back)
				}
			}
		}
	})
}

// around reports whether there is a way of one edge or more.
func around(a, b string, deps func(string) []string) bool {
	return slices.ContainsFunc(deps(a), func(d string) bool {
		path := Path(d, b, deps)
		for i := 1; i < len(path); i++ {
			if !slices.Contains(deps(path[i-1]), path[i]) {
				panic(fmt.Sprint(path, " is no path"))
			}
		}
		return path != nil
	})
}
