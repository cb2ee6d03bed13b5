package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"greenlight/internal/base/words"
)

// Options restrict a plan and set its limits.
type Options struct {
	Milestone string   // only items of this milestone are in scope; "" for all
	IDs       []string // only these items are in scope; nil for all
	// another session's claim is stale if its file hasn't changed for this long
	StaleAfter time.Duration
	// a stale claim may be taken over without asking: the item is available
	TakeStale bool
	Agents    []Account // the agents that may be launched, in order of preference
	Curfew    Curfew
}

// A State is an item and its meaning for scheduling.
type State struct {
	*Item   // shared with the snapshot
	Class   Class
	InScope bool
	Stale   bool     // claimed by another session that has been silent for Options.StaleAfter
	Goes    bool     // an available item whose last attempt continues: see Outcome.Continue
	Needs   []string // dependencies that aren't done, in the item's order
	Chain   int      // length of the longest chain of unfinished items waiting for this one
	// items that are running or await the merge queue, and are likely to conflict with this one
	Meets []string
	// of a blocked item: the one item (or unknown id) most to blame, through all its needs
	Root    string
	Attempt *Attempt // the last one, if known

	OverBudget bool // waiting because its attempts have cost as much as they may

	inCycle bool
}

// Lists are the ids of the items in scope, by class.
type Lists struct {
	Ready     []string // available with all dependencies done, in launch order
	Running   []string // active: ours and other sessions'
	Blocked   []string // available, but a dependency isn't done
	Landing   []string // awaiting the merge queue
	Failed    []string
	Red       []string
	Conflicts []string // class Conflict
	Stalled   []string
	Waiting   []string
	Unknown   []string // unknown status, or a corrupt file

	Unverified []string // done, but gl has seen no test pass on the result: see unproven
}

// A Plan is the meaning of a Snapshot.
type Plan struct {
	Snapshot *Snapshot
	States   []State // all items, in the tracker's order, in scope or not

	Lists Lists
	Done  int
	Total int

	Tests TestCounts // of the items in scope

	// slots in use: live attempts, and other sessions' fresh claims; regardless of scope
	Taken    int
	Cycles   [][]string  // each a closed path a → b → …, only among unfinished items
	Forecast []Collision // collisions of the snapshot that still matter
	Hold     *Hold       // keeps everything from being launched; nil if something may be
	Holds    []*Hold     // active holds of single agents, by end
	Warnings []Warning

	all    *Hold // for all agents; nil if there is none or it is over
	agents []Account
	index  map[string]int
	// indexes of the items that aren't done: few in a large project, and only they matter
	undone []int
}

// New makes the plan for a snapshot, which it doesn't change.
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

// heedBudget makes an item wait for a person if it has used up its budget.
func (st *State) heedBudget(s *Snapshot) {
	if s.Cost.Limit <= 0 || st.Class != Available || s.Cost.Spent[st.ID] < s.Cost.Limit {
		return
	}
	spent := s.Cost.Spent[st.ID]
	st.Class, st.OverBudget = Waiting, true
	own := *st.Item
	st.Item = &own
	st.WaitingFor = fmt.Sprintf("its budget: $%.2f of $%.2f spent, the limit of every slice", spent, s.Cost.Limit)
	st.Next = []string{fmt.Sprintf("gl budget slice %g", math.Ceil(2*spent))}
}

// unseen warns about attempts whose state can't be determined from here, even those at tasks:
// they all take slots.
func (p *Plan) unseen() {
	var unserved []string
	for _, i := range p.undone { // an item with an open attempt isn't done
		p.warnUnseen(p.States[i].ID, p.States[i].Attempt)
		if a := p.States[i].Attempt; a.Open() && a.Where.Unserved {
			unserved = append(unserved, p.States[i].ID)
		}
	}
	warnOf(p, "gl serve isn't running, and workers have %s: their agents go on, and the next gl serve continues with them. "+
		"Run "+serve, unserved)
	for i := range p.Snapshot.Tasks {
		p.warnUnseen(p.Snapshot.Tasks[i].Name(), p.Snapshot.Tasks[i].Attempt)
	}
}

