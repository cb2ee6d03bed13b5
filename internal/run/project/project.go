// Package project finds a project, opens the tracker of its state, reads its config, and joins
// items with their attempts into one Snapshot. It decides nothing and changes nothing but its
// own directory of runs.
package project

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/forecast"
	"greenlight/internal/state/legacy"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// A Project is one checkout with state.
type Project struct {
	Root    string // absolute
	Config  Config
	Tracker tracker.Tracker // tracker of the active system
	// the tracker, if the active system is Greenlight's own: gl state and similar commands need
	// more than a Tracker
	Slices SliceKeeper
	Runs   *attempt.Store

	// ConfigErr is the error in config.json; defaults replace invalid values. Commands that run
	// agents refuse, and commands that only show something report it and continue.
	ConfigErr error

	// Away means that commands shown to people must name this project to refer to it, because
	// it is a scratch copy.
	Away bool

	trees *worktrees // shared by all views

	superseded map[string]bool // keys of commands that differ from the file's: see Again
	unheeded   []trust.Command // commands in the file that aren't allowed: see Unheeded

	used []tracked // all systems that it uses, the default one first
	part string    // part of the active system, if it has parts
	all  []tracked // those in this view, the active one first
}

// A SliceKeeper manages Greenlight's own slices in any format.
type SliceKeeper = legacy.Keeper

// Open opens the project at root. It fails if there is no state at all.
func Open(root string) (*Project, error) {
	all, err := track(root)
	if err != nil {
		return nil, err
	}
	p := &Project{Root: root, Runs: attempt.OpenStore(statedir.Path(root, "runs")),
		trees: &worktrees{}, used: all}
	p.use(all)
	p.Config, p.ConfigErr = readConfig(statedir.Path(root, "config.json"))
	p.readMode()
	return p, nil
}

// readMode takes the mode from the project state if config.json has none: a migrated project
// has it there.
func (p *Project) readMode() {
	if p.Slices == nil {
		return
	}
	s, err := p.Settings()
	if err != nil {
		return
	}
	if mode, err := s.Get("mode"); err != nil || mode.File || mode.Wrong != "" {
		return
	}
	if state, err := p.Slices.ReadProject(); err == nil {
		if _, _, mode := state.Overview(); slices.Contains(Modes(), strings.ToLower(mode)) {
			p.Config.Mode = strings.ToLower(mode)
		}
	}
}

// IsDemo reports whether the project is a sample, which rehearsals may change.
func (p *Project) IsDemo() bool {
	info, err := durable.Stat(statedir.Path(p.Root, DemoFile))
	return err == nil && info.Mode().IsRegular()
}

// DemoFile marks a sample project.
const DemoFile = "demo"

// Settler returns a settler of the project's attempts.
func (p *Project) Settler() attempt.Settler {
	return attempt.Settler{Store: p.Runs, Tracker: p.Tracker, Hold: p.Config.Hold, Now: time.Now,
		Worktrees: p.Worktrees, Executor: executor.NewLocal("")}
}

// Options returns the plan's limits from the config.
func (p *Project) Options() plan.Options {
	agents := make([]plan.Account, len(p.Config.Agent))
	for i, name := range p.Config.Agent {
		agents[i].Agent = name
	}
	return plan.Options{Agents: agents, Curfew: p.Config.Curfew, StaleAfter: p.Config.StaleAfter,
		TakeStale: p.Config.Mode == "yolo" && p.Tracker.Traits().Managed}
}

// Plan loads everything and makes the plan.
func (p *Project) Plan(now time.Time, o plan.Options) (*plan.Plan, error) {
	s, err := p.Snapshot(p.Tracker.Load)
	if err != nil {
		return nil, err
	}
	return plan.New(s, now, o), nil
}

// Alone returns an item's state by itself and its attempts, without its relations to others:
// what it needs, and what waits for it.
func (p *Project) Alone(it plan.Item, now time.Time, o plan.Options) (*plan.State, error) {
	it.Deps = nil
	s, err := p.Snapshot(func() (*tracker.Contents, error) {
		return &tracker.Contents{Items: []*plan.Item{&it}}, nil
	})
	if err != nil {
		return nil, err
	}
	return plan.New(s, now, o).State(it.ID), nil
}

// Follow lets the tracker and the attempts serve unchanged data from memory if they can, for
// callers that look more than once.
func (p *Project) Follow() (stop func()) {
	runs := p.Runs.Follow()
	f, can := p.Tracker.(tracker.Follower)
	if !can {
		return runs
	}
	items := f.Follow()
	return func() { runs(); items() }
}

// Snapshot joins the result of load (Tracker.Load, or a Tx's Load under the lock) with the
// attempts.
func (p *Project) Snapshot(load func() (*tracker.Contents, error)) (*plan.Snapshot, error) {
	// Read the attempts first: an attempt settled between the two reads then appears as open
	// beside a done slice, which is a cautious view. In the opposite order the slice would
	// appear unclaimed.
	join := joiner{p.Runs, p.Key()}
	live, bad, err := p.Runs.Live()
	if err != nil {
		return nil, err
	}
	attempts, err := p.Runs.Tallies()
	if err != nil {
		return nil, err
	}
	var index map[string][]attempt.Entry // single attempts, whose records have their costs
	if p.Budget().Slice > 0 {
		if index, err = p.Runs.Index(); err != nil {
			return nil, err
		}
	}
	c, err := load()
	if err != nil {
		return nil, err
	}
	s := p.blank(c, len(attempts), len(live))
	holds, err := p.Runs.HoldFile.Read()
	var badHold *attempt.BadRecord
	if errors.As(err, &badHold) {
		bad = append(bad, badHold)
	}
	s.Hold, s.Holds = holds.Everybody(), holds.Single()
	if len(live) > 0 { // otherwise there is nothing to conflict with
		s.Outlook.Forecast = forecast.Read(p.Runs.Files.Dir())
	}
	for _, b := range append(bad, join.addSettled(s, attempts, index)...) {
		s.Warnings = append(s.Warnings,
			plan.Warning{Path: paths.Relative(p.Root, b.Path), Message: b.WithHelp()})
	}
	traits := p.Tracker.Traits()
	if traits.Managed {
		join.addReleased(s)
	}
	if traits.Completes {
		join.doubt(s, attempts)
	} else {
		join.holdBack(s, attempts)
	}
	p.addOpen(s, live, attempts)
	addUnplaced(p, s, live)
	return s, nil
}

