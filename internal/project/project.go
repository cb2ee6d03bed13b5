// Package project finds a project, opens what tracks its state, reads its config, and joins items with their attempts
// into one Snapshot. It decides nothing and changes nothing but its own directory of runs.
package project

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/attemptlog"
	"greenlight/internal/durable"
	"greenlight/internal/forecast"
	"greenlight/internal/legacy"
	"greenlight/internal/logfile"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
	"greenlight/internal/statedir"
	"greenlight/internal/tracker"
	"greenlight/internal/trust"
)

// A Project is one checkout with state in it.
type Project struct {
	Root    string // absolute
	Config  Config
	Tracker tracker.Tracker // of the system that counts
	Slices  SliceKeeper     // the tracker, where Greenlight's own counts: gl state and its kind need more than a tracker has
	Runs    *attempt.Store

	// ConfigErr is what is wrong with config.json; the defaults stand for it. Commands that run agents refuse,
	// commands that show say so and go on.
	ConfigErr error

	// Away says that people's commands are about another project unless they name this one: it is a scratch copy.
	Away bool

	trees *worktrees // shared by all views

	superseded map[string]bool // keys of commands that aren't the file's: see Again
	unheeded   []trust.Command // of the file, and not allowed: see Unheeded

	used []tracked // by all the systems that it uses, the one that counts by itself first
	part string    // of the system that counts, where it has parts
	all  []tracked // those that are looked at, the one that counts first
}

// A SliceKeeper keeps Greenlight's own slices, whatever their format.
type SliceKeeper = legacy.Keeper

// Open opens the project at root. It fails where there is no state at all.
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

// readMode takes the mode from what is known of the project where config.json has none: a migrated project has it there.
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

// IsDemo says whether the project is a sample, which rehearsals may change.
func (p *Project) IsDemo() bool {
	info, err := durable.Stat(statedir.Path(p.Root, DemoFile))
	return err == nil && info.Mode().IsRegular()
}

// DemoFile marks a sample project.
const DemoFile = "demo"

// Settler settles attempts of the project.
func (p *Project) Settler() attempt.Settler {
	return attempt.Settler{Store: p.Runs, Tracker: p.Tracker, Hold: p.Config.Hold, Now: time.Now, Worktrees: p.Worktrees}
}

// Options are the plan's limits as the config has them.
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

// Alone is an item as far as it and its attempts say, without what others have to do with it: what it needs, and who waits for it.
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

// Follow has the tracker and the attempts answer from memory for what hasn't changed, where they can, for who looks more than once.
func (p *Project) Follow() (stop func()) {
	runs := p.Runs.Follow()
	f, can := p.Tracker.(tracker.Follower)
	if !can {
		return runs
	}
	items := f.Follow()
	return func() { runs(); items() }
}

// Snapshot joins what load finds (Tracker.Load, or a Tx's Load under the lock) with the attempts.
func (p *Project) Snapshot(load func() (*tracker.Contents, error)) (*plan.Snapshot, error) {
	// The attempts first: an attempt that is settled between the two readings then shows as open beside a slice that
	// is done, which claims less than the truth. The other way round it would show as claimed by nobody.
	live, bad, err := p.Runs.Live()
	if err != nil {
		return nil, err
	}
	attempts, err := p.Runs.Tallies()
	if err != nil {
		return nil, err
	}
	var index map[string][]attempt.Entry // of the single attempts: what they cost is in their records
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
		s.Suite = p.Runs.Suite()
	}
	if s.SliceUSD = p.Budget().Slice; s.SliceUSD > 0 {
		s.Spent = make(map[string]float64)
	}
	holds, err := p.Runs.ReadHolds()
	var badHold *attempt.BadRecord
	if errors.As(err, &badHold) {
		bad = append(bad, badHold)
	}
	s.Hold, s.Holds = holds.Everybody(), holds.Single()
	if len(live) > 0 { // else there is nothing that could be conflicted with
		s.Forecast = forecast.Read(p.Runs.Dir())
	}
	for _, b := range append(bad, p.addSettled(s, attempts, index)...) {
		s.Warnings = append(s.Warnings, plan.Warning{Path: paths.Relative(p.Root, b.Path), Message: badText(b)})
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
		case r.IsTask():
			s.Tasks = append(s.Tasks, plan.Task{ID: r.Slice, Text: r.Title, Attempt: p.open(r)})
		case p.Has(r):
			s.Attempts[r.Slice] = p.open(r)
		default:
			s.Elsewhere++
		}
	}
	return s, nil
}

// badText names a file of runs/ that can't be used, and what helps.
func badText(b *attempt.BadRecord) string {
	if help := b.Help(); help != "" {
		return b.Error() + ". Run " + help
	}
	return b.Error()
}

// doubt takes from items what their files say of a verdict that gl hasn't given: anybody can write these files.
func (p *Project) doubt(s *plan.Snapshot, attempts map[string]attempt.Tally) {
	by := map[string]*plan.Item{}
	for _, it := range s.Items {
		if it.Verified != plan.Green || attempts[it.ID].Last.Outcome.Traits().Success || p.Runs.Vouched(p.Key(), it.ID) {
			continue
		}
		doubted := *it
		doubted.Verified = plan.NotKnown
		by[it.ID] = &doubted
	}
	replace(s, by)
}

// addReleased tells slices that were given back half-way from those that somebody unknown works on. The items are the tracker's, and stay
// as they are.
func (p *Project) addReleased(s *plan.Snapshot) {
	by := map[string]*plan.Item{}
	for _, it := range s.Items {
		if it.Session != "" || plan.Classify(it.Status) != plan.Active || !p.Runs.Released(it.ID, plan.Mark{Status: it.Status, Step: it.Step}) {
			continue
		}
		released := *it
		released.Released = true
		by[it.ID] = &released
	}
	replace(s, by)
}

