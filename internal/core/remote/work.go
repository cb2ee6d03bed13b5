package remote

import (
	"slices"
	"time"
)

// Work is what a worker has on disk about one lease. It is stored as JSON; only the machine changes
// it.
type Work struct {
	Fence
	Serial    int64   `json:"serial"`
	Job       Job     `json:"job"`
	Stage     Stage   `json:"stage"`
	Withdrawn bool    `json:"withdrawn,omitempty"` // before its program was started
	Result    *Result `json:"result,omitempty"`    // from stage Ended on
	Pushed    bool    `json:"pushed,omitempty"`    // what is to be offered is in the exchange
	Keep      bool    `json:"keep,omitempty"`      // of stage Settled: Confirm.Keep
}

// Mark is what a worker has on disk besides its leases.
type Mark struct {
	Serial int64 `json:"serial"` // the highest of the placements it has seen
}

// A work is a lease that the worker has.
type work struct {
	*Work
	run  launch
	log  progress
	talk hearing
	asks inquiries

	due      time.Duration // when what isn't answered is sent again
	removing bool
	worktree bool // is removed, too
}

// launch is what happened to a job since the worker's start.
type launch struct {
	started bool     // its program runs
	halted  *Halting // it was told to end
	saved   int64    // number of the last snapshot
	pushing bool
}

// progress is how much of a log is where.
type progress struct {
	start, size int64 // on disk
	sent, acked int64
	due         time.Duration
}

// hearing is what a program was told.
type hearing struct {
	last    int64 // number of the last line
	telling bool
	failed  map[int64]Text
}

// inquiries are the commands of an agent that aren't answered.
type inquiries struct {
	last int64
	open []inquiry
}

type inquiry struct {
	Inquire
	number int64
	due    time.Duration
}

func (q *inquiries) below() int64 {
	if len(q.open) > 0 {
		return q.open[0].number
	}
	return q.last + 1
}

// stage returns the lease's stage as the coordinator sees it: running once its program can read
// input.
func (o *work) stage() Stage {
	if o.Stage == Running && !o.run.started {
		return Accepted
	}
	return o.Stage
}

// handOver removes what a lease has but its worktree, which is a later job's.
func (o *work) handOver() WorkerEffect {
	o.removing = true
	return Remove{Fence: o.Fence, Lineage: o.Job.Lineage}
}

// report answers the coordinator by how far the lease is.
func (w *Worker) report(o *work) {
	switch {
	case o.Stage == Accepted:
		w.send(&Accept{o.Fence})
	case o.Stage == Running && o.run.started:
		w.send(&Started{o.Fence})
	case o.Stage == Running:
		w.send(&Prepared{o.Fence})
	case o.Stage == Ended:
		w.offer(o)
	default:
		w.send(&Gone{o.Fence})
	}
}

// remind repeats what the coordinator hasn't answered.
func (w *Worker) remind(o *work) {
	if o.Stage == Settled {
		return
	}
	if o.log.sent > o.log.acked && w.clock.awake >= o.log.due {
		o.log.sent = o.log.acked
	}
	w.stream(o)
	if o.Stage == Running {
		for i := range o.asks.open {
			w.ask(o, &o.asks.open[i])
		}
	}
	if o.Stage == Ended && w.clock.awake >= o.due {
		w.offer(o)
	}
}

func (w *Worker) ready(o *work) {
	if o.Stage != Accepted || o.Withdrawn || o.run.halted != nil {
		return
	}
	o.Stage = Running
	w.emit(PersistWork{o.Work})
	w.send(&Prepared{o.Fence})
	w.emit(Launch{o.Fence, o.Job})
}

func (w *Worker) launched(o *work) {
	if o.Stage == Running && !o.run.started {
		o.run.started = true
		w.send(&Started{o.Fence})
	}
}

// end ends a job, and again if it is now to be killed.
func (w *Worker) end(o *work, h Halting) {
	if o.Stage != Accepted && o.Stage != Running ||
		o.run.halted != nil && (o.run.halted.Kill || !h.Kill) {
		return
	}
	o.run.halted = &h
	w.emit(Halt{o.Fence, h})
}

func (w *Worker) finished(o *work, r Result) {
	if o.Stage != Accepted && o.Stage != Running {
		return
	}
	if o.Stage == Accepted && o.Withdrawn {
		o.Stage = Settled
		w.emit(PersistWork{o.Work})
		w.refuse(o.Fence, "the placement was withdrawn")
		w.remove(o)
		return
	}
	r.Commit, r.Left = "", r.Left[:min(len(r.Left), maxLeft)]
	if r.Reason == "" && o.run.halted != nil {
		r.Reason = o.run.halted.Reason
	}
	o.Result, o.Stage = &r, Ended
	o.Pushed = !o.Job.Work || r.How == Failed
	o.log.size = max(o.log.size, r.Log)
	w.emit(PersistWork{o.Work})
	w.hangUp(o)
	w.stream(o)
	w.offer(o)
}

// offer offers what a lease's job left, once that is in the exchange.
func (w *Worker) offer(o *work) {
	o.due = w.clock.awake + w.policy.Resend
	switch {
	case o.Pushed:
		w.send(&Offer{o.Fence, *o.Result})
	case !o.run.pushing:
		o.run.pushing = true
		w.emit(Push{o.Fence, o.Job})
	}
}

