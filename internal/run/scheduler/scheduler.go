package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/watch"
	"greenlight/internal/state/statedir"
)

// A scheduler makes all decisions of a run, in one goroutine. What a decision needs to know, or
// leaves to be done beside the loop, is in the types of its fields; none of them knows the
// scheduler.
type scheduler struct {
	cfg        Config
	watch      *watch.Watcher
	leadership *leadership
	picture    picture
	slots      slots
	turns      *turns
	supervisor *supervisor

	permissions *permissions
	claimer     claimer
	removed     removed
	refused     refused

	queueJobs *queueJobs
	foresight *foresight
	chronicle *chronicle
	news      *news
	stateFile *stateFile

	locked   chan *durable.LockedError // received while a pass waits for the project's lock
	stop     *attempt.StopWatch
	stopping bool // nothing is launched any more
	res      Result
}

// Run launches slices until nothing of its own runs and nothing can be launched, or a signal comes.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	stop := cfg.Stop
	if stop == nil {
		stop = cfg.Project.Runs.Control.WatchStop()
	}
	now := slots{Slots: cfg.Slots, runs: cfg.Project.Runs, set: cfg.Project.Runs.Control.SlotsSet()}
	chronicle := newChronicle(cfg.Project, cfg.Scope)
	if err := cfg.Project.Runs.Files.Prepare(); err != nil {
		return nil, err
	}
	files := watch.New(cfg.Project.Runs, cfg.Project.Tracker.Watch(), cfg.Output.Trace)
	defer files.Close()
	defer cfg.Project.Follow()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cfg.Output.Report = inTurn(cfg.Output.Report)
	s := newScheduler(ctx, cfg, chronicle)
	s.watch, s.slots, s.stop = files, now, stop
	defer s.news.unheard.Close()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	err := s.loop(ctx)
	s.end(ctx, err)
	cancel()
	s.leadership.resign()
	return &s.res, err
}

func newScheduler(ctx context.Context, cfg Config, c *chronicle) *scheduler {
	l := &leadership{path: cfg.Project.Runs.Control.LeaderLock(), ours: !cfg.Mode.Lead}
	t, f := newTurns(cfg.Mode), &stateFile{tracker: cfg.Project.Tracker}
	people := audience{leads: cfg.Mode.Lead, began: c.began, leadership: l, tried: t.tried}
	if task := cfg.Scope.Task; task != nil {
		people.task = attempt.TaskID(task.Name)
	}
	return &scheduler{
		cfg: cfg, leadership: l, turns: t, stateFile: f, chronicle: c,
		picture:     newPicture(cfg.Scope),
		supervisor:  newSupervisor(ctx, &cfg, l, t, f),
		permissions: newPermissions(&cfg), claimer: claimer{&cfg}, removed: removed{}, refused: newRefused(cfg.Pace),
		queueJobs: newQueueJobs(ctx, &cfg), foresight: newForesight(ctx, &cfg),
		news:   newNews(cfg.Project.Runs, people),
		locked: make(chan *durable.LockedError, 4),
	}
}

// inTurn returns report for several goroutines: a wait for the lock is reported while the pass goes
// on.
func inTurn(report func(Report)) func(Report) {
	var telling sync.Mutex
	return func(r Report) {
		telling.Lock()
		defer telling.Unlock()
		report(r)
	}
}

// begin takes the lead or stands by for it, says that the run starts, and starts what works beside
// the loop.
func (s *scheduler) begin(ctx context.Context) error {
	if s.cfg.Mode.Lead {
		holder, err := s.leadership.stand(ctx)
		if err != nil {
			return err
		}
		if holder != "" {
			s.report(Report{Leader: holder})
		}
	}
	if err := s.news.start(&s.cfg); err != nil {
		s.warn(fmt.Errorf("no notifications: %w", err))
	}
	if !s.leadership.ours {
		return nil
	}
	s.tellStart()
	if queue := s.cfg.Tools.Lane; queue != nil {
		s.warn(queue.Restore(ctx))
		if s.cfg.Project.Config.Test.Command.IsSet() {
			s.queueJobs.testBase()
		}
	}
	return nil
}

// tellStart writes that this run decides from now on. A task isn't one, though a run executes it.
func (s *scheduler) tellStart() {
	if s.cfg.Scope.Task == nil {
		s.chronicle.start(s.slots.Slots, s.permissions.names(), s.cfg.Tools.Runner.Name())
	}
}

// end ends what works beside the loop, delivers, and tells how the run went. err is the loop's.
func (s *scheduler) end(ctx context.Context, err error) {
	if err, ok := s.queueJobs.stop(); ok {
		s.jobOver(err)
	}
	s.foresight.stop()
	s.finish(ctx)
	s.deliver(ctx)
	s.res.Ended = s.supervisor.ended
	s.res.Spent = s.chronicle.spent()
	s.chronicle.end(&s.res, s.picture.plan, s.picture.hold(), err)
	var last Report
	if s.news.stop(&last); len(last.Warnings) > 0 {
		s.report(last)
	}
}

