package remote

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Coordinator is the coordinator's machine. It decides; packages above carry out what it decides
// and tell it what happens.
//
// attempt.go has what it keeps on disk, member.go what it knows of workers, inbox.go what it does
// about messages, and lease.go the steps of a lease.
type Coordinator struct {
	policy   Policy
	clock    clock
	attempts map[string]*Attempt
	members  map[string]*member
	lives    map[Fence]*life
	strays   map[Fence]bool // offers without a lease that are being kept
	out      []CoordinatorEffect
}

// A life is what the machine knows of a lease besides what is on disk.
type life struct {
	due       time.Duration // when what isn't answered is sent again
	since     time.Duration // when its placement was first sent
	published bool
	vacated   bool // Vacant was told, since its worker is lost
	settling  bool // Settle was told
	keeping   bool // Keep was told
}

// NewCoordinator returns the machine for what is on disk: of each attempt with its Log filled in.
// Its first event is Begin.
func NewCoordinator(p Policy, attempts []*Attempt, members []Member) *Coordinator {
	c := &Coordinator{policy: p, attempts: map[string]*Attempt{}, members: map[string]*member{},
		lives: map[Fence]*life{}, strays: map[Fence]bool{}}
	for _, a := range attempts {
		c.attempts[a.Name] = a
	}
	for _, m := range members {
		c.members[m.Name] = &member{Member: m, c: c}
	}
	return c
}

// Step tells the machine what happened at now, a time of a monotonic clock, and returns what is to
// be done.
func (c *Coordinator) Step(now time.Duration, e CoordinatorEvent) []CoordinatorEffect {
	c.clock.advance(now, c.policy.Gap)
	c.out = nil
	switch e := e.(type) {
	case Begin:
		c.begin()
	case Tick:
		c.tick()
	case FromWorker:
		c.receive(e.Worker, e.Message)
	case Joined:
		c.joined(e)
	case Revoked:
		c.revoked(e.Worker)
	case SetDraining:
		c.setDraining(e.Worker, e.On)
	case Assign:
		c.assign(e)
	case Published:
		c.published(e)
	case Speak:
		c.speak(e)
	case Stop:
		c.stop(e)
	case Abandon:
		c.abandon(e)
	case Done:
		c.done(e)
	case Kept:
		c.kept(e)
	case Unneeded:
		c.unneeded(e)
	case Answered:
		c.answered(e.Answer)
	}
	return c.out
}

func (c *Coordinator) emit(e CoordinatorEffect) { c.out = append(c.out, e) }

func (c *Coordinator) send(worker string, m ToWorker) { c.emit(SendToWorker{worker, m}) }

func (c *Coordinator) persist(a *Attempt) { c.emit(PersistAttempt{a}) }

func (c *Coordinator) notice(f Fence, worker string, what News, detail Text) {
	c.emit(Notice{f, worker, what, detail})
}

// sorted makes what a machine does the same in each run.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (c *Coordinator) life(f Fence) *life {
	l := c.lives[f]
	if l == nil {
		l = &life{}
		c.lives[f] = l
	}
	return l
}

// begin goes on with what is on disk. Messages aren't repeated here but by their due times: all
// are due.
func (c *Coordinator) begin() {
	for _, name := range sorted(c.members) {
		if m := c.members[name]; m.Revoked {
			c.revoked(name)
		} else { // it needn't wait for a beat
			m.due = c.clock.awake + c.policy.Resend
			c.send(name, &Greet{})
		}
	}
	for _, name := range sorted(c.attempts) {
		a := c.attempts[name]
		for i := range a.Leases {
			c.member(a.Leases[i].Worker)
			c.on(a, &a.Leases[i]).resume()
		}
		if c.vacant(a) {
			c.emit(Vacant{Fence: Fence{a.Name, a.Newest}, Saved: a.Saved, Why: "gl was restarted"})
		}
		c.tidy(a)
	}
}

func (t tenure) resume() {
	f := t.fence()
	interrupted := false
	for i := range t.l.Asks.Open {
		if q := &t.l.Asks.Open[i]; q.Answer == nil {
			q.Answer = &Answer{Fence: f, Number: q.Number, ExitCode: 1,
				Errors: []byte("gl: the coordinator was restarted while this command ran; look at its effect before you repeat it\n")}
			interrupted = true
		}
	}
	if interrupted {
		t.c.persist(t.a)
	}
	switch {
	case t.l.Stage == Placed && t.counts() && !t.l.Taken:
		t.publish()
	case t.l.Stage == Ended:
		t.close()
	}
}

// vacant reports whether the attempt is open and no worker has its newest lease.
func (c *Coordinator) vacant(a *Attempt) bool { return !a.Closed && a.Current() == nil }

