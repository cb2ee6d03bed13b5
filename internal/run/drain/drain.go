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
	"strings"
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

// A Config is what a run is to do, and with what.
type Config struct {
	Project  *project.Project
	Scope    Scope
	Slots    Slots
	Mode     Mode
	Tools    Tools
	Builders Builders
	Pace     Pace
	Output   Output
	Signals  <-chan os.Signal // each one ends the run
}

// A Scope is what a run builds.
type Scope struct {
	Task      *attempt.Task // this task, once, instead of slices
	IDs       []string      // the named slices, in the order given; nil for every ready one
	Milestone string
	Force     bool
	Over      map[string]string // by id: the session whose claim a person agreed to take over
}

// Slots limits how many attempts there may be at a time.
type Slots struct {
	Max    int        // attempts at a time in the whole project
	Fixed  bool       // Max is from --max: Now doesn't count until a person sets the slots again
	Now    func() int // Max by the configuration as it is now
	Serial bool       // this run has at most one attempt at a time
}

// A Mode is how a run begins, goes on and ends.
type Mode struct {
	Refill     bool     // launch again as slots free; otherwise one round
	Lead       bool     // gl slice --watch: adopt running attempts, and let one such run decide for the project
	Foreground bool     // a signal ends the attempts; otherwise they continue
	Detach     bool     // end as soon as the first round is launched
	Attend     bool     // launch only what the merge queue sends back to its agent
	Adopt      []string // names of attempts that other processes launched and that this run answers for
}

// Tools are what a run starts and merges attempts with.
type Tools struct {
	Runner runner.Runner
	Trees  *worktree.Repo // where slices are built in worktrees; nil for the checkout
	Lane   *lane.Lane     // merges and tests what is built in worktrees; nil without them
}

// Builders are the agents that a run may launch, and the trust store that allows them.
type Builders struct {
	Agents    []Agent                                               // in order of preference
	Find      func(pr *project.Project, name string) (Agent, error) // returns the agent a slice names; nil to ignore such names
	Renew     func(pr *project.Project, name string) (Agent, error) // returns one of Agents as it is configured now; nil if that doesn't change
	Escalate  string                                                // attempt.Request.Escalate
	Trust     trust.Store                                           // what the person has allowed: no other command of the configuration is launched
	TrustRoot string                                                // the project they allowed it for: this one, or the one this is a copy of
}

// Pace is a run's times.
type Pace struct {
	Interval time.Duration // between two looks if no event comes
	Stagger  time.Duration // between two launches
}

// Output is where a run tells what happens.
type Output struct {
	Report   func(Report)
	Channels []notify.Channel              // by which people are notified; nil for none
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
)

type drain struct {
	cfg     Config
	settler attempt.Settler
	watch   *watch.Watcher

	permissions *permissions
	recoveries  *recoveries
	chronicle   *chronicle
	news        *news
	queueJobs   *queueJobs
	foresight   *foresight
	stateFile   stateFile

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

	leadership leadership
	stopMark   string
	slotsSet   time.Time // when a person had set the slots last, as the drain began

	locked chan *durable.LockedError // told while a pass waits for the project's lock

	plan       *plan.Plan
	unsure     time.Time
	unread     time.Time // since when the state can't be read; zero if it can
	lastLaunch time.Time
	stopping   bool
	res        Result
}

// A notStarted is a claim whose wrapper ended before it began.
type notStarted struct {
	rec *attempt.Record
	why string
}