// blank returns a snapshot of the tracker's contents, without attempts and holds.
func (p *Project) blank(c *tracker.Contents, attempted, live int) *plan.Snapshot {
	traits := p.Tracker.Traits()
	s := &plan.Snapshot{
		Format: traits.Format, Noun: traits.Noun, Root: p.Root, Flags: p.Flags(), Items: c.Items,
		At: c.At, Unsure: c.Unsure, Evidence: c.Evidence, Progress: c.Progress,
		Warnings: c.Warnings, Blockers: c.Blockers, Used: make(map[string]int, attempted),
		Attempts: make(map[string]*plan.Attempt, live),
	}
	if s.Noun == "" {
		s.Noun = plan.Slice
	}
	if s.Noun == plan.Slice { // the siblings' items don't count tests
		s.Ran.Suite = p.Runs.Proofs.Suite()
		if p.ConfigErr == nil {
			command := p.Config.Test.Command.Line
			s.Ran.OtherCommand = command != "" && s.Ran.Suite != nil && s.Ran.Suite.Of(command) == nil
			s.Ran.Suite = s.Ran.Suite.Of(command)
		}
	}
	if s.Cost.Limit = p.Budget().Slice; s.Cost.Limit > 0 {
		s.Cost.Spent = make(map[string]float64)
	}
	return s
}

// addOpen adds the attempts that are open: of the project's items, of tasks, and how many belong to
// neither.
func (p *Project) addOpen(s *plan.Snapshot, live []*attempt.Record,
	attempts map[string]attempt.Tally) {
	for _, r := range live {
		switch {
		case p.Runs.IsLeftover(r, attempts):
		case r.ID.IsTask():
			s.Tasks = append(s.Tasks,
				plan.Task{ID: r.ID.Slice, Text: r.ID.Title, Attempt: p.open(r)})
		case p.Has(r):
			s.Attempts[r.ID.Slice] = p.open(r)
		default:
			s.Elsewhere++
		}
	}
}

func settled(r *attempt.Record) *plan.Attempt {
	a := common(r)
	a.Outcome, a.Detail, a.Retried = r.PlanOutcome(), r.Judged.Detail, r.Since.Retried
	if r.Judged.After != nil {
		a.After = *r.Judged.After
	}
	if r.Life.EndedAt != nil {
		a.Ended = *r.Life.EndedAt
	}
	return a
}

func (p *Project) open(r *attempt.Record) *plan.Attempt {
	a := common(r)
	a.Dead, a.Landing = r.Life.Dead(), p.LandingText(r)
	a.Where = plan.Place{Text: r.Life.Elsewhere(), Unserved: r.Life.Unserved()}
	if r.Life.Phase == plan.Queued {
		a.Train = r.Landing.Train
		queueWorkers{p.Runs, p.Worktrees}.tell(a, r)
	}
	log := p.Runs.Files.Log(r.ID.Slice, r.ID.N)
	a.Heard, _ = logfile.Changed(log)
	if a.Quiet(time.Now()) > 0 {
		a.Tool = attemptlog.RunningTool(log, r.Job.Stream)
	}
	return a
}

// LandingText briefly describes the progress of a queued attempt. It omits that permission is
// missing once that is granted.
func (p *Project) LandingText(r *attempt.Record) string {
	if r.Landing == nil || !r.Landing.Barred || p.Away {
		return r.Landing.Text()
	}
	allowed := trust.Open(os.Getenv)
	commands, err := p.Again(allowed.Allows(p.Root)).MustAllow().ForQueue(context.Background())
	if err == nil {
		err = allowed.Check(p.Root, commands)
	}
	if errors.As(err, new(*trust.Error)) {
		return err.Error()
	}
	was := *r
	was.Landing = &attempt.Landing{}
	return was.Landing.Text()
}

func common(r *attempt.Record) *plan.Attempt {
	a := &plan.Attempt{N: r.ID.N, Token: r.ID.Token, Phase: r.Life.Phase, Agent: r.Job.Agent,
		Account: r.Job.Account, Cost: r.Judged.Cost(), Worker: r.Life.Remote.Label()}
	if r.Life.StartedAt != nil {
		a.Started = *r.Life.StartedAt
	}
	if r.Life.Remote != nil && r.Life.Phase != plan.Settled {
		a.Detail = r.Life.Remote.Waits
	}
	return a
}

// Slots returns how many attempts may run in parallel by the current configuration, which may
// change during a run.
func (p *Project) Slots() int {
	if c, err := readConfig(statedir.Path(p.Root, "config.json")); err == nil {
		return c.Max
	}
	return p.Config.Max
}
