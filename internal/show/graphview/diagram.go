package graphview

import (
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/text/textline"
)

// fills are the colors of the states, light enough for black text.
var fills = map[string]string{
	Done: "#d3f0d3", Running: "#fff2b3", Ready: "#cfe4ff", Blocked: "#eeeeee",
	Failed: "#ffc9c9", Stalled: "#ffdcb8", Waiting: "#e6d5ff", Unknown: "#dddddd",
}

const criticalColour = "#d00000"

// Mermaid returns a Mermaid flowchart, from the slices built first to those built last. Nodes
// get generated names, because an id such as "end" is a keyword of Mermaid.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	name := g.numbered()
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "  %s[\"%s\"]:::%s\n", name[n.ID], mermaidText(label(n)), n.State)
	}
	for _, id := range g.Missing {
		fmt.Fprintf(&b, "  %s[\"%s ?\"]:::missing\n", name[id], mermaidText(id))
	}
	onPath := g.criticalEdges()
	var critical []string
	for i, e := range g.Edges {
		fmt.Fprintf(&b, "  %s --> %s\n", name[e.To], name[e.From])
		if onPath[e] {
			critical = append(critical, fmt.Sprint(i))
		}
	}
	for _, state := range states {
		if slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.State == state }) {
			fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:#555,color:#000\n", state, fills[state])
		}
	}
	if len(g.Missing) > 0 {
		b.WriteString("  classDef missing fill:#fff,stroke:#999,color:#000,stroke-dasharray:4\n")
	}
	for _, id := range g.Critical {
		fmt.Fprintf(&b, "  style %s stroke:%s,stroke-width:3px\n", name[id], criticalColour)
	}
	if len(critical) > 0 {
		fmt.Fprintf(&b, "  linkStyle %s stroke:%s,stroke-width:3px\n", strings.Join(critical, ","), criticalColour)
	}
	return b.String()
}

// numbered returns names for nodes and missing ids that are valid in every syntax.
func (g *Graph) numbered() map[string]string {
	name := make(map[string]string, len(g.Nodes))
	for i, n := range g.Nodes {
		name[n.ID] = fmt.Sprintf("n%d", i+1)
	}
	for i, id := range g.Missing {
		name[id] = fmt.Sprintf("m%d", i+1)
	}
	return name
}

// label returns the text in a node: its id, and its name if that adds something.
func label(n Node) string {
	if name := textline.Collapse(n.Name); name == "" || name == n.ID {
		return n.ID
	}
	return n.ID + ": " + n.Name
}

// mermaidText escapes the characters that end a quoted label, and those that Mermaid reads as
// codes, HTML or Markdown.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range textline.Collapse(s) {
		if strings.ContainsRune("\"#&<>`*_\\;[]{}|", r) {
			fmt.Fprintf(&b, "#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Dot returns a digraph for Graphviz, from the slices built first to those built last.
func (g *Graph) Dot() string {
	var b strings.Builder
	b.WriteString("digraph greenlight {\n  rankdir=LR\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\"]\n")
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "  %s [label=%s, tooltip=%s, fillcolor=%s", dotText(n.ID), dotText(label(n)), dotText(n.State), dotText(fills[n.State]))
		if n.Critical {
			fmt.Fprintf(&b, ", color=%s, penwidth=3", dotText(criticalColour))
		}
		b.WriteString("]\n")
	}
	for _, id := range g.Missing {
		fmt.Fprintf(&b, "  %s [label=%s, style=dashed]\n", dotText(id), dotText(id+" ?"))
	}
	onPath := g.criticalEdges()
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  %s -> %s", dotText(e.To), dotText(e.From))
		if onPath[e] {
			fmt.Fprintf(&b, " [color=%s, penwidth=3]", dotText(criticalColour))
		}
		b.WriteByte('\n')
	}
	b.WriteString("}\n")
	return b.String()
}

// dotText quotes s for DOT. A backslash is doubled, since it begins an escape in a label.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(textline.Collapse(s)) + `"`
}
