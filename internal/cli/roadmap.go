package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/iostreams"
	"greenlight/internal/jsondoc"
	"greenlight/internal/markdown"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/roadmap"
	"greenlight/internal/sanitize"
	"greenlight/internal/term"
)

func newRoadmap(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "roadmap",
		Short: "Print ROADMAP.md, and how far its milestones are",
		Long: `Print .greenlight/ROADMAP.md, or a GSD project's .planning/ROADMAP.md. On a terminal its headings stand out, and below it
stands how far each milestone is, from the slices; into a pipe or a file it goes byte for byte. Of a project's several systems the first that has a roadmap counts.

To plan a new milestone, or to archive one that is done, talk to the agent: gl roadmap milestone, gl roadmap archive.

Exit codes: 0 printed; 1 there is no roadmap, or no project; 2 wrong usage.`,
		Example: `  gl roadmap
  gl roadmap --json | jq -r '.milestones[] | "\(.name) \(.done)/\(.total)"'`,
		Args: cmdutil.OnlySubcommands,
		RunE: func(*cobra.Command, []string) error { return runRoadmap(app, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.AddCommand(newRoadmapTalk(app, "milestone", "Plan the next milestone with the agent"),
		newRoadmapTalk(app, "archive", "Archive a milestone that is done, with the agent"))
	return c
}

func newRoadmapTalk(app *cmdutil.App, name, short string) *cobra.Command {
	prompt := "/gl:roadmap " + name
	return &cobra.Command{
		Use:     name,
		Short:   short,
		Long:    short + ": " + prompt + "." + fmt.Sprintf(talkHelp, prompt, "or no project"),
		Example: "  gl roadmap " + name,
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return talkInProject(c.Context(), app, "roadmap", name)
		},
	}
}

type roadmapDoc struct {
	SchemaVersion int                `json:"schema_version"`
	File          string             `json:"file"`       // relative to the root
	Text          string             `json:"text"`       // all of ROADMAP.md
	Milestones    []roadmapMilestone `json:"milestones"` // those of the roadmap in its order, then those that only slices name
}

type roadmapMilestone struct {
	Name   *string `json:"name"`   // null for the slices of no milestone
	Status *string `json:"status"` // the word in brackets in the roadmap's heading
	Done   int     `json:"done" jsonschema:"minimum=0"`
	Total  int     `json:"total" jsonschema:"minimum=0"`
}

func runRoadmap(app *cmdutil.App, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	pr, r, err := withRoadmap(pr)
	if err != nil {
		return err
	}
	onTerminal := iostreams.IsTerminal(app.IO.Out)
	if !asJSON && !onTerminal && !app.IO.Colors() {
		_, err := io.WriteString(app.IO, r.Text)
		return err
	}
	p, err := shownPlan(pr, time.Now(), "")
	if err != nil {
		return err
	}
	milestones := milestonesOf(p, r)
	if asJSON {
		app.Warn(p)
		return app.IO.JSON(roadmapDoc{1, r.File, strings.ToValidUTF8(r.Text, "\ufffd"), milestones})
	}
	app.IO.Printf("%s", term.WrapLines(styled(app, r.Text), app.IO.Width()))
	if onTerminal {
		app.IO.Printf("\n%s", milestoneLines(milestones))
	}
	return nil
}

// withRoadmap is the view of the first system that has a roadmap, and that; the error of the project itself where none
// has.
func withRoadmap(pr *project.Project) (*project.Project, *roadmap.Roadmap, error) {
	for _, view := range pr.Views() {
		r, err := view.Tracker.Roadmap()
		if !errors.Is(err, fs.ErrNotExist) {
			return view, r, err
		}
	}
	r, err := pr.Tracker.Roadmap()
	return pr, r, err
}

// styled is a Markdown document for a terminal: what it says is kept, headings are bold.
func styled(app *cmdutil.App, text string) string {
	var b strings.Builder
	for l := range markdown.Lines(text) {
		line := sanitize.Text(l.Text)
		if l.Level > 0 {
			line = app.IO.Paint(term.Bold, line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// milestoneLines has a line with a bar for each milestone.
func milestoneLines(list []roadmapMilestone) string {
	width := 0
	for i := range list {
		width = max(width, term.Width(list[i].title()))
	}
	var b strings.Builder
	for _, m := range list {
		progress := "no slices yet"
		if m.Total > 0 {
			progress = fmt.Sprintf("%s %d/%d", bar(m.Done, m.Total, barCells), m.Done, m.Total)
		}
		fmt.Fprintf(&b, "%s  %s\n", term.Pad(m.title(), width), progress)
	}
	return b.String()
}

func (m *roadmapMilestone) title() string {
	if m.Name == nil {
		return "(no milestone)"
	}
	return sanitize.Line(*m.Name)
}

// milestonesOf counts the slices of each milestone: those of the roadmap in its order, then the slices' others. A slice
// that names none belongs where the roadmap has it in a table.
func milestonesOf(p *plan.Plan, r *roadmap.Roadmap) []roadmapMilestone {
	list := []roadmapMilestone{}
	at := map[string]int{}
	for _, m := range r.Milestones {
		if _, twice := at[m.Name]; !twice {
			at[m.Name] = len(list)
			list = append(list, roadmapMilestone{Name: jsondoc.OrNull(m.Name), Status: jsondoc.OrNull(m.Status)})
		}
	}
	for i := range p.States {
		st := &p.States[i]
		name := firstOf(st.Milestone, r.Rows[st.ID].Milestone)
		n, ok := at[name]
		if !ok {
			n = len(list)
			at[name] = n
			list = append(list, roadmapMilestone{Name: jsondoc.OrNull(name)})
		}
		list[n].Total++
		if st.Class == plan.Done {
			list[n].Done++
		}
	}
	return list
}