func (w *Worker) pushed(o *work, e Pushed) {
	if o.Stage != Ended || o.Pushed {
		return
	}
	o.run.pushing = false
	if e.Failed {
		return // it is tried again when the offer is due
	}
	o.Result.Commit, o.Result.Unsaved, o.Pushed = e.Commit, e.Unsaved, true
	w.emit(PersistWork{o.Work})
	w.offer(o)
}

func (w *Worker) snapshotted(o *work, commit string) {
	if o.Stage == Running {
		o.run.saved++
		w.send(&Saved{o.Fence, o.run.saved, commit})
	}
}

// confirm releases a lease. The worktree stays if a continuation may come.
func (w *Worker) confirm(o *work, keep bool) {
	if o.Stage == Ended && o.Pushed {
		o.Stage, o.Keep = Settled, keep
		w.remember()
		w.emit(PersistWork{o.Work})
		if !keep {
			w.remove(o)
		}
	}
	if o.Stage == Settled {
		w.send(&Gone{o.Fence})
	}
}

func (w *Worker) remove(o *work) {
	if !o.removing {
		o.removing, o.worktree = true, true
		w.remember()
		w.emit(Remove{Fence: o.Fence, Lineage: o.Job.Lineage, Worktree: true})
	}
}

func (w *Worker) logged(o *work, e Logged) {
	o.log.start, o.log.size = max(o.log.start, e.Start), max(o.log.size, e.Size)
	if o.Stage != Settled {
		w.stream(o)
	}
}

// stream sends what is new of a log, as far ahead of what is acknowledged as the window allows.
func (w *Worker) stream(o *work) {
	l := &o.log
	l.acked = max(l.acked, l.start)
	l.sent = max(l.sent, l.acked)
	for l.sent < l.size && l.sent < l.acked+w.policy.Window {
		n := min(MaxChunk, l.size-l.sent)
		w.emit(SendChunk{o.Fence, l.sent, n})
		l.sent += n
		l.due = w.clock.awake + w.policy.Resend
	}
}

func (w *Worker) acked(o *work, offset int64) {
	l := &o.log
	if o.Stage == Settled || offset <= l.acked {
		return
	}
	l.acked = offset
	l.due = w.clock.awake + w.policy.Resend
	w.emit(Trim{o.Fence, min(offset, l.size)})
	w.stream(o)
}

// say gives the program a line, in the order of the lines and each once. It answers when the
// program was told.
func (w *Worker) say(o *work, m *Say) {
	t := &o.talk
	switch {
	case o.Stage != Running || !o.run.started: // it is repeated, or the offer answers it
	case m.Number < t.last || m.Number == t.last && !t.telling:
		w.send(&Heard{o.Fence, m.Number, t.failed[m.Number]})
	case m.Number == t.last+1 && !t.telling:
		t.last, t.telling = m.Number, true
		w.emit(Tell{o.Fence, Line{m.Number, m.Line, m.Close}})
	}
}

func (w *Worker) told(o *work, e Told) {
	t := &o.talk
	if !t.telling || e.Number != t.last {
		return
	}
	t.telling = false
	if e.Failed != "" {
		if t.failed == nil {
			t.failed = map[int64]Text{}
		}
		t.failed[e.Number] = e.Failed
	}
	w.send(&Heard{o.Fence, e.Number, e.Failed})
}

func (w *Worker) inquire(e Inquire) {
	o := w.work(e.Fence)
	if o == nil || o.Stage != Running {
		w.emit(Reply{e.Fence, e.Key, Answer{Fence: e.Fence, ExitCode: 1, Errors: []byte("gl: this job has ended\n")}})
		return
	}
	ask := Ask{Fence: e.Fence, Number: maxNumber, Below: 1, Argv: e.Argv, Dir: e.Dir, Input: e.Input}
	if _, err := Encode(&ask); err != nil {
		w.emit(Reply{e.Fence, e.Key, Answer{Fence: e.Fence, ExitCode: 1, Errors: []byte("gl: " + err.Error() + "\n")}})
		return
	}
	o.asks.last++
	o.asks.open = append(o.asks.open, inquiry{Inquire: e, number: o.asks.last})
	w.ask(o, &o.asks.open[len(o.asks.open)-1])
}

func (w *Worker) ask(o *work, q *inquiry) {
	if w.clock.awake < q.due {
		return
	}
	q.due = w.clock.awake + w.policy.Resend
	w.send(&Ask{o.Fence, q.number, o.asks.below(), q.Argv, q.Dir, q.Input})
}

func (w *Worker) answer(o *work, m *Answer) {
	i := slices.IndexFunc(o.asks.open, func(q inquiry) bool { return q.number == m.Number })
	if i >= 0 {
		w.emit(Reply{o.Fence, o.asks.open[i].Key, *m})
		o.asks.open = slices.Delete(o.asks.open, i, i+1)
	}
}

// hangUp answers the commands of an agent that has ended.
func (w *Worker) hangUp(o *work) {
	for _, q := range o.asks.open {
		w.emit(Reply{o.Fence, q.Key, Answer{Fence: o.Fence, ExitCode: 1, Errors: []byte("gl: this job has ended\n")}})
	}
	o.asks.open = nil
}
