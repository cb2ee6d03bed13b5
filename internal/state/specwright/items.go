package specwright

import (
	"fmt"
	"slices"

	"greenlight/internal/core/plan"
)

func newItem(id string) plan.Item {
	return plan.Item{ID: id, Name: id, Status: Pending, Staged: true, File: StateFile,
		Wave: plan.None, Priority: plan.None, Position: plan.None}
}

// An itemMaker turns a state into items: one per unit, in order, each depending on the one
// before. Abandoned units are omitted: they aren't to be built, and nothing waits for them.
type itemMaker struct {
	s        *State
	verdict  Verdict
	fresh    bool // the lock is held and counts
	been     bool // an attempt to verify the current unit was made
	warnings []string
}

func (m *itemMaker) items() []plan.Item {
	s := m.s
	switch {
	case len(s.Units) > 0:
		return m.queue()
	case s.Work == nil || s.Status() == Abandoned:
		return nil
	}
	return []plan.Item{m.work()}
}

// work returns the item of a work that isn't one of its units.
func (m *itemMaker) work() plan.Item {
	it := m.item(m.s.InHand(), m.s.Work.Description)
	if it.ID == nameless {
		it.Corrupt = "currentWork has no id"
	}
	m.inHand(&it)
	return it
}

// queue returns the items of the units, each depending on the one before it.
func (m *itemMaker) queue() []plan.Item {
	s := m.s
	var items []plan.Item
	open := false // an earlier one isn't done
	loose := s.loose()
	for i := range s.Units {
		u := &s.Units[i]
		status, mine := s.statusOf(u), s.InHand() == u.ID
		if loose && status != Shipped && status != Abandoned {
			items, open, loose = m.follow(items, m.work(), true), true, false
		}
		switch {
		case status == Abandoned:
			continue
		case slices.ContainsFunc(items, func(it plan.Item) bool { return it.ID == u.ID }):
			m.warnings = append(m.warnings,
				fmt.Sprintf("there are two units %q: the first counts", u.ID))
			continue
		}
		it := m.item(u.ID, u.Description)
		upcoming := m.begins() == u.ID
		if mine {
			m.inHand(&it)
		} else {
			m.queued(&it, status, open && !upcoming)
		}
		items = m.follow(items, it, mine || upcoming)
		open = open || it.Status != complete
	}
	if loose {
		items = m.follow(items, m.work(), true)
	}
	return items
}

// follow appends an item to the queue. It depends on the one before it, unless it is the
// current one or the next to begin: units left open before those don't block them.
func (m *itemMaker) follow(items []plan.Item, it plan.Item, first bool) []plan.Item {
	if n := len(items); n > 0 && (!first || items[n-1].Status == complete) {
		it.Deps = []string{items[n-1].ID}
	}
	it.Position = len(items)
	return append(items, it)
}

// begins returns the id of the unit that gl sw unit next would begin; "" for none.
func (m *itemMaker) begins() string {
	s := m.s
	if s.Work == nil || !free(s.Status()) && (s.Status() != Planning || !s.undecided()) {
		return ""
	}
	if u := s.Upcoming(); u != nil && s.Status() != Planning {
		return u.ID
	}
	if u := s.firstUnit(); u != nil {
		return u.ID
	}
	return ""
}

const (
	complete   = "complete"
	inProgress = "in_progress"
)

func (m *itemMaker) item(id, name string) plan.Item {
	it := newItem(id)
	if name != "" {
		it.Name = name
	}
	if m.s.Work != nil {
		it.Of = m.s.Work.ID
	}
	it.Updated, it.Changed = m.s.Updated, m.s.Changed
	if err := CheckID(id); err != nil {
		it.Corrupt = err.Error()
	}
	return it
}

func wait(it *plan.Item, what string, next ...string) { it.WaitingFor, it.Next = what, next }

// queued fills in a unit whose turn hasn't come yet, or is over.
func (m *itemMaker) queued(it *plan.Item, status string, open bool) {
	switch status {
	case Shipped:
		it.Status = complete
	case Pending, Planning, Designing:
		wait(it, "its spec, to be written and approved", "/sw-plan", "gl sw unit approve "+it.ID)
	case Planned:
		if !open {
			m.turn(it)
		}
	case Building, Verifying, Shipping:
		wait(it, fmt.Sprintf("a person: it is %s, but isn't the current unit", status),
			"gl sw status")
	default:
		m.unknown(it, status)
	}
}

