package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/show/graphview"
	"greenlight/internal/state/tracker"
)

type graphOptions struct {
	format    string
	milestone string
	ascii     bool
	asciiSet  bool
}

// graphFormats returns the values of --format.
func graphFormats() []string { return []string{"text", "mermaid", "dot", "json"} }

func newGraph(app *cmdutil.App) *cobra.Command {
	var o graphOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "graph",
		Short: "Show the dependency graph",
		Long: `Show the dependency graph. The text format is a list in which every slice comes after its dependencies; slices of the
same depth are in launch order. Each line has the slice's state, name and dependencies. A * marks the critical path, the
longest chain of slices still to be built. A ? after an id marks an unknown slice.

  ✓ done   ● running   ○ ready   · blocked   ✗ failed   ! stalled   ⏸ waiting   ? unknown

The other formats are mermaid (for Markdown pages), dot (for Graphviz) and json.

Exit codes: 0 shown; 1 there is no such milestone, or no project; 2 wrong usage.`,
		Example: `  gl graph
  gl graph --milestone mvp
  gl graph --format dot | dot -Tsvg > graph.svg
  gl graph --json | jq -r '.critical_path[]'`,
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			o.asciiSet = c.Flags().Changed("ascii")
			if asJSON {
				if c.Flags().Changed("format") && o.format != "json" {
					return cmdutil.Usage("use --json or --format %s, not both", o.format)
				}
				o.format = "json"
			}
			return runGraph(app, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "text", "print `FORMAT`: text, mermaid, dot or json")
	f.StringVar(&o.milestone, "milestone", "", "only slices of milestone `M`")
	f.BoolVar(&o.ascii, "ascii", false,
		"use only ASCII characters (default if the locale isn't UTF-8)")
	f.BoolVar(&asJSON, "json", false, "the same as --format json")
	cmdutil.CompleteFlag(c, "format", graphFormats)
	cmdutil.CompleteFlag(c, "milestone", app.Milestones)
	return c
}

func runGraph(app *cmdutil.App, o graphOptions) error {
	if !slices.Contains(graphFormats(), o.format) {
		return cmdutil.Usage("--format must be %s", cmdutil.MustBe(o.format, graphFormats()))
	}
	pr, err := app.Project()
	if err != nil {
		return err
	}
	p, err := shownPlan(pr, time.Now(), o.milestone)
	if err != nil {
		return err
	}
	app.Warn(p)
	g := graphview.New(p)
	if o.format == "json" {
		return app.IO.JSON(newGraphDoc(g, o.milestone))
	}
	g = g.Map(sanitize.Line)
	switch o.format {
	case "mermaid":
		app.IO.Printf("%s", g.Mermaid())
	case "dot":
		app.IO.Printf("%s", g.Dot())
	default:
		if len(g.Nodes) == 0 {
			app.IO.Printf("there are no %ss yet\n", p.Snapshot.Noun)
			return nil
		}
		ascii := o.ascii || !o.asciiSet && !isUTF8(app)
		app.IO.Printf("%s", g.Text(graphview.Style{ASCII: ascii, Width: app.IO.Width(),
			Paint: func(state, mark string) string {
				return app.IO.Paint(stateColor(state), mark)
			}}))
		if c, err := pr.Tracker.Load(); err == nil {
			printWaves(app.IO, c.Waves)
		}
	}
	return nil
}

// printWaves shows the parts of items under the graph.
func printWaves(out *iostreams.Streams, waves []tracker.Wave) {
	if len(waves) > 0 {
		out.Printf("\nplans by wave\n")
	}
	for _, w := range waves {
		out.Printf("%s\n", term.Wrap("  "+sanitize.Line(fmt.Sprintf("%s wave %d, %d/%d done: %s",
			w.Item, w.N, w.Done, len(w.Parts), strings.Join(w.Parts, ", "))), out.Width(), 4))
	}
}

// isUTF8 reports whether the locale has box-drawing characters.
func isUTF8(app *cmdutil.App) bool {
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := app.Getenv(key); locale != "" {
			locale = strings.ToLower(strings.ReplaceAll(locale, "-", ""))
			return strings.Contains(locale, "utf8")
		}
	}
	return false
}

func stateColor(state string) term.Color {
	return map[string]term.Color{
		graphview.Done: term.Green, graphview.Running: term.Yellow, graphview.Ready: term.Blue,
		graphview.Blocked: term.Gray,
		graphview.Failed:  term.Red, graphview.Stalled: term.Red, graphview.Waiting: term.Violet,
		graphview.Unknown: term.Red,
	}[state]
}

type graphDoc struct {
	SchemaVersion int         `json:"schema_version"`
	Milestone     *string     `json:"milestone"` // value of --milestone; null for all slices
	Nodes         []graphNode `json:"nodes"`     // by layer, then in launch order
	Edges         []graphEdge `json:"edges"`     // between nodes; to may also be missing
	// the longest chain of unfinished slices, in building order
	CriticalPath []string   `json:"critical_path"`
	Cycles       [][]string `json:"cycles"`  // each a closed path of unfinished slices
	Missing      []string   `json:"missing"` // ids that nodes depend on and no slice has
}

type graphNode struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
	Layer int    `json:"layer" jsonschema:"minimum=0"` // 0 for a slice that depends on no node
	// all of them, including those that aren't nodes
	Deps     []string `json:"deps"`
	Critical bool     `json:"critical"` // on the critical path
}

// A graphEdge is one dependency of a slice.
type graphEdge struct {
	From string `json:"from"`
	To   string `json:"to"` // what it depends on
}

func newGraphDoc(g *graphview.Graph, milestone string) graphDoc {
	doc := graphDoc{SchemaVersion: 1, Milestone: jsondoc.OrNull(milestone), Nodes: []graphNode{},
		Edges: []graphEdge{}, CriticalPath: jsondoc.OrEmpty(g.Critical), Cycles: g.Cycles,
		Missing: jsondoc.OrEmpty(g.Missing)}
	if doc.Cycles == nil {
		doc.Cycles = [][]string{}
	}
	for _, n := range g.Nodes {
		doc.Nodes = append(doc.Nodes,
			graphNode{n.ID, n.Name, n.State, n.Layer, jsondoc.OrEmpty(n.Deps), n.Critical})
	}
	for _, ed := range g.Edges {
		doc.Edges = append(doc.Edges, graphEdge(ed))
	}
	return doc
}
