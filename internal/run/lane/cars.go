package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/core/train"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A cars tests what is in the queue side by side, each on top of those ahead of it; package train
// decides which. It only finds verdicts: once the one on an entry's tree on the merged base is
// known, merging takes the entry as if it came alone, finds the verdict by its tree, and merges it,
// sends it back, or asks a person. A worker that was killed leaves nothing but verdicts, and the
// tests that runs/train.json names.
type cars struct {
	project  *project.Project
	repo     *worktree.Repo
	history  history
	line     *line
	tip      *branchTip
	bench    *bench
	merging  *merging
	delivery *delivery
	commands *commands
	coupling *coupling
	beds     *beds
	signs    *signs
	width    *width
	fleet    *fleet
	nudged   <-chan struct{}
	tell     func(format string, a ...any)

	off   bool   // something is in the way: one after the other for the rest of the turn
	ahead string // the target's commit that is a car, "" for none
	known findings
	order memory
}

// findings are what this turn's runs have found, by tree.
type findings struct {
	verdicts map[string]train.Verdict
	failed   map[string]*run             // of trees that have failed once
	hung     map[string]*testrun.Verdict // of trees whose tests were ended at their limit
	tested   map[string]train.Tested     // by entry
}

// A memory is what decisions pass on to each other.
type memory struct {
	train  []string
	passed map[string]int
	chains map[string]int    // how much waits for each slice
	queued []string          // the names for which chains was found
	judged map[string]string // the base on which an entry was judged last
}

// lookEvery is how often the queue is looked at while tests run and nothing else happens.
const lookEvery = time.Second

// newCars returns the cars of a turn.
func (q *Queue) newCars(t *turn) *cars {
	c := &cars{
		project: t.project, repo: t.repo, history: q.Reader.history, line: t.line, tip: t.tip,
		bench: t.bench, merging: t.merging, commands: t.commands, beds: q.newBeds(t),
		nudged: q.nudged, tell: q.tells(),
		coupling: &coupling{
			project: t.project, repo: t.repo, trees: q.Reader.trees, line: t.line,
			merging: t.merging,
		},
		signs: &signs{settler: t.settler, events: q.events, usual: t.commands.usual},
	}
	c.known = findings{
		verdicts: map[string]train.Verdict{}, failed: map[string]*run{},
		hung: map[string]*testrun.Verdict{}, tested: map[string]train.Tested{},
	}
	c.order.judged = map[string]string{}
	c.width = &width{
		commands: t.commands, beds: c.beds, memory: memoryNeed{free: q.memory}, tell: q.notes(),
		most: min(t.project.Config.Max, mostMeasured),
	}
	c.width.follow()
	c.fleet = t.fleet
	t.bench.others, t.bench.measure = c.beds, func(v *testrun.Verdict) { c.width.took(1, v) }
	return c
}

// work tests and merges what is in the queue until nothing there can move. moved is false if it has
// judged nothing: then the queue works on one entry by itself.
func (c *cars) work(ctx context.Context) (moved bool, err error) {
	if on, err := c.on(ctx); !on || err != nil {
		return false, err
	}
	if several, err := c.several(ctx); !several || err != nil {
		return false, err
	}
	c.tip.pinned = true
	c.coupling.works, c.coupling.known = map[string]*work{}, map[joint]train.Merged{}
	running, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		err = errors.Join(err, c.beds.drain(), c.signs.clear(ctx))
		c.tip.pinned, c.ahead = false, ""
	}()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		judged, err := c.pass(running)
		moved = moved || judged
		if err != nil || len(c.beds.runs) == 0 {
			return moved, err
		}
		select {
		case r := <-c.beds.over:
			if err := c.beds.remove(r); err != nil {
				return moved, err
			}
			c.take(r)
		case <-c.nudged:
		case <-ticker.C:
			c.width.memory.look(len(c.beds.runs))
		case <-ctx.Done():
			return moved, ctx.Err()
		}
	}
}

// on reports whether testing side by side may save time now. On a red base it wouldn't: nothing
// built on it is green.
func (c *cars) on(ctx context.Context) (bool, error) {
	test := c.commands.conf.Config.Test
	if c.off || max(c.width.wanted(), c.atOnce()) < 2 || !test.Command.IsSet() ||
		c.commands.changed() {
		return false, nil
	}
	red, err := c.bench.knownRed(ctx)
	return !red && err == nil, ctx.Err() // merging one by one records the error with each attempt
}

