package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A set of paths meets a path exactly if one of its paths covers it, or the reverse.
func TestPathsMeet(t *testing.T) {
	path := rapid.StringMatching(`(\./)?/?[ab]?(/[ab]{0,2}){0,3}/?`)
	rapid.Check(t, func(rt *rapid.T) {
		set := paths{in: map[string]bool{}, above: map[string]bool{}}
		all := rapid.SliceOfN(path, 0, 6).Draw(rt, "set")
		for _, p := range all {
			set.add(p)
		}
		p := path.Draw(rt, "path")
		want := slices.ContainsFunc(all, func(q string) bool { return covers(p, q) || covers(q, p) })
		if got := set.meet(p); got != want {
			rt.Fatalf("%q meets %q: %v, want %v", p, all, got, want)
		}
	})
}

// BenchmarkSpread plans ready items that all list the files they will change; a tenth of them
// list the same ones.
func BenchmarkSpread(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		s := &Snapshot{}
		for i := range n {
			it := item(fmt.Sprintf("S-%d", i), "pending")
			it.Files = []string{fmt.Sprintf("internal/p%d/", i%(n*9/10)), fmt.Sprintf("docs/p%d.md", i), "./cmd/main" + fmt.Sprint(i) + ".go"}
			s.Items = append(s.Items, &it)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				New(s, now, Options{})
			}
		})
	}
}
