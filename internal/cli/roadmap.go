package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/agent"
	"greenlight/internal/gsd"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/text/markdown"
)

const roadmapFile = ".greenlight/ROADMAP.md"

func newRoadmap(e *env) *cobra.Command {
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
		Args: onlySubcommands,
		RunE: func(*cobra.Command, []string) error { return runRoadmap(e, asJSON) },
	}
	c.SuggestionsMinimumDistance = 2
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.AddCommand(newRoadmapTalk(e, "milestone", "Plan the next milestone with the agent"),
		newRoadmapTalk(e, "archive", "Archive a milestone that is done, with the agent"))
	return c
}

// onlySubcommands refuses a word that is no subcommand, with the one that was probably meant.
func onlySubcommands(c *cobra.Command, a []string) error {
	if len(a) == 0 {
		return nil
	}
	hint := ""
	if near := c.SuggestionsFor(a[0]); len(near) > 0 {
		hint = ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage("unknown command %q for %s%s (%[2]s --help lists them all)", a[0], c.CommandPath(), hint)
}

func newRoadmapTalk(e *env, name, short string) *cobra.Command {
	prompt := "/gl:roadmap " + name
	return &cobra.Command{
		Use:     name,
		Short:   short,
		Long:    short + ": " + prompt + "." + fmt.Sprintf(talkHelp, prompt, "or no project"),
		Example: "  gl roadmap " + name,
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return e.talkInProject(c.Context(), "roadmap", name)
		},
	}
}

type roadmapDoc struct {
	SchemaVersion int                `json:"schema_version"`
	File          string             `json:"file"` // relative to the root
	Text          string             `json:"text"`
	Milestones    []roadmapMilestone `json:"milestones"`
}

type roadmapMilestone struct {
	Name   *string `json:"name"`   // null for the slices of no milestone
	Status *string `json:"status"` // as the roadmap's heading has it: "[active]"
	Done   int     `json:"done"`
	Total  int     `json:"total"`
}

func runRoadmap(e *env, asJSON bool) error {
	pr, err := e.project()
	if err != nil {
		return err
	}
	pr = withRoadmap(pr)
	file, begin, read := roadmapOf(pr)
	data, err := os.ReadFile(filepath.Join(pr.Root, filepath.FromSlash(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s: %s", file, begin)
	}
	if err != nil {
		return err
	}
	onTerminal := isTerminal(e.out)
	if !asJSON && !onTerminal && !e.colours() {
		_, err := e.data.Write(data)
		return err
	}
	p, err := shownPlan(pr, time.Now(), "")
	if err != nil {
		return err
	}
	text := string(data)
	milestones := milestonesOf(p, read(text))
	if asJSON {
		e.warn(p)
		return e.json(roadmapDoc{1, file, strings.ToValidUTF8(text, "\ufffd"), milestones})
	}
	e.print("%s", foldLines(e.styled(text), e.width()))
	if onTerminal {
		e.print("\n%s", milestoneLines(milestones))
	}
	return nil
}

// roadmapOf is where the roadmap of the system that counts is, relative to the root, how one begins, and what reads it.
func roadmapOf(pr *project.Project) (file, begin string, read func(text string) roadmap) {
	if g, ok := pr.Tracker.(*gsd.Tracker); ok {
		return g.RoadmapFile(), g.Begin(), readGsdRoadmap
	}
	return roadmapFile, "run gl roadmap milestone to plan one", readRoadmap
}

// withRoadmap is the view of the first system that has a roadmap; the project itself where none has.
func withRoadmap(pr *project.Project) *project.Project {
	for _, view := range pr.Views() {
		file, _, _ := roadmapOf(view)
		if _, err := os.Stat(filepath.Join(view.Root, filepath.FromSlash(file))); err == nil {
			return view
		}
	}
	return pr
}

// styled is a Markdown document for a terminal: what it says is kept, headings are bold.
func (e *env) styled(text string) string {
	var b strings.Builder
	for l := range markdown.Lines(text) {
		line := agent.Clean(l.Text)
		if l.Level > 0 {
			line = e.paint(bold, line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// milestoneLines has a line with a bar for each milestone.
func milestoneLines(list []roadmapMilestone) string {
	width := 0
	for i := range list {
		width = max(width, len([]rune(list[i].title())))
	}
	var b strings.Builder
	for _, m := range list {
		progress := "no slices yet"
		if m.Total > 0 {
			progress = fmt.Sprintf("%s %d/%d", bar(m.Done, m.Total, barCells), m.Done, m.Total)
		}
		fmt.Fprintf(&b, "%-*s  %s\n", width, m.title(), progress)
	}
	return b.String()
}

func (m *roadmapMilestone) title() string {
	if m.Name == nil {
		return "(no milestone)"
	}
	return oneLine(*m.Name)
}

// milestonesOf counts the slices of each milestone: those of the roadmap in its order, then the slices' others. A slice
// that names none belongs where the roadmap has it in a table.
func milestonesOf(p *plan.Plan, r roadmap) []roadmapMilestone {
	list := []roadmapMilestone{}
	at := map[string]int{}
	for _, m := range r.milestones {
		if _, twice := at[m.name]; !twice {
			at[m.name] = len(list)
			list = append(list, roadmapMilestone{Name: known(m.name), Status: known(m.status)})
		}
	}
	for i := range p.States {
		st := &p.States[i]
		name := firstOf(st.Milestone, r.rows[st.ID].milestone)
		n, ok := at[name]
		if !ok {
			n = len(list)
			at[name] = n
			list = append(list, roadmapMilestone{Name: known(name)})
		}
		list[n].Total++
		if st.Class == plan.Done {
			list[n].Done++
		}
	}
	return list
}

// A roadmap is what gl understands of ROADMAP.md.
type roadmap struct {
	milestones []roadmapSection
	rows       map[string]roadmapRow // by the id in a row's first cell
}

type roadmapSection struct{ name, status string }

type roadmapRow struct {
	milestone string
	date      string // the first date in the row; "" for none
}

var (
	milestoneHeading = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^milestone\s*[0-9.]*\s*[:—–-]\s*(.*?)\s*(?:\[([^\]]*)\])?$`)
	})
	dateGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`) })
)

// readRoadmap finds the milestones (`## Milestone: name [status]`) and the slices in their tables.
func readRoadmap(text string) roadmap {
	r := roadmap{rows: map[string]roadmapRow{}}
	name, level := "", 0
	for l := range markdown.Lines(text) {
		m := milestoneHeading().FindStringSubmatch(l.Title)
		switch {
		case l.Code:
		case l.Level > 0 && m == nil:
			if l.Level <= level { // a section of another kind
				name = ""
			}
		case l.Level > 0:
			if m[1] != "" {
				name, level = m[1], l.Level
				r.milestones = append(r.milestones, roadmapSection{m[1], m[2]})
			}
		case name != "":
			cells := markdown.Cells(l.Text)
			if len(cells) == 0 || strings.Trim(cells[0], "-: ") == "" {
				continue
			}
			if _, twice := r.rows[cells[0]]; !twice {
				r.rows[cells[0]] = roadmapRow{name, dateGrammar().FindString(l.Text)}
			}
		}
	}
	return r
}

// readGsdRoadmap finds the milestones of a GSD roadmap, known by their versions; the phases know which is theirs.
func readGsdRoadmap(text string) roadmap {
	var r roadmap
	for _, m := range gsd.ParseRoadmap(text).Milestones {
		status := ""
		if m.Shipped {
			status = "shipped"
		}
		r.milestones = append(r.milestones, roadmapSection{m.Version, status})
	}
	return r
}
