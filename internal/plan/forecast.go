package plan

import (
	"slices"
	"strings"

	"greenlight/internal/words"
)

// forecast takes over the collisions that still count: one side is at work, the other is or waits. What has landed meanwhile, or was given
// up, collides with nothing any more.
func (p *Plan) forecast() {
	for _, c := range p.Snapshot.Forecast {
		a, b := p.State(c.Slice), p.State(c.With)
		switch {
		case a == nil || c.With != "" && b == nil:
		case c.With == "" && a.Class == Active:
			p.Forecast = append(p.Forecast, c)
		case c.With != "" && (a.pending() && b.pending()) && (a.Class == Active || b.Class == Active):
			p.Forecast = append(p.Forecast, c)
			a.meet(b)
			b.meet(a)
		}
	}
}

// pending says whether the item has work that is still to land, or may have.
func (st *State) pending() bool {
	return st.Class == Active || st.Class == Landing || st.Class == Available
}

func (st *State) meet(other *State) {
	if other.Class != Available && !slices.Contains(st.Meets, other.ID) {
		st.Meets = append(st.Meets, other.ID)
	}
}

// Foreseen are the collisions of an item.
func (p *Plan) Foreseen(id string) []Collision {
	var list []Collision
	for _, c := range p.Forecast {
		if c.With == id {
			c.Slice, c.With = c.With, c.Slice
		}
		if c.Slice == id {
			list = append(list, c)
		}
	}
	return list
}

// Other says with what the work collides.
func (c Collision) Other() string {
	if c.With == "" {
		return "what has landed"
	}
	return c.With
}

// String is the collision in a list: "S-1 and S-2 in routes.go".
func (c Collision) String() string { return c.Slice + " and " + c.Other() + " in " + c.in() }

// Text is the collision as one item has it: "likely to conflict with S-2 in routes.go".
func (c Collision) Text() string { return "likely to conflict with " + c.Other() + " in " + c.in() }

// in names the paths.
func (c Collision) in() string {
	const most = 3
	return strings.Join(c.Paths[:min(most, len(c.Paths))], ", ") + words.More(len(c.Paths)-most)
}