// addSettled adds the last settled attempt of each item that isn't done; a record is read only for those. An item whose work has landed is
// done whatever its file says. It returns the records that can't be used.
func (p *Project) addSettled(s *plan.Snapshot, attempts map[string]attempt.Tally, index map[string][]attempt.Entry) (bad []*attempt.BadRecord) {
	reverted, withdrawn := map[string]*plan.Item{}, p.Runs.Withdrawn(p.Key())
	attempts = p.inherited(s, attempts)
	for _, it := range attempted(s, attempts) {
		tally := attempts[it.ID]
		s.Used[it.ID] = tally.Used
		if plan.Classify(it.Status) == plan.Done && it.Corrupt == "" && it.Session == "" && withdrawn[it.ID] != tally.Last.N {
			continue
		}
		last := tally.Last
		if s.Spent != nil {
			s.Spent[it.ID] = p.spent(index[it.ID])
			for _, name := range earlier(s, it) {
				s.Spent[it.ID] += p.spent(index[name])
			}
		}
		if last.Outcome == "" { // it is open, and has been read
			continue
		}
		r, err := p.Runs.Settled(last)
		var unusable *attempt.BadRecord
		switch {
		case errors.As(err, &unusable):
			bad = append(bad, unusable)
		case err == nil && p.Has(r) && r.IsOf(it):
			if landed := r.Landed(it); landed != nil {
				reverted[it.ID] = landed
				continue
			}
			if plan.Classify(it.Status) == plan.Done && it.Corrupt == "" {
				open := r.Withdrawn(it)
				if it.Session != "" {
					open = p.called(it)
				}
				if open == nil {
					continue
				}
				reverted[it.ID] = open
			}
			s.Attempts[it.ID] = settled(r)
		}
	}
	replace(s, reverted)
	return bad
}

// called is the item as one of its attempts left it, if nothing of that has landed and the file says that it is done, with that attempt's
// claim. A person may have had several attempts since, so each of them counts.
func (p *Project) called(it *plan.Item) *plan.Item {
	records, err := p.Runs.History(it.ID)
	if err != nil {
		return nil
	}
	for _, r := range records {
		if called := r.Called(it); called != nil && p.Has(r) {
			return called
		}
	}
	return nil
}

// replace puts items in the places of those with the same ids. The list is the tracker's, and stays as it is.
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

// earlier are the ids under which an item was attempted before it was renamed. An id that another item has is that one's.
func earlier(s *plan.Snapshot, it *plan.Item) []string {
	if len(it.Was) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(it.Was), func(name string) bool {
		return slices.ContainsFunc(s.Items, func(other *plan.Item) bool { return other.ID == name })
	})
}

// inherited are the attempts by item, those included that an item had by an earlier id.
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

// later reports whether an attempt was settled after another one; one that is open is later than any.
func (p *Project) later(a, b attempt.Entry) bool {
	if a.Outcome == "" || b.Outcome == "" {
		return a.Outcome == ""
	}
	ended := func(e attempt.Entry) (at time.Time) {
		if r, err := p.Runs.Settled(e); err == nil && r.SettledAt != nil {
			at = *r.SettledAt
		}
		return at
	}
	return ended(a).After(ended(b))
}

// attempted are the items that have attempts, in their order.
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

// spent is what the attempts are known to have cost.
func (p *Project) spent(entries []attempt.Entry) (sum float64) {
	for _, e := range entries {
		if r, err := p.Runs.Get(e.Slice, e.N); err == nil && p.Has(r) && r.Cost() != nil {
			sum += *r.Cost()
		}
	}
	return sum
}

func settled(r *attempt.Record) *plan.Attempt {
	a := common(r)
	a.Outcome, a.Detail, a.Retried = r.PlanOutcome(), r.Detail, r.Retried
	if r.After != nil {
		a.After = *r.After
	}
	if r.EndedAt != nil {
		a.Ended = *r.EndedAt
	}
	return a
}

func (p *Project) open(r *attempt.Record) *plan.Attempt {
	a := common(r)
	a.Dead, a.Where, a.Landing = r.Dead(), r.Elsewhere(), p.LandingText(r)
	if r.Phase == plan.Queued {
		p.tellWorker(a, r)
	}
	log := p.Runs.LogPath(r.Slice, r.N)
	a.Heard, _ = logfile.Changed(log)
	if a.Quiet(time.Now()) > 0 {
		a.Tool = attemptlog.RunningTool(log, r.Stream)
	}
	return a
}

// LandingText is how far a queued attempt is, in a few words. That it waits for permission isn't said anymore once that was given.
func (p *Project) LandingText(r *attempt.Record) string {
	if r.Landing == nil || !r.Landing.Barred || p.Away {
		return r.LandingText()
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
	return was.LandingText()
}

func common(r *attempt.Record) *plan.Attempt {
	a := &plan.Attempt{N: r.N, Token: r.Token, Phase: r.Phase, Agent: r.Agent, Account: r.Account, Cost: r.Cost()}
	if r.StartedAt != nil {
		a.Started = *r.StartedAt
	}
	return a
}

// Slots is how many attempts may run at a time, by the configuration as it is now: it may change while a drain runs.
func (p *Project) Slots() int {
	if c, err := readConfig(statedir.Path(p.Root, "config.json")); err == nil {
		return c.Max
	}
	return p.Config.Max
}
