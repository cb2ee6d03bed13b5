package plan

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"greenlight/internal/words"
)

// Options narrow a plan and give it its limits.
type Options struct {
	Milestone  string        // only items of this milestone are in scope; "" for all
	IDs        []string      // only these items are in scope; nil for all
	StaleAfter time.Duration // a claim of somebody else is stale when its file hasn't changed for so long
	TakeStale  bool          // a stale claim may be taken over without asking: the item is available
	Agents     []Account     // who may be launched, in order of preference
	Curfew     Curfew
}

// A State is an item and what it means.
type State struct {
	*Item   // the snapshot's, which others have, too
	Class   Class
	InScope bool
	Stale   bool     // claimed by somebody else, who has been silent for Options.StaleAfter
	Goes    bool     // an available item whose last attempt goes on: see Outcome.Continue
	Needs   []string // dependencies that aren't done, in the item's order
	Chain   int      // length of the longest chain of unfinished items that ends up waiting for this one
	Meets   []string // running items, or ones that await the lane, with whose work its own is likely to conflict
	Root    string   // a blocked item: the one item (or unknown id) most to blame, through all its needs
	Attempt *Attempt // the last one, where it is known

	OverBudget bool // it waits because its attempts have cost what they may

	inCycle bool
}

// A Plan is what a Snapshot means. All lists hold ids of items in scope.
type Plan struct {
	Snapshot *Snapshot
	States   []State // all items, in the tracker's order, in scope or not

	Ready     []string // available with all dependencies done, in launch order
	Running   []string // active: ours, and those of others
	Blocked   []string // available, but a dependency isn't done
	Landing   []string // await the lane
	Failed    []string
	Red       []string
	Conflicts []string // class Conflict
	Stalled   []string
	Waiting   []string
	Unknown   []string // unknown status, or a corrupt file
	Done      int
	Total     int

	Unverified []string // done, and gl has seen no test pass on what was built: see unproven

	Tests TestCounts // of the items in scope

	Taken    int         // slots in use: live attempts, and fresh claims of others; scope doesn't count here
	Cycles   [][]string  // each a path a → b → … that closes; only among unfinished items
	Forecast []Collision // those of the snapshot's that still count
	Hold     *Hold       // keeps everything from being launched; nil when something may be
	Holds    []*Hold     // of single agents, those that aren't over, in the order of their ends
	Warnings []Warning

	all    *Hold // of everybody; nil when there is none or it is over
	agents []Account
	index  map[string]int
	undone []int // the places of the items that aren't done: in a large project few, and nothing needs the others
}

// New makes the plan of a snapshot. It doesn't change the snapshot.
func New(s *Snapshot, now time.Time, o Options) *Plan {
	p := &Plan{Snapshot: s, States: make([]State, len(s.Items)), index: s.At}
	p.Warnings = append(p.Warnings, s.Warnings...)
	scope := newScope(o)
	if p.index == nil {
		p.index = make(map[string]int, len(s.Items))
		for i, it := range s.Items {
			p.index[it.ID] = i
		}
	}
	for id, a := range s.Attempts {
		if i, ok := p.index[id]; ok {
			p.States[i].Attempt = a
		}
	}
	for i, it := range s.Items {
		st := &p.States[i]
		st.Item, st.InScope = it, scope.has(it)
		st.classify(now, o)
		st.heedBudget(s)
		if st.Class != Done {
			p.undone = append(p.undone, i)
		}
	}
	p.unseen()
	p.warnReverted()
	p.needs()
	p.findCycles()
	p.chains()
	p.blame()
	p.forecast()
	p.list()
	p.heedHolds(now, o)
	return p
}

// heedBudget has an item wait for a person that has cost what it may.
func (st *State) heedBudget(s *Snapshot) {
	if s.SliceUSD <= 0 || st.Class != Available || s.Spent[st.ID] < s.SliceUSD {
		return
	}
	spent := s.Spent[st.ID]
	st.Class, st.OverBudget = Waiting, true
	own := *st.Item
	st.Item = &own
	st.WaitingFor = fmt.Sprintf("its budget: $%.2f of $%.2f spent, the limit of every slice", spent, s.SliceUSD)
	st.Next = []string{fmt.Sprintf("gl budget slice %g", math.Ceil(2*spent))}
}

