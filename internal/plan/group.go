package plan

import "slices"

// A Group is the items of one class.
type Group struct {
	Class Class
	Label string // for people: "Failed"
	IDs   []string
}

// Troubled says whether the last attempt at such an item came to nothing: gl retry is for it.
func (c Class) Troubled() bool { return c == Failed || c == Red || c == Conflict || c == Stalled }

// Troubled groups the items whose last attempt came to nothing, those first whose work is furthest from being of use.
func (p *Plan) Troubled() []Group {
	return []Group{{Failed, "Failed", p.Failed}, {Red, "Red", p.Red}, {Conflict, "Conflict", p.Conflicts}, {Stalled, "Stalled", p.Stalled}}
}

// TroubledIDs are their ids.
func (p *Plan) TroubledIDs() []string {
	var ids []string
	for _, g := range p.Troubled() {
		ids = slices.Concat(ids, g.IDs)
	}
	return ids
}

// Interrupted is the outcome of an attempt that a person has ended.
const Interrupted = "interrupted"

// Stopped reports whether a person stopped the item's agent: nothing failed, and it isn't started again until they say so.
func (st *State) Stopped() bool {
	a := st.Attempt
	return st.Class == Stalled && a != nil && a.Phase == Settled && a.Outcome.Name == Interrupted
}

// StoppedIDs are those of TroubledIDs whose agents a person stopped.
func (p *Plan) StoppedIDs() (ids []string) {
	for _, id := range p.Stalled {
		if p.State(id).Stopped() {
			ids = append(ids, id)
		}
	}
	return ids
}
