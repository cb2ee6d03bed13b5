package remote

import "slices"

// receive does what a message of a worker asks for. Messages come late, twice and in any order;
// one from a worker that has no right to it changes nothing and is reported.
func (c *Coordinator) receive(worker string, msg ToCoordinator) {
	m := c.member(worker)
	if m.Revoked {
		return
	}
	m.heardOf()
	switch msg := msg.(type) {
	case *Hello:
		m.hello(msg)
	case *Beat:
		m.beat(msg)
	case *Goodbye:
		m.goodbye(msg)
	case *Offer:
		c.about(worker, msg.Fence, msg)
	case *Accept:
		c.about(worker, msg.Fence, msg)
	case *Refuse:
		c.about(worker, msg.Fence, msg)
	case *Prepared:
		c.about(worker, msg.Fence, msg)
	case *Started:
		c.about(worker, msg.Fence, msg)
	case *Chunk:
		c.about(worker, msg.Fence, msg)
	case *Heard:
		c.about(worker, msg.Fence, msg)
	case *Saved:
		c.about(worker, msg.Fence, msg)
	case *Ask:
		c.about(worker, msg.Fence, msg)
	case *Gone:
		c.about(worker, msg.Fence, msg)
	}
	if m.vacated && !c.lost(worker) {
		m.vacated = false
		c.restore(worker)
	}
}

func (m *member) heardOf() {
	m.contact = m.c.clock.awake
	if m.silent {
		m.silent = false
		m.c.notice(Fence{}, m.Name, NewsContact, "")
	}
}

// restore takes back that a worker's jobs are vacant.
func (c *Coordinator) restore(worker string) {
	c.each(worker, func(t tenure) {
		if life := t.life(); life.vacated {
			life.vacated = false
			if t.counts() {
				t.c.notice(t.fence(), worker, NewsContact, "")
			}
		}
	})
}

// about finds the lease that a message is about.
func (c *Coordinator) about(worker string, f Fence, msg ToCoordinator) {
	a, l := c.lease(f)
	switch {
	case l != nil && l.Worker != worker:
		c.notice(f, worker, NewsStrange, clean("it sent "+msg.kind()+" about a lease of "+l.Worker))
	case l == nil:
		c.unknown(worker, f, msg)
	case l.Gone: // it is being closed
	case a.counts(l):
		c.on(a, l).current(msg)
	default:
		c.on(a, l).superseded(msg)
	}
}

// unknown is about a lease that isn't on disk: its attempt was removed, or the lease ended without
// a job. Nothing of it counts; its work, if there is any, is kept.
func (c *Coordinator) unknown(worker string, f Fence, msg ToCoordinator) {
	switch msg := msg.(type) {
	case *Offer:
		const most = 64 // at a time: the others are offered again
		if !c.strays[f] && len(c.strays) < most {
			c.strays[f] = true
			c.emit(Keep{f, worker, msg.Result})
		}
	case *Accept, *Started:
		c.send(worker, &Withdraw{Fence: f})
	case *Ask:
		c.decline(worker, msg)
	}
}

func (c *Coordinator) decline(worker string, m *Ask) {
	c.send(worker, &Answer{Fence: m.Fence, Number: m.Number, ExitCode: 1,
		Errors: []byte("gl: this work no longer counts: another worker has it, or it has ended\n")})
}

func (t tenure) superseded(msg ToCoordinator) {
	switch msg := msg.(type) {
	case *Offer:
		t.offer(msg)
	case *Refuse:
		if t.l.Stage == Placed || t.l.Stage == Accepted {
			t.refused(msg.Reason)
		}
	case *Gone:
		t.c.member(t.l.Worker).keep(t.l)
		t.gone("")
	case *Ask:
		t.c.decline(t.l.Worker, msg)
	default:
		t.remind()
	}
}

func (t tenure) current(msg ToCoordinator) {
	switch msg := msg.(type) {
	case *Accept:
		t.advance(Accepted)
	case *Prepared:
		t.advance(Accepted)
		t.c.notice(msg.Fence, t.l.Worker, NewsPrepared, "")
	case *Started:
		if t.l.Stage == Running { // a beat or a command came first
			t.life().due = 0
			t.remind()
		}
		t.advance(Running)
	case *Refuse:
		if t.l.Stage == Placed || t.l.Stage == Accepted {
			t.refused(msg.Reason)
		}
	case *Chunk:
		t.chunk(msg)
	case *Heard:
		t.heard(msg)
	case *Saved:
		if msg.Number > t.l.Saved && t.l.Stage != Ended {
			t.l.Saved, t.a.Saved = msg.Number, msg.Commit
			t.c.persist(t.a)
			t.c.notice(msg.Fence, t.l.Worker, NewsSaved, Text(msg.Commit))
		}
	case *Offer:
		t.offer(msg)
	case *Ask:
		t.ask(msg)
	case *Gone:
		t.gone("its worker no longer has it")
	}
}

func (t tenure) heard(m *Heard) {
	i := slices.IndexFunc(t.l.Talk.Lines, func(line Line) bool { return line.Number == m.Number })
	if i < 0 {
		return
	}
	line := t.l.Talk.Lines[i]
	t.l.Talk.Lines = slices.Delete(slices.Clone(t.l.Talk.Lines), i, i+1)
	if m.Failed != "" {
		t.c.emit(Unheard{m.Fence, []Line{line}, m.Failed})
	}
	t.c.persist(t.a)
}

// ask runs a command of the agent, once, and repeats its answer.
func (t tenure) ask(m *Ask) {
	const most = 16 // commands of one agent at a time
	q := &t.l.Asks
	i := slices.IndexFunc(q.Open, func(o Asked) bool { return o.Number == m.Number })
	switch {
	case t.l.Stage == Ended:
		t.c.decline(t.l.Worker, m)
		return
	case m.Number < q.Below:
		return
	case i >= 0:
		if answer := q.Open[i].Answer; answer != nil {
			t.c.send(t.l.Worker, answer)
		}
		return
	}
	q.Below = max(q.Below, m.Below)
	q.Open = slices.DeleteFunc(q.Open, func(o Asked) bool {
		return o.Answer != nil && o.Number < q.Below
	})
	if len(q.Open) >= most {
		return // its worker asks again
	}
	t.advance(Running)
	q.Open = append(q.Open, Asked{Number: m.Number})
	t.c.persist(t.a)
	t.c.emit(Run{m.Fence, t.l.Worker, *m})
}
