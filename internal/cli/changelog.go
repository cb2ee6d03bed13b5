package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/jsondoc"
	"greenlight/internal/sanitize"
	"greenlight/internal/term"
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
		Short: "Tell what has been built, from summaries/",
		Long: `Tell what has been built, from the files in .greenlight/summaries: the newest milestone first, within one in the order
of the ids, and quick tasks by their time. Of each summary its first words are told, what changed; --full tells all.

--since takes a day (2026-03-01), a time (2026-03-01T12:00:00Z) or how long ago (12h, 7d, 2w).

Exit codes: 0 told, also where there is nothing yet; 1 there is no such milestone, or no project; 2 wrong usage.`,
		Example: `  gl changelog
  gl changelog --milestone mvp --full
  gl changelog --since 7d
  gl changelog --json | jq -r '.milestones[].entries[].title'`,
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runChangelog(app, o) },
	}
	f := c.Flags()
	f.StringVar(&o.milestone, "milestone", "", "only what belongs to milestone `M`")
	f.StringVar(&o.since, "since", "", "only what is not older: a day, a time, or how long ago (`WHEN`)")
	f.BoolVar(&o.full, "full", false, "all of each summary")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	cmdutil.CompleteFlag(c, "milestone", app.Milestones)
	return c
}

// from is the time that --since says, the zero time without it.
func (o changelogOptions) from(now time.Time) (time.Time, error) {
	if o.since == "" {
		return time.Time{}, nil
	}
	return readSince(o.since, now)
}

func runChangelog(app *cmdutil.App, o changelogOptions) error {
	now := time.Now()
	since, err := o.from(now)
	if err != nil {
		return err
	}
	pr, err := app.Project()
	if err != nil {
		return err
	}
	p, err := shownPlan(pr, now, "")
	if err != nil {
		return err
	}
	all, bad, err := readSummaries(pr.Root, p)
	if err != nil {
		return err
	}
	for _, b := range bad {
		app.IO.Message("warning: %v", b)
	}
	c := newChronicle(all, o.milestone, since)
	if len(c.Milestones) == 0 {
		if err := knownMilestone(p, o.milestone); err != nil && !hasMilestone(all, o.milestone) {
			return err
		}
	}
	if o.json {
		c.Since = jsondoc.OrNull(o.since)
		return app.IO.JSON(c)
	}
	if len(c.Milestones)+len(c.Quick) == 0 {
		app.IO.Printf("%s\n", noEntries(o))
		return nil
	}
	app.IO.Printf("%s", c.text(app, o.full))
	return nil
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

// readSince reads a day (it begins at local midnight), a time, or a time span back from now.
func readSince(s string, now time.Time) (time.Time, error) {
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if d, err := span(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, cmdutil.Usage("--since %q: a day (2026-03-01), a time (2026-03-01T12:00:00Z) or how long ago (12h, 7d, 2w)", s)
}

// span is time.ParseDuration that knows whole days and weeks, too.
func span(s string) (time.Duration, error) {
	const day = 24 * time.Hour
	for unit, d := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if digits, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 31)
			if err != nil || n > 36500 {
				return 0, fmt.Errorf("no number of days: %q", s)
			}
			return time.Duration(n) * d, nil
		}
	}
	return time.ParseDuration(s)
}

// text is the changelog as Markdown.
func (c *chronicle) text(app *cmdutil.App, full bool) string {
	var parts []string
	section := func(title string, entries []chronicleEntry) {
		parts = append(parts, app.IO.Paint(term.Bold, term.Wrap("# "+sanitize.Line(title), app.IO.Width(), 2)))
		for _, en := range entries {
			parts = append(parts, en.markdown(app, full))
		}
	}
	for _, m := range c.Milestones {
		title := "No milestone"
		if m.Name != nil {
			title = *m.Name
		}
		section(title, m.Entries)
	}
	if len(c.Quick) > 0 {
		section("Quick tasks", c.Quick)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func (en *chronicleEntry) markdown(app *cmdutil.App, full bool) string {
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
	title = app.IO.Paint(term.Bold, term.Wrap(sanitize.Line(title), app.IO.Width(), 3))
	if text == "" {
		return title
	}
	return title + "\n\n" + term.WrapLines(sanitize.Text(strings.ReplaceAll(text, "\r", "")), app.IO.Width())
}
