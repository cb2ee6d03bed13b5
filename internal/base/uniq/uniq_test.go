package uniq

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,5}`), 0, 80).Draw(t, "strings")
		var l List
		var want []string
		for _, s := range all {
			isNew := !slices.Contains(want, s)
			if l.Has(s) == isNew || l.Add(s) != isNew {
				t.Fatalf("%q is new: %v", s, isNew)
			}
			if isNew {
				want = append(want, s)
			}
		}
		if !slices.Equal(l.Items(), want) || !slices.Equal(Of(all).Items(), want) {
			t.Fatalf("%q became %q", all, l.Items())
		}
	})
}

// Adding and looking up cost the same for any number of strings.
func TestManyCostNoMoreEach(t *testing.T) {
	var l List
	for i := range 100_000 {
		l.Add(strconv.Itoa(i % 60_000))
	}
	if most := few * (few + 2); l.compared > most {
		t.Errorf("compared %d strings, want at most %d", l.compared, most)
	}
}