// tidy removes an attempt that is closed, once no worker has anything of it.
func (c *Coordinator) tidy(a *Attempt) {
	if a.Closed && len(a.Leases) == 0 && c.attempts[a.Name] == a {
		delete(c.attempts, a.Name)
		delete(c.lives, Fence{a.Name, a.Newest})
		c.emit(Drop{a.Name})
	}
}

// used counts the jobs that a worker has or is about to get.
func (c *Coordinator) used(worker string) int {
	n := 0
	for _, a := range c.attempts {
		for i := range a.Leases {
			if l := &a.Leases[i]; l.Worker == worker && !l.Gone && l.Stage != Ended && l.Stage != Settled {
				n++
			}
		}
	}
	return n
}

// serial returns a number above those of all placements on the worker before. Those whose leases
// are gone are at most the worker's mark, which it has told since this process was started.
func (c *Coordinator) serial(m *member) int64 {
	for _, a := range c.attempts {
		for i := range a.Leases {
			if l := &a.Leases[i]; l.Worker == m.Name {
				m.serial = max(m.serial, l.Serial)
			}
		}
	}
	m.serial++
	return m.serial
}

// assign makes a lease. The one before, if there is any, no longer counts from here on.
func (c *Coordinator) assign(e Assign) {
	a := c.attempts[e.Attempt]
	if a == nil {
		a = &Attempt{Name: e.Attempt}
	}
	old := a.Current()
	if a.Closed || old != nil && (old.Stage == Ended || !c.lost(old.Worker)) {
		return
	}
	f := Fence{a.Name, a.Newest + 1}
	m := c.members[e.Worker]
	if why := c.unfit(m, f, e); why != "" {
		c.emit(Vacant{Fence: Fence{a.Name, a.Newest}, Worker: e.Worker, Saved: a.Saved, Why: why})
		return
	}
	if old != nil {
		c.on(a, old).unheard("its worker was lost")
	}
	l := Lease{Number: f.Lease, Worker: e.Worker, Job: e.Job, Stage: Placed}
	for _, line := range e.Talk {
		l.Talk.add(line, false)
	}
	a.Newest, a.Base = f.Lease, a.Log
	a.Leases = append(a.Leases, l)
	c.attempts[a.Name] = a
	c.persist(a)
	c.on(a, a.Current()).publish()
}

func (t tenure) publish() {
	t.c.emit(Publish{t.fence(), t.l.Worker, t.l.Job.Commit, t.l.Job.Merge.Published()})
}

// unfit returns why the worker can't have the job, "" if it can.
func (c *Coordinator) unfit(m *member, f Fence, e Assign) Text {
	if _, err := Encode(&Place{Fence: f, Serial: maxNumber, Job: e.Job}); err != nil {
		return clean(err.Error())
	}
	for _, line := range e.Talk {
		if len(line) > MaxLine {
			return clean(fmt.Sprintf("a line has %d bytes: at most %d can be sent", len(line), MaxLine))
		}
	}
	switch {
	case m == nil || m.has == nil:
		return "the worker isn't there"
	case m.Revoked:
		return "the worker is revoked"
	case m.refused != "":
		return m.refused
	case m.Draining || m.state.Draining:
		return "the worker accepts no more jobs"
	case m.state.Full:
		return "the worker's disk is full"
	case c.lost(m.Name):
		return "the worker is lost"
	case m.serial >= maxNumber:
		return "the worker counts more placements than there are"
	case c.used(m.Name) >= m.has.Slots:
		return "the worker has no free slot"
	}
	return Fit(m.has, e.Job.Needs)
}

func (t *Talk) add(line []byte, end bool) {
	t.Last++
	t.Lines = append(t.Lines, Line{t.Last, line, end})
}

func (c *Coordinator) published(e Published) {
	a, l := c.lease(e.Fence)
	if l == nil || !a.counts(l) || l.Stage != Placed {
		return
	}
	if e.Failed != "" && l.Serial == 0 { // it was never sent
		c.on(a, l).refused(e.Failed)
		return
	}
	life := c.life(e.Fence)
	life.published, life.since, life.due = true, c.clock.awake, 0
	c.on(a, l).remind()
}

func (c *Coordinator) lease(f Fence) (*Attempt, *Lease) {
	a := c.attempts[f.Attempt]
	if a == nil {
		return nil, nil
	}
	return a, a.lease(f.Lease)
}

const maxUnheard = 256 // lines that wait for one program