// atOnce returns how many tests there may be at once, here and on workers.
func (c *cars) atOnce() int {
	here := c.width.atOnce()
	c.fleet.allow(here)
	return max(here, min(here+c.fleet.room(), mostBeds))
}

// mostBeds is the most worktrees of the queue, each for one run of the tests.
const mostBeds = 32

// several reports whether more than one entry is in the queue, or soon may be, and more than one
// may be tested at once. A single entry needs no train.
func (c *cars) several(ctx context.Context) (bool, error) {
	live, _, err := c.project.Runs.Live()
	entries, atWork := 0, false
	for _, r := range live {
		switch {
		case r.Life.Phase != plan.Queued:
			atWork = true // an agent
		case c.project.Has(r) && !c.line.isStuck(r):
			entries++
		}
	}
	c.width.prepare(ctx, entries)
	return (entries > 1 || atWork) && c.atOnce() > 1, err
}

// pass judges what can be judged, and starts and ends runs. Without any run afterwards nothing can
// move.
func (c *cars) pass(ctx context.Context) (judged bool, err error) {
	for {
		if on, err := c.on(ctx); !on || err != nil {
			return judged, errors.Join(err, c.beds.drain())
		}
		state, err := c.state(ctx)
		if errors.As(err, new(*Standstill)) { // each in the queue gets this reason
			c.off = true
			return judged, c.beds.drain()
		}
		if err != nil {
			return judged, err
		}
		d := train.Decide(state)
		if again, err := c.failed(ctx); err != nil {
			return judged, err
		} else if again {
			continue
		}
		if d.Judge == nil {
			return judged, c.act(ctx, d)
		}
		if err := c.judge(ctx, *d.Judge, state.Base); err != nil {
			return judged, err
		}
		judged = true
	}
}

// failed has the entries that gl or the machine couldn't merge wait, with the reason. again reports
// whether there were any.
func (c *cars) failed(ctx context.Context) (again bool, err error) {
	for name, why := range c.coupling.failed {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		r := c.coupling.queue[name]
		if r == nil { // the target's own
			c.giveUp(why)
			return true, nil
		}
		if err := c.line.wait(ctx, r, why); err != nil {
			return false, err
		}
		again = true
	}
	return again, nil
}

// giveUp has the queue test one after the other from now on.
func (c *cars) giveUp(why error) {
	c.off = true
	c.tell("testing one merge after the other: %v", why)
}

// state gathers what package train decides by.
func (c *cars) state(ctx context.Context) (train.State, error) {
	lane, err := c.tip.base(ctx)
	if err != nil {
		return train.State{}, err
	}
	base := train.Tip{Commit: lane}
	if base.Tree, err = c.coupling.trees.contentOf(ctx, lane); err != nil {
		return train.State{}, err
	}
	entries, err := c.entries(ctx, lane)
	if err != nil {
		return train.State{}, err
	}
	c.width.prepare(ctx, len(entries))
	c.coupling.base, c.coupling.failed = lane, map[string]error{}
	return train.State{
		Alone: c.width.alone(), Width: c.atOnce(), Base: base, Queue: entries,
		Train: c.order.train, Passed: c.order.passed,
		Merge: func(on train.Tip, e train.Entry) train.Merged {
			return c.coupling.merge(ctx, on, e)
		},
		Verdict: c.verdict, Running: c.beds.going(), Tested: c.known.tested,
	}, nil
}

// entries returns what may become a car: attempts in the queue, and the target's own commits.
func (c *cars) entries(ctx context.Context, lane string) ([]train.Entry, error) {
	queue, err := queueOf(c.project)
	if err != nil {
		return nil, err
	}
	var entries []train.Entry
	c.coupling.queue = map[string]*attempt.Record{}
	for r, err := range c.line.movable(ctx, queue, c.tip.base) {
		if err != nil {
			return nil, err
		}
		c.coupling.queue[r.ID.Name()] = r
	}
	c.weigh(queue)
	for i, r := range queue {
		if c.coupling.queue[r.ID.Name()] != nil {
			entries = append(entries, train.Entry{Name: r.ID.Name(), Queued: i,
				Weight: c.order.chains[r.ID.Slice]})
		}
	}
	for name := range c.known.tested {
		if c.coupling.queue[name] == nil {
			delete(c.known.tested, name)
		}
	}
	if err := c.aheadOf(ctx, lane); err != nil || c.ahead == "" {
		return entries, err
	}
	return append(entries, train.Entry{Name: c.ahead, Target: true, Queued: -1}), nil
}

