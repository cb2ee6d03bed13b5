// Package train decides what the merge queue tests side by side. The first entries of the queue
// are cars: they are merged on top of each other in memory, and each is tested on the tree that has
// it and all cars ahead of it, on the assumption that those merge. It is pure: it merges, tests and
// remembers nothing, and is asked anew whenever something has changed. Package lane acts on what it
// decides.
//
// What a car's tests say counts only on a base that is merged. Behind cars that aren't, a failure
// or a conflict may be theirs: the car is set aside, and those behind go on without it.
package train

import (
	"cmp"
	"slices"
)

// A Tip is what entries are merged onto: the merged base, or a car.
type Tip struct {
	Commit string // of the merge, in memory
	Tree   string // what tests see of it: verdicts belong to trees
}

// An Entry is what may become a car.
type Entry struct {
	Name   string
	Target bool // the target branch's own commits rather than a slice
	Queued int  // its place in the queue
	Weight int  // how much waits for it: more goes first
}

// Fit is how an entry merges onto a tip.
type Fit int

const (
	Fits      Fit = iota // only its tests can keep it from merging
	Conflicts            // it doesn't merge
	Settles              // it is judged without tests: it changes nothing, or breaks a rule
	Asks                 // a person has to look whatever its tests say, so nothing is built on it
)

// A Merged is the result of merging an entry onto a tip.
type Merged struct {
	Fit Fit
	Tip Tip // of what Fits and Asks
}

// Verdict is what is known of a tree.
type Verdict int

const (
	Unknown Verdict = iota
	Green
	Failed // once: it may be flaky
	Red    // twice, or in a way that isn't repeated
)

// Kind is why a tree is tested.
type Kind int

const (
	AsCar  Kind = iota // as a car
	Apart              // on the merged base, for a person
	OfBase             // the merged base itself, to know whose failures these are
)

// A Job is a run of the tests.
type Job struct {
	Kind  Kind
	Entry string // "" for OfBase
	Tip   Tip    // what is tested
	Base  Tip    // the merged base when it was decided on
	Again bool   // it repeats a run on the merged base that failed
}

// A State is what Decide goes by.
type State struct {
	// nothing runs beside a repeated run: tests that fail side by side may only share a port, a
	// database or a processor
	Alone   bool
	Width   int // how many runs there may be at once
	Base    Tip // what is merged
	Queue   []Entry
	Train   []string                // the cars of the last decision and what it set aside, in order
	Passed  map[string]int          // how many later entries have become cars before an entry
	Merge   func(Tip, Entry) Merged // depends on nothing but its arguments
	Verdict func(tree string) Verdict
	Running []Job
	Tested  map[string]Tested // entries with a job that is Again or Apart, and through
}

// A Tested is the end of a job on the merged base, which may have moved on meanwhile.
type Tested struct {
	On  Tip // the base
	Red bool
}

// A Car is an entry at its place in the train.
type Car struct {
	Entry string
	Tip   Tip
	Ahead []string // the cars it is tested on top of
	// why it was set aside, "" for a car: those behind it are tested without it
	Aside Aside
}

// Aside is why an entry was set aside.
type Aside string

const (
	InTrain     Aside = ""
	Conflicting Aside = "conflict" // with cars that aren't merged
	Failing     Aside = "failed"   // behind cars that aren't merged
	Repeated    Aside = "again"    // its tests are repeated
	Person      Aside = "person"   // a person has to look
	BaseUnknown Aside = "base"     // the base is tested without it
)

// A Judge names the entry to judge now: its tests are through, or it needs none.
type Judge struct {
	Entry string
	On    Tip // the merged base on which it was tested, or the present one
}

// A Decision is what to do.
type Decision struct {
	Judge  *Judge // to do before all else; then Decide is asked again
	Cars   []Car  // in order
	Start  []Job
	End    []Job    // of Running: no car has these trees any more
	Train  []string // for the next State
	Passed map[string]int
}

// mostPassed is by how many later entries one may be overtaken.
const mostPassed = 3

// Decide decides what to judge, to start and to end.
func Decide(s State) Decision {
	order := s.order()
	if i := s.derailed(order); i > 0 { // the target goes first, so that it is tested alone
		target := order[i]
		order = slices.Insert(slices.Delete(order, i, i+1), 0, target)
	}
	b := builder{State: &s, tip: s.Base}
	for _, e := range order {
		if !b.add(e) {
			break
		}
	}
	if b.judge != nil {
		return Decision{Judge: b.judge, Train: s.Train, Passed: s.Passed}
	}
	return b.decision(order)
}

