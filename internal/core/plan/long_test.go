package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// chain returns a plan of n items, each of which needs the one before it.
func chain(n int) *Plan {
	s := &Snapshot{}
	for i := range n {
		it := Item{ID: fmt.Sprintf("S-%d", i+1), Status: "pending"}
		if i > 0 {
			it.Deps = []string{s.Items[i-1].ID}
		}
		s.Items = append(s.Items, &it)
	}
	return New(s, time.Time{}, Options{})
}

// The texts about an item don't grow with the distance of its root.
func TestLongChain(t *testing.T) {
	p := chain(10_000)
	way := p.WayOut("S-10000")
	if len(way) != 100 || way[0] != "S-10000" || way[98] != "S-9902" || way[99] != "S-1" {
		t.Errorf("%d hops: %q", len(way), way)
	}
	hops := p.Hops("S-10000", time.Time{})
	if len(hops) != 26 || hops[11] != "S-9989 needs S-9988" || hops[12] != "… 9975 more …" || hops[13] != "S-13 needs S-12" || hops[25] != "S-1 is ready" {
		t.Errorf("%d hops:\n%s", len(hops), strings.Join(hops, "\n"))
	}
	for n, want := range map[int]int{2: 2, 25: 25, 26: 26, 27: 26, 28: 26} {
		if hops := chain(n).Hops(fmt.Sprintf("S-%d", n), time.Time{}); len(hops) != want {
			t.Errorf("chain of %d: %d hops, want %d:\n%s", n, len(hops), want, strings.Join(hops, "\n"))
		}
	}
}
