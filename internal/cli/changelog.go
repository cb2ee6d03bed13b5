package cli

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/show/changelog"
)

type changelogOptions struct {
	milestone string
	since     string
	full      bool
	json      bool
}

func newChangelog(app *cmdutil.App) *cobra.Command {
	var o changelogOptions
	c := &cobra.Command{
		Use:   "changelog",
		Short: "Print what has been built, from the summaries",
		Long: `Print what has been built, from the files in .greenlight/summaries: the newest milestone first, in it the newest
slice first, then quick tasks, the newest first. A done slice without a summary has its title alone; one that still waits for approval is
left out, as is one that was taken back. Of each summary only the part about what changed is printed; --full prints all of it.

--since takes a day (2026-03-01), a time (2026-03-01T12:00:00Z) or how long ago (12h, 7d, 2w).

Exit codes: 0 printed, even if there is nothing yet; 1 no such milestone, or no project; 2 wrong usage.`,
		Example: `  gl changelog
  gl changelog --milestone mvp --full
  gl changelog --since 7d
  gl changelog --json | jq -r '.milestones[].entries[].title'`,
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runChangelog(app, o) },
	}
	f := c.Flags()
	f.StringVar(&o.milestone, "milestone", "", "only milestone `M`")
	f.StringVar(&o.since, "since", "", "only entries since `WHEN`: a day, a time, or how long ago")
	f.BoolVar(&o.full, "full", false, "all of each summary")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	cmdutil.CompleteFlag(c, "milestone", app.Milestones)
	return c
}

func runChangelog(app *cmdutil.App, o changelogOptions) error {
	now := time.Now()
	filter, err := changelog.NewFilter(o.milestone, o.since, now)
	if err != nil {
		return cmdutil.Usage("--since %w", err)
	}
	pr, err := app.Project()
	if err != nil {
		return err
	}
	p, err := shownPlan(pr, now, "")
	if err != nil {
		return err
	}
	all, bad, err := changelog.Read(pr.Root, p, takenBack(pr))
	if err != nil {
		return err
	}
	for _, b := range bad {
		app.IO.Message("warning: %v", b)
	}
	doc := changelog.New(all, filter)
	if len(doc.Milestones) == 0 {
		if err := knownMilestone(p, o.milestone); err != nil &&
			!changelog.HasMilestone(all, o.milestone) {
			return err
		}
	}
	if o.json {
		return app.IO.JSON(doc)
	}
	if doc.IsEmpty() {
		app.IO.Printf("%s\n", noEntries(o))
		return nil
	}
	printChangelog(app.IO, doc, o.full)
	return nil
}

// takenBack returns a function that reports whether merged work was taken back: by the id of a
// slice or the file of a task's summary. It reads no record until it is called, and takes
// unreadable ones for none.
func takenBack(pr *project.Project) func(of string) bool {
	index := sync.OnceValue(func() map[string][]attempt.Entry {
		all, _ := pr.Runs.Index()
		return all
	})
	return func(of string) bool {
		id := of
		if strings.HasPrefix(of, changelog.Dir) {
			id = attempt.TaskID("quick")
		}
		return slices.ContainsFunc(index()[id], func(e attempt.Entry) bool {
			rec, err := pr.Runs.Get(e.Slice, e.N)
			return err == nil && rec.Since.Undone != nil && (id == of || rec.Task.Summary == of)
		})
	}
}

func noEntries(o changelogOptions) string {
	s := "No changelog entries"
	if o.milestone == "" && o.since == "" {
		s += " yet"
	}
	if o.milestone != "" {
		s += " for milestone " + sanitize.Line(o.milestone)
	}
	if o.since != "" {
		s += " since " + sanitize.Line(o.since)
	}
	return s + "."
}

// printChangelog prints the changelog as Markdown.
func printChangelog(out *iostreams.Streams, doc *changelog.Document, full bool) {
	var parts []string
	section := func(title string, entries []changelog.Entry) {
		parts = append(parts,
			out.Paint(term.Bold, term.Wrap("# "+sanitize.Line(title), out.Width(), 2)))
		for i := range entries {
			parts = append(parts, entryText(out, &entries[i], full))
		}
	}
	for _, m := range doc.Milestones {
		title := "No milestone"
		if m.Name != nil {
			title = *m.Name
		}
		section(title, m.Entries)
	}
	if len(doc.Quick) > 0 {
		section("Quick tasks", doc.Quick)
	}
	out.Printf("%s\n", strings.Join(parts, "\n\n"))
}

func entryText(out *iostreams.Streams, en *changelog.Entry, full bool) string {
	title := "## " + en.ID
	if en.Title != en.ID {
		title += ": " + en.Title
	}
	if en.Date != nil {
		title += " (" + *en.Date + ")"
	}
	text := en.Changed
	if full {
		text = en.Text
	}
	title = out.Paint(term.Bold, term.Wrap(sanitize.Line(title), out.Width(), 3))
	if text == "" {
		return title
	}
	return title + "\n\n" +
		term.WrapLines(sanitize.Text(strings.ReplaceAll(text, "\r", "")), out.Width())
}
