package plan

import "testing"

func TestHandsOver(t *testing.T) {
	for _, c := range []struct {
		was, is [2]string // status and step
		want    bool
	}{
		{[2]string{"in_progress", "none"}, [2]string{"implementing", "implementing"}, true},
		{[2]string{"tests", "tests"}, [2]string{"tests", "implementing"}, true},
		{[2]string{"tests", "tests"}, [2]string{"security", "tests"}, true},
		{[2]string{"in_progress", "contracts"}, [2]string{"in_progress", "Implementing"}, true},
		{[2]string{"in_progress", "contracts"}, [2]string{"in_progress", "fixing"}, false},
		{[2]string{"in_progress", "none"}, [2]string{"verifying", "verifying"}, false},
		{[2]string{"tests", "tests"}, [2]string{"complete", "complete"}, true},
		{[2]string{"in_progress", "tests"}, [2]string{"done", "tests"}, true},
		{[2]string{"in_progress", "none"}, [2]string{"complete", "complete"}, false},
		{[2]string{"in_progress", "none"}, [2]string{"tests", "tests"}, false},
		{[2]string{"implementing", "implementing"}, [2]string{"verifying", "verifying"}, false},
		// goes on after the lane
		{[2]string{"in_progress", "verifying"}, [2]string{"implementing", "implementing"}, false},
		{[2]string{"tests", "tests"}, [2]string{"tests", "tests"}, false},
		{[2]string{"tests", "tests"}, [2]string{"failed", "tests"}, false},
		{[2]string{"tests", "tests"}, [2]string{"pending", "none"}, false},
	} {
		if got := HandsOver(c.was[0], c.was[1], c.is[0], c.is[1]); got != c.want {
			t.Errorf("%q to %q: %v", c.was, c.is, got)
		}
	}
}