// weigh finds how much waits for each slice in the queue, if the queue has changed. Without a plan,
// the queue's order decides.
func (c *cars) weigh(queue []*attempt.Record) {
	var names []string
	for _, r := range queue {
		names = append(names, r.ID.Name())
	}
	if slices.Equal(names, c.order.queued) {
		return
	}
	c.order.queued, c.order.chains = names, map[string]int{}
	p, err := c.project.Plan(now(), c.project.Options())
	if err != nil {
		return
	}
	for _, r := range queue {
		if st := p.State(r.ID.Slice); st != nil {
			c.order.chains[r.ID.Slice] = st.Chain
		}
	}
}

// aheadOf finds the target's commit that becomes a car, because the lane doesn't have it. One that
// is in the train stays, whatever comes after it.
func (c *cars) aheadOf(ctx context.Context, lane string) error {
	target, err := c.history.target(ctx)
	if err != nil {
		return err
	}
	in, err := git.IsAncestor(ctx, c.repo.Git.Common, target, lane)
	if err != nil || in {
		c.ahead = ""
		return err
	}
	if c.ahead != "" && slices.Contains(c.order.train, c.ahead) {
		has, err := git.IsAncestor(ctx, c.repo.Git.Common, c.ahead, lane)
		if err != nil || !has {
			return err
		}
	}
	c.ahead = target
	return nil
}

// verdict returns what is known of a tree.
func (c *cars) verdict(tree string) train.Verdict {
	if v := c.known.verdicts[tree]; v != train.Unknown {
		return v
	}
	switch _, v := c.bench.recorded(tree); {
	case v.Green():
		return train.Green
	case v != nil:
		return train.Red
	}
	return train.Unknown
}

// judge has the queue decide about an entry whose verdict is known, or that needs none.
func (c *cars) judge(ctx context.Context, j train.Judge, base train.Tip) error {
	r := c.coupling.queue[j.Entry]
	if was, again := c.order.judged[j.Entry]; again && was == base.Commit {
		c.giveUp(fmt.Errorf("%s comes back undecided", j.Entry))
		return nil
	}
	c.order.judged[j.Entry] = base.Commit
	defer func() {
		delete(c.known.tested, j.Entry)
		c.coupling.forget(j.Entry)
		c.signs.forget(j.Entry)
	}()
	if r == nil {
		return c.takeTarget(ctx, j.Entry)
	}
	if hung := c.hung(ctx, j); hung != nil {
		c.bench.seen[hung.Key()] = hung
		defer delete(c.bench.seen, hung.Key())
	}
	on := ""
	if j.On.Commit != base.Commit {
		on = j.On.Commit
	}
	if err := c.merging.landOn(ctx, r, on); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.line.wait(ctx, r, err)
	}
	if tip, err := c.repo.Queue.Tip(ctx); err != nil || tip == base.Commit {
		return err
	}
	return c.delivery.deliverBetween(ctx)
}

// hung returns the verdict on what is judged if its tests were ended at their limit. Such a verdict
// isn't kept, so without this they would run once more.
func (c *cars) hung(ctx context.Context, j train.Judge) *testrun.Verdict {
	m := c.coupling.merge(ctx, j.On, train.Entry{Name: j.Entry})
	return c.known.hung[m.Tip.Tree]
}

// takeTarget moves the lane to its merge with the target's own commits.
func (c *cars) takeTarget(ctx context.Context, target string) error {
	c.ahead = ""
	err := c.tip.take(ctx, target)
	if errors.As(err, new(*Standstill)) {
		c.off = true
		return nil
	}
	return cmp.Or(err, c.delivery.deliverBetween(ctx))
}