// order returns the entries: those of the last train first, then what most waits for. The target's
// own commits follow those of the train.
func (s *State) order() []Entry {
	order := slices.Clone(s.Queue)
	place := func(e Entry) int {
		switch i := slices.Index(s.Train, e.Name); {
		case i >= 0:
			return i
		case e.Target:
			return len(s.Train)
		}
		return len(s.Train) + 1
	}
	late := func(e Entry) int {
		if s.Passed[e.Name] >= mostPassed {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b Entry) int {
		if c := cmp.Compare(place(a), place(b)); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(late(a), late(b)), cmp.Compare(b.Weight, a.Weight),
			cmp.Compare(a.Queued, b.Queued))
	})
	return order
}

// derailed returns the place of the target's own commits if they are in conflict or red behind
// other cars: the slices have to follow the target rather than the other way round. It is -1 if all
// is well.
func (s *State) derailed(order []Entry) int {
	i := slices.IndexFunc(order, func(e Entry) bool { return e.Target })
	if i <= 0 {
		return -1
	}
	b := builder{State: s, tip: s.Base}
	for _, e := range order[:i] {
		if !b.add(e) {
			return -1
		}
	}
	if len(b.ahead) == 0 {
		return -1
	}
	m := s.Merge(b.tip, order[i])
	if m.Fit == Conflicts {
		return i
	}
	if v := s.Verdict(m.Tip.Tree); m.Fit == Fits && (v == Failed || v == Red) {
		return i
	}
	return -1
}

// A builder puts a train together.
type builder struct {
	*State
	tip   Tip
	ahead []string // the cars below tip that aren't merged
	cars  []Car
	jobs  []Job // wanted, the most urgent first
	judge *Judge
}

// add adds an entry, and reports whether there may be another.
func (b *builder) add(e Entry) bool {
	if len(b.jobs) >= b.Width && !b.runs(e) && !slices.Contains(b.Train, e.Name) {
		return true // one that is in the train may follow
	}
	if t, ok := b.Tested[e.Name]; ok {
		return b.callTested(e, t.On, t.Red)
	}
	if e.Target {
		return b.addTarget(e)
	}
	for _, j := range b.Running {
		if j.Entry != e.Name || j.Kind == AsCar && !j.Again {
			continue
		}
		why := Repeated
		if j.Kind == Apart {
			why = Person
		}
		b.jobs = append(b.jobs, j) // it ends, wherever the base is by then
		b.aside(e, j.Tip, why)
		return true
	}
	base := b.Merge(b.Base, e)
	switch base.Fit {
	case Conflicts, Settles:
		return b.call(e, b.Base)
	case Asks:
		v := b.Verdict(base.Tip.Tree)
		if v == Green || v == Red {
			return b.callTested(e, b.Base, v == Red)
		}
		b.apart(e, Job{Kind: Apart, Tip: base.Tip, Again: v == Failed}, Person)
		return true
	}
	if len(b.ahead) == 0 {
		return b.first(e, base.Tip)
	}
	m := b.Merge(b.tip, e)
	switch v := b.Verdict(m.Tip.Tree); {
	case m.Fit == Asks || m.Fit == Settles || m.Fit == Conflicts:
		b.aside(e, Tip{}, Conflicting)
	case v == Failed || v == Red:
		b.aside(e, m.Tip, Failing)
	default:
		b.car(e, m.Tip)
	}
	return true
}

// runs reports whether anything of an entry is being tested.
func (b *builder) runs(e Entry) bool {
	_, tested := b.Tested[e.Name]
	return tested || slices.ContainsFunc(b.Running, func(j Job) bool { return j.Entry == e.Name })
}

// first adds an entry that is merged onto the merged base.
func (b *builder) first(e Entry, tip Tip) bool {
	switch b.Verdict(tip.Tree) {
	case Green:
		return b.call(e, b.Base)
	case Failed:
		b.apart(e, Job{Tip: tip, Again: true}, Repeated)
	case Red:
		return b.callTested(e, b.Base, true)
	case Unknown:
		b.car(e, tip)
	}
	return true
}

