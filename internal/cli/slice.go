package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/run/tmux"
)

// sliceOptions are the flags of gl slice; for each zero value the config decides.
type sliceOptions struct {
	max        int
	watch      bool
	dryRun     bool
	sequential bool
	runner     string
	agent      string
	isolation  string
	milestone  string
	interval   time.Duration
	force      bool
	json       bool
	web        bool
	serve      bool
	copy       bool     // of gl rehearse
	attend     []string // names of attempts whose launcher became tmux: see attend.go
}

func newSlice(app *cmdutil.App) *cobra.Command {
	var o sliceOptions
	c := &cobra.Command{
		Use:   "slice [ID...]",
		Short: "Build slices; in parallel when several are ready",
		Long: `Build slices with one agent each: the named slices, or all that are ready. With --watch, gl builds the whole graph:
when a slice ends, the next ready one starts, until nothing is running and nothing is ready.

Several slices run in parallel, each in a pane of a private tmux session (gl attach). Without tmux they run in this
terminal, one after the other. With --runner process they run in parallel without panes (gl logs -f ID).

With --agent claude,codex the second agent builds while the first one is held (gl hold). A slice stays with the agent that has its
conversation unless that one is held. agent and model in a slice's file (gl state set ID agent=codex model=NAME) override the choice for that slice. One with labels
goes to a worker that has them (gl worker --label).

Inside an agent it starts nothing: it prints the whole slice to build, as gl state show --text does, or the --dry-run report.` + "\n" + cmdutil.ExitHelp,
		Example: `  gl slice                           build what is ready
  gl slice --watch                   build the whole graph, several at a time
  gl slice S-07                      build this slice in this terminal, even if it failed before
  gl slice --watch --agent claude,codex   continue with codex while claude is held
  gl slice --dry-run                 show what would happen
  gl slice --watch --agent rehearsal:step=100ms,fail=10%   try it in a scratch copy, with invented results`,
		ValidArgsFunction: app.CompleteIDs,
		RunE: func(c *cobra.Command, ids []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			return runSlice(c.Context(), app, o, ids)
		},
	}
	o.flags(app, c)
	return c
}

func (o *sliceOptions) flags(app *cmdutil.App, c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&o.max, "max", 0,
		"run at most `N` agents at once (default 4)")
	f.BoolVar(&o.watch, "watch", false,
		"continue until nothing is ready, refilling slots as slices end")
	f.BoolVar(&o.web, "web", false, "with --watch: serve the pages of gl web while it runs")
	f.BoolVar(&o.serve, "serve", false, "with --watch: serve workers on other machines while it runs, as gl serve does")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would happen without changing anything")
	f.BoolVar(&o.sequential, "sequential", false, "build one slice after the other")
	f.StringVar(&o.runner, "runner", "",
		"run agents in parallel `HOW`: tmux or process (default tmux if installed)")
	f.StringVar(&o.agent, "agent", "", "`NAME` of the agent, or several in order of preference: "+
		strings.Join(agent.Usage(), ", ")+", or one of parallel.agents in config.json")
	f.StringVar(&o.isolation, "isolation", "", "where agents work: `WHERE` is worktree (each slice in a worktree of its own) or shared (default: git.isolation)")
	f.StringVar(&o.milestone, "milestone", "", "only slices of milestone `M`")
	f.DurationVar(&o.interval, "interval", 0,
		"check again after `D` even if no file has changed (default 30s)")
	f.BoolVar(&o.force, "force", false, "ignore unmet dependencies, other sessions' claims and completed status; of named slices also a hold")
	f.BoolVar(&o.json, "json", false, jsonOfRuns)
	f.StringSliceVar(&o.attend, attendFlag, nil, "")
	_ = f.MarkHidden(attendFlag)
	cmdutil.CompleteFlag(c, "agent", app.Agents)
	cmdutil.CompleteFlag(c, "runner", runners)
	cmdutil.CompleteFlag(c, "isolation", project.Isolations)
	cmdutil.CompleteFlag(c, "milestone", app.Milestones)
}

// jsonOfRuns is the help of --json for commands that run agents.
const jsonOfRuns = "print events as they come, one JSON document a line, and messages to stderr; with --dry-run, print one JSON document"

// check refuses invalid values of flags.
func (o *sliceOptions) check(c *cobra.Command) error {
	switch {
	case c.Flags().Changed("max") && o.max < 1:
		return cmdutil.Usage("--max must be 1 or more, not %d", o.max)
	case o.web && !o.watch:
		return cmdutil.Usage("use --web with --watch; gl web serves the pages without a run")
	case o.serve && !o.watch:
		return cmdutil.Usage("use --serve with --watch; gl serve serves workers without a run")
	case c.Flags().Changed("interval") && o.interval <= 0:
		return cmdutil.Usage("--interval must be greater than 0, not %s", o.interval)
	}
	return nil
}

// checkRunner refuses an unknown --runner.
func checkRunner(runner string) error {
	switch {
	case runner != "" && runner != "process" && runner != "tmux":
		return cmdutil.Usage("--runner must be %s", cmdutil.MustBe(runner, runners()))
	case runner == "tmux" && !tmux.Installed():
		return fmt.Errorf("tmux is not on PATH: %s, or use --runner process", tmux.InstallHint)
	}
	return nil
}

// runners returns the values of --runner.
func runners() []string { return []string{"tmux", "process"} }

func runSlice(ctx context.Context, app *cmdutil.App, o sliceOptions, ids []string) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	if err := configErr(pr); err != nil {
		return err
	}
	if err := isolate(pr, o.isolation); err != nil {
		return err
	}
	if err := checkRunner(o.runner); err != nil {
		return err
	}
	p, err := pr.Plan(time.Now(), planOptions(pr, o.milestone, nil))
	if err != nil {
		return err
	}
	if err := knownMilestone(p, o.milestone); err != nil {
		return err
	}
	for i := range ids {
		if ids[i], err = app.Resolve(p, ids[i]); err != nil {
			return err
		}
	}
	if app.Inside() && !o.dryRun && !o.copy {
		return sliceInside(ctx, app, pr, p, ids)
	}
	app, events := streaming(app, o.json && !o.dryRun)
	job, err := newJob(app, pr, o, "slice")
	if err != nil {
		return err
	}
	job.ids, job.events = ids, events
	job.noteTargets(p)
	if o.dryRun {
		return dryRun(ctx, app, pr, p, job, o)
	}
	if job.copies() && o.serve {
		return cmdutil.Usage("leave --serve out: a rehearsal runs on this machine alone")
	}
	if job.copies() && len(o.attend) == 0 {
		return job.runInCopy(ctx)
	}
	if o.web {
		defer beginWeb(ctx, app)()
	}
	if o.serve {
		end, err := beginServing(app, pr)
		if err != nil {
			return err
		}
		defer end()
	}
	return job.run(ctx)
}

// planOptions narrows the project's plan.
func planOptions(pr *project.Project, milestone string, ids []string) plan.Options {
	o := pr.Options()
	o.Milestone, o.IDs = milestone, ids
	return o
}
