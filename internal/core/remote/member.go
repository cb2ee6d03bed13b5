package remote

import (
	"fmt"
	"slices"
	"time"
)

// Member is what the coordinator has on disk about a worker.
type Member struct {
	Name     string `json:"name"`
	Key      string `json:"key,omitempty"` // that it joined with
	Draining bool   `json:"draining,omitempty"`
	Drain    int64  `json:"drain,omitempty"` // number of the last Drain
	Revoked  bool   `json:"revoked,omitempty"`
}

type member struct {
	Member
	c       *Coordinator
	has     *Hello // nil until it comes
	state   State
	boot    int64         // 0 until it is heard of
	serial  int64         // the highest of its placements that is known
	refused Text          // why it gets no work
	contact time.Duration // when it was last heard of
	silent  bool          // told
	left    bool          // it said goodbye
	vacated bool          // Vacant was told for its leases
	due     time.Duration // when Greet or Drain are sent again
}

// A Presence is what the coordinator knows of a worker at the moment.
type Presence struct {
	Member
	Hello   *Hello        // nil until the worker was heard of
	Refused Text          // why it gets no work, ""
	Used    int           // slots that have a job
	Ago     time.Duration // since contact, by the machine's clock
	Silent  bool
	Lost    bool
	Full    bool     // its limit of disk is reached
	Leaving bool     // it accepts no more jobs, by its own wish or by SetDraining
	Kept    []string // lineages whose worktrees and conversations it has kept
}

// Workers returns what is known of each worker, by name.
func (c *Coordinator) Workers() []Presence {
	all := make([]Presence, 0, len(c.members))
	for _, name := range sorted(c.members) {
		m := c.members[name]
		all = append(all, Presence{Member: m.Member, Hello: m.has, Refused: m.refused, Used: c.used(name),
			Ago: c.clock.awake - m.contact, Silent: !c.there(name), Lost: c.lost(name), Full: m.state.Full,
			Leaving: m.Draining || m.state.Draining, Kept: m.kept()})
	}
	return all
}

// kept returns the lineages whose worktrees and conversations the worker has: those that it has
// said it keeps, those it is being told to keep, and those it works on.
func (m *member) kept() []string {
	kept := m.state.Lineages
	for _, name := range sorted(m.c.attempts) {
		a := m.c.attempts[name]
		for i := range a.Leases {
			l := &a.Leases[i]
			has := a.counts(l) && !l.Gone && l.Stage != Placed || l.Stage == Settled && l.Keep
			if has && l.Worker == m.Name && !slices.Contains(kept, l.Job.Lineage) {
				kept = append(slices.Clip(kept), l.Job.Lineage)
			}
		}
	}
	return kept
}

// keep notes that the worker has settled a lease: its next beat says so, too.
func (m *member) keep(l *Lease) {
	if l.Stage == Settled && l.Keep && !slices.Contains(m.state.Lineages, l.Job.Lineage) {
		m.state.Lineages = append(slices.Clip(m.state.Lineages), l.Job.Lineage)
	}
}

// is reports whether a worker has the label. Its system and its processor are labels, too.
func (h *Hello) is(label string) bool {
	return label == h.OS || label == h.Arch || slices.Contains(h.Labels, label)
}

// Fit returns why a worker can't have a job with the needs, "" if it can.
func Fit(h *Hello, n Needs) Text {
	switch {
	case n.Agent != "" && !slices.Contains(h.Agents, n.Agent):
		return clean(fmt.Sprintf("it offers no agent %[1]s: gl worker --agent %[1]s does", n.Agent))
	case n.Sandbox != "" && !slices.Contains(h.Sandbox, n.Sandbox):
		return clean("it has no sandbox " + n.Sandbox)
	}
	for _, label := range n.Labels {
		if !h.is(label) {
			return clean(fmt.Sprintf("it has no label %[1]s: gl worker --label %[1]s gives it", label))
		}
	}
	for _, file := range n.Files {
		if !slices.Contains(h.Included, file) {
			return clean(file + " isn't there: gl worker --include DIR gives it")
		}
	}
	return ""
}

func (c *Coordinator) member(name string) *member {
	m := c.members[name]
	if m == nil {
		m = &member{Member: Member{Name: name}, c: c, contact: c.clock.awake}
		c.members[name] = m
	}
	return m
}

// lost reports whether a worker's jobs may go to others.
func (c *Coordinator) lost(name string) bool {
	m := c.members[name]
	return m == nil || m.Revoked || m.left || c.clock.awake-m.contact > c.policy.Lost
}

// there reports whether a worker is in contact.
func (c *Coordinator) there(name string) bool {
	m := c.members[name]
	return m != nil && !m.Revoked && c.clock.awake-m.contact <= c.policy.Silent
}

// tick finds workers that are silent or lost, and repeats what isn't answered.
func (c *Coordinator) tick() {
	for _, name := range sorted(c.members) {
		m := c.members[name]
		if !m.silent && !m.Revoked && !c.there(name) {
			m.silent = true
			c.notice(Fence{}, name, NewsSilent, "")
		}
		if c.lost(name) {
			c.lose(name)
		} else {
			m.drain()
		}
	}
	for _, name := range sorted(c.attempts) {
		a := c.attempts[name]
		for i := range a.Leases {
			c.on(a, &a.Leases[i]).remind()
		}
	}
}

