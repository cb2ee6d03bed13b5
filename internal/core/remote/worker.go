package remote

import (
	"slices"
	"time"
)

// A Worker is a worker's machine. Like the coordinator's, it decides what others carry out. What it
// decides is on disk before the coordinator hears of it.
//
// work.go has what it keeps on disk, and the steps of one lease.
type Worker struct {
	policy Policy
	clock  clock
	hello  Hello
	mark   Mark
	marked int64 // the mark on disk
	works  []*work
	out    []WorkerEffect

	welcome  bool // the coordinator has answered the hello
	due      time.Duration
	full     bool
	drained  int64 // number of the last Drain
	draining bool  // as the coordinator wants
	leaving  *Leave
	departed bool
}

// NewWorker returns the machine for what is on disk. hello is what the worker has to offer; its
// Boot is greater than at all earlier starts. The first event is Begin.
func NewWorker(p Policy, hello Hello, mark Mark, works []*Work) *Worker {
	w := &Worker{policy: p, hello: hello, mark: mark, marked: mark.Serial}
	w.hello.Protocol = Version
	for _, on := range works {
		w.works = append(w.works, &work{Work: on})
		w.mark.Serial = max(w.mark.Serial, on.Serial)
	}
	slices.SortFunc(w.works, func(a, b *work) int { return int(a.Serial - b.Serial) })
	return w
}

// Step is Coordinator.Step for a worker.
func (w *Worker) Step(now time.Duration, e WorkerEvent) []WorkerEffect {
	w.clock.advance(now, w.policy.Gap)
	w.out = nil
	switch e := e.(type) {
	case Begin:
		w.begin()
	case Tick:
		w.tick()
	case FromCoordinator:
		w.receive(e.Message)
	case DiskUsed:
		w.disk(e.Bytes)
	case Leave:
		w.leave(e)
	case Removed:
		w.works = slices.DeleteFunc(w.works,
			func(o *work) bool { return o.Fence == e.Fence && o.Stage == Settled })
	case Inquire:
		w.inquire(e)
	default:
		w.happened(e)
	}
	w.depart()
	return w.out
}

// happened is about a lease that the worker has.
func (w *Worker) happened(e WorkerEvent) {
	switch e := e.(type) {
	case Ready:
		w.with(e.Fence, func(o *work) { w.ready(o) })
	case Launched:
		w.with(e.Fence, func(o *work) { w.launched(o) })
	case Told:
		w.with(e.Fence, func(o *work) { w.told(o, e) })
	case Logged:
		w.with(e.Fence, func(o *work) { w.logged(o, e) })
	case Snapshotted:
		w.with(e.Fence, func(o *work) { w.snapshotted(o, e.Commit) })
	case Finished:
		w.with(e.Fence, func(o *work) { w.finished(o, e.Result) })
	case Pushed:
		w.with(e.Fence, func(o *work) { w.pushed(o, e) })
	}
}

func (w *Worker) with(f Fence, do func(*work)) {
	if o := w.work(f); o != nil {
		do(o)
	}
}

func (w *Worker) emit(e WorkerEffect) { w.out = append(w.out, e) }

func (w *Worker) send(m ToCoordinator) { w.emit(SendToCoordinator{m}) }

func (w *Worker) work(f Fence) *work {
	i := slices.IndexFunc(w.works, func(o *work) bool { return o.Fence == f })
	if i < 0 {
		return nil
	}
	return w.works[i]
}

func (w *Worker) begin() {
	for _, o := range w.works {
		switch o.Stage {
		case Accepted:
			if o.Withdrawn {
				w.emit(Reap{o.Fence, o.Job})
			} else {
				w.emit(Prepare{o.Fence, o.Job})
			}
		case Running:
			w.emit(Reap{o.Fence, o.Job})
		case Ended:
			w.offer(o)
		case Settled:
			if !o.Keep {
				w.remove(o)
			} else if slices.ContainsFunc(w.works, func(next *work) bool {
				return next.Job.Lineage == o.Job.Lineage && next.Serial > o.Serial
			}) {
				w.emit(o.handOver()) // as it was about to when it was killed
			}
		}
	}
	w.greet()
}

func (w *Worker) greet() {
	hello := w.hello
	hello.State = w.state()
	w.due = w.clock.awake + w.policy.every()
	w.send(&hello)
}

// state is what the coordinator compares its own leases with.
func (w *Worker) state() State {
	s := State{Serial: w.mark.Serial, Draining: w.draining || w.leaving != nil,
		Drained: w.drained, Full: w.full}
	for _, o := range w.works {
		if o.Stage == Settled {
			if lineage := o.Job.Lineage; o.Keep && !o.removing && len(s.Lineages) < MaxHeld &&
				!slices.Contains(s.Lineages, lineage) {
				s.Lineages = append(s.Lineages, lineage)
			}
		} else {
			s.Held = append(s.Held, Held{o.Fence, o.stage()})
		}
	}
	return s
}

func (w *Worker) tick() {
	if w.departed {
		return
	}
	switch {
	case w.clock.awake < w.due:
	case !w.welcome:
		w.greet()
	default:
		w.beat()
	}
	for _, o := range w.works {
		w.remind(o)
	}
}

func (w *Worker) beat() {
	w.due = w.clock.awake + w.policy.every()
	w.send(&Beat{w.hello.Boot, w.state()})
}

