package train

import (
	"math"
	"slices"
	"time"
)

// A Gauge finds by measuring how many runs at once finish the most in a minute. It begins with
// one, tries twice as many if the processors have room for them, as long as that finishes at
// least a tenth more, and goes back to what was best. Where one run takes the whole machine, two
// aren't even tried: the first in the queue, for which others wait, would take longer beside
// another.
type Gauge struct {
	Most int // it never returns more
	Measured
}

// Measured is what a Gauge has found so far. The next worker goes on with it.
type Measured struct {
	Now   int                     `json:"now"`             // the width in use, 0 before the first run
	Best  int                     `json:"best"`            // of the widths that were measured
	Runs  map[int][]time.Duration `json:"runs,omitempty"`  // the last, by how many ran at once
	Since int                     `json:"since,omitempty"` // runs since it has settled on Best
	// of the last runs at Now, whether the processors had room for the next width
	Room []bool `json:"room,omitempty"`
	// of the last runs beside others, which failed there and passed when they were repeated alone
	Vanished []bool `json:"vanished,omitempty"`
}

// A Run is a green run of the tests.
type Run struct {
	AtOnce float64 // how many ran at once on average, itself included
	Took   time.Duration
	Own    float64 // the share of all processors that it used
	Idle   float64 // the share that nothing used
}

const (
	enough   = 2    // runs of a width that tell its duration
	recent   = 8    // runs of a width that count
	gain     = 1.1  // by which a larger width has to finish more
	settled  = 40   // runs after which a larger width is tried again
	slack    = 0.2  // the share of all processors that may be lacking for a larger width
	between  = 0.25 // a run with more or less company than that doesn't count for a width
	proof    = 3    // runs that passed beside others show that tests can run side by side
	beside   = 12   // runs beside others that count
	mostLone = 2    // of these, failures that vanish alone; more if there are many runs
)

// Worth is how long tests have to take for more than one run at once: what gl itself does for a
// merge takes longer than shorter ones, and is done one after the other.
const Worth = 500 * time.Millisecond

// Width returns how many runs there may be at once now.
func (g *Gauge) Width() int {
	if g.Shares() {
		return 1
	}
	return max(1, min(g.Now, g.Most))
}

// Took takes in how long a run took.
func (g *Gauge) Took(r Run) {
	if g.Now < 1 || g.Best < 1 {
		g.Now, g.Best = 1, 1
	}
	if g.Runs == nil {
		g.Runs = map[int][]time.Duration{}
	}
	if width := int(math.Round(r.AtOnce)); math.Abs(r.AtOnce-float64(width)) <= between {
		g.Runs[width] = last(append(g.Runs[width], r.Took), recent)
		if width == g.Now {
			more := float64(g.next() - g.Now)
			g.Room = last(append(g.Room, more*r.Own <= r.Idle+slack), enough)
		}
	}
	if g.Since++; r.AtOnce > 1+between {
		g.Vanished = last(append(g.Vanished, false), beside)
	}
	g.choose()
}

// Vanish takes in that tests failed beside others, and passed when they were repeated alone.
func (g *Gauge) Vanish() { g.Vanished = last(append(g.Vanished, true), beside) }

// Shares reports whether tests seem to share what they can't, such as a port: they often fail
// beside others, and then pass alone. A flaky test does so less often.
func (g *Gauge) Shares() bool {
	lone := g.lone()
	return lone >= mostLone && 3*lone >= len(g.Vanished)
}

// Proven reports whether tests have passed beside others often enough to believe their failures.
func (g *Gauge) Proven() bool { return !g.Shares() && len(g.Vanished)-g.lone() >= proof }

func (g *Gauge) lone() int {
	n := 0
	for _, vanished := range g.Vanished {
		if vanished {
			n++
		}
	}
	return n
}

// choose chooses the next width.
func (g *Gauge) choose() {
	if len(g.Runs[g.Now]) < enough {
		return // wait for more
	}
	if g.Now > g.Best && len(g.Runs[g.Best]) > 0 {
		// the slowest view of the larger width and the fastest of the other: the first run of a
		// project often takes longer, to fill caches
		if float64(g.Now)/mean(g.Runs[g.Now]) < gain*float64(g.Best)/shortest(g.Runs[g.Best]) {
			g.set(g.Best)
			return
		}
	}
	g.Best = g.Now
	next := g.next()
	switch {
	case next <= g.Now, len(g.Runs[next]) > 0 && g.Since < settled: // there is none, or it was tried
	case shortest(g.Runs[g.Now]) < float64(Worth):
	case len(g.Room) < enough, slices.Contains(g.Room, false):
	default:
		delete(g.Runs, next) // what was measured long ago doesn't count
		g.set(next)
	}
}

// next returns the width to try after the one in use.
func (g *Gauge) next() int { return min(2*g.Now, g.Most) }

func (g *Gauge) set(width int) { g.Now, g.Since, g.Room = width, 0, nil }

func mean(runs []time.Duration) float64 {
	sum := 0.0
	for _, d := range runs {
		sum += float64(d)
	}
	return max(1, sum/float64(len(runs)))
}

func shortest(runs []time.Duration) float64 { return max(1, float64(slices.Min(runs))) }

// last returns the last n of a list.
func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }
