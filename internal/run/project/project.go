// Package project finds a project, opens the tracker of its state, reads its config, and joins
// items with their attempts into one Snapshot. It decides nothing and changes nothing but its
// own directory of runs.
package project

import (
	"context"
	"errors"
	"maps"
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
	p := &Project{Root: root, Runs: attempt.OpenStore(statedir.Path(root, "runs")), trees: &worktrees{}, used: all}
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
	return attempt.Settler{Store: p.Runs, Tracker: p.Tracker, Hold: p.Config.Hold, Now: time.Now, Worktrees: p.Worktrees, Executor: executor.NewLocal("")}
}

// Options returns the plan's limits from the config.
func (p *Project) Options() plan.Options {
	agents := make([]plan.Account, len(p.Config.Agent))
	for i, name := range p.Config.Agent {
		agents[i].Agent = name
	}
	return plan.Options{Agents: agents, Curfew: p.Config.Curfew, StaleAfter: p.Config.StaleAfter, TakeStale: p.Config.Mode == "yolo" && p.Tracker.Traits().Managed}
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
	traits := p.Tracker.Traits()
	s := &plan.Snapshot{
		Format: traits.Format, Noun: traits.Noun, Root: p.Root, Flags: p.Flags(), Items: c.Items, At: c.At, Unsure: c.Unsure, Evidence: c.Evidence, Progress: c.Progress,
		Warnings: c.Warnings, Blockers: c.Blockers, Used: make(map[string]int, len(attempts)),
		Attempts: make(map[string]*plan.Attempt, len(live)),
	}
	if s.Noun == "" {
		s.Noun = plan.Slice
	}
	if s.Noun == plan.Slice { // the siblings' items don't count tests
		s.Suite = p.Runs.Proofs.Suite()
	}
	if s.SliceUSD = p.Budget().Slice; s.SliceUSD > 0 {
		s.Spent = make(map[string]float64)
	}
	holds, err := p.Runs.HoldFile.Read()
	var badHold *attempt.BadRecord
	if errors.As(err, &badHold) {
		bad = append(bad, badHold)
	}
	s.Hold, s.Holds = holds.Everybody(), holds.Single()
	if len(live) > 0 { // otherwise there is nothing to conflict with
		s.Forecast = forecast.Read(p.Runs.Files.Dir())
	}
	for _, b := range append(bad, p.addSettled(s, attempts, index)...) {
		s.Warnings = append(s.Warnings, plan.Warning{Path: paths.Relative(p.Root, b.Path), Message: b.WithHelp()})
	}
	if traits.Managed {
		p.addReleased(s)
	}
	if traits.Completes {
		p.doubt(s, attempts)
	}
	for _, r := range live {
		switch {
		case p.Runs.IsLeftover(r, attempts):
		case r.ID.IsTask():
			s.Tasks = append(s.Tasks, plan.Task{ID: r.ID.Slice, Text: r.ID.Title, Attempt: p.open(r)})
		case p.Has(r):
			s.Attempts[r.ID.Slice] = p.open(r)
		default:
			s.Elsewhere++
		}
	}
	return s, nil
}

// doubt removes from items the verdicts in their files that gl hasn't given: anyone can write
// these files.
func (p *Project) doubt(s *plan.Snapshot, attempts map[string]attempt.Tally) {
	by := map[string]*plan.Item{}
	for _, it := range s.Items {
		if it.Verified != plan.Green || attempts[it.ID].Last.Outcome.Traits().Success || p.Runs.Proofs.Vouched(p.Key(), it.ID) {
			continue
		}
		doubted := *it
		doubted.Verified = plan.NotKnown
		by[it.ID] = &doubted
	}
	replace(s, by)
}

// addReleased distinguishes slices released half-way from those that an unknown session works
// on. It doesn't change the tracker's items.
func (p *Project) addReleased(s *plan.Snapshot) {
	by := map[string]*plan.Item{}
	for _, it := range s.Items {
		if it.Session != "" || plan.Classify(it.Status) != plan.Active || !p.Runs.Claims.Released(it.ID, plan.Mark{Status: it.Status, Step: it.Step}) {
			continue
		}
		released := *it
		released.Released = true
		by[it.ID] = &released
	}
	replace(s, by)
}