// unseen warns of the attempts that nobody here can tell the life of, also at what is no item: they all take slots.
func (p *Plan) unseen() {
	for _, i := range p.undone { // what has an open attempt isn't done
		p.warnUnseen(p.States[i].ID, p.States[i].Attempt)
	}
	for i := range p.Snapshot.Tasks {
		p.warnUnseen(p.Snapshot.Tasks[i].Name(), p.Snapshot.Tasks[i].Attempt)
	}
}

// warnReverted names the items of which the records say otherwise than their files.
func (p *Plan) warnReverted() {
	warn := func(format string, ids []string) {
		const most = 5
		if len(ids) > 0 {
			shown := strings.Join(ids[:min(len(ids), most)], ", ") + words.More(len(ids)-most)
			p.Warnings = append(p.Warnings, Warning{Message: fmt.Sprintf(format, shown)})
		}
	}
	warn("landed, but the slice file says otherwise (did git stash or git checkout revert it?): %s. "+
		"Counted as complete: gl doctor --fix writes the file again, gl retry ID reopens the slice", p.Reverted())
	warn("complete by the slice file alone, nothing of it has landed (did git stash pop bring the file back?): %s. "+
		"Counted as open: gl state set ID status=complete completes the slice", p.reverted(false))
}

// Reverted are the items that have landed and whose files don't say so, in the tracker's order.
func (p *Plan) Reverted() []string { return p.reverted(true) }

func (p *Plan) reverted(done bool) (ids []string) {
	for i := range p.States {
		if p.States[i].Reverted != nil && (p.States[i].Class == Done) == done {
			ids = append(ids, p.States[i].ID)
		}
	}
	return ids
}

// State returns the state of an item, nil for an id that is none.
func (p *Plan) State(id string) *State {
	i, ok := p.index[id]
	if !ok {
		return nil
	}
	return &p.States[i]
}

// IDs returns all ids in the tracker's order.
func (p *Plan) IDs() []string {
	ids := make([]string, len(p.States))
	for i := range p.States {
		ids[i] = p.States[i].ID
	}
	return ids
}

// Milestones are the milestones that items belong to, in the order of the items.
func (p *Plan) Milestones() []string {
	var list []string
	seen := map[string]bool{"": true}
	for i := range p.States {
		if m := p.States[i].Milestone; !seen[m] {
			seen[m] = true
			list = append(list, m)
		}
	}
	return list
}

type scope struct {
	milestone string
	ids       map[string]bool
}

func newScope(o Options) scope {
	s := scope{milestone: o.Milestone}
	if o.IDs != nil {
		s.ids = make(map[string]bool, len(o.IDs))
		for _, id := range o.IDs {
			s.ids[id] = true
		}
	}
	return s
}

func (s scope) has(it *Item) bool {
	if s.ids != nil && !s.ids[it.ID] {
		return false
	}
	return s.milestone == "" || s.milestone == it.Milestone
}

// classify decides the class. A live attempt beats whatever the file says: only settling makes an item done, so
// that its dependants never start beside an agent that still writes.
func (st *State) classify(now time.Time, o Options) {
	c := Classify(st.Status)
	switch {
	case st.Attempt.Live() && !st.Attempt.HasSlot():
		c = Landing
	case st.Attempt.Live():
		c = Active
	case st.Attempt.Open():
		c = Stalled
	case st.Corrupt != "":
		c = Corrupt
	case c == Done:
	case st.WaitingFor != "" || st.Paused:
		c = Waiting
	case st.leftAs(c) != "":
		c = st.leftAs(c)
		st.Goes = c == Available
	case c == Active && st.Released:
		c = Stalled
	case c == Active:
		if st.Stale = o.StaleAfter > 0 && now.Sub(st.Changed) > o.StaleAfter; st.Stale && o.TakeStale {
			c = Available
		}
	}
	st.Class = c
}

