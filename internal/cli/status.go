package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/view"
	"greenlight/internal/state/spending"
	"greenlight/internal/state/statedir"
)

type statusOptions struct {
	compact   bool
	json      bool
	milestone string
	all       bool
	watch     bool
}

func newStatus(app *cmdutil.App) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:        "status",
		SuggestFor: []string{"ls", "list", "ps", "st", "progress"},
		Short:      "Show progress: what is running, ready, blocked or failed",
		Long: `Show the project's progress: what needs a person, what failed or stalled, what is running, what is ready (in launch order), what
is blocked and by what, and the recorded tests. Problems in single files are warnings on stderr. STATE.md is updated if it
can be written.

On a terminal each slice has a row, and long lists are folded. Elsewhere, each state has one line with the slices' ids; a long
one has the first of them and the number of the others. --all and --json have them all.

--compact prints one line for a status bar. It never fails and never writes; what is unknown shows as ?.

Exit codes: 0 shown; 1 there is no project, or no such milestone; 2 wrong usage.`,
		Example: `  gl status
  gl status --watch
  gl status --milestone mvp
  gl status --json | jq -r '.ready[]'
  gl status --compact`,
		Args: cmdutil.Args(cobra.NoArgs),
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if o.compact {
				return nil // it checks for itself, and doesn't fail
			}
			return app.CheckGlobals()
		},
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case o.compact && o.json:
				return cmdutil.Usage("use --compact or --json, not both")
			case o.watch && (o.compact || o.json):
				return cmdutil.Usage("use --watch alone; for a status bar, run gl status --compact again and again, for a program gl events -f --json")
			case o.compact:
				return runCompact(app, o)
			}
			return runStatus(c.Context(), app, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.compact, "compact", false, "print one line for a status bar")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	f.BoolVar(&o.all, "all", false, "show every slice: long lists in full, and what is done")
	f.BoolVar(&o.watch, "watch", false, "keep showing the progress as it changes")
	f.StringVar(&o.milestone, "milestone", "", "only slices of milestone `M`")
	cmdutil.CompleteFlag(c, "milestone", app.Milestones)
	return c
}

func runStatus(ctx context.Context, app *cmdutil.App, o statusOptions) error {
	pr, err := app.Project()
	if err != nil {
		return stateless(app, err)
	}
	if o.watch {
		return watchStatus(ctx, app, pr, o)
	}
	now := time.Now()
	views := pr.Views()
	if o.milestone != "" { // the others' milestones are others
		views = views[:1]
	}
	plans := make([]*plan.Plan, len(views))
	for i, view := range views {
		defer view.Follow()() // for STATE.md all is looked at once more
		if plans[i], err = shownPlan(view, now, o.milestone); err != nil {
			return err
		}
		app.Warn(plans[i])
	}
	if o.json {
		var docs []statusDoc
		for i, p := range plans {
			by, err := landedBy(p, views[i])
			if err != nil {
				return err
			}
			doc := newStatusDoc(p, facts.Upstream(ctx, views[i], p), by, o.milestone)
			doc.expect(views[i], p, now)
			docs = append(docs, doc)
		}
		doc := docs[0]
		doc.Others = append(doc.Others, docs[1:]...)
		if err := app.IO.JSON(doc); err != nil {
			return err
		}
	} else {
		printStatus(ctx, app.IO, o, views, plans, now)
	}
	for i, view := range views {
		refreshState(ctx, app, view, plans[i])
	}
	return nil
}

// printStatus prints a block for each of the systems that the project uses.
func printStatus(ctx context.Context, out *iostreams.Streams, o statusOptions, views []*project.Project, plans []*plan.Plan, now time.Time) {
	for i, p := range plans {
		if i > 0 {
			out.Printf("\n")
		}
		if len(plans) > 1 {
			out.Printf("%s\n", out.Paint(term.Bold, views[i].System().Name))
		}
		for _, l := range statusText(ctx, out, o, views[i], p, now) {
			out.Printf("%s\n", l)
		}
	}
}

// statusText is a system's block: rows for a person on a terminal, a line for each state elsewhere.
func statusText(ctx context.Context, out *iostreams.Streams, o statusOptions, pr *project.Project, p *plan.Plan, now time.Time) []string {
	width := out.Width()
	if width > 0 || o.all {
		if width == 0 {
			width = wideEnough
		}
		return screen{width: max(width, 10), all: o.all, paint: out.Paint}.lines(facts.Model(pr, p, now))
	}
	var list []string
	for _, l := range append(statusLines(p, facts.Upstream(ctx, pr, p), now), outlook(pr, p, now)...) {
		list = append(list, hang(l.label, l.text, 0))
	}
	return list
}

