// Package drain is the run: it decides what to launch, launches it, notices what ended, and goes on until nothing is
// left to do. It owns the goroutines, the tickers and the signals of that, and all decisions are made by one of them.
// It doesn't run agents (package attempt does, in processes of their own), and it doesn't print.
//
// A drain may be killed at any instant: it keeps nothing that the next one can't read from the files.
package drain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/notify"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/watch"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/spending"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/worktree"
)

// A Config says what to drain and how.
type Config struct {
	Project   *project.Project
	Runner    runner.Runner
	Agents    []Agent                                               // who builds, in order of preference
	Find      func(pr *project.Project, name string) (Agent, error) // finds the agent that a slice names; nil: what slices name doesn't count
	Renew     func(pr *project.Project, name string) (Agent, error) // finds one of Agents again, as its configuration is now; nil: it doesn't change
	Escalate  string                                                // attempt.Request.Escalate
	Trees     *worktree.Repo                                        // where slices are built in worktrees; nil for the checkout
	Lane      *lane.Queue                                           // merges and tests what is built in worktrees; nil without them
	Trust     trust.Store                                           // what the person has allowed: nothing else of the project's configuration is launched
	TrustRoot string                                                // the project for which they have allowed it: this one, or the one that this is a copy of

	Task      *attempt.Task // instead of slices: this once
	IDs       []string      // the named slices, in the order given; nil for whatever is ready
	Milestone string
	Force     bool
	Over      map[string]string // by id: the session whose claim a person agreed to take over

	Max        int        // attempts at a time in the whole project
	Fixed      bool       // by --max: Slots doesn't count until a person sets them, later than this
	Slots      func() int // Max as it is now
	Serial     bool       // of these, one at a time is ours
	Refill     bool       // launch again as slots free; else one round
	Lead       bool       // gl slice --watch: adopt what runs, and let one such drain decide for the project
	Foreground bool       // a signal ends the attempts; else they go on
	Detach     bool       // end as soon as the first round is launched
	Adopt      []string   // names of attempts that other processes have launched: this drain answers for them, too
	Attend     bool       // launch nothing but what the merge queue sends back to its agent

	Interval time.Duration // the safety net
	Stagger  time.Duration // between two launches
	Signals  <-chan os.Signal
	Report   func(Report)
	Channels []notify.Channel              // by which people are told of what happens; nil for none
	Trace    func(format string, a ...any) // each decision and file event, for --verbose
}

// An Agent is one that the drain may launch.
type Agent struct {
	agent.Agent
	Job     agent.Job // Dir, PluginDir, Instructions and Account; the rest is filled in for each slice
	Environ []string  // what is added to the environment; it may hold keys

	named bool // a slice names it, and it is for those alone that do
}

func (a Agent) account() plan.Account {
	return plan.Account{Agent: a.Name, ID: a.Job.Account, Named: a.named}
}

// A Report is what one pass has to tell. Plan is always there.
type Report struct {
	Plan     *plan.Plan
	Max      int               // attempts at a time, now; 0 where all that is told is Locked
	Adopted  []*attempt.Record // found running, of an earlier gl
	Ended    []*attempt.Record // settled
	Unheard  []journal.Event   // of those that ended, what a person has said and nobody has read
	Launched []*attempt.Record
	Ready    int // how many were ready when the first of these was claimed, itself included
	Warnings []string
	Holds    []*plan.Hold // launches stop until then, all or those of an agent; told once for each hold
	Leader   string       // somebody else drains the project: who; told once
	Locked   string       // who has held the project's lock for so long that it is to be told
	TookOver bool         // and now it is us
	Full     bool         // others have all slots, and nothing of ours will free one; told once
	NoSpace  error        // no state can be written, so attempts that end aren't settled until there is space; told once
}

// A Result is how a drain ended.
type Result struct {
	Plan    *plan.Plan
	Ended   []*attempt.Record // all that it saw end
	Open    []*attempt.Record // what goes on without it
	Signal  os.Signal         // what ended it
	Stopped bool              // gl stop --all did
	Lane    lane.Status       // what has landed and isn't delivered
	Barred  []string          // why some of it wasn't launched: commands that nobody has allowed
	Spent   spending.Total    // by what ended during the run
}