// Run drains until nothing of its own runs and nothing can be launched, or a signal comes.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	d := &drain{
		chronicle: newChronicle(cfg.Project), permissions: newPermissions(&cfg),
		cfg: cfg, settler: cfg.Project.Settler(), open: map[string]*attempt.Record{}, tried: map[string]bool{},
		excluded: map[string]bool{}, failedStarts: map[string]int{}, cleaned: map[string]int{}, wrappers: map[string]bool{}, claimedAt: map[string]time.Time{}, dueAgain: map[string]bool{},
		locked: make(chan *durable.LockedError, 4), leadership: leadership{path: cfg.Project.Runs.LeaderLock(), ours: !cfg.Mode.Lead}, stateFile: stateFile{tracker: cfg.Project.Tracker}, stopMark: cfg.Project.Runs.StopMark(), slotsSet: cfg.Project.Runs.SlotsSet(),
	}
	var telling sync.Mutex // a wait for the lock is told while the pass goes on
	d.cfg.Output.Report = func(r Report) {
		telling.Lock()
		defer telling.Unlock()
		cfg.Output.Report(r)
	}
	d.round = cfg.Mode.Attend // others have launched it
	if err := cfg.Project.Runs.Prepare(); err != nil {
		return nil, err
	}
	d.watch = watch.New(cfg.Project.Runs, cfg.Project.Tracker.Watch(), cfg.Output.Trace)
	defer d.watch.Close()
	defer cfg.Project.Follow()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.recoveries = newRecoveries(ctx, &cfg)
	d.news = newNews(cfg.Project.Runs, d.audience())
	defer d.news.unheard.Close()
	if cfg.Mode.Lead {
		if err := d.standForLeader(ctx); err != nil {
			return nil, err
		}
	}
	if err := d.news.start(&cfg); err != nil {
		d.report(Report{Warnings: []string{"no notifications: " + err.Error()}})
	}
	if d.leadership.ours {
		d.tellStart()
	}
	d.queueJobs, d.foresight = newQueueJobs(ctx, &cfg), newForesight(ctx, &cfg)
	if d.cfg.Tools.Lane != nil && d.leadership.ours {
		if err := d.cfg.Tools.Lane.Restore(ctx); err != nil {
			d.report(Report{Warnings: []string{err.Error()}})
		}
	}
	if d.cfg.Tools.Lane != nil && d.leadership.ours && d.cfg.Project.Config.Test.Command.IsSet() {
		d.queueJobs.testBase()
	}
	err := d.loop(ctx)
	if err, ok := d.queueJobs.stop(); ok {
		d.jobOver(err)
	}
	d.foresight.stop()
	d.finish(ctx)
	d.deliver(ctx)
	d.res.Spent = d.chronicle.spent()
	d.chronicle.end(&d.res, d.plan, d.hold(), err)
	var last Report
	if d.news.stop(&last); len(last.Warnings) > 0 {
		d.report(last)
	}
	cancel()
	d.leadership.resign()
	return &d.res, err
}

// standForLeader takes the drain lock, or stands by for it.
func (d *drain) standForLeader(ctx context.Context) error {
	holder, err := d.leadership.stand(ctx)
	if holder != "" {
		d.report(Report{Leader: holder})
	}
	return err
}

// audience is whom this run tells of what.
func (d *drain) audience() audience {
	a := audience{leads: d.cfg.Mode.Lead, began: d.chronicle.began, leadership: &d.leadership, tried: d.tried}
	if t := d.cfg.Scope.Task; t != nil {
		a.task = attempt.TaskID(t.Name)
	}
	return a
}