// outlook is what it cost so far and how long it is likely to take still, as far as that is known. It is read from the journal alone: a script
// may ask often, and records are many.
func outlook(pr *project.Project, p *plan.Plan, now time.Time) (lines []statusLine) {
	if t, err := costSoFar(pr); err == nil && t.Attempts > 0 {
		cost := view.Cost{USD: t.USD(), Known: t.Attempts - t.UnknownCost, Unknown: t.UnknownCost}
		lines = append(lines, statusLine{"Cost:", cost.String()})
	}
	if len(p.Lists.Running)+len(p.Lists.Landing)+len(p.Lists.Ready) == 0 {
		return lines
	}
	if _, left, ok := facts.Remaining(pr, p, now); ok && left > 0 {
		lines = append(lines, statusLine{"Left:", view.Left(p, left, now)})
	}
	return lines
}

// costSoFar is what all attempts cost so far.
func costSoFar(pr *project.Project) (spending.Total, error) {
	book, err := spending.Since(pr.Runs.Journal(), time.Time{})
	return book.Total(), err
}

// wideEnough is how many columns rows have where there is no screen.
const wideEnough = 200

// runCompact prints the line for a status bar, whatever is the matter.
func runCompact(app *cmdutil.App, o statusOptions) error {
	pr, p, err := compactPlan(app, o.milestone)
	if err != nil {
		app.IO.Printf("? slices | ? running\n")
		return nil
	}
	app.IO.Printf("%s\n", barText(p, pr))
	return nil
}

// barText is the line for a status bar.
func barText(p *plan.Plan, pr *project.Project) string {
	return view.Count(p, facts.Lane(pr, p)).Bar(p, time.Now())
}

func compactPlan(app *cmdutil.App, milestone string) (*project.Project, *plan.Plan, error) {
	if err := app.CheckGlobals(); err != nil {
		return nil, nil, err
	}
	pr, err := app.Project()
	if err != nil {
		return nil, nil, err
	}
	p, err := shownPlan(pr, time.Now(), milestone)
	return pr, p, err
}

// landedBy are the records by which done slices have landed.
func landedBy(p *plan.Plan, pr *project.Project) (map[string]*attempt.Record, error) {
	var ids []string
	for i := range p.States {
		if st := &p.States[i]; st.InScope && st.Class == plan.Done && st.Verified != plan.NotKnown {
			ids = append(ids, st.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return pr.Runs.Landed(ids...)
}

// shownPlan is the plan of a command that only shows: what is wrong with config.json is a warning among the others.
func shownPlan(pr *project.Project, now time.Time, milestone string) (*plan.Plan, error) {
	p, err := pr.Plan(now, planOptions(pr, milestone, nil))
	if err != nil {
		return nil, err
	}
	if err := knownMilestone(p, milestone); err != nil {
		return nil, err
	}
	p.Warnings = append(p.Warnings, configWarnings(pr)...)
	return p, nil
}

// configWarnings has a warning for each key of config.json that is wrong.
func configWarnings(pr *project.Project) []plan.Warning {
	if pr.ConfigErr == nil {
		return nil
	}
	const path = ".greenlight/config.json"
	text := strings.TrimPrefix(pr.ConfigErr.Error(), filepath.Join(pr.Root, path)+": ")
	var list []plan.Warning
	for _, line := range strings.Split(text, "\n") {
		list = append(list, plan.Warning{Path: path, Message: line + "; using the default"})
	}
	return list
}

// refreshLimit is how long a command that shows something may wait for others to bring STATE.md up to date.
const refreshLimit = 2 * time.Second

// refreshState brings STATE.md up to date. That is a courtesy: a tree that can't be written, and somebody who keeps the
// lock, are no reason to fail. A symbolic link is none either, but whoever cloned it should know. While git has reverted files of slices, STATE.md
// stays as git has left it, so that git stash pop finds it unchanged.
func refreshState(ctx context.Context, app *cmdutil.App, pr *project.Project, p *plan.Plan) {
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	pr.Runs.KeepTallies()
	if len(p.Reverted()) > 0 {
		return
	}
	if err := pr.Tracker.Refresh(ctx); statedir.IsLink(err) {
		app.IO.Message("warning: %v", err)
	}
}

type statusLine struct{ label, text string }

// statusLines are a line for each state, as scripts and agents read them.
func statusLines(p *plan.Plan, landed lane.Status, now time.Time) []statusLine {
	lines := []statusLine{{"Progress:", fmt.Sprintf("%s %d/%d %ss", bar(p.Done, p.Total, barCells), p.Done, p.Total, p.Snapshot.Noun)}}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, statusLine{label, text})
		}
	}
	for _, l := range recordLines(p) {
		add(l.label, l.text)
	}
	for _, h := range p.InEffect() {
		add("Held:", sanitize.Line(h.Listed(now)))
	}
	add("Running:", progressList(p, now))
	add("Forecast:", sanitize.Text(forecastText(p)))
	if list := unverified(p); list != "" {
		add("Verify:", list+" (unverified: gl verify ID)")
	}
	add("Unmerged:", undelivered(landed))
	add("Review:", sanitize.Text(pullRequest(landed)))
	add("Merging:", landingList(p, now))
	add("Ready:", listed(p.Lists.Ready))
	add("Blocked:", briefs(p, p.Lists.Blocked, now))
	for _, g := range p.Lists.Troubled() {
		add(g.Label+":", troubleList(p, g.IDs, now))
	}
	add("Waiting:", briefs(p, p.Lists.Waiting, now))
	add("Unknown:", briefs(p, p.Lists.Unknown, now))
	add("Blockers:", sanitize.Text(strings.Join(p.Snapshot.Blockers, "; ")))
	add("Tests:", view.Tests(p))
	return lines
}

