package graphview

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/core/plan"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func item(id, status, name string, deps ...string) plan.Item {
	return plan.Item{ID: id, Name: name, Status: status, Deps: deps, Wave: plan.None, Priority: plan.None,
		Position: plan.None, Changed: now}
}

func graphOf(o plan.Options, items ...plan.Item) *Graph {
	return New(plan.New(&plan.Snapshot{Items: plan.Pointers(items), Evidence: map[string]string{"S-0": "complete"}}, now, o))
}

// everyState returns a graph with a slice of each state, a cycle, and dependencies on missing
// slices.
func everyState() *Graph {
	waiting := item("S-8", "verifying", "Sign-off")
	waiting.WaitingFor = "a look"
	stalled := item("S-9", "implementing", "Search")
	return New(plan.New(&plan.Snapshot{
		Items: plan.Pointers([]plan.Item{
			item("S-1", "complete", "Skeleton", "S-0"), item("S-2", "implementing", "Storage", "S-1"),
			item("S-3", "pending", "A very long name, longer than all the others", "S-1"),
			item("S-4", "pending", "Export", "S-2", "S-99"), item("S-5", "pending", "Import", "S-4"),
			item("S-6", "failed", "Login"), item("S-7", "odd", "S-7"), waiting, stalled,
			item("S-10", "pending", "Hen", "S-11"), item("S-11", "pending", "Egg", "S-10"),
		}),
		Evidence: map[string]string{"S-0": "complete"},
		Attempts: map[string]*plan.Attempt{"S-9": {N: 1, Phase: plan.Settled, Outcome: plan.Outcome{Active: plan.Stalled},
			After: plan.Mark{Status: "implementing"}}},
	}, now, plan.Options{}))
}

func TestText(t *testing.T) {
	want := `  0   S-1  ✓ Skeleton                                      ← S-0
      S-6  ✗ Login
      S-7  ? S-7
      S-8  ⏸ Sign-off
      S-9  ! Search
      S-11 · Egg                                           ← S-10
  1 * S-2  ● Storage                                       ← S-1
      S-3  ○ A very long name, longer than all the others  ← S-1
      S-10 · Hen                                           ← S-11
  2 * S-4  · Export                                        ← S-2, S-99?
  3 * S-5  · Import                                        ← S-4

* critical path, 3 to go: S-2 → S-4 → S-5
cycle: S-10 → S-11 → S-10
✓ done  ● running  ○ ready  · blocked  ✗ failed  ! stalled  ⏸ waiting  ? unknown
`
	if d := cmp.Diff(want, everyState().Text(Style{})); d != "" {
		t.Error(d)
	}
}

func TestTextInASCII(t *testing.T) {
	want := `  0   S-1 + Skeleton
      S-3 > Running w...
  1 * S-2 o Ready         <- S-1

* critical path, 1 to go: S-2
+ done  > running  o ready
`
	g := graphOf(plan.Options{}, item("S-1", "complete", "Skeleton"), item("S-2", "pending", "Ready", "S-1"),
		item("S-3", "tests", "Running   with a\nlong name"))
	if d := cmp.Diff(want, g.Text(Style{ASCII: true, Width: 32})); d != "" {
		t.Error(d)
	}
	all := everyState().Text(Style{ASCII: true})
	for _, r := range all {
		if r >= utf8.RuneSelf {
			t.Fatalf("%q is no ASCII in\n%s", r, all)
		}
	}
}

func TestTextOfNothing(t *testing.T) {
	if got := graphOf(plan.Options{}).Text(Style{}); got != "" {
		t.Errorf("%q", got)
	}
}

func TestTextPaints(t *testing.T) {
	got := graphOf(plan.Options{}, item("S-1", "failed", "x")).Text(Style{Paint: func(state, mark string) string { return "<" + state + mark + ">" }})
	if !strings.HasPrefix(got, "  0 * S-1 <failed✗> x\n") {
		t.Error(got)
	}
}

// Lines fit the width, unless ids and dependencies alone are wider.
func TestTextOfAnyWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []plan.Item
		for i := range rapid.IntRange(1, 8).Draw(t, "n") {
			it := item(fmt.Sprintf("S-%d", i), "pending", rapid.StringMatching(`[a-zä ]{0,40}`).Draw(t, "name"))
			if i > 0 && rapid.Bool().Draw(t, "dep") {
				it.Deps = []string{"S-0"}
			}
			items = append(items, it)
		}
		width := rapid.IntRange(32, 80).Draw(t, "width")
		lines := strings.Split(graphOf(plan.Options{}, items...).Text(Style{Width: width}), "\n")
		for _, line := range lines[:len(items)] {
			if n := utf8.RuneCountInString(line); n > width {
				t.Fatalf("%d columns, at most %d: %q", n, width, line)
			}
		}
	})
}

