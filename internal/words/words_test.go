package words

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 tests", 1: "1 test", 2: "2 tests", 1247: "1247 tests"} {
		if got := Count(n, "test"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
