package scheduler

import (
	"cmp"
	"time"

	"greenlight/internal/run/attempt"
)

// turns is which slices the run has launched, and which of them it may launch again.
type turns struct {
	refill   bool            // of the run's Mode
	round    bool            // something was launched
	tried    map[string]bool // slices that had their turn
	excluded map[string]bool // slices that this run doesn't launch again
	dueAgain map[string]bool // slices whose turn in this round isn't over: see attempt.Again
	first    int             // a task's first attempt here, whose work the next continue; or 0
	last     time.Time       // when the run last launched something
}

func newTurns(m Mode) *turns {
	return &turns{
		refill: m.Refill, round: m.Attend, // with Attend another run has launched it
		tried: map[string]bool{}, excluded: map[string]bool{}, dueAgain: map[string]bool{},
	}
}

// took notes that the slice, or the task, of a claimed attempt has its turn.
func (t *turns) took(rec *attempt.Record) {
	t.tried[rec.ID.Slice] = true
	if rec.ID.IsTask() && rec.Place.Lineage != 0 {
		t.first = cmp.Or(t.first, rec.ID.N)
	}
	delete(t.dueAgain, rec.ID.Slice)
	t.round = true
	t.last = time.Now()
}

// retry gives a slice its turn again: its attempt never began.
func (t *turns) retry(id string) { delete(t.tried, id) }

// again gives a slice another turn in the same round.
func (t *turns) again(id string) {
	delete(t.tried, id)
	t.dueAgain[id] = true
}

// exclude keeps this run from launching a slice again.
func (t *turns) exclude(id string) { t.excluded[id] = true }

// roundOver reports whether a run that doesn't refill has had its round, those that are due again
// included.
func (t *turns) roundOver() bool { return t.secondRound() && len(t.dueAgain) == 0 }

// secondRound reports whether only slices that are due again may be launched.
func (t *turns) secondRound() bool { return !t.refill && t.round }

// pause returns what is left of the pause between two launches.
func (t *turns) pause(stagger time.Duration) time.Duration {
	if stagger <= 0 {
		return 0
	}
	return stagger - time.Since(t.last)
}
