package train

import "time"

// A Gauge finds by measuring how many runs at once finish the most in a minute. It begins with one,
// tries twice as many as long as that finishes at least a tenth more, and goes back to what was
// best. Where one run takes the whole machine, that is one.
type Gauge struct {
	Most int // it never returns more

	width int          // used now, 0 before the first
	best  int          // of those that were measured
	took  map[int]span // by how many ran at once
	since int          // runs since it has settled on best
	lone  int          // failures that vanished without company
	green int          // runs that passed in company
}

// A span is the mean duration of some runs.
type span struct {
	mean time.Duration
	n    int
}

const (
	enough   = 2   // runs of a width that tell its duration
	gain     = 1.1 // by which a larger width has to finish more
	settled  = 40  // runs after which a larger width is tried again
	mostLone = 2   // failures that vanish without company before it stays at one
	proof    = 3   // green runs in company that show that tests can run side by side
)

// Width returns how many runs there may be at once now.
func (g *Gauge) Width() int {
	if g.lone >= mostLone {
		return 1
	}
	return max(1, min(g.width, g.Most))
}

// Alone reports whether one run at a time has proved best.
func (g *Gauge) Alone() bool {
	return g.Shares() || g.Most < 2 || g.width == 1 && g.took[2].n >= enough
}

// Proven reports whether tests have passed in company often enough to believe their failures.
func (g *Gauge) Proven() bool { return g.green >= proof }

// Took takes in that a green run took d while about atOnce ran at once, itself included.
func (g *Gauge) Took(atOnce int, d time.Duration) {
	if g.took == nil {
		g.took, g.width, g.best = map[int]span{}, 1, 1
	}
	s := g.took[atOnce]
	s.n = min(s.n+1, 8) // older runs fade
	s.mean += (d - s.mean) / time.Duration(s.n)
	g.took[atOnce] = s
	if g.since++; atOnce > 1 {
		g.green++
	}
	g.choose()
}

// Vanished takes in that tests failed in company, and passed when they were repeated alone.
func (g *Gauge) Vanished() { g.lone++ }

// Shares reports whether tests seem to share what they can't: they fail in company alone.
func (g *Gauge) Shares() bool { return g.lone >= mostLone }

// choose chooses the next width.
func (g *Gauge) choose() {
	if g.took[g.width].n < enough {
		return // wait for more
	}
	if g.width > g.best {
		if g.finishes(g.width) < gain*g.finishes(g.best) {
			g.width, g.since = g.best, 0
			return
		}
		g.best = g.width
	}
	next := min(2*g.width, g.Most)
	if next <= g.width || g.took[next].n > 0 && g.since < settled {
		return // there is none, or it was tried
	}
	g.took[next] = span{} // what was measured long ago doesn't count
	g.width, g.since = next, 0
}

// finishes is how many runs of a width end in an hour, 0 for one that wasn't measured.
func (g *Gauge) finishes(width int) float64 {
	s := g.took[width]
	if s.n == 0 || s.mean <= 0 {
		return 0
	}
	return float64(width) * float64(time.Hour) / float64(s.mean)
}
