package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/trust"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/run/tmux"
	"greenlight/internal/show/attempttext"
	"greenlight/internal/workspace/scratch"
)

// A job is one run of gl slice, or the task of gl quick and the like: its flags combined with the
// config.
type job struct {
	app    *cmdutil.App
	pr     *project.Project
	o      sliceOptions
	ids    []string
	task   *attempt.Task // instead of slices
	max    int
	every  time.Duration
	agents []*builder // in order of preference
	parent string     // path of gl
	name   string     // name of the slash command: "slice"

	// where the journal's events are printed as they come; nil for nowhere
	events *iostreams.Streams

	// by slice id, the session whose claim the person agreed to take over
	over      map[string]string
	rehearsal *rehearsal.Spec // nil unless the agent is the rehearsal's
	copy      *scratch.Copy   // the copy that pr is of; nil for a real project
}

// newJob also finds the agents, and the text for those without the slash command /gl:NAME.
func newJob(app *cmdutil.App, pr *project.Project, o sliceOptions, name string) (*job, error) {
	j := &job{app: app, pr: pr, o: o, over: map[string]string{}, max: pr.Config.Max,
		every: pr.Config.Interval, name: name}
	if o.max > 0 {
		j.max = o.max
	}
	if o.interval > 0 {
		j.every = o.interval
	}
	names := pr.Config.Agent
	if o.agent != "" {
		names = agent.SplitNames(o.agent, pr.Config.Agents)
	}
	var err error
	if j.parent, err = cmdutil.Self(); err != nil {
		return nil, err
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		b, spec, err := j.find(name)
		if err != nil {
			return nil, err
		}
		if i > 0 && (spec == nil) != (j.rehearsal == nil) {
			return nil, cmdutil.Usage("--agent must name rehearsals alone or none: they write invented results")
		}
		if spec != nil && j.rehearsal != nil && spec.Here != j.rehearsal.Here {
			return nil, cmdutil.Usage("here must be in all rehearsals or in none")
		}
		if j.agents = append(j.agents, b); spec != nil {
			j.rehearsal = spec
		}
	}
	return j, nil
}

// parallel reports whether agents run side by side: in tmux, unless it is missing or another runner
// was requested.
func (j *job) parallel() bool {
	return j.runner() != "" && !j.o.sequential && (j.oneByOne() == "" || j.o.runner != "")
}

// oneByOne returns why the items of this format are better built one by one; "" if they may be
// built side by side.
func (j *job) oneByOne() string { return j.pr.Tracker.Traits().Serial }

func (j *job) runner() string {
	if j.o.runner == "" && tmux.Installed() {
		return "tmux"
	}
	return j.o.runner
}

// run builds slices.
func (j *job) run(ctx context.Context) error {
	j.app.IO.Hush()
	return j.streamed(ctx, func() error { return j.build(ctx) })
}

// streaming reserves stdout for the events of a run: it returns app with everything else on stderr,
// and the streams for the events. If not on, it changes nothing.
func streaming(app *cmdutil.App, on bool) (*cmdutil.App, *iostreams.Streams) {
	if !on {
		return app, nil
	}
	messages := *app
	messages.IO = app.IO.ForMessages()
	return &messages, app.IO
}

// streamed runs f, and prints the events as they come, if requested.
func (j *job) streamed(ctx context.Context, f func() error) error {
	if j.events == nil {
		return f()
	}
	events, err := streamEvents(ctx, j.pr, j.events)
	if err != nil {
		return err
	}
	return errors.Join(f(), events.close())
}