// warnReverted names the items of which the records say otherwise than their files.
func (p *Plan) warnReverted() {
	warnOf(p, "merged, but the slice file says otherwise (did git stash or git checkout revert it?): %s. "+
		"Counted as complete: gl doctor --fix writes the file again, gl retry ID reopens the slice", p.Reverted())
	warnOf(p, "complete by the slice file alone, nothing of it was merged (did git stash pop bring the file back?): %s. "+
		"Counted as open: gl state set ID status=complete completes the slice", p.reverted(false))
}

// warnOf warns of items, if there are any.
func warnOf(p *Plan, format string, ids []string) {
	const most = 5
	if len(ids) > 0 {
		shown := strings.Join(ids[:min(len(ids), most)], ", ") + words.More(len(ids)-most)
		p.Warnings = append(p.Warnings, Warning{Message: fmt.Sprintf(format, shown)})
	}
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

// State returns the state of an item, nil for an unknown id.
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

// Milestones returns the milestones of the items, in item order.
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

// classify sets the class. A live attempt takes precedence over the file: only settling makes
// an item done, so that its dependents never start beside an agent that is still writing.
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

// leftAs returns the class in which the last attempt left an item whose status has class c; ""
// if the status is sufficient. An agent that exits by itself may leave any status, even
// "pending", and launching that again would burn money in a loop. The class lasts until the
// item is changed. An item that was complete and is open again isn't rebuilt automatically, no
// matter what changed: a reset or a stash reverted its file.
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

// needs sets the dependencies that aren't done, and warns about unknown ids.
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

// list adds the items in scope to the plan's lists.
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
	p.Tests.Ran = p.Snapshot.Ran
	for i := range p.Snapshot.Tasks {
		if p.Snapshot.Tasks[i].Attempt.HasSlot() {
			p.Taken++
		}
	}
	for id, a := range p.Snapshot.Attempts {
		if a.HasSlot() && p.State(id) == nil {
			p.Taken++ // its slice was removed from the project, but its agent is still running
		}
	}
	p.Taken += p.Snapshot.Elsewhere
	p.order()
	p.spread()
}

// order sorts the ready items into launch order, and those that are merged side by side into
// theirs.
func (p *Plan) order() {
	ready := make([]*State, len(p.Lists.Ready))
	for i, id := range p.Lists.Ready {
		ready[i] = p.State(id)
	}
	sort.SliceStable(ready, func(i, j int) bool { return before(ready[i], ready[j]) })
	for i, st := range ready {
		p.Lists.Ready[i] = st.ID
	}
	slices.SortStableFunc(p.Lists.Landing, func(a, b string) int {
		return cmp.Compare(p.inTrain(a), p.inTrain(b))
	})
}

// inTrain returns the place of a queued item among those that are tested side by side. Others come
// after them.
func (p *Plan) inTrain(id string) int {
	if t := p.State(id).Attempt.Train; t != nil && t.Position > 0 {
		return t.Position
	}
	return math.MaxInt
}

func (p *Plan) add(st *State) {
	switch st.Class {
	case Done:
		p.Done++
		if p.Snapshot.unproven(st) {
			p.Lists.Unverified = append(p.Lists.Unverified, st.ID)
		}
	case Available:
		if len(st.Needs) == 0 {
			p.Lists.Ready = append(p.Lists.Ready, st.ID)
		} else {
			p.Lists.Blocked = append(p.Lists.Blocked, st.ID)
		}
	case Active:
		p.Lists.Running = append(p.Lists.Running, st.ID)
	case Landing:
		p.Lists.Landing = append(p.Lists.Landing, st.ID)
	case Failed:
		p.Lists.Failed = append(p.Lists.Failed, st.ID)
	case Red:
		p.Lists.Red = append(p.Lists.Red, st.ID)
	case Conflict:
		p.Lists.Conflicts = append(p.Lists.Conflicts, st.ID)
	case Stalled:
		p.Lists.Stalled = append(p.Lists.Stalled, st.ID)
	case Waiting:
		p.Lists.Waiting = append(p.Lists.Waiting, st.ID)
	default:
		p.Lists.Unknown = append(p.Lists.Unknown, st.ID)
	}
}

// before reports whether a launches before b: first items that continue, since others may wait
// for them in the merge queue; then those unlikely to conflict with running work; then by what
// people specified (wave, priority); then by what shortens the run (the longest chain of work
// behind it); then by the order of the graph file.
func before(a, b *State) bool {
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
