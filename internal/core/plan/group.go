package plan

import "slices"

// A Group is the items of one class.
type Group struct {
	Class Class
	Label string // for people: "Failed"
	IDs   []string
}

// Troubled reports whether the last attempt at such an item failed: gl retry applies to it.
func (c Class) Troubled() bool { return c == Failed || c == Red || c == Conflict || c == Stalled }

// Troubled groups the items whose last attempt failed, starting with the work furthest from
// being usable.
func (p *Plan) Troubled() []Group {
	return []Group{{Failed, "Failed", p.Failed}, {Red, "Red", p.Red}, {Conflict, "Conflict", p.Conflicts}, {Stalled, "Stalled", p.Stalled}}
}

// TroubledIDs returns the ids of all these items.
func (p *Plan) TroubledIDs() []string {
	var ids []string
	for _, g := range p.Troubled() {
		ids = slices.Concat(ids, g.IDs)
	}
	return ids
}

// Stopped reports whether a person stopped the item's agent: nothing failed, and it isn't
// restarted until that person says so.
func (st *State) Stopped() bool {
	a := st.Attempt
	return st.Class == Stalled && a != nil && a.Phase == Settled && a.Outcome.Stopped
}

// StoppedIDs returns those of TroubledIDs whose agents a person stopped.
func (p *Plan) StoppedIDs() (ids []string) {
	for _, id := range p.Stalled {
		if p.State(id).Stopped() {
			ids = append(ids, id)
		}
	}
	return ids
}
