package gate

import "testing"

// Work that removed tests comes first, approved or not; without a ruling nothing is known to be
// gone.
func TestTestsFirst(t *testing.T) {
	gone := &Ruling{Answers: []Answer{{Says: Approved,
		Items: []Item{{Kind: Removed, Name: "a_test.go"}}}}}
	changed := &Ruling{Answers: []Answer{{Says: Person,
		Items: []Item{{Kind: Changed, Name: "a_test.go"}}}}}
	for _, c := range []struct {
		a, b *Ruling
		want int
	}{{gone, changed, -1}, {changed, gone, 1}, {gone, gone, 0}, {nil, changed, 0}, {nil, gone, 1}} {
		if got := TestsFirst(c.a, c.b); got != c.want {
			t.Errorf("%v before %v: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