const (
	tick       = time.Second      // how often the wrappers' lives are checked
	settleTime = 2 * time.Second  // a graph that can't be read is given this long: an editor may be writing it
	startLimit = 30 * time.Second // a wrapper that hasn't reported after this never will
	stateLimit = 30 * time.Second // state that can't be read for this long ends the run
	startTries = 3                // wrappers that may die before they start, per slice
	cleanTries = 20               // claims that may fail because somebody removes runs/, per slice
	reapLimit  = 5 * time.Second
	calm       = 100 * time.Millisecond // how long STATE.md waits for launches
	behind     = time.Second            // and how long at most
	share      = 20                     // of the time, at most the 20th part goes into it while there is work
)

type drain struct {
	Config
	settler attempt.Settler
	watch   *watch.Watcher

	notifier      *notify.Notifier // nil where nobody is to be told
	laneState     laneState
	permission    permission
	forecastState forecastState

	first        int                        // of the task: its first attempt here, whose work the next ones go on with; 0 until then
	open         map[string]*attempt.Record // what this drain answers for, by name
	elsewhere    []*attempt.Record          // open attempts of the project's other systems: they take slots
	tried        map[string]bool            // named slices that had their turn
	excluded     map[string]bool            // not to be launched again by this drain
	failedStarts map[string]int
	cleaned      map[string]int       // claims that failed because runs/ was removed, by slice
	notStarted   []notStarted         // since the last pass
	wrappers     map[string]bool      // that we started and the runner hasn't reported gone, by token
	claimedAt    map[string]time.Time // when we made the claims that may not have started, by token; not the wall clock's time, which may be set
	round        bool                 // one was launched
	dueAgain     map[string]bool      // slices whose turn in this round isn't over: see attempt.Again

	leads      bool
	lock       *durable.Held     // the drain's, while it leads
	succession <-chan succession // one word when the lock is ours at last; nil when nobody waits for it
	stopMark   string
	slotsSet   time.Time // when a person had set the slots last, as the drain began

	locked chan *durable.LockedError // told while a pass waits for the project's lock

	life       context.Context      // of the run: a recovery outlives the pass that began it
	recoveries map[string]*recovery // by name, of the dead attempts
	recovered  chan recovered

	began      time.Time       // of this drain
	told       bool            // the journal has the drain's start
	held       []*plan.Hold    // in effect at the last look
	over       map[string]bool // holds whose end the journal has
	unheard    *journal.Reader
	journalErr string // was told
	plan       *plan.Plan
	dirty      bool      // STATE.md is behind
	upToDate   time.Time // when it wasn't
	refreshAt  time.Time // not before: a large one takes its time
	unsure     time.Time
	unread     time.Time // since when the state can't be read; zero if it can
	full       bool      // was told
	noSpace    bool      // too
	lastLaunch time.Time
	toldHolds  map[plan.Account]time.Time // the ends of those that were told
	overBudget map[string]string          // by id: what was told of slices that have cost what they may
	stopping   bool
	res        Result
}

// A notStarted is a claim whose wrapper ended before it began.
type notStarted struct {
	rec *attempt.Record
	why string
}

// A succession is the end of standing by for the drain's lock.
type succession struct {
	lock *durable.Held
	err  error
}

