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
		{Hold{Until: now.Add(6 * time.Hour), Kind: "quota", Reset: ptrTo(now.AddDate(74, 0, 0))},
			"until 18:00 (quota; said to be over at 2100-03-01 12:00, tried once before)"},
		{Hold{Until: now.Add(time.Hour), Kind: HeldByPerson}, "until 13:00 (gl hold)"},
	} {
		if got := c.hold.Describe(now); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func ptrTo[T any](v T) *T { return &v }

// After a hold one is launched, the probe; the others follow when it has lasted.
func TestRoomAfterHold(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	over := &Hold{Kind: "quota", Until: now.Add(-10 * time.Minute)}
	open := func(ago time.Duration) *Attempt { return &Attempt{Phase: Started, Started: now.Add(-ago)} }
	for name, c := range map[string]struct {
		hold     *Hold
		attempts []*Attempt
		want     int
	}{
		"no hold":                   {nil, nil, -1},
		"while it lasts":            {&Hold{Until: now.Add(time.Second)}, nil, 0},
		"nothing runs":              {over, nil, 1},
		"one from before":           {over, []*Attempt{open(time.Hour)}, 1},
		"the probe is claimed":      {over, []*Attempt{{Phase: Claimed}}, 0},
		"the probe has just begun":  {over, []*Attempt{open(time.Second), open(time.Hour)}, 0},
		"the probe has lasted":      {over, []*Attempt{open(2 * time.Minute), open(time.Second)}, -1},
		"a probe that is settled":   {over, []*Attempt{{Phase: Settled, Started: now}}, 1},
		"a person's hold that ends": {&Hold{Kind: HeldByPerson, Until: now.Add(-time.Second)}, nil, -1},
	} {
		s := &Snapshot{Hold: c.hold, Attempts: map[string]*Attempt{}}
		for i, a := range c.attempts {
			s.Attempts[string(rune('a'+i))] = a
		}
		if got := New(s, now, Options{}).Room(now); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
