package words

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tests", 1: "1 test", 2: "2 tests",
		1247: "1247 tests"} {
		if got := Count(n, "test"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestMore(t *testing.T) {
	for n, want := range map[int][2]string{-1: {"", " is"}, 0: {"", " is"}, 1: {" and 1 more", " and 1 more are"}, 7: {" and 7 more", " and 7 more are"}} {
		if got := [2]string{More(n), MoreAre(n)}; got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
