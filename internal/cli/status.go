package cli

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/run/workers"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
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
		Use:   "status",
		Short: "Show progress: what is running, ready, blocked or failed",
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
	if o.milestone != "" { // other systems have other milestones
		views = views[:1]
	}
	plans := make([]*plan.Plan, len(views))
	for i, view := range views {
		defer view.Follow()() // refreshState looks at all files once more
		if plans[i], err = shownPlan(view, now, o.milestone); err != nil {
			return err
		}
		app.Warn(plans[i])
	}
	if o.json {
		if err := printStatusJSON(ctx, app.IO, o, views, plans, now); err != nil {
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

// printStatusJSON prints a document, which contains those of the other systems.
func printStatusJSON(ctx context.Context, out *iostreams.Streams, o statusOptions,
	views []*project.Project, plans []*plan.Plan, now time.Time) error {
	var docs []status.Document
	for i, p := range plans {
		landed, err := facts.Landed(views[i], p)
		if err != nil {
			return err
		}
		f := facts.Summary(ctx, views[i], p)
		f.Landed = landed
		docs = append(docs, *status.New(view.Summary(p, f, now), o.milestone))
	}
	docs[0].Others = append(docs[0].Others, docs[1:]...)
	return out.JSON(docs[0])
}

// printStatus prints a block for each of the systems that the project uses.
func printStatus(ctx context.Context, out *iostreams.Streams, o statusOptions,
	views []*project.Project, plans []*plan.Plan, now time.Time) {
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

// statusText returns a system's block: rows on a terminal, a line for each state elsewhere.
func statusText(ctx context.Context, out *iostreams.Streams, o statusOptions,
	pr *project.Project, p *plan.Plan, now time.Time) []string {
	width := out.Width()
	if width > 0 || o.all {
		if width == 0 {
			width = wideEnough
		}
		screen := status.Screen{Width: max(width, 10), All: o.all, Paint: out.Paint}
		m := facts.Model(pr, p, now)
		m.Proving, m.HalfDone = facts.Proving(ctx, pr, p), halfDone(ctx, pr, p)
		return screen.Lines(m)
	}
	m := view.Summary(p, facts.Summary(ctx, pr, p), now)
	m.Proving, m.HalfDone = facts.Proving(ctx, pr, p), halfDone(ctx, pr, p)
	return status.Pipe(m)
}

// wideEnough is the width of rows without a screen.
const wideEnough = 200

// runCompact prints the line for a status bar, even after an error.
func runCompact(app *cmdutil.App, o statusOptions) error {
	pr, p, err := compactPlan(app, o.milestone)
	if err != nil {
		app.IO.Printf("? slices | ? running\n")
		return nil
	}
	app.IO.Printf("%s\n", barText(p, pr))
	return nil
}

// barText returns the line for a status bar.
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

// shownPlan returns the plan for a command that only shows it: errors in config.json are among its
// warnings.
func shownPlan(pr *project.Project, now time.Time, milestone string) (*plan.Plan, error) {
	p, err := pr.Plan(now, planOptions(pr, milestone, nil))
	if err != nil {
		return nil, err
	}
	if err := knownMilestone(p, milestone); err != nil {
		return nil, err
	}
	p.Warnings = append(p.Warnings, configWarnings(pr)...)
	noteAbsent(pr, p)
	return p, nil
}

// noteAbsent adds to the plan which ready slices name an agent that can't be launched. Any worker
// may have the agent.
func noteAbsent(pr *project.Project, p *plan.Plan) {
	self, err := cmdutil.Self()
	if err != nil {
		return
	}
	o := &p.Snapshot.Outlook
	for _, id := range p.Lists.Ready {
		st := p.State(id)
		if st.Agent == "" || o.Unplaced[id].Cause != "" || !pr.Config.Workers.Here(st.Labels) {
			continue
		}
		if l, err := workers.Read(pr.Runs.Files.Dir()); err != nil || len(l.Workers) > 0 {
			return
		}
		a, err := pr.Config.FindAgent(st.Agent, self)
		if err == nil {
			err = notOnPath(a, pr.Root)
		}
		if err == nil {
			continue
		}
		if o.Unplaced == nil {
			o.Unplaced = map[string]plan.Obstacle{}
		}
		o.Unplaced[id] = plan.Obstacle{Next: "gl state set " + id + " agent=NAME",
			Cause: "its agent " + st.Agent + " can't be launched: " + err.Error()}
	}
}

// configWarnings returns a warning for each wrong key of config.json.
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

// refreshLimit is how long a command that only shows something may take to update STATE.md.
const refreshLimit = 2 * time.Second

// refreshState updates STATE.md, if possible: errors are ignored, such as a read-only tree or a
// lock held by another process. Only a symbolic link causes a warning. While git has reverted slice
// files, STATE.md stays as git left it, so that git stash pop finds it unchanged.
func refreshState(ctx context.Context, app *cmdutil.App, pr *project.Project, p *plan.Plan) {
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	if len(p.Reverted()) > 0 {
		return
	}
	if err := pr.Tracker.Refresh(ctx); statedir.IsLink(err) {
		app.IO.Message("warning: %v", err)
	}
}

// heldText returns until when nothing is launched, and why, sanitized for a terminal.
func heldText(h *plan.Hold, now time.Time) string { return sanitize.Text(h.Describe(now)) }
