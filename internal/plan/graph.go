package plan

import "strings"

// findCycles finds the strongly connected components among unfinished items (Tarjan, with a stack of its own so
// that a chain of 10,000 items is no problem) and reports each once, as a path that closes.
func (p *Plan) findCycles() {
	t := tarjan{p: p, order: make([]int, len(p.States)), low: make([]int, len(p.States)), on: make([]bool, len(p.States))}
	for i := range p.States {
		if t.order[i] == 0 && len(p.States[i].Needs) > 0 {
			t.visit(i)
		}
	}
}

type tarjan struct {
	p     *Plan
	next  int
	order []int // 1 for the first visited, 0 for not visited
	low   []int
	on    []bool
	stack []int
}

type frame struct{ node, need int }

func (t *tarjan) visit(root int) {
	frames := []frame{t.enter(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		needs := t.p.States[f.node].Needs
		if f.need < len(needs) {
			dep, ok := t.p.index[needs[f.need]]
			f.need++
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
	return frame{node: node}
}

func (t *tarjan) component(root int) {
	var members []int
	for {
		n := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.on[n] = false
		members = append(members, n)
		if n == root {
			break
		}
	}
	if len(members) > 1 {
		t.p.cycle(members)
	}
}

// cycle marks the members and records one closed path through them, from the first member in the tracker's order.
func (p *Plan) cycle(members []int) {
	in := make(map[string]bool, len(members))
	first := members[0]
	for _, m := range members {
		in[p.States[m].ID] = true
		p.States[m].inCycle = true
		first = min(first, m)
	}
	at := make(map[string]int)
	var path []string
	for id := p.States[first].ID; ; {
		if start, seen := at[id]; seen {
			path = path[start:]
			break
		}
		at[id] = len(path)
		path = append(path, id)
		for _, need := range p.State(id).Needs {
			if in[need] {
				id = need
				break
			}
		}
	}
	p.Cycles = append(p.Cycles, path)
	p.Warnings = append(p.Warnings, Warning{Message: "dependency cycle: " + strings.Join(append(path, path[0]), " → ")})
}

// chains computes State.Chain for all items: over reversed edges among unfinished items, cycles left out.
func (p *Plan) chains() {
	behind := make([][]int, len(p.States)) // who needs i
	pending := make([]int, len(p.States))  // how many of those aren't computed yet
	for i := range p.States {
		for _, need := range p.States[i].Needs {
			if d, ok := p.index[need]; ok && !p.States[i].inCycle && !p.States[d].inCycle {
				behind[d] = append(behind[d], i)
				pending[d]++
			}
		}
	}
	var ready []int
	for i := range p.States {
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

// gravity orders reasons: of several needs the gravest is the one to name.
func (p *Plan) gravity(id string) int {
	st := p.State(id)
	switch {
	case st == nil:
		return 8 // an id that nothing has
	case st.inCycle:
		return 7
	}
	switch st.Class {
	case Failed:
		return 9
	case Corrupt, Unknown:
		return 8
	case Stalled:
		return 6
	case Waiting:
		return 5
	case Active:
		if st.Attempt.Live() {
			return 2
		}
		return 3 // somebody else's: nothing of ours will end it
	case Available:
		return 1
	}
	return 0
}

// blame fills in State.Root: for each unfinished item with needs, the gravest thing in its way, however far away. It
// walks the needs once, depth first; members of a cycle are their own roots.
func (p *Plan) blame() {
	const unseen, open, closed = 0, 1, 2
	mark := make([]int, len(p.States))
	for i := range p.States {
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

// BlockedOn returns the root that holds up most blocked items of the plan, and how many; "" where nothing is blocked.
func (p *Plan) BlockedOn() (root string, n int) {
	count := make(map[string]int)
	for _, id := range p.Blocked {
		r := p.State(id).Root
		count[r]++
		if c := count[r]; c > n || c == n && NaturalLess(r, root) {
			root, n = r, c
		}
	}
	return root, n
}