// build builds what is ready, or the named slices.
func (j *job) build(ctx context.Context) error {
	if err := reconcile(ctx, j.app, j.pr); err != nil {
		return err
	}
	p, err := j.pr.Plan(time.Now(), planOptions(j.pr, j.o.milestone, j.scope()))
	if err != nil {
		return err
	}
	j.app.Warn(p)
	if err := j.admit(p, j.app.Confirm); err != nil {
		return err
	}
	adopt, err := orphans(j.pr)
	if err != nil {
		return err
	}
	idle := !j.o.watch && len(j.ids) == 0 && len(p.Lists.Ready) == 0 && len(j.o.attend) == 0
	if idle && len(adopt) == 0 {
		closeIdle(ctx, j.app, j.pr)
		return nothingReady(j.app.IO, p)
	}
	// With nothing to launch, no agent is needed.
	if err := j.present(ctx); err != nil && len(p.Lists.Ready)+len(p.Lists.Running)+len(j.ids) > 0 {
		return err
	}
	cfg := j.config(p)
	cfg.Mode.Adopt, cfg.Mode.Attend = slices.Concat(adopt, j.o.attend), idle || len(j.o.attend) > 0
	if cfg.Mode.Attend {
		cfg.Slots.Serial, cfg.Mode.Foreground, cfg.Mode.Refill = false, false, false
	}
	if err := j.refused(cfg); err != nil {
		return err
	}
	if err := j.inWorktree(ctx, &cfg); err != nil {
		return err
	}
	j.arrive()
	j.noteSerial(cfg, p)
	if err := j.noteReview(p); err != nil {
		return err
	}
	if !idle {
		return j.drain(ctx, cfg)
	}
	return j.mergeQueued(ctx, cfg, p, adopt)
}

// reconcile settles the attempts whose processes are gone, and tells of them.
func reconcile(ctx context.Context, app *cmdutil.App, pr *project.Project) error {
	waiting := scheduler.Patiently(ctx, func(holder string) {
		app.IO.Message("%s", lockedText(holder))
	})
	found, err := scheduler.Reconcile(waiting, pr)
	reportAside(app.IO, found.Aside)
	for _, r := range found.Settled {
		app.IO.Message("warning: %s", attempttext.Ended(r, pr.Whose(r).Flags()))
	}
	return err
}

// mergeQueued merges what is in the queue while nothing else is to be done, and then builds what
// became ready by that.
func (j *job) mergeQueued(ctx context.Context, cfg scheduler.Config, p *plan.Plan,
	adopt []string) error {
	if cfg.Tools.Lane == nil { // worktrees can't be had any more
		return nothingReady(j.app.IO, p)
	}
	j.app.IO.Message("merging what is in the queue: %s", strings.Join(adopt, ", "))
	err := j.drain(ctx, cfg)
	p, planErr := j.pr.Plan(time.Now(), planOptions(j.pr, j.o.milestone, nil))
	if planErr != nil || len(p.Lists.Ready) == 0 || ctx.Err() != nil {
		return errors.Join(err, planErr)
	}
	return j.build(ctx) // its dependents are ready now
}

// inWorktree arranges for the work to be done in worktrees and merged, unless it is to be done in
// the checkout.
func (j *job) inWorktree(ctx context.Context, cfg *scheduler.Config) (err error) {
	where := &workplaces{j.app, j.pr, j.task != nil, j.o.force, j.copy != nil}
	if cfg.Tools.Trees, err = where.open(ctx); err != nil || cfg.Tools.Trees == nil {
		return err
	}
	if j.copy != nil { // its state is disposable
		j.pr.Config.Git.CommitState = false
	}
	cfg.Tools.Lane, err = openLane(ctx, j.app, j.pr, j.trustRoot())
	return err
}

// refused returns why the mode doesn't fit this project.
func (j *job) refused(cfg scheduler.Config) error {
	why := j.pr.Tracker.Traits().Exclusive
	if cfg.Slots.Serial || why == "" || j.o.force {
		return nil
	}
	return errors.New(why)
}

// noteSerial explains why several slices are built one by one without being asked to.
func (j *job) noteSerial(cfg scheduler.Config, p *plan.Plan) {
	if !cfg.Slots.Serial || len(p.Lists.Ready) < 2 || j.o.sequential {
		return
	}
	if why := j.oneByOne(); why != "" {
		j.app.IO.Message("building one after the other: %s (--runner tmux builds in parallel anyway)", why)
	} else if j.o.runner == "" {
		j.app.IO.Message("tmux is not on PATH, so agents work one after the other: %s, or use --runner process", tmux.InstallHint)
	}
}

