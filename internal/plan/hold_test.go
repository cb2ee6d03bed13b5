package plan

import (
	"testing"
	"time"
)

func TestHoldDescribe(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for _, c := range []struct {
		hold Hold
		want string
	}{
		{Hold{Until: now.Add(125 * time.Minute), Kind: "rate limit", By: "S-3", Reason: "come\nback"},
			"until 14:05 (rate limit met by S-3: come back)"},
		{Hold{Until: now.Add(125 * time.Minute).UTC(), Kind: "quota"}, "until 14:05 (quota)"},
		{Hold{Until: now.Add(24 * time.Hour), Kind: "login", By: "S-1"}, "until 2026-03-02 12:00 (login met by S-1)"},
	} {
		if got := c.hold.Describe(now); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
