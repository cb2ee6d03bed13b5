package drain_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"testing"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/drain"
	"greenlight/internal/rehearsal"
)

// TestMakespan measures; it judges nothing. GREENLIGHT_BENCH=1 turns it on. GREENLIGHT_GL, the path of a gl that was
// built as users have it, takes the test binary's place for wrappers and agents, which start faster then.
func TestMakespan(t *testing.T) {
	if os.Getenv("GREENLIGHT_BENCH") == "" {
		t.Skip("a measurement, for GREENLIGHT_BENCH=1")
	}
	const n = 200
	g := randomGraph(rand.New(rand.NewPCG(4, 2)), n)
	text := "seed=3,min=50ms,max=500ms"
	spec, err := rehearsal.ParseSpec(text)
	check(t, err)
	for _, slots := range []int{4, 8} {
		pr := g.write(t, `{}`)
		cfg := config(t, pr, "rehearsal:"+text, slots)
		start := time.Now()
		res, err := drain.Run(t.Context(), cfg)
		took := time.Since(start)
		check(t, err)
		if res.Plan.Done != n {
			t.Fatalf("%d of %d done", res.Plan.Done, n)
		}
		work, path := lowerBounds(spec, g)
		bound := max(work/time.Duration(slots), path)
		fmt.Printf("%d slots: makespan %v, bound %v (work %v, critical path %v), ratio %.3f\n", slots,
			took.Round(time.Millisecond), bound.Round(time.Millisecond), work.Round(time.Millisecond), path.Round(time.Millisecond), float64(took)/float64(bound))
		report(history(t, pr), spec)
	}
}

// lowerBounds are the sum of all lengths, and the length of the longest path.
func lowerBounds(spec rehearsal.Spec, g graph) (work, path time.Duration) {
	until := map[string]time.Duration{}
	for _, id := range g.ids {
		d := spec.Fate(id, 1).Duration
		work += d
		for _, dep := range g.deps[id] {
			until[id] = max(until[id], until[dep])
		}
		until[id] += d
		path = max(path, until[id])
	}
	return work, path
}

// report prints the latencies between the steps of the attempts.
func report(all map[string][]*attempt.Record, spec rehearsal.Spec) {
	var records []*attempt.Record
	for _, l := range all {
		records = append(records, l...)
	}
	sort.Slice(records, func(i, j int) bool { return records[i].ClaimedAt.Before(records[j].ClaimedAt) })
	var start, over, settle, claim, refill []time.Duration
	var ends []*attempt.Record
	for _, r := range records {
		start = append(start, r.StartedAt.Sub(r.ClaimedAt))
		over = append(over, r.EndedAt.Sub(*r.StartedAt)-spec.Fate(r.Slice, r.N).Duration)
		settle = append(settle, r.SettledAt.Sub(*r.EndedAt))
		ends = append(ends, r)
	}
	sort.Slice(ends, func(i, j int) bool { return ends[i].SettledAt.Before(*ends[j].SettledAt) })
	// Each claim takes the slot that became free last before it, if no other has taken it.
	used := map[*attempt.Record]bool{}
	for _, r := range records {
		i := sort.Search(len(ends), func(i int) bool { return ends[i].SettledAt.After(r.ClaimedAt) }) - 1
		for i >= 0 && used[ends[i]] {
			i--
		}
		if i < 0 || r.ClaimedAt.Sub(*ends[i].SettledAt) > 40*time.Millisecond { // it waited for a need, not for a slot
			continue
		}
		used[ends[i]] = true
		claim = append(claim, r.ClaimedAt.Sub(*ends[i].SettledAt))
		refill = append(refill, r.StartedAt.Sub(*ends[i].EndedAt))
	}
	for _, row := range []struct {
		name string
		d    []time.Duration
	}{
		{"claimed → started", start}, {"agent's own overhead", over}, {"ended → settled", settle},
		{"settled → next claim", claim}, {"ended → next started (refill)", refill},
	} {
		slices.Sort(row.d)
		if len(row.d) > 0 {
			fmt.Printf("  %-30s n %3d  median %8v  p90 %8v  worst %8v\n", row.name, len(row.d),
				row.d[len(row.d)/2].Round(10*time.Microsecond), row.d[len(row.d)*9/10].Round(10*time.Microsecond), row.d[len(row.d)-1].Round(10*time.Microsecond))
		}
	}
}