func (s *scheduler) loop(ctx context.Context) error {
	for {
		sig, err := s.hearing(ctx, s.pass)
		if sig != nil && s.signaled(ctx, sig) {
			return nil
		}
		if err != nil && (sig == nil || !errors.Is(err, context.Canceled)) {
			return err
		}
		if s.picture.unread.IsZero() && s.finished() {
			return nil
		}
		if stop, err := s.wait(ctx); stop || err != nil {
			return err
		}
	}
}

// hearing runs f, which may wait for the project's lock as long as it takes: its holder may be a
// stopped process. The first signal ends the wait, and is returned once f has returned.
func (s *scheduler) hearing(
	ctx context.Context, f func(context.Context) error,
) (sig os.Signal, err error) {
	told := func(e *durable.LockedError) { s.locked <- e }
	waiting, cancel := context.WithCancel(durable.Patiently(ctx, told))
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- f(waiting) }()
	signals := s.cfg.Signals
	for {
		select {
		case err := <-over:
			return sig, err
		case e := <-s.locked:
			s.cfg.Output.Report(Report{Plan: noPlan(), Locked: e.Holder})
		case sig = <-signals:
			signals = nil // the next one is for wait
			cancel()
		}
	}
}

// pass looks at everything, settles the dead, launches, and reports what changed. The order of what
// it does is the order in which people read it.
func (s *scheduler) pass(ctx context.Context) error {
	_, away := s.fleet()
	s.slots.count(away)
	var r Report
	s.supervisor.giveBackEarly(ctx, &r)
	for again := true; again; again = s.supervisor.caughtUp(ctx, &r) {
		if err := s.look(ctx, &r); err != nil {
			return s.tolerate(ctx, err, r)
		}
	}
	s.picture.unread = time.Time{}
	s.workQueue()
	if s.leadership.ours && !s.stopping {
		s.foresight.look(s.picture.plan)
	}
	s.chronicle.holds(s.picture.plan)
	if !s.picture.forced {
		s.news.addHolds(s.picture.plan, s.permissions.agents, &r)
	}
	if s.mayClaim() {
		s.news.addUnplaced(s.picture.plan, time.Now(), &r)
	}
	if len(r.Ended) > 0 && s.leadership.ours {
		s.news.addUnheard(&r)
	}
	if s.leadership.ours && s.cfg.Scope.Task == nil {
		s.chronicle.budgets(s.picture.plan)
	}
	s.news.addJournal(&r)
	s.news.notify(&r)
	s.news.addFull(s.waitsForSlots(), &r)
	s.report(r)
	s.warn(s.stateFile.refresh(ctx, len(r.Launched) > 0))
	return nil
}

// unreadable is the error of a pass that couldn't read the project's state.
type unreadable struct{ error }

func (e unreadable) Unwrap() error { return e.error }

// tolerate returns nil if the next pass may succeed where this one has failed: in the middle of a
// run the state can't be read for a moment when a program, or an agent, has something else in the
// place of a file or directory. r is what the pass has found out until then.
func (s *scheduler) tolerate(ctx context.Context, err error, r Report) error {
	passes := errors.As(err, new(unreadable)) || statedir.IsLink(err)
	if ctx.Err() != nil || s.picture.plan == nil || !passes {
		return err
	}
	first, over := s.picture.failed()
	if first {
		r.warn("%v (trying again; the run ends if it stays so for %v)", err, stateLimit)
	}
	s.report(r)
	if over {
		return err
	}
	return nil
}

// look finds out what ended and launches what may be launched.
func (s *scheduler) look(ctx context.Context, r *Report) error {
	if err := s.supervisor.observe(ctx, r); err != nil {
		return unreadable{err}
	}
	s.heedStop()
	// If an attempt has ended, a slot is free: then the plan is made once, under the lock.
	// Otherwise the lock is taken only if the plan has something to launch.
	if s.permissions.lacking() {
		if _, err := s.permissions.check(ctx, r); err != nil {
			return err
		}
	}
	launch := s.mayClaim() && len(r.Ended) > 0
	if !launch {
		p, err := s.cfg.Project.Plan(time.Now(), s.options())
		if err != nil {
			return unreadable{err}
		}
		s.picture.plan = p
		s.findNamed(r)
		launch = s.mayClaim() && s.planAllows()
	}
	if !launch {
		return nil
	}
	err := s.launch(ctx, r)
	if err == nil && s.findNamed(r) && s.mayClaim() && s.planAllows() {
		err = s.launch(ctx, r)
	}
	return err
}

// heedStop reports whether gl stop --all has ended the run.
func (s *scheduler) heedStop() bool {
	if !s.stop.Stopped() {
		return false
	}
	s.stopping, s.res.Stopped = true, true
	return true
}