// Run drains until nothing of its own runs and nothing can be launched, or a signal comes.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	d := &drain{
		Config: cfg, began: time.Now(), settler: cfg.Project.Settler(), open: map[string]*attempt.Record{}, tried: map[string]bool{},
		excluded: map[string]bool{}, failedStarts: map[string]int{}, cleaned: map[string]int{}, wrappers: map[string]bool{}, claimedAt: map[string]time.Time{}, dueAgain: map[string]bool{},
		toldHolds: map[plan.Account]time.Time{}, overBudget: map[string]string{}, locked: make(chan *durable.LockedError, 4), recoveries: map[string]*recovery{}, recovered: make(chan recovered, 16), leads: !cfg.Lead, stopMark: cfg.Project.Runs.StopMark(), slotsSet: cfg.Project.Runs.SlotsSet(),
		over: map[string]bool{},
	}
	var telling sync.Mutex // a wait for the lock is told while the pass goes on
	d.Report = func(r Report) {
		telling.Lock()
		defer telling.Unlock()
		cfg.Report(r)
	}
	d.round = cfg.Attend // others have launched it
	if err := cfg.Project.Runs.Prepare(); err != nil {
		return nil, err
	}
	d.permission = permission{conf: d.Project, broken: map[string]error{}, barred: map[string]error{}, told: map[string]bool{}}
	d.watch = watch.New(cfg.Project.Runs, cfg.Project.Tracker.Watch(), cfg.Trace)
	defer d.watch.Close()
	defer cfg.Project.Follow()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.life = ctx
	d.unheard = cfg.Project.Runs.Journal().ReaderOf(d.began, journal.Unheard)
	defer d.unheard.Close()
	if cfg.Lead {
		if err := d.standForLeader(ctx); err != nil {
			return nil, err
		}
	}
	d.startNotifier()
	if d.leads {
		d.tellStart()
	}
	d.laneState.done, d.forecastState.done = make(chan error, 1), make(chan error, 1)
	if d.Lane != nil && d.leads {
		if err := d.Lane.Restore(ctx); err != nil {
			d.report(Report{Warnings: []string{err.Error()}})
		}
	}
	d.testBase()
	err := d.loop(ctx)
	d.stopLane()
	d.stopForecast()
	d.finish(ctx)
	d.deliver(ctx)
	d.tellEnd(err)
	d.stopNotifier()
	cancel()
	d.resign()
	return &d.res, err
}

// standForLeader takes the drain's lock, or waits for it beside the loop. The kernel gives it up when its holder dies.
func (d *drain) standForLeader(ctx context.Context) error {
	path := d.Project.Runs.LeaderLock()
	lock, err := durable.TryLock(path)
	if err == nil {
		d.lock, d.leads = lock, true
		return nil
	}
	var locked *durable.LockedError
	if !errors.As(err, &locked) {
		return err
	}
	d.report(Report{Leader: locked.Holder})
	next := make(chan succession, 1)
	d.succession = next
	go func() {
		lock, err := durable.Await(ctx, path)
		next <- succession{lock, err}
	}()
	return nil
}

// resign gives the drain's lock back, also one that comes too late. Nobody stands by for it after that.
func (d *drain) resign() {
	lock := d.lock
	if d.succession != nil {
		lock = (<-d.succession).lock
	}
	if lock != nil {
		lock.Unlock()
	}
}

func (d *drain) loop(ctx context.Context) error {
	for {
		sig, err := d.hearing(ctx, d.pass)
		if sig != nil && d.signaled(ctx, sig) {
			return nil
		}
		if err != nil && (sig == nil || !errors.Is(err, context.Canceled)) {
			return err
		}
		if d.unread.IsZero() && d.finished() {
			return nil
		}
		if stop, err := d.wait(ctx); stop || err != nil {
			return err
		}
	}
}

// hearing runs f, which may wait for the project's lock as long as it takes (somebody may have stopped its holder). The
// first signal ends the wait, and is returned when f has come to its end.
func (d *drain) hearing(ctx context.Context, f func(context.Context) error) (sig os.Signal, err error) {
	waiting, cancel := context.WithCancel(durable.Patiently(ctx, func(e *durable.LockedError) { d.locked <- e }))
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- f(waiting) }()
	signals := d.Signals
	for {
		select {
		case err := <-over:
			return sig, err
		case e := <-d.locked:
			d.Report(Report{Plan: &plan.Plan{Snapshot: &plan.Snapshot{}}, Locked: e.Holder})
		case sig = <-signals:
			signals = nil // the next one is for whoever comes after us
			cancel()
		}
	}
}

// pass looks at everything, settles the dead, tells what changed, and launches.
func (d *drain) pass(ctx context.Context) error {
	d.countSlots()
	var r Report
	for _, f := range d.notStarted {
		d.failedStart(ctx, f.rec, &r, f.why)
	}
	d.notStarted = nil
	for again := true; again; again = d.caughtUp(ctx, &r) {
		if err := d.look(ctx, &r); err != nil {
			return d.tolerate(ctx, err, r)
		}
	}
	d.unread = time.Time{}
	d.workLane()
	d.lookAhead()
	d.noteHold(&r)
	d.noteUnheard(&r)
	d.tellBudgets()
	d.noteJournal(&r)
	d.notify(&r)
	d.noteFull(&r)
	d.report(r)
	d.refresh(ctx, len(r.Launched) > 0)
	return nil
}

