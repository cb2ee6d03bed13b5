// Package graphview draws the dependency graph of a plan: as a list for people, and for
// programs that lay out graphs. It is pure; package plan computes the states and the critical
// path. It doesn't make text safe for a terminal: see Graph.Map.
package graphview

import (
	"greenlight/internal/base/uniq"
	"greenlight/internal/core/plan"
)

// The states of a node.
const (
	Done    = "done"
	Running = "running"
	Ready   = "ready"
	Blocked = "blocked"
	Failed  = "failed"
	Stalled = "stalled"
	Waiting = "waiting"
	Unknown = "unknown" // an unknown status, or a file that can't be read
)

// states lists all states in the order of a legend.
var states = [...]string{Done, Running, Ready, Blocked, Failed, Stalled, Waiting, Unknown}

// A Node is a slice in scope.
type Node struct {
	ID, Name string
	State    string
	Layer    int      // 0 for a node that depends on nothing in scope
	Deps     []string // all dependencies in the slice's order, in scope or not
	Critical bool     // on the critical path
}

// An Edge leads from a slice to a dependency. From is a node; To is a node or in Missing.
type Edge struct{ From, To string }

// A Graph is the graph to draw.
type Graph struct {
	Nodes    []Node // by layer, then in launch order
	Edges    []Edge
	Critical []string   // the longest chain of unfinished slices, the first to build first
	Cycles   [][]string // each a closed path
	Missing  []string   // ids that nodes depend on and no slice has
}

// New returns the graph of the slices that the plan has in scope.
func New(p *plan.Plan) *Graph {
	g := &Graph{Critical: p.CriticalPath(), Cycles: p.Cycles}
	critical := make(map[string]bool, len(g.Critical))
	for _, id := range g.Critical {
		critical[id] = true
	}
	for layer, ids := range p.Layers() {
		for _, id := range ids {
			st := p.State(id)
			g.Nodes = append(g.Nodes, Node{
				ID: id, Name: st.Name, State: stateOf(st), Layer: layer, Deps: st.Deps,
				Critical: critical[id],
			})
		}
	}
	var missing uniq.List
	for i := range g.Nodes {
		g.addEdges(p, &g.Nodes[i], &missing)
	}
	g.Missing = missing.Items()
	return g
}

func (g *Graph) addEdges(p *plan.Plan, n *Node, missing *uniq.List) {
	needs := uniq.Of(p.State(n.ID).Needs)
	for _, dep := range n.Deps {
		st := p.State(dep)
		switch {
		case st != nil && st.InScope:
		case st == nil && needs.Has(dep): // otherwise its row in STATE.md says that it was built
			missing.Add(dep)
		default:
			continue
		}
		g.Edges = append(g.Edges, Edge{n.ID, dep})
	}
}

func stateOf(st *plan.State) string {
	switch st.Class {
	case plan.Done:
		return Done
	case plan.Active, plan.Landing:
		return Running
	case plan.Available:
		if len(st.Needs) > 0 {
			return Blocked
		}
		return Ready
	case plan.Failed, plan.Red, plan.Conflict:
		return Failed
	case plan.Stalled:
		return Stalled
	case plan.Waiting:
		return Waiting
	}
	return Unknown
}

// Map returns the graph with f applied to every text that comes from files, for outputs that
// can't show every character.
func (g *Graph) Map(f func(string) string) *Graph {
	all := func(list []string) []string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = f(s)
		}
		return out
	}
	out := &Graph{Critical: all(g.Critical), Missing: all(g.Missing)}
	for _, n := range g.Nodes {
		n.ID, n.Name, n.Deps = f(n.ID), f(n.Name), all(n.Deps)
		out.Nodes = append(out.Nodes, n)
	}
	for _, e := range g.Edges {
		out.Edges = append(out.Edges, Edge{f(e.From), f(e.To)})
	}
	for _, c := range g.Cycles {
		out.Cycles = append(out.Cycles, all(c))
	}
	return out
}

// criticalEdges returns the edges along the critical path.
func (g *Graph) criticalEdges() map[Edge]bool {
	edges := make(map[Edge]bool, len(g.Critical))
	for i := 1; i < len(g.Critical); i++ {
		edges[Edge{g.Critical[i], g.Critical[i-1]}] = true
	}
	return edges
}