// turn fills in an approved unit with nothing unfinished before it. Beginning a unit is up to a
// person.
func (m *itemMaker) turn(it *plan.Item) {
	switch s := m.s; {
	case s.Work == nil:
		wait(it, "a work: none is active", "/sw-design")
	case free(s.Status()):
		wait(it, "its turn: a person begins a unit", "gl sw unit next")
	case s.InHand() != "":
		wait(it, "its turn: "+s.InHand()+" is the current unit", "gl why "+s.InHand())
	case s.Status() == Designing && m.verdict.Undesigned != "":
		wait(it, "the design of "+s.Work.ID+": "+m.verdict.Undesigned+" isn't written",
			"/sw-design")
	case s.Status() == Designing:
		wait(it, "the design of "+s.Work.ID+", to be approved by a person", "/sw-plan",
			"gl sw to planning")
	default:
		wait(it, "the plan of "+s.Work.ID+", to be approved by a person", "/sw-build",
			"gl sw to building")
	}
}

// unknown fills in a status that isn't part of the protocol, shown verbatim. It may match a
// status of gl's, but has no meaning here.
func (m *itemMaker) unknown(it *plan.Item, status string) {
	it.Next = []string{"gl sw status"}
	if it.Status = status; plan.Classify(status) == plan.Unknown {
		return
	}
	it.Status = Pending
	it.WaitingFor = fmt.Sprintf("a person: unknown status %q", status)
}

// inHand fills in the current work or unit.
func (m *itemMaker) inHand(it *plan.Item) {
	s := m.s
	m.stage(it)
	if err := s.readOnly(); err != nil && it.WaitingFor == "" && it.Status == Pending {
		wait(it, "a person: gl doesn't write version "+s.Version,
			s.next(m.verdict).Command+" in Claude Code")
	}
	if s.Lock != nil {
		it.Session = s.Lock.Holder
		if m.fresh && it.Status == Pending {
			it.Status, it.Holder = inProgress, s.Lock.Who()
			if it.WaitingFor == "" {
				it.Next = []string{"gl sw unlock --force"}
			}
		}
	}
}

// stage sets the next step. It never goes back to an earlier step without a person.
func (m *itemMaker) stage(it *plan.Item) {
	s, v := m.s, m.verdict
	switch s.Status() {
	case Shipped:
		it.Status = complete
	case Designing:
		it.Step = Designing
		wait(it, "its design, to be approved by a person", "/sw-design", "/sw-plan")
	case Planning:
		m.planning(it)
	case Building:
		m.building(it)
	case Verifying:
		it.Step = Verifying
		switch {
		case v.Failing():
			wait(it, "a fix: "+v.Words(), "/sw-build", "/sw-verify")
		case len(v.Bad) == 0:
			wait(it, "shipping: every enabled gate has passed", "/sw-ship")
		}
	case Shipping:
		it.Step = Shipping
		wait(it, "shipping to be finished", "/sw-ship")
	case Pending:
		wait(it, fmt.Sprintf("its turn: its status is %q", s.Work.Status), "/sw-plan")
	default:
		m.unknown(it, s.Status())
	}
}

func (m *itemMaker) planning(it *plan.Item) {
	it.Step = Planning
	next := "gl sw to building"
	if u := m.s.unapproved(); u != nil {
		next = "gl sw unit approve " + u.ID
	}
	wait(it, "its plan, to be approved by a person", "/sw-plan", next)
}

func (m *itemMaker) building(it *plan.Item) {
	s, v := m.s, m.verdict
	switch {
	case v.Failing():
		it.Step = Verifying
		wait(it, "a fix: "+v.Words(), "/sw-build", "gl slice "+it.ID+" --force")
	case s.TasksDone():
		it.Step = Verifying
	case m.been:
		it.Step = Verifying
		wait(it, "a person: tasks are open again after a verification ("+s.Work.Tasks()+" done)",
			"/sw-build", "gl slice "+it.ID+" --force")
	default:
		it.Step = Building
	}
}
