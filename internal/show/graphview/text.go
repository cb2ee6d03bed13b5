package graphview

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/term"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/base/uniq"
)

// A Style controls the output of Text.
type Style struct {
	ASCII bool // only ASCII characters, except in names
	// names are cut so that lines fit this many columns, as far as possible; 0 for no limit
	Width int
	// Paint, if not nil, colors a mark by its state; what it adds takes no columns.
	Paint func(state, mark string) string
}

// A set is the characters of a style.
type set struct {
	marks       map[string]string
	arrow, cut  string
	then, notes string
}

func (s Style) set() set {
	if s.ASCII {
		return set{arrow: "<-", cut: "...", then: " -> ", notes: "  ", marks: map[string]string{Done: "+", Running: ">", Ready: "o",
			Blocked: ".", Failed: "x", Stalled: "!", Waiting: "=", Unknown: "?"}}
	}
	return set{arrow: "←", cut: "…", then: " → ", notes: "  ", marks: map[string]string{Done: "✓", Running: "●", Ready: "○",
		Blocked: "·", Failed: "✗", Stalled: "!", Waiting: "⏸", Unknown: "?"}}
}

// shortestName is the length below which names aren't cut, in columns.
const shortestName = 12

// Text returns a list with a line for each slice: its layer's number on the first of a layer,
// "*" if it is on the critical path, its mark, its name, and its dependencies, with "?" after
// an id that no slice has. If the screen is too narrow, the dependencies get a line of their
// own. Below the list are the critical path, the cycles, and a legend of the marks that occur.
func (g *Graph) Text(s Style) string {
	c := s.set()
	var b strings.Builder
	deps := g.depTexts()
	ids, names, below := g.widths(s, c, deps)
	layer := -1
	for i := range g.Nodes {
		n := &g.Nodes[i]
		depth, star := "", " "
		if n.Layer != layer {
			layer = n.Layer
			depth = fmt.Sprint(layer)
		}
		if n.Critical {
			star = "*"
		}
		mark := c.marks[n.State]
		if s.Paint != nil {
			mark = s.Paint(n.State, mark)
		}
		line := fmt.Sprintf("%3s %s %s %s %s", depth, star, term.Pad(n.ID, ids), mark, term.Pad(cut(textline.Collapse(n.Name), names, c.cut), names))
		if len(n.Deps) > 0 && !below {
			line += "  " + c.arrow + " " + deps[i]
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if len(n.Deps) > 0 && below {
			b.WriteString(term.Wrap(strings.Repeat(" ", idColumn+2)+c.arrow+" "+deps[i], s.Width, idColumn+4) + "\n")
		}
	}
	for line := range strings.Lines(g.foot(c)) {
		b.WriteString(term.Wrap(strings.TrimRight(line, "\n"), s.Width, 2) + "\n")
	}
	return b.String()
}

// idColumn is the column of the ids.
const idColumn = 6

// depTexts returns the text of each node's dependencies.
func (g *Graph) depTexts() []string {
	missing := uniq.Of(g.Missing)
	texts := make([]string, len(g.Nodes))
	for i := range g.Nodes {
		list := slices.Clone(g.Nodes[i].Deps)
		for j, d := range list {
			if missing.Has(d) {
				list[j] += "?"
			}
		}
		texts[i] = strings.Join(list, ", ")
	}
	return texts
}

// widths returns the column widths of ids and names. Long names must not push the dependencies
// out of sight: if a line would be too long, names are cut; if too little of them would remain,
// the dependencies go below.
func (g *Graph) widths(s Style, c set, texts []string) (ids, names int, below bool) {
	deps := 0
	for i := range g.Nodes {
		n := &g.Nodes[i]
		ids = max(ids, term.Width(n.ID))
		names = max(names, term.Width(textline.Collapse(n.Name)))
		if len(n.Deps) > 0 {
			deps = max(deps, 3+term.Width(c.arrow+texts[i]))
		}
	}
	const before = 9 // layer, star, mark and the spaces between
	room := s.Width - before - ids
	switch {
	case s.Width <= 0 || names+deps <= room:
	case min(names, shortestName)+deps <= room:
		names = room - deps
	default:
		names, below = max(min(names, room), 1), true
	}
	return ids, names, below
}

func cut(s string, width int, mark string) string {
	if term.Width(s) <= width {
		return s
	}
	return strings.TrimRight(term.Cut(s, width-term.Width(mark)), " ") + mark
}

// foot returns the text below the list.
func (g *Graph) foot(c set) string {
	var b strings.Builder
	if len(g.Nodes) == 0 {
		return ""
	}
	b.WriteByte('\n')
	if len(g.Critical) > 0 {
		fmt.Fprintf(&b, "* critical path, %d to go: %s\n", len(g.Critical), strings.Join(g.Critical, c.then))
	}
	for _, cycle := range g.Cycles {
		fmt.Fprintf(&b, "cycle: %s\n", strings.Join(append(slices.Clip(cycle), cycle[0]), c.then))
	}
	var legend []string
	for _, state := range states {
		if slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.State == state }) {
			legend = append(legend, c.marks[state]+" "+state)
		}
	}
	return b.String() + strings.Join(legend, c.notes) + "\n"
}
