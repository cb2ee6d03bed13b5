package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/debugreport"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/state/contracts"
)

func newDebug(app *cmdutil.App) *cobra.Command {
	var asJSON, runTests bool
	c := &cobra.Command{
		Use:   "debug [ID]",
		Short: "Report everything about a slice, or the project's setup",
		Long: `Report everything about a slice: its fields, the reason for its state, its claim, its attempts and the end of the last
log, the project's test command, the last commits to its files and what has changed in them since, its checkpoints, what is
built in its worktree and isn't merged, its contracts and its decisions. Without an id, report the tools and their versions, the settings in config.json, the gl
that runs the project, the running attempts, and the hold.

Nothing is changed. --run-tests runs the test command (test.command in config.json) in the project's root.

Exit codes: 0 reported, even if the tests fail; 1 there is no such slice, or no project; 2 wrong usage.`,
		Example: `  gl debug
  gl debug S-07
  gl debug S-07 --run-tests
  gl debug @quick              the last quick tasks
  gl debug S-07 --json > report.json`,
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: app.Complete(completeFirstAttempt),
		RunE: func(c *cobra.Command, a []string) error {
			id := append(a, "")[0]
			task, n, ok := attempt.SplitTask(id)
			switch {
			case ok && runTests:
				return cmdutil.Usage("--run-tests goes with a slice, or without an id")
			case ok:
				return runDebugTask(c.Context(), app, task, n, asJSON)
			}
			return runDebug(c.Context(), app, id, runTests, asJSON)
		},
	}
	c.Flags().BoolVar(&runTests, "run-tests", false, "also run the project's test command")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// runDebug runs gl debug with the id of a slice, or without an id.
func runDebug(ctx context.Context, app *cmdutil.App, id string, runTests, asJSON bool) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	now := time.Now()
	p, err := shownPlan(pr, now, "")
	if err != nil {
		return err
	}
	var r *debugreport.Report
	if id == "" {
		app.Warn(p)
		r, err = debugreport.OfProject(ctx, pr, p,
			debugreport.Program{Version: fullVersion(), Self: cmdutil.Self, Environ: app.Environ})
	} else if id, err = app.Resolve(p, id); err == nil {
		r, err = debugreport.OfSlice(ctx, pr, p, id, now)
	}
	if err != nil {
		return err
	}
	self := ""
	if runTests {
		if self, err = cmdutil.Self(); err != nil {
			return err
		}
		if err := permit(ctx, app, pr.Root, r.Tests.Commands); err != nil {
			return err
		}
	}
	if asJSON {
		if runTests {
			busy := app.IO.Progress("running the tests")
			r.Tests.Run(ctx, self, pr.Root, app.Environ, func(line string) {
				busy.Step("running the tests: " + line)
			})
			busy.Done()
		}
		return app.IO.JSON(r)
	}
	d := &debugPrinter{app.IO, now, lane.ReadStatus(pr.Runs.Files.Dir())}
	if r.Slice != nil {
		d.slice(p, r.Slice)
	} else {
		d.project(r)
	}
	d.hold(r.Hold)
	d.tests(&r.Tests, runTests, func(line func(string)) {
		r.Tests.Run(ctx, self, pr.Root, app.Environ, line)
	})
	d.git(r)
	if r.Slice != nil {
		d.work(r.Slice.Work)
		d.contracts(r.Slice.Contracts)
		d.decisions(r.Slice.Decisions)
	}
	return nil
}

// fullVersion returns gl's version with its commit.
func fullVersion() string {
	v := versionInfo()
	if v.Commit == nil {
		return v.Version
	}
	return v.Version + " " + *v.Commit
}

// runDebugTask runs gl debug @quick, or @quick.2 for one attempt. It needs no state.
func runDebugTask(ctx context.Context, app *cmdutil.App, id string, n int, asJSON bool) error {
	pr, err := app.AnyProject()
	if err != nil {
		return err
	}
	recs, err := taskRecords(app, pr, id, n)
	if err != nil {
		return err
	}
	now := time.Now()
	r := debugreport.OfTask(ctx, pr, id, recs, now)
	if asJSON {
		return app.IO.JSON(r)
	}
	d := &debugPrinter{app.IO, now, lane.ReadStatus(pr.Runs.Files.Dir())}
	d.task(r.Task, recs)
	d.hold(r.Hold)
	d.git(r)
	return nil
}

