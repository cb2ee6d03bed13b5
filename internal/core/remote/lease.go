package remote

// A tenure is a lease of an attempt in the hands of the machine: what is done about it.
type tenure struct {
	c *Coordinator
	a *Attempt
	l *Lease
}

func (c *Coordinator) on(a *Attempt, l *Lease) tenure { return tenure{c, a, l} }

func (t tenure) fence() Fence { return t.a.fence(t.l) }

func (t tenure) counts() bool { return t.a.counts(t.l) }

func (t tenure) life() *life { return t.c.life(t.fence()) }

// remind sends what the lease's worker hasn't answered, if that is due.
func (t tenure) remind() {
	life := t.life()
	ended := t.l.Stage == Ended || t.l.Stage == Settled // its worker asks
	if t.l.Gone || ended || t.c.clock.awake < life.due || !t.c.there(t.l.Worker) {
		return
	}
	if t.l.Stage == Placed && life.published && t.counts() && !t.placeable(life) {
		return
	}
	life.due = t.c.clock.awake + t.c.policy.Resend
	switch f := t.fence(); {
	case !t.counts(), t.l.Taken, t.l.Stage == Placed && t.l.Stopped != nil:
		t.c.send(t.l.Worker, &Withdraw{f, t.l.Serial})
	case t.l.Stage == Placed && life.published:
		t.c.send(t.l.Worker, &Place{f, t.l.Serial, t.l.Job})
	case t.l.Stopped != nil:
		t.c.send(t.l.Worker, &End{f, t.l.Stopped.Kill, t.l.Stopped.Reason})
	case t.l.Stage == Running:
		t.say()
	}
}

// placeable gives the placement its serial, and withdraws one that isn't answered in time. Serials
// are in the order of sending: a worker refuses what was overtaken.
func (t tenure) placeable(life *life) bool {
	m := t.c.member(t.l.Worker)
	switch {
	case m.boot == 0: // its mark isn't known yet
		return false
	case t.l.Serial == 0:
		t.l.Serial = t.c.serial(m)
		life.since = t.c.clock.awake
		t.c.persist(t.a)
	case !t.l.Taken && t.c.clock.awake-life.since > t.c.policy.Accept:
		t.l.Taken = true
		t.c.persist(t.a)
	}
	return true
}

// say sends what a running program hasn't heard. A worker applies lines in their order only.
func (t tenure) say() {
	const window = 8
	for _, line := range t.l.Talk.Lines[:min(window, len(t.l.Talk.Lines))] {
		t.c.send(t.l.Worker, &Say{t.fence(), line.Number, line.Text, line.Close})
	}
}

// unheard tells what a program wasn't told, or may not have been.
func (t tenure) unheard(why Text) {
	if len(t.l.Talk.Lines) > 0 {
		t.c.emit(Unheard{t.fence(), t.l.Talk.Lines, why})
		t.l.Talk.Lines = nil
	}
}

// advance notes that the worker is as far with a lease as stage.
func (t tenure) advance(stage Stage) {
	switch {
	case t.l.Stage == Placed && (stage == Accepted || stage == Running),
		t.l.Stage == Accepted && stage == Running:
	default:
		return
	}
	t.l.Stage = stage
	t.c.persist(t.a)
	t.life().due = 0
	if t.counts() {
		news := map[Stage]News{Accepted: NewsAccepted, Running: NewsStarted}
		t.c.notice(t.fence(), t.l.Worker, news[stage], "")
	}
	t.remind()
}

// chunk appends what is new of a log, and acknowledges what is on disk.
func (t tenure) chunk(m *Chunk) {
	have := t.a.offset()
	if m.Offset > have || t.l.Stage == Ended && t.life().settling {
		return
	}
	t.advance(Accepted) // its setup is in the log, too
	if skip := have - m.Offset; skip < int64(len(m.Data)) {
		data := m.Data[skip:]
		room := max(0, t.c.policy.MaxLog-have)
		over := int64(len(data)) > room
		if data = data[:min(room, int64(len(data)))]; len(data) > 0 {
			t.c.emit(Append{m.Fence, data})
			t.a.Log += int64(len(data))
		}
		if over {
			t.overflow()
		}
	}
	t.c.send(t.l.Worker, &Ack{m.Fence, t.a.offset()})
	if t.l.Stage == Ended {
		t.close()
	}
}