// forecastText says whose work is likely to conflict.
func forecastText(p *plan.Plan) string {
	var list []string
	for _, c := range p.Forecast {
		list = append(list, c.String())
	}
	if len(list) == 0 {
		return ""
	}
	const most = 5
	return strings.Join(list[:min(most, len(list))], "; ") + words.More(len(list)-most) + " will likely conflict"
}

// unverified names the done slices of which gl has seen no tests pass. Where that is all of many, as in a clone, which has no records, the
// names say nothing.
func unverified(p *plan.Plan) string {
	const many = 5
	if n := len(p.Lists.Unverified); n > many && n == p.Done {
		return fmt.Sprintf("%d complete slices, none with a verdict here", n)
	}
	return someOf(p.Lists.Unverified)
}

// undelivered names the slices that have landed, or were taken back, of which the target hasn't heard yet, with the reason.
func undelivered(s lane.Status) string {
	switch {
	case len(s.Waiting()) == 0:
		return ""
	case s.Reason == "":
		return someOf(s.Waiting())
	}
	return sanitize.Text(someOf(s.Waiting()) + " (" + s.Reason + ", gl land)")
}

// recordLines are the progress that the format's file records and, where that is another one, what gl counts.
func recordLines(p *plan.Plan) []statusLine {
	progress := p.Snapshot.Progress
	if progress == nil {
		return nil
	}
	text := func(r plan.Recorded) string {
		text := fmt.Sprintf("%d/%d %ss, %d/%d %ss", r.Done, r.Total, p.Snapshot.Noun, r.PartsDone, r.PartsAll, progress.Parts)
		if progress.Milestone != "" {
			text = sanitize.Text(progress.Milestone) + ": " + text
		}
		if r.Percent != nil {
			text += fmt.Sprintf(", %d%%", *r.Percent)
		}
		return text
	}
	counted := statusLine{"Counted:", text(progress.Counted())}
	switch r := progress.Recorded; {
	case r == nil:
		return []statusLine{counted}
	case r.Same(progress.Counted()):
		return []statusLine{{"Recorded:", text(*r)}}
	default:
		return []statusLine{{"Recorded:", text(*r)}, counted}
	}
}

// heldText says until when nothing is launched, and why, safe for a terminal.
func heldText(h *plan.Hold, now time.Time) string { return sanitize.Text(h.Describe(now)) }

// heldLines say who is held until when, and why.
func heldLines(p *plan.Plan, now time.Time) (lines []string) {
	for _, h := range p.InEffect() {
		lines = append(lines, sanitize.Line(h.Sentence(now)))
	}
	return lines
}

// blockerLines are what stops the whole project, a line each.
func blockerLines(p *plan.Plan) (lines []string) {
	for _, text := range p.Snapshot.Blockers {
		lines = append(lines, "Blocker: "+sanitize.Line(text))
	}
	return lines
}

// labelWidth is the column in which the texts of gl status begin. No label is longer than the column before it.
const labelWidth = 10

// hang puts the text behind its label and, where the width is known, breaks it after commas, the lines that follow
// indented like the first. What is too long for a line of its own is broken between words; a word stays whole.
func hang(label, text string, width int) string {
	label = fmt.Sprintf("%-*s ", labelWidth-1, label)
	if width < 2*labelWidth {
		return label + text
	}
	return term.WrapWords(label, pieces(text, width-labelWidth), width, labelWidth)
}

// pieces are the parts of a text that stay together in lines of that many columns.
func pieces(text string, columns int) []string {
	var list []string
	for _, part := range strings.SplitAfter(text, ", ") {
		part = strings.TrimSuffix(part, " ")
		if term.Width(part) <= columns {
			list = append(list, part)
		} else {
			list = append(list, strings.Split(part, " ")...)
		}
	}
	return list
}