// act ends and starts runs.
func (c *cars) act(ctx context.Context, d train.Decision) error {
	c.order.train, c.order.passed = d.Train, d.Passed
	for _, j := range d.End {
		c.beds.end(j.Tip.Tree)
	}
	if len(d.Start) > 0 {
		if err := c.commands.allowed(ctx); err != nil { // each in the queue gets this reason
			c.off = true
			return c.beds.drain()
		}
	}
	for _, j := range d.Start {
		if err := c.start(ctx, j, d.Cars); err != nil {
			return err
		}
	}
	return c.signs.show(ctx, d.Cars, c.coupling.queue, c.beds.runs, c.verdict)
}

// start starts a run, unless all worktrees are still in use.
func (c *cars) start(ctx context.Context, j train.Job, list []train.Car) error {
	bed := c.beds.free(c.atOnce(), j)
	if bed == nil || j.Again && c.width.alone() && len(c.beds.runs) > 0 {
		return nil // what was ended isn't over yet
	}
	if !c.width.mayBegin() {
		return nil
	}
	manifests, err := c.coupling.trees.manifests(ctx, j.Tip.Commit)
	if err != nil {
		return err
	}
	r := &run{job: j, rec: c.coupling.queue[j.Entry], manifests: manifests, bed: bed}
	for _, car := range list {
		if car.Tip == j.Tip && r.rec != nil {
			r.on = labels(car.Ahead, c.coupling.queue)
		}
	}
	if r.rec == nil { // beds.remove takes the note back
		target := worktree.Short(c.repo.Target())
		if err := c.project.Runs.Control.NoteQueueWork(target); err != nil {
			return err
		}
	}
	c.beds.start(ctx, r)
	return nil
}

// take takes in the result of a run.
func (c *cars) take(r *run) {
	if r.ended {
		return
	}
	tree, final := r.job.Tip.Tree, r.job.Again
	if r.err == nil && r.verdict.TimedOut && !r.beside {
		final = true // not repeated, as in the queue's own worktree
	}
	if r.err == nil && !r.verdict.Green() && final {
		r.err = signaled(r.verdict, r.memory)
	}
	if r.err != nil {
		c.giveUp(r.err)
		return
	}
	c.merging.events.tellVerdict(tested{rec: r.rec, on: r.on}, r.verdict)
	if r.verdict.Green() && c.fleet.unused() {
		c.width.took(r.company(), r.verdict)
	}
	if !r.verdict.Green() && !final {
		c.known.failed[tree], c.known.verdicts[tree] = r, train.Failed
		return
	}
	c.settle(r)
}

// settle keeps the final verdict of a tree.
func (c *cars) settle(r *run) {
	tree, v := r.job.Tip.Tree, r.verdict
	if first := c.known.failed[tree]; first != nil && v.Green() {
		c.bench.tellFlaky(first.verdict, v)
		if first.beside && !r.beside && first.verdict.Worker == "" {
			c.width.vanished()
		}
	}
	c.bench.keep(v)
	final := train.Green
	if !v.Green() {
		final = train.Red
	}
	if c.known.verdicts[tree] = final; v.TimedOut {
		c.known.hung[tree] = v
	}
	if r.rec != nil && (r.job.Kind == train.Apart || r.job.Again && !v.Green()) {
		c.known.tested[r.rec.ID.Name()] = train.Tested{On: r.job.Base, Red: !v.Green()}
	}
}

// signs shows in the records of attempts where they are in the train.
type signs struct {
	settler attempt.Settler
	events  *events
	usual   func() time.Duration
	shown   map[string]sign // by the names of records
}

// A sign is what a record says.
type sign struct {
	rec   *attempt.Record
	text  string
	train plan.InTrain
	car   train.Car
}

// show has the records say where they are.
func (s *signs) show(ctx context.Context, list []train.Car, queue map[string]*attempt.Record,
	runs []*run, verdict func(tree string) train.Verdict) error {
	if s.shown == nil {
		s.shown = map[string]sign{}
	}
	position := 0
	seen := map[string]bool{}
	for _, car := range list {
		if car.Aside == train.InTrain {
			position++
		}
		r := queue[car.Entry]
		if r == nil {
			continue
		}
		seen[car.Entry] = true
		if err := s.put(ctx, signOf(car, position, r, queue, runs, verdict)); err != nil {
			return err
		}
	}
	for name, was := range s.shown {
		if !seen[name] && queue[name] != nil {
			if err := s.remove(ctx, was); err != nil {
				return err
			}
		}
	}
	return nil
}