// addSettled adds the last settled attempt of each item that isn't done, reading only those
// records. An item whose work has landed is done, even if its file says otherwise. It returns
// the unusable records.
func (p *Project) addSettled(s *plan.Snapshot, attempts map[string]attempt.Tally, index map[string][]attempt.Entry) (bad []*attempt.BadRecord) {
	reverted, withdrawn := map[string]*plan.Item{}, p.Runs.Proofs.Withdrawn(p.Key())
	attempts = p.inherited(s, attempts)
	for _, it := range attempted(s, attempts) {
		tally := attempts[it.ID]
		s.Used[it.ID] = tally.Used
		last := tally.Last
		complete := plan.Classify(it.Status) == plan.Done && it.Corrupt == ""
		out := attempt.Out(withdrawn[it.ID], last)
		if complete && it.Session == "" && out == 0 {
			continue
		}
		if s.Spent != nil {
			s.Spent[it.ID] = p.spent(index[it.ID])
			for _, name := range earlier(s, it) {
				s.Spent[it.ID] += p.spent(index[name])
			}
		}
		if last.Outcome == "" { // it is open, and was read before
			if open := p.Runs.EarlierWord(p.Key(), it, out); complete && open != nil {
				reverted[it.ID] = open
			}
			continue
		}
		r, err := p.Runs.Settled(last)
		var unusable *attempt.BadRecord
		switch {
		case errors.As(err, &unusable):
			bad = append(bad, unusable)
		case err == nil && p.Has(r) && r.ID.IsOf(it):
			if landed := r.Landed(it); landed != nil {
				reverted[it.ID] = landed
				continue
			}
			if complete {
				open := p.Runs.EarlierWord(p.Key(), it, out)
				if open == nil {
					continue
				}
				reverted[it.ID] = r.LeftOpen(open, out)
			}
			s.Attempts[it.ID] = settled(r)
		}
	}
	replace(s, reverted)
	return bad
}

// replace substitutes items by id in a copy of the tracker's list.
func replace(s *plan.Snapshot, by map[string]*plan.Item) {
	if len(by) == 0 {
		return
	}
	s.Items = slices.Clone(s.Items)
	for i, it := range s.Items {
		if other := by[it.ID]; other != nil {
			s.Items[i] = other
		}
	}
}

// earlier returns the ids under which an item was attempted before it was renamed, without those
// that another item has now.
func earlier(s *plan.Snapshot, it *plan.Item) []string {
	if len(it.Was) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(it.Was), func(name string) bool {
		return slices.ContainsFunc(s.Items, func(other *plan.Item) bool { return other.ID == name })
	})
}

// inherited returns the attempts by item, including those under an earlier id.
func (p *Project) inherited(s *plan.Snapshot, attempts map[string]attempt.Tally) map[string]attempt.Tally {
	all, cloned := attempts, false
	for _, it := range s.Items {
		for _, name := range earlier(s, it) {
			before, ok := attempts[name]
			if !ok {
				continue
			}
			if !cloned {
				all, cloned = maps.Clone(all), true
			}
			sum, own := all[it.ID]
			if sum.Used += before.Used; !own || p.later(before.Last, sum.Last) {
				sum.Last = before.Last
			}
			all[it.ID] = sum
		}
	}
	return all
}

// later reports whether attempt a was settled after b; an open attempt is later than any other.
func (p *Project) later(a, b attempt.Entry) bool {
	if a.Outcome == "" || b.Outcome == "" {
		return a.Outcome == ""
	}
	ended := func(e attempt.Entry) (at time.Time) {
		if r, err := p.Runs.Settled(e); err == nil && r.Life.SettledAt != nil {
			at = *r.Life.SettledAt
		}
		return at
	}
	return ended(a).After(ended(b))
}

// attempted returns the items that have attempts, in order.
func attempted(s *plan.Snapshot, attempts map[string]attempt.Tally) (items []*plan.Item) {
	if s.At == nil {
		return slices.DeleteFunc(slices.Clone(s.Items), func(it *plan.Item) bool { _, ok := attempts[it.ID]; return !ok })
	}
	var places []int
	for id := range attempts {
		if i, ok := s.At[id]; ok {
			places = append(places, i)
		}
	}
	slices.Sort(places)
	for _, i := range places {
		items = append(items, s.Items[i])
	}
	return items
}

// spent returns the known cost of the attempts.
func (p *Project) spent(entries []attempt.Entry) (sum float64) {
	for _, e := range entries {
		if r, err := p.Runs.Get(e.Slice, e.N); err == nil && p.Has(r) && r.Judged.Cost() != nil {
			sum += *r.Judged.Cost()
		}
	}
	return sum
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
	a.Dead, a.Where, a.Landing = r.Life.Dead(), r.Life.Elsewhere(), p.LandingText(r)
	if r.Life.Phase == plan.Queued {
		p.tellWorker(a, r)
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
	commands, err := p.Again(allowed.Allows(p.Root)).LaneCommands(context.Background())
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
	a := &plan.Attempt{N: r.ID.N, Token: r.ID.Token, Phase: r.Life.Phase, Agent: r.Job.Agent, Account: r.Job.Account, Cost: r.Judged.Cost()}
	if r.Life.StartedAt != nil {
		a.Started = *r.Life.StartedAt
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
