package plan

import (
	"slices"
	"sort"
	"strings"

	"greenlight/internal/core/depgraph"
)

// findCycles finds the cycles among unfinished items and warns about each once, with a closed
// path.
func (p *Plan) findCycles() {
	var open []string // only these can be part of a cycle
	for _, i := range p.undone {
		if len(p.States[i].Needs) > 0 {
			open = append(open, p.States[i].ID)
		}
	}
	for _, c := range depgraph.Cycles(open, func(id string) []string { return p.State(id).Needs }) {
		for _, id := range c.Members {
			p.State(id).inCycle = true
		}
		p.Cycles = append(p.Cycles, c.Path)
		p.Warnings = append(p.Warnings, Warning{Message: "dependency cycle: " +
			strings.Join(append(slices.Clip(c.Path), c.Path[0]), " → ")})
	}
}

// chains computes State.Chain for all items: over reversed edges among unfinished items,
// without cycles.
func (p *Plan) chains() {
	behind := make([][]int, len(p.States)) // items that need i
	pending := make([]int, len(p.States))  // number of those not computed yet
	for _, i := range p.undone {
		for _, need := range p.States[i].Needs {
			if d, ok := p.index[need]; ok && !p.States[i].inCycle && !p.States[d].inCycle {
				behind[d] = append(behind[d], i)
				pending[d]++
			}
		}
	}
	var ready []int
	for _, i := range p.undone {
		if pending[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, b := range behind[i] {
			p.States[i].Chain = max(p.States[i].Chain, p.States[b].Chain+1)
		}
		if p.States[i].inCycle {
			continue
		}
		for _, need := range p.States[i].Needs {
			if d, ok := p.index[need]; ok && !p.States[d].inCycle {
				if pending[d]--; pending[d] == 0 {
					ready = append(ready, d)
				}
			}
		}
	}
}

// gravity ranks reasons: of several needs, the one with the highest is named.
func (p *Plan) gravity(id string) int {
	st := p.State(id)
	switch {
	case st == nil:
		return 8 // an unknown id
	case st.inCycle:
		return 7
	}
	switch st.Class {
	case Failed, Red, Conflict:
		return 9
	case Corrupt, Unknown:
		return 8
	case Stalled:
		return 6
	case Waiting:
		return 5
	case Active, Landing:
		if st.Attempt.Live() {
			return 2
		}
		return 3 // run by others: nothing of ours will end it
	case Available:
		return 1
	}
	return 0
}

// blame sets State.Root: for each unfinished item with needs, the gravest obstacle, at any
// distance. It walks the needs once, depth first; members of a cycle are their own roots.
func (p *Plan) blame() {
	const unseen, open, closed = 0, 1, 2
	mark := make([]byte, len(p.States))
	for _, i := range p.undone {
		if mark[i] != unseen {
			continue
		}
		stack := []int{i}
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			st := &p.States[n]
			if mark[n] == unseen {
				mark[n] = open
				for _, need := range st.Needs {
					if d, ok := p.index[need]; ok && mark[d] == unseen {
						stack = append(stack, d)
					}
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if mark[n] == open {
				mark[n] = closed
				st.Root = p.gravest(st)
			}
		}
	}
}

func (p *Plan) gravest(st *State) string {
	root := ""
	for _, need := range st.Needs {
		r := need
		if d := p.State(need); d != nil && d.Class == Available && !d.inCycle && d.Root != "" {
			r = d.Root
		}
		if root == "" || p.gravity(r) > p.gravity(root) {
			root = r
		}
	}
	return root
}

// BlockedOn returns the root that blocks the most items of the plan, and their number; "" if
// nothing is blocked.
func (p *Plan) BlockedOn() (root string, n int) {
	count := make(map[string]int)
	for _, id := range p.Lists.Blocked {
		r := p.State(id).Root
		count[r]++
		if c := count[r]; c > n || c == n && NaturalLess(r, root) {
			root, n = r, c
		}
	}
	return root, n
}

// CriticalPath returns the longest chain of unfinished items in scope, in build order: each
// needs the one before it. Among chains of equal length it returns the one that begins earliest
// in launch order; nil if everything is done. Members of a cycle are left out, since no order
// builds them.
func (p *Plan) CriticalPath() []string {
	var open []*State
	for i := range p.States {
		if st := &p.States[i]; st.InScope && st.Class != Done && !st.inCycle {
			open = append(open, st)
		}
	}
	// Chain decreases along every edge, so sorting by Chain puts an item after all that wait
	// for it.
	sort.SliceStable(open, func(i, j int) bool { return open[i].Chain < open[j].Chain })
	length := make(map[string]int, len(open))
	next := make(map[string]*State, len(open))
	var first *State
	for _, st := range open {
		length[st.ID]++
		if first == nil || length[st.ID] > length[first.ID] ||
			length[st.ID] == length[first.ID] && before(st, first) {
			first = st
		}
		for _, need := range st.Needs {
			after := next[need]
			if n := length[st.ID]; n > length[need] ||
				n == length[need] && after != nil && before(st, after) {
				length[need], next[need] = n, st
			}
		}
	}
	var path []string
	for st := first; st != nil; st = next[st.ID] {
		path = append(path, st.ID)
	}
	return path
}

// Layers returns the items in scope by depth: those in the first layer depend on none in scope,
// those in any other layer on one in the layer before. Within a layer they are in launch order.
// A dependency that closes a cycle doesn't count.
func (p *Plan) Layers() [][]string {
	depth := make([]int, len(p.States))
	var layers [][]*State
	d := layering{p: p, depth: depth, mark: make([]int, len(p.States))}
	for i := range p.States {
		if !p.States[i].InScope {
			continue
		}
		d.visit(i)
		for len(layers) <= depth[i] {
			layers = append(layers, nil)
		}
		layers[depth[i]] = append(layers[depth[i]], &p.States[i])
	}
	ids := make([][]string, len(layers))
	for n, layer := range layers {
		sort.SliceStable(layer, func(i, j int) bool { return before(layer[i], layer[j]) })
		for _, st := range layer {
			ids[n] = append(ids[n], st.ID)
		}
	}
	return ids
}

type layering struct {
	p     *Plan
	depth []int
	mark  []int // 0 unseen, 1 on the path, 2 known
}

// A frame is an item on the path, and the number of its dependencies visited.
type frame struct{ node, need int }

// visit finds the depth of an item and of all its dependencies, with an explicit stack because
// chains may be long.
func (l *layering) visit(root int) {
	const onWay, known = 1, 2
	for frames := []frame{{node: root}}; len(frames) > 0; {
		f := &frames[len(frames)-1]
		if l.mark[f.node] == known {
			frames = frames[:len(frames)-1]
			continue
		}
		l.mark[f.node] = onWay
		deps := l.p.States[f.node].Deps
		if f.need == len(deps) {
			l.mark[f.node] = known
			frames = frames[:len(frames)-1]
			continue
		}
		d, ok := l.p.index[deps[f.need]]
		switch {
		case !ok || !l.p.States[d].InScope || l.mark[d] == onWay:
			f.need++
		case l.mark[d] == known:
			l.depth[f.node] = max(l.depth[f.node], l.depth[d]+1)
			f.need++
		default:
			frames = append(frames, frame{node: d})
		}
	}
}