// taskRecords returns the last attempts at a task, newest first, or the one with the number.
func taskRecords(app *cmdutil.App, pr *project.Project, id string,
	n int) ([]*attempt.Record, error) {
	if n > 0 {
		rec, err := findAttempt(app, pr, id, n)
		return []*attempt.Record{rec}, err
	}
	all, err := pr.Runs.Last(id)
	if err == nil && len(all[id]) == 0 {
		err = fmt.Errorf("no attempt here is called %s", id)
	}
	return all[id], err
}

// A debugPrinter prints reports as text.
type debugPrinter struct {
	io  *iostreams.Streams
	now time.Time
	s   lane.Status
}

// title prints the first line of a report.
func (d *debugPrinter) title(safe string) {
	d.io.Printf("%s\n", d.io.Paint(term.Bold, safe))
}

func (d *debugPrinter) section(title string) {
	d.io.Printf("\n%s\n", d.io.Paint(term.Bold, title))
}

// line prints one line of a section.
func (d *debugPrinter) line(format string, a ...any) {
	text := "  " + strings.ReplaceAll(sanitize.Text(fmt.Sprintf(format, a...)), "\n", `\n`)
	d.io.Printf("%s\n", term.Wrap(text, d.io.Width(), 6))
}

func (d *debugPrinter) slice(p *plan.Plan, s *debugreport.Slice) {
	title := s.ID
	if s.Name != s.ID {
		title += ": " + s.Name
	}
	d.title(sanitize.Line(title))
	if s.File != nil {
		d.line("%s", *s.File)
	}
	for _, f := range s.Order {
		if f.Value != "" && f.Key != "id" {
			d.line("%s: %s", f.Key, f.Value)
		}
	}
	d.why(p, s)
	d.claim(p.State(s.ID), s.Claim)
	d.section("Attempts")
	for _, rec := range s.Records {
		d.line("%s", attempttext.Line(p.State(s.ID), rec, d.now))
		for _, line := range attempttext.Proof(rec, d.s) {
			d.line("  %s", line)
		}
	}
	if len(s.Records) > 0 {
		for _, line := range attempttext.Output(s.Records[0]) {
			d.line("    %s", line)
		}
	}
	if s.Log == nil {
		d.line("none")
		return
	}
	d.log(s.Log)
}

func (d *debugPrinter) why(p *plan.Plan, s *debugreport.Slice) {
	d.section("Why")
	r := p.Why(s.ID, d.now)
	r.Next = nil // printed one by one
	d.line("%s", r)
	for _, hop := range p.Hops(s.ID, d.now) {
		d.line("  %s", hop)
	}
	help := plan.Reason{}
	if s.Why.NextIf != nil {
		help.If = *s.Why.NextIf
	}
	for _, command := range s.Why.Next {
		d.line("%s", help.Run(command))
	}
}

func (d *debugPrinter) claim(st *plan.State, c *debugreport.Claim) {
	d.section("Claim")
	if c == nil {
		d.line("none")
		return
	}
	d.line("%s", st.ClaimText(d.now))
	if c.Holder != nil {
		d.line("made in Claude Code's session %s", *c.Holder)
	}
}

func (d *debugPrinter) log(l *debugreport.Log) {
	d.line("the end of %s:", l.File)
	for _, line := range l.Lines {
		d.line("    %s", line)
	}
}

func (d *debugPrinter) contracts(list []contracts.Contract) {
	d.section("Contracts")
	if len(list) == 0 {
		d.line("none in its file")
	}
	for _, c := range list {
		if c.Heading == nil {
			d.line("%s: not in %s", c.ID, contracts.File)
		} else {
			d.line("%s: %s (%s, line %d)", c.ID, *c.Heading, contracts.File, *c.Line)
		}
	}
}

func (d *debugPrinter) decisions(list []string) {
	d.section("Decisions")
	if len(list) == 0 {
		d.line("none in its file")
	}
	for _, text := range list {
		d.line("%s", text)
	}
}

func (d *debugPrinter) work(w *ops.Work) {
	if w == nil {
		return
	}
	d.section("Work that isn't merged")
	for _, line := range w.Lines() {
		d.line("%s", line)
	}
}

func (d *debugPrinter) task(t *debugreport.Task, recs []*attempt.Record) {
	d.title(t.ID)
	d.section("Attempts")
	for _, r := range recs {
		st := &plan.State{Item: &plan.Item{ID: r.ID.Slice},
			Attempt: &plan.Attempt{N: r.ID.N, Dead: r.Life.Dead()}}
		d.line("%s: %s", r.Job.Prompt, attempttext.Line(st, r, d.now))
		if r.Task.HasSummary {
			d.line("  summary: %s", r.Task.Summary)
		}
	}
	d.log(&t.Log)
}