// unreadable is the error of a pass that couldn't read the project's state.
type unreadable struct{ error }

func (e unreadable) Unwrap() error { return e.error }

// tolerate returns nil if the next pass may succeed where this one has failed: in the middle of a run the state can't be read for a moment when
// a program, or an agent, has something else in the place of a file or directory. r is what the pass has found out until then.
func (d *drain) tolerate(ctx context.Context, err error, r Report) error {
	if ctx.Err() != nil || d.plan == nil || !errors.As(err, new(unreadable)) && !statedir.IsLink(err) {
		return err
	}
	if d.unread.IsZero() {
		d.unread = time.Now()
		r.Warnings = append(r.Warnings, fmt.Sprintf("%v (trying again; the run ends if it stays so for %v)", err, stateLimit))
	} else if time.Since(d.unread) >= stateLimit {
		d.report(r)
		return err
	}
	d.report(r)
	return nil
}

// countSlots follows the configuration, for which the number of a flag stands only until a person says another one.
func (d *drain) countSlots() {
	if d.Fixed && d.Project.Runs.SlotsSet().Equal(d.slotsSet) {
		return
	}
	if d.Fixed = false; d.Slots != nil {
		d.Max = d.Slots()
	}
}

// look finds out what ended and launches what may be launched.
func (d *drain) look(ctx context.Context, r *Report) error {
	if err := d.observe(ctx, r); err != nil {
		return unreadable{err}
	}
	// Where an attempt has ended a slot is free: then the plan is made once, under the lock. Else the lock is taken only
	// where the plan has something to launch.
	if !d.permission.since.IsZero() {
		if _, err := d.permit(ctx, r); err != nil {
			return err
		}
	}
	launch := d.mayClaim() && len(r.Ended) > 0
	if !launch {
		p, err := d.Project.Plan(time.Now(), d.options())
		if err != nil {
			return unreadable{err}
		}
		d.plan = p
		d.findNamed(r)
		launch = d.mayClaim() && d.planAllows()
	}
	if !launch {
		return nil
	}
	err := d.launch(ctx, r)
	if err == nil && d.findNamed(r) && d.mayClaim() && d.planAllows() {
		err = d.launch(ctx, r)
	}
	return err
}

// caughtUp takes in attempts that were settled or given back since observe, and says whether there were any. The plan may
// have counted them, and what was launched may have their slots: told later, it would read as if dependents began before
// what they need was done. Or it has not, and is behind: a drain that believed it would end with work ready.
func (d *drain) caughtUp(ctx context.Context, r *Report) bool {
	n := len(d.open)
	for name := range d.open {
		if !d.Project.Runs.IsOpen(name) {
			d.noteClosed(ctx, name, r)
		}
	}
	return len(d.open) < n
}

// refresh brings STATE.md up to date. That takes the lock, which the wrappers that were just launched need before their
// agents can start: so it waits for a look without launches, but not long.
func (d *drain) refresh(ctx context.Context, launched bool) {
	now := time.Now()
	switch {
	case !d.dirty:
		d.upToDate = now
		return
	case (launched || now.Before(d.refreshAt)) && now.Sub(d.upToDate) < behind:
		return
	}
	d.dirty, d.upToDate = false, now
	if err := d.Project.Tracker.Refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
		d.report(Report{Warnings: []string{err.Error()}})
	}
	over := time.Now()
	d.refreshAt = over.Add(share * over.Sub(now))
}

func (d *drain) report(r Report) {
	r.Max = d.Max
	if r.Plan = d.plan; r.Plan == nil {
		r.Plan = &plan.Plan{Snapshot: &plan.Snapshot{}}
	}
	d.Report(r)
}

func (d *drain) options() plan.Options {
	o := d.Project.Options()
	o.Milestone = d.Milestone
	o.IDs, o.Agents = d.IDs, nil
	for _, a := range d.Agents {
		if !a.named {
			o.Agents = append(o.Agents, a.account())
		}
	}
	return o
}