// addTarget adds the target's own commits. Nothing goes on beside them once they have failed.
func (b *builder) addTarget(e Entry) bool {
	m := b.Merge(b.tip, e)
	if len(b.ahead) > 0 {
		if m.Fit == Fits {
			b.car(e, m.Tip)
		} // state alone, or nothing: it follows once the cars ahead are through
		return true
	}
	if m.Fit != Fits {
		return b.call(e, b.Base)
	}
	if b.Verdict(m.Tip.Tree) == Failed {
		b.apart(e, Job{Tip: m.Tip, Again: true}, Repeated)
		return false
	}
	if b.Verdict(m.Tip.Tree) == Unknown {
		b.car(e, m.Tip)
		return true
	}
	return b.call(e, b.Base)
}

// callTested has an entry judged that was tested on a merged base. To tell whose the failures are,
// the verdict on that base has to be known.
func (b *builder) callTested(e Entry, on Tip, red bool) bool {
	base := b.Verdict(on.Tree)
	if !red || base == Green || base == Red {
		return b.call(e, on)
	}
	b.jobs = append(b.jobs, Job{Kind: OfBase, Tip: on, Base: on, Again: base == Failed})
	b.aside(e, on, BaseUnknown)
	return true
}

// call has an entry judged before all else.
func (b *builder) call(e Entry, on Tip) bool {
	b.judge = &Judge{Entry: e.Name, On: on}
	return false
}

func (b *builder) aside(e Entry, tip Tip, why Aside) {
	b.cars = append(b.cars, Car{Entry: e.Name, Tip: tip, Ahead: slices.Clone(b.ahead), Aside: why})
}

// apart has an entry tested on the merged base, and nothing built on it.
func (b *builder) apart(e Entry, job Job, why Aside) {
	job.Entry, job.Base = e.Name, b.Base
	b.jobs = append(b.jobs, job)
	b.cars = append(b.cars, Car{Entry: e.Name, Tip: job.Tip, Aside: why})
}

// car adds a car, to be tested unless its verdict is known.
func (b *builder) car(e Entry, tip Tip) {
	if b.Verdict(tip.Tree) == Unknown {
		if !b.isRunning(tip.Tree) && len(b.jobs) >= b.Width {
			return
		}
		b.jobs = append(b.jobs, Job{Kind: AsCar, Entry: e.Name, Tip: tip, Base: b.Base})
	}
	b.cars = append(b.cars, Car{Entry: e.Name, Tip: tip, Ahead: slices.Clone(b.ahead)})
	b.tip, b.ahead = tip, append(b.ahead, e.Name)
}

func (b *builder) isRunning(tree string) bool {
	return slices.ContainsFunc(b.Running, func(j Job) bool { return j.Tip.Tree == tree })
}

// decision compares what is wanted with what runs.
func (b *builder) decision(order []Entry) Decision {
	d := Decision{Cars: b.cars, Passed: map[string]int{}}
	wanted := map[string]bool{}
	for _, j := range b.jobs {
		wanted[j.Tip.Tree] = true
	}
	left, going := b.Width, 0
	for _, j := range b.Running {
		if wanted[j.Tip.Tree] {
			going++
		} else {
			d.End = append(d.End, j)
		}
	}
	left -= going
	again := slices.IndexFunc(b.jobs, func(j Job) bool { return j.Again })
	if b.Alone && again >= 0 { // it begins when the others are over, and they go on after it
		b.jobs, left = b.jobs[again:again+1], max(0, 1-going)
	}
	for _, j := range b.jobs {
		if left > 0 && wanted[j.Tip.Tree] && !b.isRunning(j.Tip.Tree) {
			wanted[j.Tip.Tree] = false // two jobs may have one tree
			d.Start = append(d.Start, j)
			left--
		}
	}
	for _, c := range b.cars {
		d.Train = append(d.Train, c.Entry)
	}
	b.count(&d, order)
	return d
}

// count counts which entries were overtaken by what has just become a car.
func (b *builder) count(d *Decision, order []Entry) {
	for _, e := range order {
		if slices.Contains(d.Train, e.Name) {
			continue
		}
		passed := b.Passed[e.Name]
		for _, other := range order {
			if other.Queued > e.Queued && !other.Target && slices.Contains(d.Train, other.Name) &&
				!slices.Contains(b.Train, other.Name) {
				passed++
			}
		}
		if passed > 0 {
			d.Passed[e.Name] = passed
		}
	}
}
