package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/show/eventtext"
	"greenlight/internal/show/explain"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/rowlayout"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
	"greenlight/internal/state/journal"
)

func newWhy(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "why [ID]",
		Short: "Explain why a slice isn't running or done, and what to do",
		Long: `Explain the state of a slice: the reason, the chain of dependencies that blocks it, its last attempts, and the commands
that help. Without an id, explain every slice that isn't done. Of a task, such as @quick.1, show what came of its attempts.

Exit codes: 0 printed; 1 there is no such slice, or no project; 2 wrong usage.`,
		Example: `  gl why
  gl why S-07
  gl why S-07 --json | jq -r '.slices[0].next[]'`,
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.Complete(completeFirstAttempt),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) > 0 && attempt.IsTask(a[0]) {
				if asJSON {
					return cmdutil.Usage("--json is about slices: gl logs %s --json has a task's attempt", a[0])
				}
				return whyTask(app, a[0])
			}
			return runWhy(c.Context(), app, append(a, "")[0], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

func runWhy(ctx context.Context, app *cmdutil.App, id string, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	now := time.Now()
	views := pr.Views()
	plans := make([]*plan.Plan, len(views))
	for i, view := range views {
		if plans[i], err = shownPlan(view, now, ""); err != nil {
			return err
		}
	}
	if id != "" {
		return whyID(ctx, app, views, plans, id, asJSON, now)
	}
	doc := explain.NewDocument(plans[0])
	for i, p := range plans {
		app.Warn(p)
		if asJSON {
			if err := doc.Add(views[i], p, unfinished(p), now); err != nil {
				return err
			}
			continue
		}
		if len(plans) > 1 {
			app.IO.Printf("%s\n", app.IO.Paint(term.Bold, views[i].System().Name))
		}
		target := facts.Upstream(ctx, views[i], p)
		whyAll(app.IO, p, target, now)
		if text := queueStuck(ctx, views[i], target); text != "" {
			app.IO.Printf("%s\n", wrapped(app.IO, term.Yellow, "  "+text, 4))
		}
	}
	if asJSON {
		return app.IO.JSON(doc)
	}
	return nil
}

// whyID explains one item of the system in use or, if that has none of the name, of another.
func whyID(ctx context.Context, app *cmdutil.App, views []*project.Project, plans []*plan.Plan,
	id string, asJSON bool, now time.Time) error {
	at := 0
	for i, p := range plans {
		if p.State(id) != nil {
			at = i
			break
		}
	}
	id, err := app.Resolve(plans[at], id)
	switch {
	case err != nil:
		return err
	case !asJSON:
		return whyOne(ctx, app.IO, views[at], plans[at], id, now)
	}
	doc := explain.NewDocument(plans[at])
	if err := doc.Add(views[at], plans[at], []string{id}, now); err != nil {
		return err
	}
	return app.IO.JSON(doc)
}

// whyTask shows the attempts at a task, and what can be done with its work.
func whyTask(app *cmdutil.App, id string) error {
	pr, work, err := app.Work(id)
	if err != nil {
		return err
	}
	recs, err := pr.Runs.AttemptsAt(work)
	if err != nil || len(recs) == 0 {
		return err
	}
	last := recs[0]
	app.IO.Printf("%s\n", wrapped(app.IO, term.Bold, sanitize.Line(work+": "+last.ID.Title), 2))
	target := lane.ReadStatus(pr.Runs.Files.Dir())
	for _, rec := range recs {
		printAttempt(app.IO, nil, rec, target, time.Now())
	}
	if g := last.Landing; g != nil && g.Commit != "" && last.Since.Undone == nil {
		app.IO.Printf("gl diff %s shows it, gl undo %[1]s takes it back\n", sanitize.Text(work))
	}
	return nil
}

// printAttempt prints what came of an attempt.
func printAttempt(out *iostreams.Streams, st *plan.State, rec *attempt.Record, target lane.Status,
	now time.Time) {
	out.Printf("%s\n", wrapped(out, outcomeColor(rec), "  "+attempttext.Line(st, rec, now), 4))
	for _, line := range slices.Concat(attempttext.Proof(rec, target), attempttext.Work(rec)) {
		out.Printf("%s\n", wrapped(out, term.Dim, "    "+line, 6))
	}
}

// unfinished lists the unfinished slices, those closest to completion first.
func unfinished(p *plan.Plan) []string {
	return slices.Concat(p.Lists.Running, p.Lists.Landing, p.Lists.Ready, p.Lists.Blocked,
		p.Lists.TroubledIDs(), p.Lists.Waiting, p.Lists.Unknown)
}

// whyAll prints a line for each slice that isn't done, below what blocks all of them and what the
// target doesn't have yet.
func whyAll(out *iostreams.Streams, p *plan.Plan, target lane.Status, now time.Time) {
	ids := unfinished(p)
	printBlockers(out, p)
	switch {
	case p.Total == 0:
		out.Printf("there are no %ss yet\n", p.Snapshot.Noun)
	case len(ids) == 0 && p.Total == 1:
		out.Printf("the only %s is done\n", p.Snapshot.Noun)
	case len(ids) == 0:
		out.Printf("all %d %ss are done\n", p.Total, p.Snapshot.Noun)
	default:
		for _, held := range status.Holds(p, now) {
			out.Printf("%s\n", wrapped(out, term.Yellow, held, 2))
		}
		for _, id := range ids {
			out.Printf("%s\n", reasonText(out, p, p.Why(id, now)))
		}
	}
	tellUndelivered(out, target)
}

// queueStuck returns why the merge queue can't move until a person acts, if all else is done and
// merged; "" for no reason. The target may have lost what was merged into it.
func queueStuck(ctx context.Context, pr *project.Project, target lane.Status) string {
	if !target.Known || len(target.Waiting()) > 0 {
		return ""
	}
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return ""
	}
	reason, err := lane.Stuck(ctx, pr, repo)
	if err != nil {
		return ""
	}
	return reason
}