func TestMermaid(t *testing.T) {
	g := graphOf(plan.Options{}, item("S-1", "complete", `Say "hi" & <go>`), item("end", "failed", "end", "S-1"),
		item("S-3", "pending", "`x`; #1", "end", "S-9"))
	want := `flowchart LR
  n1["S-1: Say #34;hi#34; #38; #60;go#62;"]:::done
  n2["end"]:::failed
  n3["S-3: #96;x#96;#59; #35;1"]:::blocked
  m1["S-9 ?"]:::missing
  n1 --> n2
  n2 --> n3
  m1 --> n3
  classDef done fill:#d3f0d3,stroke:#555,color:#000
  classDef blocked fill:#eeeeee,stroke:#555,color:#000
  classDef failed fill:#ffc9c9,stroke:#555,color:#000
  classDef missing fill:#fff,stroke:#999,color:#000,stroke-dasharray:4
  style n2 stroke:#d00000,stroke-width:3px
  style n3 stroke:#d00000,stroke-width:3px
  linkStyle 1 stroke:#d00000,stroke-width:3px
`
	if d := cmp.Diff(want, g.Mermaid()); d != "" {
		t.Error(d)
	}
}

func TestDot(t *testing.T) {
	g := graphOf(plan.Options{}, item("S-1", "pending", `a "b" \n`), item("S-2", "pending", "S-2", "S-1", "S-9"))
	want := `digraph greenlight {
  rankdir=LR
  node [shape=box, style="rounded,filled", fillcolor="#ffffff"]
  "S-1" [label="S-1: a \"b\" \\n", tooltip="ready", fillcolor="#cfe4ff", color="#d00000", penwidth=3]
  "S-2" [label="S-2", tooltip="blocked", fillcolor="#eeeeee", color="#d00000", penwidth=3]
  "S-9" [label="S-9 ?", style=dashed]
  "S-1" -> "S-2" [color="#d00000", penwidth=3]
  "S-9" -> "S-2"
}
`
	if d := cmp.Diff(want, g.Dot()); d != "" {
		t.Error(d)
	}
}

// For any name, every line of a diagram is one statement of the forms that we write.
func TestDiagramsOfAnyName(t *testing.T) {
	mermaid := regexp.MustCompile(`^  n1\["S-1(: ([^"#&<>` + "`" + `\n]|#[0-9]+;)*)?"\]:::ready$`)
	dot := regexp.MustCompile(`^  "S-1" \[label="(\\.|[^"\\\n])*", tooltip="ready", `)
	rapid.Check(t, func(t *rapid.T) {
		g := graphOf(plan.Options{}, item("S-1", "pending", rapid.String().Draw(t, "name")))
		if line := strings.Split(g.Mermaid(), "\n")[1]; !mermaid.MatchString(line) {
			t.Errorf("Mermaid: %q", line)
		}
		if line := strings.Split(g.Dot(), "\n")[3]; !dot.MatchString(line) {
			t.Errorf("DOT: %q", line)
		}
	})
}

// The graph of one milestone has no edges out of it, but its slices still list all their
// dependencies.
func TestMilestone(t *testing.T) {
	in := func(it plan.Item, m string) plan.Item { it.Milestone = m; return it }
	g := graphOf(plan.Options{Milestone: "m"}, in(item("S-1", "complete", "a"), "other"),
		in(item("S-2", "pending", "b", "S-1"), "m"), in(item("S-3", "pending", "c", "S-2", "S-1"), "m"))
	if d := cmp.Diff([]Edge{{"S-3", "S-2"}}, g.Edges); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"S-2", "S-1"}, g.Nodes[1].Deps); d != "" || g.Nodes[1].Layer != 1 {
		t.Error(d, g.Nodes)
	}
}

func TestMap(t *testing.T) {
	g := everyState()
	upper := g.Map(func(s string) string { return "<" + s + ">" })
	if got := upper.Text(Style{}); !strings.Contains(got, "<Export>") || !strings.Contains(got, "← <S-2>, <S-99>?") ||
		!strings.Contains(got, "cycle: <S-10> → <S-11>") || !strings.Contains(got, "to go: <S-2> →") {
		t.Error(got)
	}
	if slices.ContainsFunc(g.Nodes, func(n Node) bool { return strings.Contains(n.Name+strings.Join(n.Deps, ""), "<") }) {
		t.Error("Map changed the graph that it was given")
	}
}
