package lane

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whichever attempts are to blame, exactly those don't land. The others land once and in order, and
// few groups are tested.
func TestBisection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		bad := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "bad")
		all := make([]int, n)
		culprits := 0
		for i := range all {
			all[i] = i
			if bad[i] {
				culprits++
			}
		}
		b := newBisection(all)
		var landed, blamed []int
		runs := 0
		for group := b.next(); group != nil; group = b.next() {
			if runs++; runs > 2*n {
				t.Fatalf("%d runs for %d", runs, n)
			}
			if !slices.ContainsFunc(group, func(i int) bool { return bad[i] }) {
				landed = append(landed, group...)
				b.passed()
				continue
			}
			if len(group) == 1 {
				blamed = append(blamed, group[0])
			}
			b.failed()
		}
		if !slices.IsSorted(landed) || len(landed) != n-culprits || slices.ContainsFunc(landed, func(i int) bool { return bad[i] }) {
			t.Errorf("landed %v", landed)
		}
		if len(blamed) != culprits || !slices.IsSorted(blamed) {
			t.Errorf("blamed %v", blamed)
		}
		most := 2*n - 1
		if culprits <= 1 { // each level tests the half that fails, and at most the other one
			most = min(most, 1+2*culprits*bits.Len(uint(n-1)))
		}
		if runs > most {
			t.Errorf("%d runs for %d of %d", runs, culprits, n)
		}
	})
}
