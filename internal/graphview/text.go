package graphview

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/term"
	"greenlight/internal/text/textline"
	"greenlight/internal/uniq"
)

// A Style is how Text writes.
type Style struct {
	ASCII bool // no character beyond it, but in names
	Width int  // names are cut so that lines have at most so many columns, as far as that goes; 0 for no limit
	// Paint, where it isn't nil, colors a mark by its state; what it adds takes no columns.
	Paint func(state, mark string) string
}

// A set is the characters of one style.
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

// shortestName is how far a name is cut at most.
const shortestName = 12

// Text draws a list: a line for each slice, with its layer's number on the first of a layer, "*" on the critical path,
// its mark, its name, and what it depends on, an id that nothing has with "?"; where the screen is too narrow that
// stands in a line of its own. Below it the critical path, the cycles, and what the marks mean that occur.
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

// idColumn is where the ids begin.
const idColumn = 6

// depTexts are the dependencies of each node in words.
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

// widths finds the columns of ids and of names. The longest names don't push the dependencies of all the others out of
// sight: where a line would be too long names are cut, and where too little would be left of them the dependencies go
// below.
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
	const before = 9 // layer, star, mark and the blanks between
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

// foot is what stands below the list.
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