// printBlockers prints what blocks the whole project.
func printBlockers(out *iostreams.Streams, p *plan.Plan) {
	for _, text := range status.Blockers(p) {
		out.Printf("%s\n", wrapped(out, term.Yellow, text, 2))
	}
}

// builtBy returns which agent and model the slice's front matter selects.
func builtBy(st *plan.State) string {
	var parts []string
	if st.Agent != "" {
		parts = append(parts, "by "+st.Agent)
	}
	if st.Model != "" {
		parts = append(parts, "with the model "+st.Model)
	}
	if len(parts) == 0 {
		return ""
	}
	return "built " + sanitize.Line(strings.Join(parts, " "))
}

// reasonText returns a reason on as many lines as needed, with its id in the group's color.
func reasonText(out *iostreams.Streams, p *plan.Plan, r plan.Reason) string {
	text := term.Wrap(sanitize.Line(r.String()), out.Width(), 2)
	id := sanitize.Line(r.ID)
	rest, ok := strings.CutPrefix(text, id)
	if st := p.State(r.ID); ok && st != nil {
		return out.Paint(rowlayout.Colors[view.GroupOf(st)], id) + rest
	}
	return text
}

// whyOne explains one slice in full.
func whyOne(ctx context.Context, out *iostreams.Streams, pr *project.Project, p *plan.Plan,
	id string, now time.Time) error {
	recs, err := pr.Runs.LastOf(p.State(id).Item)
	if err != nil {
		return err
	}
	r := p.Why(id, now)
	help := explain.Help(p, r, now)
	r.Next = nil
	out.Printf("%s\n", reasonText(out, p, r))
	if r.State != "done" {
		printBlockers(out, p)
	}
	if r.State == "ready" {
		for _, held := range status.Holds(p, now) {
			out.Printf("%s\n", wrapped(out, term.Yellow, held, 2))
		}
	}
	if text := builtBy(p.State(id)); text != "" {
		out.Printf("%s\n", text)
	}
	for _, c := range p.Foreseen(id) {
		if r.State != "ready" { // a ready slice's reason has it
			out.Printf("%s\n", wrapped(out, term.Yellow, "  "+c.Text(), 4))
		}
	}
	for i, hop := range p.Hops(id, now) {
		out.Printf("%s\n", wrapped(out, "", strings.Repeat("  ", i+1)+hop, 2*i+4))
	}
	landed := facts.Upstream(ctx, pr, p)
	for _, rec := range recs {
		printAttempt(out, p.State(id), rec, landed, now)
	}
	if text := halfDone(ctx, pr, p, id); text != "" {
		out.Printf("%s\n", wrapped(out, term.Yellow, "  "+text, 4))
	}
	for _, text := range happened(pr, id, now) {
		out.Printf("%s\n", wrapped(out, term.Dim, "  "+text, 4))
	}
	if p.State(id).Class == plan.Done {
		printUnmerged(out, id, landed)
	}
	for _, command := range help.Next {
		out.Printf("%s\n", sanitize.Text(help.Run(command)))
	}
	if st := p.State(id); st.HeldBack && st.Class == plan.Waiting {
		out.Printf("Once it is fixed by hand, run gl accept %s%s: it is done if the tests pass\n", sanitize.Line(id), p.Snapshot.Flags)
	}
	if slices.Contains(p.Lists.Unverified, id) {
		of := *p
		of.Lists.Unverified = []string{id}
		if text := facts.Proving(ctx, pr, &of); text != "" {
			out.Printf("%s\n", wrapped(out, "", "to verify it: "+text, 2))
		}
	}
	return nil
}

// printUnmerged prints why the target doesn't have a done slice.
func printUnmerged(out *iostreams.Streams, id string, landed lane.Status) {
	switch {
	case landed.Has(id):
	case landed.PullRequest != nil && slices.Contains(landed.PullRequest.IDs(), id):
		out.Printf("%s\n", wrapped(out, "", "in review: "+landed.PullRequest.URL, 2))
	default:
		out.Printf("%s\n", wrapped(out, term.Yellow, "not merged yet: "+unmergedReason(landed), 2))
	}
}

// happened tells what the journal alone has of a slice: when and why the merge queue set it
// aside, and work that came from workers when it no longer counted.
func happened(pr *project.Project, id string, now time.Time) (lines []string) {
	events := pr.Runs.Journal().ReaderOf(time.Time{}, journal.LateWork, journal.SetAside)
	for e, err := range events.All() {
		switch {
		case err != nil || e.Slice != id:
		case e.Kind == journal.SetAside:
			lines = append(lines, plan.At(e.Time, now, "15:04")+" "+eventtext.Of(e))
		default:
			text := eventtext.Of(e)
			if e.Branch != "" {
				text += ". gl salvage lists kept work"
			}
			lines = append(lines, text)
		}
	}
	return lines
}

// wrapped returns a text from files wrapped to the screen, in a color; continuation lines are
// indented by hang.
func wrapped(out *iostreams.Streams, c term.Color, text string, hang int) string {
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	lines := strings.Split(term.Wrap(lead+sanitize.Line(text), out.Width(), hang), "\n")
	for i, l := range lines {
		body := strings.TrimLeft(l, " ")
		lines[i] = l[:len(l)-len(body)] + out.Paint(c, body)
	}
	return strings.Join(lines, "\n")
}