func (w *Worker) receive(m ToWorker) {
	switch m := m.(type) {
	case *Greet:
		w.greet()
	case *Welcome:
		if m.Boot == w.hello.Boot {
			w.welcome = m.Refused == "" // one that is refused asks again: the coordinator may be upgraded
			w.policy.Beat = time.Duration(m.Beat) * time.Millisecond
		}
	case *Drain:
		if m.Number > w.drained {
			w.drained, w.draining = m.Number, m.On
		}
		w.beat()
	case *Place:
		w.place(m)
	case *Withdraw:
		w.withdraw(m)
	case *Ack:
		w.with(m.Fence, func(o *work) { w.acked(o, m.Offset) })
	case *Say:
		w.with(m.Fence, func(o *work) { w.say(o, m) })
	case *End:
		w.with(m.Fence, func(o *work) { w.end(o, Halting{m.Kill, m.Reason}) })
	case *Confirm:
		w.with(m.Fence, func(o *work) { w.confirm(o, m.Keep) })
		if w.work(m.Fence) == nil {
			w.send(&Gone{m.Fence})
		}
	case *Answer:
		w.with(m.Fence, func(o *work) { w.answer(o, m) })
	case *Discard:
		for _, lineage := range m.Lineages {
			discard(w, lineage)
		}
	}
}

// discard removes a worktree that was kept. One that a later job has was handed over to that.
func discard(w *Worker, lineage string) {
	for _, o := range w.works {
		if o.Stage == Settled && o.Keep && o.Job.Lineage == lineage {
			w.remove(o)
		}
	}
}

// place accepts a job, or refuses it for good. A placement that is below the mark was refused, is
// over, or was overtaken by another one: it is never accepted, so that nothing runs twice.
func (w *Worker) place(m *Place) {
	if o := w.work(m.Fence); o != nil {
		w.report(o)
		return
	}
	why := w.refusal(m)
	overtaken := m.Serial <= w.mark.Serial
	w.mark.Serial = max(w.mark.Serial, m.Serial)
	if overtaken || why != "" {
		w.refuse(m.Fence, why)
		return
	}
	for _, o := range w.works { // its worktree is the new job's
		if o.Stage == Settled && o.Keep && o.Job.Lineage == m.Job.Lineage && !o.removing {
			w.emit(o.handOver())
		}
	}
	o := &work{Work: &Work{Fence: m.Fence, Serial: m.Serial, Job: m.Job, Stage: Accepted}}
	w.works = append(w.works, o)
	w.emit(PersistWork{o.Work})
	w.send(&Accept{o.Fence})
	w.emit(Prepare{o.Fence, o.Job})
}

// refusal returns why the worker can't take the job, "" if it can.
func (w *Worker) refusal(m *Place) Text {
	running := 0
	for _, o := range w.works {
		if o.Stage == Accepted || o.Stage == Running {
			running++
		}
		if o.Job.Lineage == m.Job.Lineage && (o.Stage != Settled || o.removing && o.worktree) {
			return "an earlier job has the worktree, and isn't confirmed yet"
		}
	}
	switch {
	case m.Serial <= w.mark.Serial:
		return "the placement came too late"
	case w.leaving != nil || w.draining:
		return "the worker accepts no more jobs"
	case w.full:
		return "the worker's disk is full"
	case running >= w.hello.Slots || len(w.works) >= MaxHeld:
		return "the worker has no free slot"
	}
	return Fit(&w.hello, m.Job.Needs)
}

// refuse makes sure that the placement is never accepted, and says so.
func (w *Worker) refuse(f Fence, why Text) {
	w.remember()
	w.send(&Refuse{f, why})
}

// remember writes the mark.
func (w *Worker) remember() {
	if w.marked < w.mark.Serial {
		w.marked = w.mark.Serial
		w.emit(PersistMark{w.mark})
	}
}

func (w *Worker) withdraw(m *Withdraw) {
	o := w.work(m.Fence)
	if o == nil {
		w.mark.Serial = max(w.mark.Serial, m.Serial)
		w.refuse(m.Fence, "the placement was withdrawn")
		return
	}
	switch o.Stage {
	case Accepted:
		if !o.Withdrawn {
			o.Withdrawn = true
			w.emit(PersistWork{o.Work})
		}
		w.end(o, Halting{Kill: true, Reason: "the placement was withdrawn"})
	case Running:
		w.end(o, Halting{Reason: "the coordinator gave the work to another worker, or ended it"})
	default:
		w.report(o)
	}
}

func (w *Worker) disk(used int64) {
	const most = 256 // worktrees for continuations
	w.full = used >= w.policy.Disk
	kept := 0
	for _, o := range w.works {
		if o.removing { // one at a time
			return
		}
		if o.Stage == Settled {
			kept++
		}
	}
	if used < w.policy.Disk/5*4 && kept <= most {
		return
	}
	for _, o := range w.works { // the oldest first
		if o.Stage == Settled && o.Keep {
			w.remove(o)
			return
		}
	}
}

func (w *Worker) leave(e Leave) {
	if w.leaving == nil {
		w.leaving = &e
		w.beat()
	}
	if !e.Now {
		return
	}
	for _, o := range w.works {
		if o.Stage == Accepted || o.Stage == Running {
			w.end(o, Halting{Reason: "its worker is leaving"})
		}
	}
}

// depart says goodbye once nothing is left to do.
func (w *Worker) depart() {
	if w.leaving == nil || w.departed {
		return
	}
	if slices.ContainsFunc(w.works, func(o *work) bool { return o.Stage != Settled }) {
		return
	}
	w.departed = true
	w.send(&Goodbye{w.hello.Boot, w.leaving.Reason})
	w.emit(Depart{})
}