// leftAs is the class in which the last attempt left an item whose status says c; "" where the status says it all. An
// agent that ends by itself may have left any status behind, also "pending": launching that again would burn money in a
// loop. It lasts until somebody touches the item. One that was complete and is open again isn't built again by itself,
// whatever has changed: a reset or a stash took its file back.
func (st *State) leftAs(c Class) Class {
	a := st.Attempt
	if a == nil || a.Phase != Settled || a.Retried {
		return ""
	}
	if !a.Outcome.Success && (a.After != Mark{st.Status, st.Step, st.Session}) {
		return ""
	}
	if a.Outcome.Continue {
		return Available
	}
	switch c {
	case Available:
		return a.Outcome.Available
	case Active:
		return a.Outcome.Active
	}
	return ""
}

// needs fills in the dependencies that aren't done, and warns of ids that nothing has.
func (p *Plan) needs() {
	for _, i := range p.undone {
		st := &p.States[i]
		for _, dep := range st.Deps {
			if d := p.State(dep); d != nil {
				if d.Class != Done {
					st.Needs = append(st.Needs, dep)
				}
				continue
			}
			if raw, ok := p.Snapshot.Evidence[dep]; ok && Classify(raw) == Done {
				continue
			}
			st.Needs = append(st.Needs, dep)
			p.Warnings = append(p.Warnings, Warning{Path: st.File, Message: st.ID + " depends on " + dep + ", " + p.Snapshot.unknown()})
		}
	}
}

// list sorts the items in scope into the plan's lists.
func (p *Plan) list() {
	for i := range p.States {
		st := &p.States[i]
		if st.Attempt.HasSlot() || st.Class == Active && !st.Stale {
			p.Taken++
		}
		if !st.InScope {
			continue
		}
		p.Total++
		p.Tests.Add(st.Item, st.Class == Done, 1)
		p.add(st)
	}
	p.Tests.Suite = p.Snapshot.Suite
	for i := range p.Snapshot.Tasks {
		if p.Snapshot.Tasks[i].Attempt.HasSlot() {
			p.Taken++
		}
	}
	for id, a := range p.Snapshot.Attempts {
		if a.HasSlot() && p.State(id) == nil {
			p.Taken++ // its slice was taken out of the project, its agent still runs
		}
	}
	p.Taken += p.Snapshot.Elsewhere
	p.order()
	p.spread()
}

// order puts those that are ready into launch order.
func (p *Plan) order() {
	ready := make([]*State, len(p.Ready))
	for i, id := range p.Ready {
		ready[i] = p.State(id)
	}
	sort.SliceStable(ready, func(i, j int) bool { return p.before(ready[i], ready[j]) })
	for i, st := range ready {
		p.Ready[i] = st.ID
	}
}

func (p *Plan) add(st *State) {
	switch st.Class {
	case Done:
		p.Done++
		if p.unproven(st) {
			p.Unverified = append(p.Unverified, st.ID)
		}
	case Available:
		if len(st.Needs) == 0 {
			p.Ready = append(p.Ready, st.ID)
		} else {
			p.Blocked = append(p.Blocked, st.ID)
		}
	case Active:
		p.Running = append(p.Running, st.ID)
	case Landing:
		p.Landing = append(p.Landing, st.ID)
	case Failed:
		p.Failed = append(p.Failed, st.ID)
	case Red:
		p.Red = append(p.Red, st.ID)
	case Conflict:
		p.Conflicts = append(p.Conflicts, st.ID)
	case Stalled:
		p.Stalled = append(p.Stalled, st.ID)
	case Waiting:
		p.Waiting = append(p.Waiting, st.ID)
	default:
		p.Unknown = append(p.Unknown, st.ID)
	}
}

// before is the launch order: what goes on, since others may wait for it in the lane; what isn't likely to conflict with what runs; what
// people said (wave, priority); then what shortens the run (the longest chain of work behind it), then the order of the graph file.
func (p *Plan) before(a, b *State) bool {
	switch {
	case a.Goes != b.Goes:
		return a.Goes
	case (len(a.Meets) > 0) != (len(b.Meets) > 0):
		return len(b.Meets) > 0
	case a.Wave != b.Wave:
		return a.Wave < b.Wave
	case a.Priority != b.Priority:
		return a.Priority < b.Priority
	case a.Chain != b.Chain:
		return a.Chain > b.Chain
	case a.Position != b.Position:
		return a.Position < b.Position
	}
	return NaturalLess(a.ID, b.ID)
}