// labels returns what people call entries.
func labels(names []string, queue map[string]*attempt.Record) []string {
	list := []string{}
	for _, name := range names {
		if r := queue[name]; r != nil {
			list = append(list, r.ID.Label())
		} else {
			list = append(list, "the target's own commits")
		}
	}
	return list
}

// signOf returns what the record of a car is to say.
func signOf(car train.Car, position int, r *attempt.Record, queue map[string]*attempt.Record,
	runs []*run, verdict func(tree string) train.Verdict) sign {
	on := labels(car.Ahead, queue)
	running := slices.ContainsFunc(runs, func(o *run) bool {
		return !o.ended && o.job.Tip.Tree == car.Tip.Tree
	})
	s := sign{rec: r, car: car, train: plan.InTrain{On: on, Position: position}}
	behind := words.Some(on)
	switch {
	case car.Aside == train.Conflicting:
		s.train.Aside = "it doesn't merge with " + behind + ", which may merge first"
	case car.Aside == train.Failing:
		s.train.Aside = "the tests fail on top of " + behind + ", which aren't merged yet"
	case car.Aside == train.Repeated:
		s.text = "testing again"
		s.train.Aside = "its tests failed, which counts once they have failed again by themselves"
	case car.Aside == train.Person:
		s.text = "testing by itself: a person has to look at it"
	case car.Aside == train.BaseUnknown:
		s.text = "tested; its base is being tested"
		s.train.Aside = "its tests failed, and it is being tested whether they do so without it, too"
	case running && behind == "":
		s.text = "testing"
	case running:
		s.text = "testing on top of " + behind
	case behind != "" && verdict(car.Tip.Tree) == train.Green:
		s.text = "tested; merges after " + behind
	case behind != "": // a run that is repeated alone goes first, or memory is short
		s.text = "waiting to be tested on top of " + behind
	}
	if s.text == "" && s.train.Aside != "" {
		s.text = "set aside: " + s.train.Aside
	}
	if car.Aside != train.InTrain {
		s.train.Position, s.train.Aside = 0, cmp.Or(s.train.Aside, s.text)
	}
	return s
}

// put writes a sign, if it is a new one.
func (s *signs) put(ctx context.Context, now sign) error {
	name := now.rec.ID.Name()
	was, known := s.shown[name]
	now.train.Since = was.train.Since
	if known && was.text == now.text && was.train.Position == now.train.Position &&
		slices.Equal(was.train.On, now.train.On) {
		return nil
	}
	if !known || was.text != now.text {
		now.train.Since = time.Now().UTC()
	}
	s.shown[name] = now
	if now.train.Aside != "" {
		s.events.tellAside(now)
	}
	takes := time.Duration(0)
	if strings.HasPrefix(now.text, "testing") {
		takes = s.usual()
	}
	return s.write(ctx, now.rec, now.text, takes, &now.train)
}

// remove takes a sign down: the attempt is just queued again.
func (s *signs) remove(ctx context.Context, was sign) error {
	delete(s.shown, was.rec.ID.Name())
	return s.write(ctx, was.rec, "", 0, nil)
}

// write changes a record. If the slice's file is missing, judging the attempt reports that.
func (s *signs) write(ctx context.Context, r *attempt.Record, text string, takes time.Duration,
	where *plan.InTrain) error {
	_, err := s.settler.Proceed(ctx, r, func(r *attempt.Record) {
		setStep(r.Landing, text, takes, where)
	})
	if errors.As(err, new(*attempt.AwayError)) || errors.Is(err, tracker.ErrNotFound) {
		return nil
	}
	return err
}

// forget drops a sign that the queue has replaced.
func (s *signs) forget(name string) { delete(s.shown, name) }

// clear takes all signs down at the end. If the worker is stopped, they stay, as any step does.
func (s *signs) clear(ctx context.Context) error {
	var errs []error
	for _, was := range s.shown {
		if ctx.Err() == nil {
			errs = append(errs, s.remove(ctx, was))
		}
	}
	s.shown = nil
	return errors.Join(errs...)
}
