// Package depgraph finds cycles and paths in a graph of dependencies. Nodes are names; a
// function returns the edges, so that each caller decides what an edge is: any dependency, or
// an unfinished one. No walk is recursive, because a chain may have a hundred thousand nodes.
package depgraph

import "slices"

// A Cycle is a strongly connected component: each of its nodes depends on all the others, in
// one step or more.
type Cycle struct {
	Members []string // in the caller's order
	// one closed path through some members: each depends on the next, the last on the first
	Path []string
}

// Cycles returns the cycles among the nodes, each component once. deps returns a node's
// dependencies; those outside nodes are ignored. A cycle's path begins at its first member,
// unless that member only leads to the circle.
func Cycles(nodes []string, deps func(node string) []string) []Cycle {
	t := tarjan{nodes: nodes, deps: deps, index: make(map[string]int, len(nodes)),
		order: make([]int, len(nodes)), low: make([]int, len(nodes)), on: make([]bool, len(nodes))}
	for i, node := range nodes {
		t.index[node] = i
	}
	for i, node := range nodes {
		if t.order[i] == 0 && len(deps(node)) > 0 {
			t.visit(i)
		}
	}
	return t.cycles
}

// A tarjan is a run of Tarjan's algorithm for strongly connected components, with an explicit
// stack.
type tarjan struct {
	nodes []string
	deps  func(string) []string
	index map[string]int

	next   int
	order  []int // 1 for the first visited, 0 for not visited
	low    []int
	on     []bool
	stack  []int
	cycles []Cycle
}

// A frame is a node on the walk: its dependencies and how many of them have been visited.
type frame struct {
	node int
	deps []string
	seen int
}

func (t *tarjan) visit(root int) {
	frames := []frame{t.enter(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if f.seen < len(f.deps) {
			dep, ok := t.index[f.deps[f.seen]]
			f.seen++
			switch {
			case !ok:
			case t.order[dep] == 0:
				frames = append(frames, t.enter(dep))
			case t.on[dep]:
				t.low[f.node] = min(t.low[f.node], t.order[dep])
			}
			continue
		}
		node := f.node
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := frames[len(frames)-1].node
			t.low[parent] = min(t.low[parent], t.low[node])
		}
		if t.low[node] == t.order[node] {
			t.component(node)
		}
	}
}

func (t *tarjan) enter(node int) frame {
	t.next++
	t.order[node], t.low[node], t.on[node] = t.next, t.next, true
	t.stack = append(t.stack, node)
	return frame{node: node, deps: t.deps(t.nodes[node])}
}

// component pops the component that was entered at root off the stack.
func (t *tarjan) component(root int) {
	from := len(t.stack) - 1
	for t.stack[from] != root {
		from--
	}
	members := slices.Clone(t.stack[from:])
	t.stack = t.stack[:from]
	for _, m := range members {
		t.on[m] = false
	}
	if len(members) == 1 && !slices.Contains(t.deps(t.nodes[root]), t.nodes[root]) {
		return
	}
	slices.Sort(members)
	c := Cycle{Members: make([]string, len(members))}
	for i, m := range members {
		c.Members[i] = t.nodes[m]
	}
	c.Path = closed(c.Members, t.deps)
	t.cycles = append(t.cycles, c)
}

// closed follows the first dependency that leads back into the component until a node repeats.
func closed(members []string, deps func(string) []string) []string {
	in := make(map[string]bool, len(members))
	for _, m := range members {
		in[m] = true
	}
	at := make(map[string]int)
	var path []string
	for node := members[0]; ; {
		if start, seen := at[node]; seen {
			return path[start:]
		}
		at[node] = len(path)
		path = append(path, node)
		all := deps(node)
		node = all[slices.IndexFunc(all, func(d string) bool { return in[d] })]
	}
}

// Path returns a shortest way along the dependencies from one node to another, including both,
// or nil if there is none.
func Path(from, to string, deps func(node string) []string) []string {
	came := map[string]string{from: from}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			path := []string{at}
			for ; at != from; path = append(path, at) {
				at = came[at]
			}
			slices.Reverse(path)
			return path
		}
		for _, d := range deps(at) {
			if _, seen := came[d]; !seen {
				came[d] = at
				queue = append(queue, d)
			}
		}
	}
	return nil
}
