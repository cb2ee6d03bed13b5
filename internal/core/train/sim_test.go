package train_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"greenlight/internal/core/train"
)

// A night is a run of slices whose agents and tests take time, which is virtual: it shows how much
// the queue adds to what the work needs.
type night struct {
	*world
	needs    map[string][]string
	agent    int // how long an agent works
	slots    int
	reds     map[string]int // attempts at a slice that are red
	working  map[string]int // when the agents end that work now
	attempts map[string]int
	next     int // attempts so far
}

// newNight makes a graph of slices in which each needs up to two of the ten before it. Of a hundred
// slices, percent are red at their first attempt.
func newNight(t testing.TB, slices, width, agent, tests, percent int, seed uint64) *night {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	n := &night{world: newWorld(width, t.Fatalf), needs: map[string][]string{}, agent: agent, slots: 8,
		reds: map[string]int{}, working: map[string]int{}, attempts: map[string]int{}}
	for i := range slices {
		for range 2 {
			if from := i - 16 + random.IntN(11); from >= 0 {
				n.needs[name(i)] = append(n.needs[name(i)], name(from))
			}
		}
		if random.IntN(100) < percent {
			n.reds[name(i)] = 1
		}
		n.work[name(i)] = work{takes: tests}
	}
	return n
}

func (n *night) complete(id string) bool { return slices.Contains(n.merged, id) }

// launch starts agents, the longest chains first.
func (n *night) launch() {
	var ready []string
	for id := range n.work {
		if n.out[id] != "" && n.out[id] != "red" || n.working[id] > 0 || n.waits(id) {
			continue
		}
		if !slices.ContainsFunc(n.needs[id], func(d string) bool { return !n.complete(d) }) {
			ready = append(ready, id)
		}
	}
	chains := n.chains()
	slices.SortFunc(ready, func(a, b string) int {
		return cmp.Or(cmp.Compare(n.attempts[b], n.attempts[a]), cmp.Compare(chains[b], chains[a]),
			cmp.Compare(a, b))
	})
	for _, id := range ready {
		if len(n.working) < n.slots {
			n.working[id] = n.now + n.agent
			n.attempts[id]++
		}
	}
}

func (n *night) waits(id string) bool {
	for _, e := range n.queue {
		if e.Name == id {
			return true
		}
	}
	return false
}

