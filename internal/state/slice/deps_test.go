package slice

import (
	"fmt"
	"strings"
	"testing"

	"greenlight/internal/base/statcache"
	"greenlight/internal/base/testfiles"
)

// A list has each id once, and its ranges expand to a limited number of ids: a range beyond the
// limit stays as written.
func TestRangesAreBounded(t *testing.T) {
	testfiles.Slow(t)
	if got := strings.Join(splitList("S-1..S-3, none, S-2, S-5..S-2, x"), " "); got != "S-1 S-2 S-3 S-5..S-2 x" {
		t.Errorf("got %q", got)
	}
	var list []string
	for i := range 5000 {
		list = append(list, fmt.Sprintf("P%d-1..P%d-1000", i, i))
	}
	got := splitList(strings.Join(list, ", "))
	if want := maxExpanded + len(list) - maxExpanded/maxRange; len(got) != want || got[len(got)-1] != list[len(list)-1] {
		t.Errorf("%d ids, want %d; the last is %q", len(got), want, got[len(got)-1])
	}
}

func BenchmarkManyDeps(b *testing.B) {
	for _, n := range []int{10, 1000, 60_000} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("S-%d", i))
		}
		data := []byte("---\nid: S-1\nstatus: pending\ndeps: " + strings.Join(list, ", ") + "\n---\n")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if s := readSlice(data, statcache.Stamp{}); len(s.deps) != n {
					b.Fatal(len(s.deps))
				}
			}
		})
	}
}