func (c *Coordinator) speak(e Speak) {
	a := c.attempts[e.Attempt]
	if a == nil {
		c.emit(Unheard{Fence{e.Attempt, 0}, []Line{{Text: e.Line, Close: e.Close}}, "its agent has ended"})
		return
	}
	l := a.Current()
	why := Text("")
	switch {
	case a.Closed || l == nil || l.Gone || l.Stage == Ended || l.Stopped != nil:
		why = "its agent has ended"
	case len(e.Line) > MaxLine || e.Close && len(e.Line) > 0:
		why = clean(fmt.Sprintf("a line has at most %d bytes", MaxLine))
	case len(l.Talk.Lines) >= maxUnheard:
		why = "its agent hasn't read what it was told before"
	}
	if why != "" {
		c.emit(Unheard{Fence{a.Name, a.Newest}, []Line{{Text: e.Line, Close: e.Close}}, why})
		return
	}
	l.Talk.add(e.Line, e.Close)
	c.persist(a)
	if l.Stage == Running {
		c.on(a, l).say()
	}
}

func (c *Coordinator) stop(e Stop) {
	a := c.attempts[e.Attempt]
	if a == nil || a.Closed {
		return
	}
	l := a.Current()
	switch {
	case l == nil:
		c.settleVacant(a, e.Reason)
	case l.Stage == Ended || l.Stopped != nil && (l.Stopped.Kill || !e.Kill):
	default:
		l.Stopped = &Halting{e.Kill, e.Reason}
		c.persist(a)
		c.life(a.fence(l)).due = 0
		c.on(a, l).remind()
	}
}

// settleVacant ends an attempt whose newest lease no worker has.
func (c *Coordinator) settleVacant(a *Attempt, reason Text) {
	f := Fence{a.Name, a.Newest}
	if life := c.life(f); !life.settling {
		life.settling = true
		c.emit(Settle{f, "", Result{How: Failed, Reason: reason, Log: a.offset()}})
	}
}

func (c *Coordinator) abandon(e Abandon) {
	a := c.attempts[e.Attempt]
	if a == nil || a.Closed {
		return
	}
	if l := a.Current(); l != nil {
		c.on(a, l).unheard(e.Reason)
	}
	a.Closed = true
	c.persist(a)
	for i := range a.Leases {
		l := &a.Leases[i]
		c.life(a.fence(l)).due = 0
		if l.Stage == Ended {
			c.on(a, l).close()
		} else {
			c.on(a, l).remind()
		}
	}
	c.tidy(a)
}

// done confirms a settled attempt to its worker.
func (c *Coordinator) done(e Done) {
	a := c.attempts[e.Attempt]
	if a == nil || a.Closed || e.Lease != a.Newest {
		return
	}
	l := a.lease(e.Lease)
	if l == nil && !c.life(e.Fence).settling || l != nil && l.Stage != Ended {
		return
	}
	if l != nil {
		l.Keep = e.Keep
	}
	a.Closed = true
	c.on(a, l).confirm()
}

// confirm writes that a lease's work is home, and tells its worker.
func (t tenure) confirm() {
	switch {
	case t.l == nil:
		t.c.persist(t.a)
	case t.l.Gone:
		f, worker := t.fence(), t.l.Worker
		t.end()
		t.c.emit(Forget{f, worker})
	default:
		t.l.Stage = Settled
		t.c.persist(t.a)
		t.c.send(t.l.Worker, &Confirm{t.fence(), t.l.Keep})
	}
	for i := range t.a.Leases { // older ones no longer run for anything
		if o := &t.a.Leases[i]; !t.a.counts(o) {
			t.c.on(t.a, o).remind()
		}
	}
	t.c.tidy(t.a)
}

func (c *Coordinator) kept(e Kept) {
	a, l := c.lease(e.Fence)
	switch {
	case l == nil:
		delete(c.strays, e.Fence)
		c.send(e.Worker, &Confirm{Fence: e.Fence})
	case l.Stage == Ended && !a.counts(l):
		c.on(a, l).confirm()
	}
}

// unneeded tells a worker which worktrees it may remove.
func (c *Coordinator) unneeded(e Unneeded) {
	if list := e.Lineages[:min(len(e.Lineages), mostDiscarded)]; len(list) > 0 && c.there(e.Worker) {
		c.send(e.Worker, &Discard{list})
	}
}

func (c *Coordinator) answered(answer Answer) {
	a, l := c.lease(answer.Fence)
	if l == nil {
		return
	}
	for i := range l.Asks.Open {
		if q := &l.Asks.Open[i]; q.Number == answer.Number && q.Answer == nil {
			bound(&answer)
			q.Answer = &answer
			c.persist(a)
			c.send(l.Worker, &answer)
		}
	}
}

// bound cuts what a command printed to what a message may have.
func bound(a *Answer) {
	const cut = "\n[gl: cut: a command's output on a worker has at most 256 KiB]\n"
	for _, out := range []*[]byte{&a.Output, &a.Errors} {
		if len(*out) > MaxOutput {
			*out = append((*out)[:MaxOutput-len(cut):MaxOutput-len(cut)], cut...)
		}
	}
	if a.ExitCode < 0 || a.ExitCode > 255 {
		a.ExitCode = 1
	}
}