// noteReview prints how many slices will wait for review, before the person leaves.
func (j *job) noteReview(p *plan.Plan) error {
	if !j.o.watch {
		return nil
	}
	ids, why, err := ops.ToApprove(j.pr, p)
	if err != nil || len(ids) == 0 {
		return err
	}
	j.app.IO.Message("%s%s will wait for you when built: %s (to merge without review: gl settings set review never)", ids[0], words.More(len(ids)-1), sanitize.Line(why))
	return nil
}

// trustRoot returns the project whose commands this person has allowed: for a scratch copy, the
// original.
func (j *job) trustRoot() string {
	if j.copy != nil {
		return j.copy.Of
	}
	return j.pr.Root
}

func (j *job) scope() []string {
	if len(j.ids) == 0 {
		return nil
	}
	return j.ids
}

// admit refuses named slices that can't be built, with the reason. A person may agree to take over
// another session's claim.
func (j *job) admit(p *plan.Plan, ask func(question string) bool) error {
	within := make(map[string]bool, len(j.ids))
	for _, id := range j.ids {
		within[id] = true
	}
	for _, id := range j.ids {
		req := attempt.Request{ID: id, Named: true, Force: j.o.force, Within: within}
		now := time.Now()
		err := attempt.Admit(p, req, now)
		if st := p.State(id); err != nil && st != nil && st.Class == plan.Active &&
			!st.Attempt.Open() && ask(st.ClaimText(now)+". Take it over?") {
			j.over[id], req.Over = st.Session, &st.Session
			err = attempt.Admit(p, req, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// config decides the mode: one here, several here one by one, or side by side.
func (j *job) config(p *plan.Plan) scheduler.Config {
	ready := len(p.Lists.Ready)
	if len(j.ids) > 0 {
		ready = len(j.ids)
	}
	here := !j.parallel() || !j.o.watch && ready == 1
	cfg := scheduler.Config{
		Project: j.pr,
		Scope: scheduler.Scope{IDs: j.scope(), Milestone: j.o.milestone, Force: j.o.force,
			Over: j.over},
		Slots: scheduler.Slots{Max: j.max, Fixed: j.o.max > 0, Now: j.pr.Slots, Serial: here},
		Mode: scheduler.Mode{
			Refill: j.o.watch || len(j.ids) > 1 || here && (ready > 1 || j.o.sequential),
			Lead:   j.o.watch, Foreground: here,
		},
		Builders: scheduler.Builders{
			Agents: j.launchables(), Escalate: j.pr.Config.Escalate,
			Trust: trust.Open(j.app.Getenv), TrustRoot: j.trustRoot(),
		},
		Pace: scheduler.Pace{Interval: j.every, Stagger: j.pr.Config.Stagger},
	}
	if j.rehearsal == nil {
		cfg.Builders.Renew = func(pr *project.Project, name string) (scheduler.Agent, error) {
			return j.again(pr, name)
		}
	}
	// A rehearsal replaces every agent, and --agent with named slices overrides the agents that the
	// slices name.
	if j.rehearsal == nil && (j.o.agent == "" || len(j.ids) == 0) {
		cfg.Builders.Find = func(pr *project.Project, name string) (scheduler.Agent, error) {
			return j.named(context.Background(), pr, name)
		}
	}
	return cfg
}

// drainSignals catches the signals that end a run. A run that leads survives its terminal, and
// every run the reader of its output. SIGPIPE is caught and dropped rather than ignored, because
// the agents would inherit that.
func drainSignals(lead bool) (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if lead {
		signal.Ignore(syscall.SIGHUP)
	}
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	return signals, func() {
		signal.Stop(signals)
		signal.Stop(gone)
	}
}

func (j *job) drain(ctx context.Context, cfg scheduler.Config) error {
	signals, stop := drainSignals(cfg.Mode.Lead)
	defer stop()
	var stdout *os.File
	if cfg.Mode.Foreground && !j.app.IO.Quiet {
		stdout, _ = j.app.IO.Out.(*os.File)
	}
	process := runner.NewProcess(j.parent, j.pr.Root, j.app.Environ, stdout, cfg.Slots.Max)
	cfg.Tools.Runner = process
	var panes *runner.Tmux
	if !cfg.Mode.Foreground && j.runner() == "tmux" {
		var err error
		if panes, err = j.tmux(process); err != nil {
			return err
		}
		defer func() { _ = panes.Session.CloseIdle(context.WithoutCancel(ctx), panes.Over) }()
		cfg.Tools.Runner = panes
		cfg.Mode.Detach = !cfg.Mode.Refill && !cfg.Mode.Attend && j.events == nil &&
			canAttach(j.app) && (j.copy == nil || cfg.Tools.Lane == nil)
	}
	cfg.Tools.Runner = runner.Placed{Runner: cfg.Tools.Runner, Runs: j.pr.Runs.Files.Dir()}
	cfg.Signals = signals
	t := newReporter(j.app, cfg)
	if j.events != nil && iostreams.IsTerminal(j.events.Out) {
		// events would be printed into the live line
		t.live = nil
	}
	if panes != nil {
		t.session, panes.Warn = panes.Session, t.warn
	}
	cfg.Output.Report = t.report
	cfg.Output.Trace = j.app.IO.Detail
	if j.copy == nil { // a rehearsal in a scratch copy notifies no one
		cfg.Output.Channels = channels(j.app, j.pr)
	}
	place := watchCheckout(ctx, j, cfg)
	res, err := scheduler.Run(ctx, cfg)
	t.clear()
	if err != nil {
		return err
	}
	if cfg.Mode.Detach && len(res.Open) > 0 {
		attended := j.leaveTo(cfg, res)
		if err := attach(ctx, j.app, j.pr, panes.Session, nil); err != nil {
			return err
		}
		return tellDetached(j.app.IO, j.pr, attended)
	}
	err = j.conclude(cfg, t, res, place != nil)
	place.tell(ctx, res)
	return err
}

// tmux returns the runner that puts agents into panes, falling back to processes.
func (j *job) tmux(process *runner.Process) (*runner.Tmux, error) {
	// In a pane /proc/self/exe would be tmux.
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &runner.Tmux{Session: openSession(j.app, j.pr), Self: program, Root: j.pr.Root,
		Env: j.app.Environ, Runs: j.pr.Runs, Process: process}, nil
}

// conclude prints the summary and returns the exit code.
func (j *job) conclude(cfg scheduler.Config, t *reporter, res *scheduler.Result,
	inCheckout bool) error {
	if cfg.Scope.Task == nil {
		t.summary(res)
	} else {
		j.taskSummary(res, inCheckout)
	}
	if sig, ok := res.Signal.(syscall.Signal); ok {
		return &cmdutil.ExitError{Code: cmdutil.ExitSignal + int(sig)}
	}
	for _, r := range res.Ended {
		if r.Judged.Evidence != nil && r.Judged.Evidence.Missing != "" {
			return &cmdutil.ExitError{Code: cmdutil.ExitMissing}
		}
	}
	done := allDone(res.Plan)
	if !cfg.Mode.Refill {
		// one round: what it launched counts, and what a hold stopped as it came out in the end
		last := make(map[string]outcome.Outcome)
		for _, r := range res.Ended {
			last[r.ID.Slice] = r.Judged.Outcome
		}
		done = len(last) > 0
		for _, o := range last {
			done = done && o.Traits().Success
		}
	}
	if !done || res.Lost != "" || len(res.Lane.Waiting()) > 0 && cfg.Tools.Lane != nil {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return nil
}

// nothingReady explains why, and succeeds only if all is done.
func nothingReady(out *iostreams.Streams, p *plan.Plan) error {
	tellNothingReady(out, p)
	if allDone(p) {
		return nil
	}
	return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
}

// allDone reports whether a run has nothing left to do. An empty project isn't done.
func allDone(p *plan.Plan) bool { return p.Done == p.Total && p.Total > 0 }

func tellNothingReady(out *iostreams.Streams, p *plan.Plan) {
	out.Printf("%s\n", unready(p))
	leftOver(out, p, "")
}

// unready returns a message: nothing is ready, or all is complete.
func unready(p *plan.Plan) string {
	switch {
	case p.Total == 0:
		return nothingYet(p)
	case p.Done == p.Total:
		return fmt.Sprintf("All %ss complete: %s", p.Snapshot.Noun, totals(p))
	}
	return "Nothing is ready: " + totals(p)
}