// lose makes the jobs of a lost worker vacant. Until they have a lease on another one, its own
// results still count.
func (c *Coordinator) lose(worker string) {
	c.each(worker, func(t tenure) {
		life := t.life()
		switch {
		case !t.counts():
		case t.l.Stage == Ended:
			t.close()
		case t.l.Stopped != nil: // a lease without a worker is the newest, so that later work is kept
			t.forsake("its worker is lost")
			t.c.persist(t.a)
			t.c.settleVacant(t.a, t.l.Stopped.Reason)
		case !life.vacated:
			life.vacated, t.c.member(worker).vacated = true, true
			t.c.notice(t.fence(), worker, NewsLost, "")
			t.c.vacate(t.a, t.fence(), worker, "its worker is lost", nil)
		}
	})
}

// each calls do for each lease of a worker. do may remove the lease.
func (c *Coordinator) each(worker string, do func(tenure)) {
	for _, name := range sorted(c.attempts) {
		a := c.attempts[name]
		for i := len(a.Leases) - 1; i >= 0; i-- {
			if l := &a.Leases[i]; l.Worker == worker {
				do(c.on(a, l))
			}
		}
	}
}

// joined forgets what a worker of that name had. The key is written last: what a kill leaves undone
// is done when it comes again.
func (c *Coordinator) joined(e Joined) {
	m := &member{Member: Member{Name: e.Worker, Key: e.Key}, c: c, contact: c.clock.awake}
	if old := c.members[e.Worker]; old != nil {
		if old.Key == e.Key {
			return
		}
		if old.Drain > 0 { // takes back one that still comes
			m.Drain = old.Drain + 1
		}
	}
	c.members[e.Worker] = m
	c.each(e.Worker, func(t tenure) { t.dead("its worker joined anew") })
	c.emit(PersistMember{m.Member})
}

func (c *Coordinator) revoked(worker string) {
	m := c.member(worker)
	if !m.Revoked {
		m.Revoked = true
		c.emit(PersistMember{m.Member})
	}
	c.each(worker, func(t tenure) { t.dead("its worker was revoked") })
}

func (c *Coordinator) setDraining(worker string, on bool) {
	m := c.member(worker)
	if m.Draining == on || m.Revoked {
		return
	}
	m.Draining, m.due = on, 0
	m.Drain++
	c.emit(PersistMember{m.Member})
	m.drain()
}

// drain sends the worker's last Drain until it is applied, after each of the worker's starts.
func (m *member) drain() {
	if m.state.Drained != m.Drain && m.has != nil && m.Drain > 0 && m.c.clock.awake >= m.due &&
		m.c.there(m.Name) {
		m.due = m.c.clock.awake + m.c.policy.Resend
		m.c.send(m.Name, &Drain{m.Drain, m.Draining})
	}
}

func (m *member) hello(h *Hello) {
	if h.Boot < m.boot {
		return
	}
	m.refused = ""
	if h.Protocol != Version {
		m.refused = clean(fmt.Sprintf("its gl %s has version %d of the protocol, and this one has %d: install the same gl",
			h.Release, h.Protocol, Version))
	}
	hello := *h
	m.has, m.boot, m.left = &hello, h.Boot, false
	m.tell(h.State)
	m.c.send(m.Name, &Welcome{h.Boot, m.c.policy.Beat.Milliseconds(), m.refused})
	m.c.notice(Fence{}, m.Name, NewsHello, m.refused)
	if m.refused == "" {
		m.compare()
	}
}

func (m *member) beat(b *Beat) {
	if b.Boot < m.boot {
		return
	}
	if b.Boot > m.boot { // its hello was lost
		m.boot, m.has, m.left = b.Boot, nil, false
	}
	m.tell(b.State)
	if m.has == nil && m.c.clock.awake >= m.due {
		m.due = m.c.clock.awake + m.c.policy.Resend
		m.c.send(m.Name, &Greet{})
	}
	m.compare()
}

func (m *member) goodbye(g *Goodbye) {
	if g.Boot < m.boot || m.left {
		return
	}
	m.boot, m.left = g.Boot, true
	m.c.notice(Fence{}, m.Name, NewsGoodbye, g.Reason)
	m.c.lose(m.Name)
}

func (m *member) tell(s State) {
	m.state = s
	m.serial = max(m.serial, s.Serial)
}

// compare brings leases in line with what their worker says it has.
func (m *member) compare() {
	held := map[Fence]Stage{}
	for _, h := range m.state.Held {
		held[h.Fence] = h.Stage
	}
	m.c.each(m.Name, func(t tenure) {
		switch stage, has := held[t.fence()]; {
		case has:
			t.advance(stage)
		case t.l.Serial > 0 && t.l.Serial <= m.state.Serial: // it has seen the placement
			t.gone("its worker no longer has it")
		}
	})
	const most = 64 // others follow with the next beat
	n := 0
	for _, h := range m.state.Held {
		_, l := m.c.lease(h.Fence)
		if (l == nil || l.Worker != m.Name) && h.Stage != Ended && n < most {
			n++
			m.c.send(m.Name, &Withdraw{Fence: h.Fence})
		}
	}
}
