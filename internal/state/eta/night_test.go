package eta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
)

// A night is simulated to its end on a virtual clock: slices of a random graph, whose attempts
// take random times and are sometimes red, on slots, and behind them a lane that merges one
// after the other. It writes the events that gl's journal would have, and returns the plan that
// gl would have.
type night struct {
	rng     *rand.Rand
	now     time.Time
	slots   int
	items   []plan.Item
	tries   map[string]int
	ends    map[string]time.Time // of running agents
	began   map[string]time.Time
	took    map[string]time.Duration // of agents whose slice is past the lane
	queue   []string                 // for the lane
	laneEnd time.Time
	learner Learner
}

const typical, laneTime, redChance = 20 * time.Minute, 3 * time.Minute, 0.15

func newNight(seed uint64, n, slots int) *night {
	w := &night{rng: rand.New(rand.NewPCG(seed, 19)), now: now, slots: slots, tries: map[string]int{}, ends: map[string]time.Time{}, began: map[string]time.Time{}, took: map[string]time.Duration{}}
	for i := range n {
		it := plan.Item{ID: fmt.Sprintf("S-%02d", i), Status: "pending", Position: i}
		for range w.rng.IntN(3) {
			if i > 4 {
				it.Deps = append(it.Deps, fmt.Sprintf("S-%02d", i-1-w.rng.IntN(min(i-1, 8))))
			}
		}
		w.items = append(w.items, it)
	}
	return w
}

// takes draws a time around d with the spread of real builds: most are near, some take three
// times as long.
func (w *night) takes(d time.Duration) time.Duration {
	return time.Duration(float64(d) * math.Exp(w.rng.NormFloat64()*0.4))
}

func (w *night) item(id string) *plan.Item {
	return &w.items[slices.IndexFunc(w.items, func(it plan.Item) bool { return it.ID == id })]
}

func (w *night) plan() *plan.Plan {
	attempts := map[string]*plan.Attempt{}
	for id := range w.began {
		phase := plan.Started
		if slices.Contains(w.queue, id) {
			phase = plan.Queued
		}
		attempts[id] = &plan.Attempt{N: w.tries[id], Phase: phase, Token: id, Started: w.began[id]}
	}
	return plan.New(&plan.Snapshot{Items: plan.Pointers(slices.Clone(w.items)), Attempts: attempts}, w.now, plan.Options{})
}

func (w *night) tell(k journal.Kind, id, outcome string, took time.Duration) {
	ms := took.Milliseconds()
	w.learner.Take(&journal.Event{Kind: k, Time: w.now, Slice: id, Attempt: w.tries[id], Outcome: outcome, DurationMS: &ms})
}

// step launches what may be launched and advances to the next end of an agent or of the lane's
// work; false if there is none.
func (w *night) step() bool {
	for _, id := range w.plan().Lists.Ready {
		if len(w.ends) >= w.slots {
			break
		}
		w.tries[id]++
		w.began[id], w.ends[id] = w.now, w.now.Add(w.takes(typical))
		it := w.item(id)
		it.Status, it.Session = "in_progress", id
		w.tell(journal.Launched, id, "", 0)
	}
	first := ""
	for id, end := range w.ends {
		if first == "" || end.Before(w.ends[first]) {
			first = id
		}
	}
	switch {
	case len(w.queue) > 0 && (first == "" || !w.laneEnd.After(w.ends[first])):
		w.now = w.laneEnd
		w.land()
	case first != "":
		w.now = w.ends[first]
		delete(w.ends, first)
		w.item(first).Status, w.took[first] = "verifying", w.now.Sub(w.began[first])
		w.tell(journal.Queued, first, "", 0)
		if w.queue = append(w.queue, first); len(w.queue) == 1 {
			w.laneEnd = w.now.Add(w.takes(laneTime))
		}
	default:
		return false
	}
	return true
}

// land ends the lane's work on the first of its queue.
func (w *night) land() {
	id := w.queue[0]
	w.queue = w.queue[1:]
	it, outcome := w.item(id), "done"
	if it.Status, it.Session = "complete", ""; w.rng.Float64() < redChance {
		it.Status, outcome = "pending", "red"
	}
	w.tell(journal.Ended, id, outcome, w.took[id])
	delete(w.began, id)
	w.laneEnd = w.now.Add(w.takes(laneTime))
}

// TestNight checks on simulated nights that the median error of the estimated end is less than
// a quarter of the remaining time, for lanes that are mostly idle and for one that is the
// bottleneck. make eta prints the numbers.
func TestNight(t *testing.T) {
	for _, slots := range []int{2, 4, 8, 16} {
		var off []float64
		for seed := range uint64(5) {
			w := newNight(seed, 60, slots)
			type estimate struct {
				at   time.Time
				left time.Duration
			}
			var all []estimate
			for w.step() {
				if left, ok := w.learner.Pace().Remaining(w.plan(), slots, w.now); ok {
					all = append(all, estimate{w.now, left})
				}
			}
			for _, e := range all {
				// after that it depends on one slice, which may take three times as long
				if actual := w.now.Sub(e.at); actual > typical {
					off = append(off, float64(e.left-actual)/float64(actual))
				}
			}
		}
		sizes := make([]float64, len(off))
		for i, f := range off {
			sizes[i] = math.Abs(f)
		}
		slices.Sort(off)
		slices.Sort(sizes)
		t.Logf("%2d slots, %4d estimates: off by %.0f%% of what is left in the median, %.0f%% in nine of ten; from %+.0f%% to %+.0f%%, median %+.0f%%", slots, len(off),
			100*sizes[len(sizes)/2], 100*sizes[len(sizes)*9/10], 100*off[0], 100*off[len(off)-1], 100*off[len(off)/2])
		if median := sizes[len(sizes)/2]; !(median < 0.25) {
			t.Errorf("%d slots: off by %.0f%% in the median", slots, 100*median)
		}
	}
}
