package worktree

import (
	"greenlight/internal/base/durable"
)

// A LaneMark records where gl has left the lane, or was about to move it. It is stored beside the
// lane's lock in the git directory, so that it outlives runs/. If the branch is anywhere else, gl
// didn't move it there, and nothing on it was tested.
type LaneMark struct {
	Tip  string `json:"tip"`
	Next string `json:"next,omitempty"`
}

func (q *Queue) marks() map[string]LaneMark {
	var all map[string]LaneMark
	if durable.ReadJSON(q.at.markPath(), &all) != nil || all == nil {
		return map[string]LaneMark{} // what can't be read says nothing
	}
	return all
}

// Mark returns the lane's mark, the zero LaneMark for none.
func (q *Queue) Mark() LaneMark { return q.marks()[q.Ref()] }

// SetMark writes the lane's mark. The caller holds the lane's lock.
func (q *Queue) SetMark(m LaneMark) error {
	all := q.marks()
	if all[q.Ref()] == m {
		return nil
	}
	all[q.Ref()] = m
	return durable.WriteJSON(q.at.markPath(), all)
}

// Moved reports whether the lane's tip isn't where gl has put it. That includes a lane without a
// mark.
func (m LaneMark) Moved(tip string) bool { return tip != m.Tip && tip != m.Next }
