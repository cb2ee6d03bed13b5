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
func (l *Lists) Troubled() []Group {
	return []Group{{Failed, "Failed", l.Failed}, {Red, "Red", l.Red}, {Conflict, "Conflict", l.Conflicts}, {Stalled, "Stalled", l.Stalled}}
}

// TroubledIDs returns the ids of all these items.
func (l *Lists) TroubledIDs() []string {
	var ids []string
	for _, g := range l.Troubled() {
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
	for _, id := range p.Lists.Stalled {
		if p.State(id).Stopped() {
			ids = append(ids, id)
		}
	}
	return ids
}