// chains returns for each slice how long the longest chain is that waits for it.
func (n *night) chains() map[string]int {
	chains := map[string]int{}
	ids := make([]string, 0, len(n.work))
	for id := range n.work {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range slices.Backward(ids) {
		for _, d := range n.needs[id] {
			chains[d] = max(chains[d], chains[id]+1)
		}
	}
	return chains
}

// run runs the night to its end, and returns how long it takes.
func (n *night) run() int {
	chains := n.chains()
	for len(n.merged) < len(n.work) {
		n.launch()
		first, at := "", 1<<30
		for id, ends := range n.working {
			if ends < at || ends == at && id < first {
				first, at = id, ends
			}
		}
		if !n.finish(at) {
			if first == "" {
				n.fail("nothing goes on; queue %+v", n.queue)
			}
			n.advance(at)
			delete(n.working, first)
			is := n.work[first]
			is.red = n.attempts[first] <= n.reds[first]
			n.work[first] = is
			n.forget(first)
			delete(n.out, first)
			n.next++
			n.queue = append(n.queue, entryOf(first, n.next, chains[first]))
		}
		n.decide()
	}
	return n.now
}

// forget drops the verdicts on an earlier attempt's work, whose trees are others.
func (n *night) forget(id string) {
	for tree := range n.verdicts {
		if slices.Contains(members(tree), id) {
			delete(n.verdicts, tree)
		}
	}
	for tree := range n.failed {
		if slices.Contains(members(tree), id) {
			delete(n.failed, tree)
			delete(n.fails, tree)
		}
	}
}

// bound is the least time that the work needs: its critical path, the agents' work over the slots,
// and the tests' over the runs at once, with second attempts and the two runs of red ones.
func (n *night) bound(tests int) int {
	path, works, runs := map[string]int{}, 0, 0
	longest := 0
	for i := range len(n.work) {
		id := name(i)
		from := 0
		for _, d := range n.needs[id] {
			from = max(from, path[d])
		}
		path[id] = from + n.agent + tests + n.reds[id]*(n.agent+2*tests)
		longest = max(longest, path[id])
		works += n.agent * (1 + n.reds[id])
		runs += tests * (1 + 2*n.reds[id])
	}
	return max(longest, works/n.slots, runs/8)
}

// The train keeps what the queue adds small: makespan over the bound, as docs/design/merge-queue.md
// has it.
func TestMakespan(t *testing.T) {
	for _, c := range []struct {
		width, percent int
		most           float64
	}{{2, 0, 2.2}, {4, 0, 1.3}, {8, 0, 1.15}, {8, 5, 1.15}, {8, 20, 1.25}} {
		if got := makespan(t, c.width, c.percent, 6*60, 5*60); got > c.most {
			t.Errorf("K = %d, %d %% red: %.2f of the bound, want at most %.2f", c.width, c.percent, got, c.most)
		}
	}
}

// makespan returns the mean of some nights of 60 slices, relative to the bound. A width of 0 is one
// that is measured, of tests that only sleep.
func makespan(t testing.TB, width, percent, agent, tests int) float64 {
	t.Helper()
	const nights = 10
	sum := 0.0
	for seed := range uint64(nights) {
		n := newNight(t, 60, max(1, width), agent, tests, percent, seed)
		if width == 0 {
			n.measure()
		}
		sum += float64(n.run()) / float64(n.bound(tests))
	}
	return sum / nights
}

// measure has the night find the width by measuring.
func (n *night) measure() { n.gauge, n.alone = &train.Gauge{Most: 8}, true }

// suites are what share of two processors one run of the tests uses.
var suites = map[string]float64{"sleeps": 0, "one core": 0.5, "whole machine": 1}

// auto returns how long a night takes with the width that a gauge finds, relative to one run at a
// time, and the width.
func auto(t testing.TB, n, one *night) (relative float64, width int) {
	t.Helper()
	n.measure()
	return float64(n.run()) / float64(one.run()), n.width
}

// The width is found by measuring. Where a run takes the whole machine, a night is the same as with
// one run at a time, from the first run on.
func TestAuto(t *testing.T) {
	for suite, most := range map[string]float64{"sleeps": 0.45, "one core": 0.7, "whole machine": 1} {
		for _, percent := range []int{0, 5, 20} {
			sum, widths := 0.0, []int{}
			for seed := range uint64(5) {
				one := newNight(t, 60, 1, 6*60, 5*60, percent, seed)
				n := newNight(t, 60, 1, 6*60, 5*60, percent, seed)
				n.share = suites[suite]
				relative, width := auto(t, n, one)
				sum, widths = sum+relative, append(widths, width)
			}
			if sum/5 > most {
				t.Errorf("%s, %d %% red: %.2f of one at a time, want at most %.2f; widths %v", suite, percent, sum/5, most, widths)
			}
			t.Logf("%s, %d %% red: %.2f of one at a time, widths %v", suite, percent, sum/5, widths)
		}
	}
}

// Whatever share of the processors a run uses, and however long agents and tests take, a night
// isn't longer than with one run at a time, the first runs included, and most are shorter. Where
// more run at once, other slices merge first, which costs one night in five hundred up to 2 %, and
// one in ten thousand more, a short one up to a fifth (Graham's scheduling anomalies).
func TestAutoIsNeverSlower(t *testing.T) {
	sum, nights, slower := 0.0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		share := rapid.IntRange(0, 100).Draw(rt, "share")
		agent, tests := rapid.IntRange(100, 6000).Draw(rt, "agent"), rapid.IntRange(100, 6000).Draw(rt, "tests")
		percent, seed := rapid.IntRange(0, 30).Draw(rt, "red"), rapid.Uint64Range(0, 1000).Draw(rt, "seed")
		slices := rapid.IntRange(2, 24).Draw(rt, "slices")
		one := newNight(t, slices, 1, agent, tests, percent, seed)
		n := newNight(t, slices, 1, agent, tests, percent, seed)
		n.share = float64(share) / 100
		relative, width := auto(t, n, one)
		sum, nights = sum+relative, nights+1
		if relative > 1.03 {
			slower++
		}
		if share > 60 && (relative > 1 || width > 1) {
			rt.Errorf("%.3f of one at a time, width %d", relative, width)
		}
	})
	if mean := sum / float64(nights); mean > 0.95 || slower*50 > nights {
		t.Errorf("%.3f of one at a time on average, and %d of %d nights were slower", mean, slower,
			nights)
	}
}

// What one run takes may be something else than processors, a database for example: that shows only
// when a wider one is measured, which costs the first night a little.
func TestAutoOfSomethingElse(t *testing.T) {
	for seed := range uint64(5) {
		one, n := newNight(t, 60, 1, 6*60, 5*60, 5, seed), newNight(t, 60, 1, 6*60, 5*60, 5, seed)
		n.share, n.hidden = 1, true
		if relative, width := auto(t, n, one); relative > 1.05 || width > 1 {
			t.Errorf("%.3f of one at a time, width %d", relative, width)
		}
	}
}

// Where tests fail in company and pass alone, they share something: the width stays one.
func TestTestsThatShare(t *testing.T) {
	g := train.Gauge{Most: 8}
	for range 10 {
		g.Took(train.Run{AtOnce: float64(g.Width()), Took: time.Minute, Idle: 1})
	}
	if g.Width() < 4 || g.Shares() {
		t.Fatalf("width %d", g.Width())
	}
	for range 6 {
		g.Vanish()
	}
	if g.Width() != 1 || !g.Shares() {
		t.Errorf("width %d", g.Width())
	}
}

// BenchmarkMakespan is the table: makespan over the bound, by how many runs there are at once, how
// many of a hundred slices are red, and how long agents and tests take.
func BenchmarkMakespan(b *testing.B) {
	for _, of := range []struct {
		name         string
		agent, tests int
	}{{"tests=1s", 6, 1}, {"tests=10s", 6, 10}, {"tests=5m", 6 * 60, 5 * 60}} {
		for _, percent := range []int{0, 5, 20} {
			b.Run(fmt.Sprintf("%s/red=%d%%", of.name, percent), func(b *testing.B) {
				for b.Loop() {
					for _, width := range []int{1, 2, 4, 8} {
						b.ReportMetric(makespan(b, width, percent, of.agent, of.tests), fmt.Sprint("K=", width))
					}
					b.ReportMetric(makespan(b, 0, percent, of.agent, of.tests), "auto")
				}
			})
		}
	}
}