// overflow ends a job whose log is too large.
func (t tenure) overflow() {
	if t.l.Stage != Ended && (t.l.Stopped == nil || !t.l.Stopped.Kill) {
		t.l.Stopped = &Halting{Kill: true, Reason: "its log exceeds the limit of its size"}
		t.c.persist(t.a)
		t.life().due = 0
		t.remind()
	}
}

// offer takes a lease's result. The first one that is on disk is the lease's.
func (t tenure) offer(m *Offer) {
	switch t.l.Stage {
	case Settled:
		t.c.send(t.l.Worker, &Confirm{m.Fence, t.l.Keep})
		return
	case Ended:
		t.close()
		return
	}
	result := m.Result
	t.l.Result, t.l.Stage = &result, Ended
	if t.counts() {
		t.unheard("its agent ended before it read them")
	}
	t.c.persist(t.a)
	if t.counts() {
		t.c.notice(m.Fence, t.l.Worker, NewsEnded, "")
		// a worker that was restarted learns what is home
		t.c.send(t.l.Worker, &Ack{m.Fence, t.a.offset()})
	}
	t.close()
}

// close settles or keeps an ended lease's result. The result that counts waits for the log, unless
// the rest of it is lost or too large.
func (t tenure) close() {
	f := t.fence()
	life := t.life()
	if t.l.Gone {
		t.c.emit(Seal{f})
	}
	whole := t.a.offset() >= min(t.l.Result.Log, t.c.policy.MaxLog)
	switch {
	case !t.counts() && !life.keeping:
		life.keeping = true
		t.c.emit(Keep{f, t.l.Worker, *t.l.Result})
	case t.counts() && !life.settling && (whole || t.l.Gone || t.c.lost(t.l.Worker)):
		life.settling = true
		t.c.emit(Settle{f, t.l.Worker, *t.l.Result})
	}
}

// dead notes that a lease's worker is gone for good. What was placed may have begun and be
// pushed, and the worker's word of that be on its way.
func (t tenure) dead(why Text) {
	if t.l.Stage == Placed && t.l.Serial > 0 {
		t.l.Stage = Accepted
	}
	t.gone(why)
}

// gone notes that a worker no longer has a lease, and never will.
func (t tenure) gone(why Text) {
	switch {
	case t.l.Gone:
	case t.l.Stage == Ended:
		t.l.Gone = true
		t.c.persist(t.a)
		t.close()
	case t.l.Stage == Accepted || t.l.Stage == Running: // its last snapshot is kept
		f, worker, stopped, counted := t.fence(), t.l.Worker, t.l.Stopped, t.counts()
		if counted {
			t.forsake(why)
		}
		t.l.Stage, t.l.Gone = Ended, true
		t.l.Result = &Result{How: Crashed, Reason: why}
		t.c.persist(t.a)
		t.close()
		if counted {
			t.c.vacate(t.a, f, worker, why, stopped)
		}
	default:
		t.refused(why)
	}
}

// refused removes a lease that left nothing.
func (t tenure) refused(why Text) {
	f, worker, stopped, counted := t.fence(), t.l.Worker, t.l.Stopped, t.counts()
	t.unheard(why)
	t.end()
	t.c.emit(Forget{f, worker})
	if counted {
		t.c.vacate(t.a, f, worker, why, stopped)
	}
	t.c.tidy(t.a)
}

// forsake makes a lease that no worker has the newest. What the lease's own worker brings later is
// kept and doesn't count.
func (t tenure) forsake(why Text) {
	t.unheard(why)
	t.a.Newest, t.a.Base = t.a.Newest+1, t.a.Log
}

// end removes a lease from the attempt.
func (t tenure) end() {
	delete(t.c.lives, t.fence())
	t.a.remove(t.l)
	if !t.a.Closed || len(t.a.Leases) > 0 { // otherwise its file is about to be removed
		t.c.persist(t.a)
	}
}

// vacate asks for another worker, or settles an attempt whose job was to end.
func (c *Coordinator) vacate(a *Attempt, f Fence, worker string, why Text, stopped *Halting) {
	if stopped != nil {
		c.settleVacant(a, stopped.Reason)
	} else {
		c.emit(Vacant{Fence: f, Worker: worker, Saved: a.Saved, Why: why})
	}
}