// options are those of the plan.
func (s *scheduler) options() plan.Options {
	o := s.cfg.Project.Options()
	o.Milestone = s.cfg.Scope.Milestone
	o.IDs, o.Agents = s.cfg.Scope.IDs, nil
	for _, a := range s.permissions.preferred() {
		o.Agents = append(o.Agents, a.account())
	}
	return o
}

func (s *scheduler) report(r Report) {
	r.Max = s.slots.Max
	if r.Plan = s.picture.plan; r.Plan == nil {
		r.Plan = noPlan()
	}
	s.cfg.Output.Report(r)
}

// noPlan is the plan of a report before the first pass, and beside one.
func noPlan() *plan.Plan { return &plan.Plan{Snapshot: &plan.Snapshot{}} }

// warn reports an error that doesn't end the run; nil for none.
func (s *scheduler) warn(err error) {
	if err != nil {
		s.report(Report{Warnings: []string{err.Error()}})
	}
}

// waitsForSlots reports whether slices wait for slots that others have.
func (s *scheduler) waitsForSlots() bool {
	return s.cfg.Scope.Task == nil && s.mayClaim() && s.picture.hold() == nil &&
		s.supervisor.roster.withSlots() == 0 && s.picture.plan.Taken >= s.slots.Max &&
		len(s.candidates()) > 0
}

// queued is what awaits the merge queue now.
func (s *scheduler) queued() queued { return s.supervisor.roster.queued(len(s.supervisor.ended)) }

// workQueue begins a job of the merge queue if there is one to do.
func (s *scheduler) workQueue() {
	if s.stopping {
		return
	}
	now := s.queued()
	if !s.leadership.ours || !s.queueJobs.deliverAgain(now) {
		s.queueJobs.work(now)
	}
}

// jobOver takes in the end of a job of the merge queue.
func (s *scheduler) jobOver(err error) {
	s.stateFile.dirty = true
	s.warn(err)
}

// sendBack lets attempts continue that wait because the base is red. It reports whether it has
// begun to.
func (s *scheduler) sendBack() bool {
	return !s.stopping && s.leadership.ours && s.queueJobs.sendBack(s.queued())
}

// deliver delivers what has landed and commits the state.
func (s *scheduler) deliver(ctx context.Context) {
	if s.cfg.Tools.Lane == nil {
		return
	}
	if s.res.Signal == nil {
		if err := s.queueJobs.deliver(ctx); err != nil {
			s.warn(fmt.Errorf("what passed the tests can't be merged: %w", err))
		}
		lost, err := lane.Lost(ctx, s.cfg.Project, s.cfg.Tools.Lane.Repo)
		s.warn(err)
		s.res.Lost = lost
	}
	s.res.Lane = lane.ReadStatus(s.cfg.Project.Runs.Files.Dir())
}

// finished reports whether nothing is left to wait for. Claims of others are never waited for; the
// slots they take are.
func (s *scheduler) finished() bool {
	if s.cfg.Mode.Detach && s.turns.round {
		return true
	}
	if s.supervisor.roster.withSlots() > 0 || s.supervisor.recoveries.pending(s.stopping) ||
		s.queueJobs.pending(s.queued(), s.stopping) {
		return false
	}
	if !s.leadership.ours && !s.stopping {
		return false // the leader decides; once it has ended, this run does
	}
	if s.stopping || s.leadership.ours && s.turns.roundOver() {
		return s.stopping || !s.sendBack()
	}
	if s.picture.unsettled() || s.refused.pending(time.Now()) {
		return false
	}
	if s.unpermitted() { // as with a hold; what is left is named
		return !s.sendBack()
	}
	if s.picture.hold().Open() { // a person may need all night to answer; what is left is named
		return true
	}
	return (len(s.candidates()) == 0 || s.picture.distrusted()) && !s.sendBack()
}

// finish waits for the wrappers to be through with STATE.md, and leaves it and the rest tidy.
func (s *scheduler) finish(ctx context.Context) {
	for _, rec := range s.supervisor.roster.open {
		s.res.Open = append(s.res.Open, rec)
	}
	open := s.res.Open
	sort.Slice(open, func(i, j int) bool {
		return plan.NaturalLess(open[i].ID.Slice, open[j].ID.Slice)
	})
	s.supervisor.reap(s.cfg.Tools.Runner.Exits())
	if s.res.Signal != nil { // it may have come between a launch and the next look
		if p, err := s.cfg.Project.Plan(time.Now(), s.options()); err == nil {
			s.picture.plan = p
		}
	}
	if s.picture.plan == nil {
		return
	}
	s.res.Plan = s.picture.plan
	if s.permissions.forbidden() {
		if _, err := s.permissions.check(ctx, &Report{}); err == nil && s.permissions.forbidden() {
			s.res.Barred = s.permissions.reasons()
		}
	}
	s.cfg.Project.Runs.Files.Sweep(time.Now())
	if s.res.Signal != nil { // no long wait for a lock: the next gl status writes STATE.md
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, behind)
		defer cancel()
	}
	if err := s.cfg.Project.Tracker.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
		s.warn(err)
	}
}
