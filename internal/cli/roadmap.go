package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/text/markdown"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/show/status"
	"greenlight/internal/state/roadmap"
)

func newRoadmap(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "roadmap",
		Short: "Print ROADMAP.md and the progress of its milestones",
		Long: `Print .greenlight/ROADMAP.md, or the .planning/ROADMAP.md of a GSD project. A terminal shows its headings in bold. On a terminal
and inside an agent, the number of finished slices of each milestone follows. A pipe or a file gets its text, with control characters escaped. In a project with several systems
the first one that has a roadmap counts.

To plan a new milestone or archive a finished one, talk to the agent: gl roadmap milestone, gl roadmap archive.

Exit codes: 0 printed; 1 no roadmap, or no project; 2 wrong usage.`,
		Example: `  gl roadmap
  gl roadmap --json | jq -r '.milestones[] | "\(.name) \(.done)/\(.total)"'`,
		Args: cmdutil.OnlySubcommands,
		RunE: func(*cobra.Command, []string) error { return runRoadmap(app, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	c.AddCommand(newRoadmapTalk(app, "milestone", "Plan the next milestone with the agent"),
		newRoadmapTalk(app, "archive", "Archive a finished milestone with the agent"))
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

func runRoadmap(app *cmdutil.App, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	pr, r, err := pr.Roadmap()
	if err != nil {
		return err
	}
	onTerminal := iostreams.IsTerminal(app.IO.Out)
	counts := onTerminal || app.Inside() // agents report how far the milestones are
	if !asJSON && !counts && !app.IO.Colors() {
		app.IO.Printf("%s", safe(r.Text))
		return nil
	}
	p, err := shownPlan(pr, time.Now(), "")
	if err != nil {
		return err
	}
	if asJSON {
		app.Warn(p)
		return app.IO.JSON(r.Document(p))
	}
	app.IO.Printf("%s", term.WrapLines(styled(app.IO, r.Text), app.IO.Width()))
	if counts {
		app.IO.Printf("\n%s", milestoneLines(r.Progress(p)))
	}
	return nil
}

// safe returns a text that is safe even if a pipe ends at a terminal. Its line endings are kept.
func safe(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := textline.Chomp(line)
		b.WriteString(sanitize.Text(body) + line[len(body):])
	}
	return b.String()
}

// styled returns a Markdown document for a terminal: its unchanged text with bold headings.
func styled(out *iostreams.Streams, text string) string {
	var b strings.Builder
	for l := range markdown.Lines(text) {
		line := sanitize.Text(l.Text)
		if l.Level > 0 {
			line = out.Paint(term.Bold, line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// milestoneLines returns a line with a bar for each milestone.
func milestoneLines(list []roadmap.Progress) string {
	width := 0
	for i := range list {
		width = max(width, term.Width(milestoneTitle(&list[i])))
	}
	var b strings.Builder
	for i := range list {
		m := &list[i]
		progress := "no slices yet"
		if m.Total > 0 {
			progress = fmt.Sprintf("%s %d/%d", status.Bar(m.Done, m.Total, status.BarCells),
				m.Done, m.Total)
		}
		fmt.Fprintf(&b, "%s  %s\n", term.Pad(milestoneTitle(m), width), progress)
	}
	return b.String()
}

func milestoneTitle(m *roadmap.Progress) string {
	if m.Name == nil {
		return "(no milestone)"
	}
	return sanitize.Line(*m.Name)
}