// noteHold tells of a hold once.
func (d *drain) noteHold(r *Report) {
	if d.plan == nil {
		return
	}
	d.tellHoldEnded()
	if d.ignoresHold() {
		return
	}
	for _, h := range d.plan.InEffect() {
		key := plan.Account{Agent: h.Agent, ID: h.Account}
		if d.concerns(h) && !h.Until.Equal(d.toldHolds[key]) {
			d.toldHolds[key] = h.Until
			r.Holds = append(r.Holds, h)
		}
	}
}

// concerns says whether the hold is about an agent that this drain may launch.
func (d *drain) concerns(h *plan.Hold) bool {
	return slices.ContainsFunc(d.Agents, func(a Agent) bool { return h.Holds(a.account()) })
}

// noteFull tells once that slices wait for slots that others have. Some of those may never be freed: of a claim outside an
// attempt nobody can tell whether its session lives.
func (d *drain) noteFull(r *Report) {
	full := d.Task == nil && d.mayClaim() && d.plan != nil && d.hold() == nil && d.withSlots() == 0 && d.plan.Taken >= d.Max && len(d.candidates(d.plan)) > 0
	r.Full = full && !d.full
	d.full = full
}

// noteSpace tells once that the state can't be written. Nobody else would: a wrapper whose agent has ended waits for space
// beside a log that has no room either.
func (d *drain) noteSpace(r *Report) {
	err := durable.Room(d.Project.Runs.Dir())
	if err != nil && !d.noSpace {
		r.NoSpace = err
	}
	d.noSpace = err != nil
}

// finished says whether nothing is left to wait for. Claims of others are never waited for, slots they take are.
func (d *drain) finished() bool {
	if d.Detach && d.round {
		return true
	}
	if d.withSlots() > 0 || d.unsettled() || d.lanePending() {
		return false
	}
	if !d.leads && !d.stopping {
		return false // who leads decides; when it is through, the lock and the question come to us
	}
	if d.stopping || d.leads && d.roundOver() {
		return d.stopping || !d.sendBack()
	}
	if d.inDoubt() && time.Since(d.unsureSince()) < settleTime {
		return false
	}
	if d.unpermitted() { // as for a hold; what is left is named
		return !d.sendBack()
	}
	if d.hold().Open() { // it may take all night until somebody answers; what is left is named
		return true
	}
	return (len(d.candidates(d.plan)) == 0 || d.inDoubt() && d.distrust()) && !d.sendBack()
}

// leaving reports whether a wrapper of ours is still there although its attempt is over.
func (d *drain) leaving() bool {
	open := make(map[string]bool, len(d.open))
	for _, rec := range d.open {
		open[rec.Token] = true
	}
	for token := range d.wrappers {
		if !open[token] {
			return true
		}
	}
	return false
}

// finish waits for the wrappers to be through with STATE.md, and leaves it and the rest tidy.
func (d *drain) finish(ctx context.Context) {
	for _, rec := range d.open {
		d.res.Open = append(d.res.Open, rec)
	}
	open := d.res.Open
	sort.Slice(open, func(i, j int) bool { return plan.NaturalLess(open[i].Slice, open[j].Slice) })
	timeout := time.After(reapLimit)
	for d.leaving() {
		select {
		case e := <-d.Runner.Exits():
			delete(d.wrappers, e.Token)
		case <-timeout:
			clear(d.wrappers)
		}
	}
	if d.res.Signal != nil { // it may have come between a launch and the next look
		if p, err := d.Project.Plan(time.Now(), d.options()); err == nil {
			d.plan = p
		}
	}
	if d.plan == nil {
		return
	}
	d.res.Plan = d.plan
	if d.forbidden() {
		if _, err := d.permit(ctx, &Report{}); err == nil && d.forbidden() {
			d.res.Barred = d.reasons()
		}
	}
	d.Project.Runs.Sweep(time.Now())
	d.Project.Runs.KeepTallies()
	if d.res.Signal != nil { // nobody waits for a lock after Ctrl-C; what is behind the next gl status puts right
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, behind)
		defer cancel()
	}
	if err := d.Project.Tracker.Refresh(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		d.report(Report{Warnings: []string{err.Error()}})
	}
}
