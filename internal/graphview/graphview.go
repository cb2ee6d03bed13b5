// Package graphview draws the dependency graph of a plan: as a list for people, and for the programs that lay out
// graphs. It is pure and decides nothing; what states and the critical path are is package plan's business. It doesn't
// make text safe for a terminal: see Graph.Map.
package graphview

import (
	"greenlight/internal/plan"
	"greenlight/internal/uniq"
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
	Unknown = "unknown" // a status that nobody knows, or a file that can't be read
)

// states are all there are, in the order of a legend.
var states = [...]string{Done, Running, Ready, Blocked, Failed, Stalled, Waiting, Unknown}

// A Node is one slice in scope.
type Node struct {
	ID, Name string
	State    string
	Layer    int      // 0 for what depends on nothing in scope
	Deps     []string // all of them, in the slice's order, in scope or not
	Critical bool     // on the critical path
}

// An Edge leads from a slice to one that it depends on; both are nodes, or To is Missing.
type Edge struct{ From, To string }

// A Graph is what is drawn.
type Graph struct {
	Nodes    []Node // by layer, within one in launch order
	Edges    []Edge
	Critical []string   // the longest chain of unfinished slices, the first to be built first
	Cycles   [][]string // each a path that closes
	Missing  []string   // ids that nodes depend on and nothing has
}

// New makes the graph of the slices that the plan has in scope.
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
		case st == nil && needs.Has(dep): // else its row in STATE.md says that it was built
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

// Map returns the graph with every text that comes from files passed through f, for an output that not every character
// may reach.
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

// criticalEdges are those that the critical path goes along.
func (g *Graph) criticalEdges() map[Edge]bool {
	edges := make(map[Edge]bool, len(g.Critical))
	for i := 1; i < len(g.Critical); i++ {
		edges[Edge{g.Critical[i], g.Critical[i-1]}] = true
	}
	return edges
}