// tellStart writes that this run decides from now on. A task isn't one, though a run executes it.
func (d *drain) tellStart() {
	if d.cfg.Scope.Task == nil {
		d.chronicle.start(d.cfg.Slots, d.permissions.names(), d.cfg.Tools.Runner.Name())
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
	signals := d.cfg.Signals
	for {
		select {
		case err := <-over:
			return sig, err
		case e := <-d.locked:
			d.cfg.Output.Report(Report{Plan: &plan.Plan{Snapshot: &plan.Snapshot{}}, Locked: e.Holder})
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
	d.workQueue()
	if d.leadership.ours && !d.stopping {
		d.foresight.look(d.plan)
	}
	d.chronicle.holds(d.plan)
	if !d.ignoresHold() {
		d.news.addHolds(d.plan, d.permissions.agents, &r)
	}
	if len(r.Ended) > 0 && d.leadership.ours {
		d.news.addUnheard(&r)
	}
	if d.leadership.ours && d.cfg.Scope.Task == nil {
		d.chronicle.budgets(d.plan)
	}
	d.news.addJournal(&r)
	d.news.notify(&r)
	d.news.addFull(d.waitsForSlots(), &r)
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
	if d.cfg.Slots.Fixed && d.cfg.Project.Runs.SlotsSet().Equal(d.slotsSet) {
		return
	}
	if d.cfg.Slots.Fixed = false; d.cfg.Slots.Now != nil {
		d.cfg.Slots.Max = d.cfg.Slots.Now()
	}
}

// look finds out what ended and launches what may be launched.
func (d *drain) look(ctx context.Context, r *Report) error {
	if err := d.observe(ctx, r); err != nil {
		return unreadable{err}
	}
	// Where an attempt has ended a slot is free: then the plan is made once, under the lock. Else the lock is taken only
	// where the plan has something to launch.
	if d.permissions.lacking() {
		if _, err := d.permit(ctx, r); err != nil {
			return err
		}
	}
	launch := d.mayClaim() && len(r.Ended) > 0
	if !launch {
		p, err := d.cfg.Project.Plan(time.Now(), d.options())
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
		if !d.cfg.Project.Runs.IsOpen(name) {
			d.noteClosed(ctx, name, r)
		}
	}
	return len(d.open) < n
}

// refresh brings STATE.md up to date if it is time.
func (d *drain) refresh(ctx context.Context, launched bool) {
	if err := d.stateFile.refresh(ctx, launched); err != nil {
		d.report(Report{Warnings: []string{err.Error()}})
	}
}

// queued is what awaits the merge queue now.
func (d *drain) queued() queued {
	q := queued{names: d.queue()}
	if len(q.names) > 0 {
		q.news = fmt.Sprint(len(d.res.Ended), d.withSlots(), strings.Join(q.names, " "))
	}
	return q
}

// queue returns the attempts of this run that await the merge queue.
func (d *drain) queue() []string {
	var names []string
	for name, rec := range d.open {
		if rec.Phase == plan.Queued {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// withSlots counts the attempts of this run that have agents.
func (d *drain) withSlots() int { return len(d.open) - len(d.queue()) }

// workQueue begins a job of the merge queue if there is news.
func (d *drain) workQueue() {
	if d.stopping {
		return
	}
	now := d.queued()
	if !d.leadership.ours || !d.queueJobs.deliverAgain(now) {
		d.queueJobs.work(now)
	}
}

// jobOver takes in the end of a job of the merge queue.
func (d *drain) jobOver(err error) {
	d.stateFile.dirty = true
	if err != nil {
		d.report(Report{Warnings: []string{err.Error()}})
	}
}

// sendBack lets attempts continue that wait because the base is red, and reports whether it has begun to.
func (d *drain) sendBack() bool {
	return !d.stopping && d.leadership.ours && d.queueJobs.sendBack(d.queued())
}

// deliver delivers what has landed and commits the state.
func (d *drain) deliver(ctx context.Context) {
	if d.cfg.Tools.Lane == nil {
		return
	}
	if d.res.Signal == nil {
		if err := d.queueJobs.deliver(ctx); err != nil {
			d.report(Report{Warnings: []string{"what has landed can't be merged: " + err.Error()}})
		}
	}
	d.res.Lane = lane.ReadStatus(d.cfg.Project.Runs.Dir())
}

func (d *drain) report(r Report) {
	r.Max = d.cfg.Slots.Max
	if r.Plan = d.plan; r.Plan == nil {
		r.Plan = &plan.Plan{Snapshot: &plan.Snapshot{}}
	}
	d.cfg.Output.Report(r)
}

func (d *drain) options() plan.Options {
	o := d.cfg.Project.Options()
	o.Milestone = d.cfg.Scope.Milestone
	o.IDs, o.Agents = d.cfg.Scope.IDs, nil
	for _, a := range d.permissions.preferred() {
		o.Agents = append(o.Agents, a.account())
	}
	return o
}

// waitsForSlots reports whether slices wait for slots that others have.
func (d *drain) waitsForSlots() bool {
	return d.cfg.Scope.Task == nil && d.mayClaim() && d.hold() == nil && d.withSlots() == 0 &&
		d.plan.Taken >= d.cfg.Slots.Max && len(d.candidates(d.plan)) > 0
}

// finished says whether nothing is left to wait for. Claims of others are never waited for, slots they take are.
func (d *drain) finished() bool {
	if d.cfg.Mode.Detach && d.round {
		return true
	}
	if d.withSlots() > 0 || d.recoveries.pending(d.stopping) || d.queueJobs.pending(d.queued(), d.stopping) {
		return false
	}
	if !d.leadership.ours && !d.stopping {
		return false // who leads decides; when it is through, the lock and the question come to us
	}
	if d.stopping || d.leadership.ours && d.roundOver() {
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
		case e := <-d.cfg.Tools.Runner.Exits():
			delete(d.wrappers, e.Token)
		case <-timeout:
			clear(d.wrappers)
		}
	}
	if d.res.Signal != nil { // it may have come between a launch and the next look
		if p, err := d.cfg.Project.Plan(time.Now(), d.options()); err == nil {
			d.plan = p
		}
	}
	if d.plan == nil {
		return
	}
	d.res.Plan = d.plan
	if d.permissions.forbidden() {
		if _, err := d.permit(ctx, &Report{}); err == nil && d.permissions.forbidden() {
			d.res.Barred = d.permissions.reasons()
		}
	}
	d.cfg.Project.Runs.Sweep(time.Now())
	d.cfg.Project.Runs.KeepTallies()
	if d.res.Signal != nil { // nobody waits for a lock after Ctrl-C; what is behind the next gl status puts right
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, behind)
		defer cancel()
	}
	if err := d.cfg.Project.Tracker.Refresh(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		d.report(Report{Warnings: []string{err.Error()}})
	}
}