func (d *debugPrinter) project(r *debugreport.Report) {
	p := r.Project
	d.title(sanitize.Text(r.Root))
	d.line("%d/%d done, format %s", p.Done, p.Total, p.Format)
	d.section("Tools")
	for _, t := range p.Tools {
		d.line("%s", toolText(t))
	}
	d.section("Settings in " + project.ConfigFile)
	for _, s := range p.Settings {
		d.line("%s: %s", s.Key, valueText(s.Value))
	}
	if len(p.Settings) == 0 {
		d.line("none; all settings have their defaults")
	}
	d.section("Running")
	if p.Drain != nil {
		d.line("run by %s", *p.Drain)
	} else {
		d.line("no gl slice --watch is running")
	}
	for _, a := range p.Attempts {
		d.line("%s", openAttemptText(a, d.now))
	}
}

func toolText(t debugreport.Tool) string {
	s := t.Name
	if t.Program != nil && *t.Program != t.Name {
		s += ": " + *t.Program
	}
	switch {
	case t.Path == nil:
		return s + " not on PATH"
	case t.Version != nil:
		s += " " + *t.Version
	}
	return s + " (" + *t.Path + ")"
}

func openAttemptText(a debugreport.Attempt, now time.Time) string {
	with := a.Agent
	if a.Worker != nil {
		with += " on worker " + *a.Worker
	}
	s := fmt.Sprintf("attempt %d of %s with %s, %s, its gl process is %s", a.N, a.Slice, with,
		a.Phase, a.Process)
	if a.PID != nil {
		s += fmt.Sprintf(", the agent is pid %d", *a.PID)
	}
	if a.Started != nil {
		s += ", started " + plan.Age(now.Sub(*a.Started)) + " ago"
	}
	return s
}

func (d *debugPrinter) hold(h *plan.Hold) {
	if h != nil {
		d.section("Held")
		d.line("%s", heldText(h, d.now))
	}
}

// tests prints the test command. With wanted it also runs it, and prints its output as it arrives.
func (d *debugPrinter) tests(t *debugreport.Tests, wanted bool, run func(line func(string))) {
	d.section("Tests")
	switch {
	case t.Command == nil:
		d.line("no test command: gl settings set test.command \"…\"")
		return
	case !wanted:
		d.line("%s (not run: --run-tests runs it)", *t.Command)
		return
	}
	d.line("%s", *t.Command)
	run(func(line string) { d.line("    %s", line) })
	switch {
	case t.ExitCode != nil:
		d.line("exit %d after %s", *t.ExitCode,
			plan.Age(time.Duration(*t.Seconds*float64(time.Second))))
	case t.Error != nil:
		d.line("%s", *t.Error)
	}
}

func (d *debugPrinter) git(r *debugreport.Report) {
	g := r.Git
	d.section("Git")
	if g.Error != nil {
		d.line("%s", *g.Error)
		return
	}
	if g.Branch != nil {
		d.line("branch %s", *g.Branch)
	} else {
		d.line("no branch is checked out")
	}
	d.changes(g)
	for _, t := range g.Tags {
		d.line("checkpoint %s: %s %s", t.Name, t.Hash, t.Date)
	}
	if len(g.Tags) == 0 && r.Slice != nil {
		d.line("no checkpoint: no tag names %s", r.Slice.ID)
	}
}

// mostDirty limits the printed changed files.
const mostDirty = 50

// changes prints the commits of the files, and their uncommitted changes.
func (d *debugPrinter) changes(g debugreport.Git) {
	what := "the project"
	if len(g.Paths) > 0 {
		what = "its files"
	}
	if len(g.Commits) == 0 {
		d.line("no commits to %s", what)
	} else {
		d.line("last commits to %s:", what)
	}
	for _, c := range g.Commits {
		d.line("  %s %s %s", c.Hash, c.Date, c.Subject)
	}
	if len(g.Dirty) == 0 {
		d.line("nothing in %s has changed since the last commit", what)
	} else {
		d.line("changed since the last commit:")
	}
	for _, f := range g.Dirty[:min(len(g.Dirty), mostDirty)] {
		d.line("  %s", f)
	}
	if more := words.More(len(g.Dirty) - mostDirty); more != "" {
		d.line("  …%s", more)
	}
}
