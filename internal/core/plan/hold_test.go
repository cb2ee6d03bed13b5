package plan

import (
	"slices"
	"strings"
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

// After a hold one attempt is launched, the probe; then as many as have proved that the limit
// is over.
func TestRamp(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	over := func(proven int) *Hold {
		return &Hold{Agent: "claude", Kind: "quota", Until: now.Add(-10 * time.Minute), Proven: proven}
	}
	open := func(ago time.Duration) *Attempt {
		return &Attempt{Agent: "claude", Phase: Started, Started: now.Add(-ago)}
	}
	other := open(time.Second)
	other.Agent = "codex"
	for name, c := range map[string]struct {
		hold     *Hold
		attempts []*Attempt
		want     int
	}{
		"no hold":                   {nil, nil, -1},
		"nothing runs":              {over(0), nil, 1},
		"one from before":           {over(0), []*Attempt{open(time.Hour)}, 1},
		"of another agent":          {over(0), []*Attempt{other}, 1},
		"the probe is claimed":      {over(0), []*Attempt{{Agent: "claude", Phase: Claimed}}, 0},
		"the probe has just begun":  {over(0), []*Attempt{open(time.Second), open(time.Hour)}, 0},
		"the probe has lasted":      {over(0), []*Attempt{open(2 * time.Minute)}, 1},
		"and another one runs":      {over(0), []*Attempt{open(2 * time.Minute), open(time.Second)}, 0},
		"two have lasted":           {over(0), []*Attempt{open(2 * time.Minute), open(2 * time.Minute)}, 2},
		"one has ended":             {over(1), nil, 2},
		"two have ended":            {over(2), nil, 3},
		"two have ended, one lasts": {over(2), []*Attempt{open(2 * time.Minute), open(time.Second)}, 3},
		"a probe that is settled":   {over(0), []*Attempt{{Agent: "claude", Phase: Settled, Started: now}}, 1},
		"long ago":                  {&Hold{Agent: "claude", Kind: "quota", Until: now.Add(-2 * time.Hour), Proven: 1}, nil, -1},
		"long ago and never proved": {&Hold{Agent: "claude", Kind: "quota", Until: now.Add(-20 * time.Hour)}, nil, 1},
		"a person's hold that ends": {&Hold{Agent: "claude", Kind: HeldByPerson, Until: now.Add(-time.Second)}, nil, -1},
	} {
		s := &Snapshot{Attempts: map[string]*Attempt{}}
		if c.hold != nil {
			s.Holds = []*Hold{c.hold}
		}
		for i, a := range c.attempts {
			s.Attempts[string(rune('a'+i))] = a
		}
		if got := New(s, now, Options{}).ramp(c.hold, now); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		s.Attempts = nil
		for _, a := range c.attempts {
			s.Tasks = append(s.Tasks, Task{ID: "@quick", Attempt: a})
		}
		if got := New(s, now, Options{}).ramp(c.hold, now); got != c.want {
			t.Errorf("%s, of tasks: %d, want %d", name, got, c.want)
		}
	}
}

// The text of a hold names the held agent, a hold of all agents first, and how it ends.
func TestHoldWords(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	everybody := &Hold{Kind: HeldByFailures, Until: UntilLifted}
	one := &Hold{Agent: "codex", Kind: "quota", Until: now.Add(time.Hour)}
	for h, want := range map[*Hold][2]string{
		everybody: {"held until you lift it (failures): gl hold --lift", "held until you lift it"},
		one:       {"codex is held until 13:00 (quota)", "codex held until 13:00"},
		{Kind: HeldByBudget, Until: UntilLifted, Reason: "spent"}: {"held until you raise the budget (budget: spent)", "held until you raise the budget"},
	} {
		if got := [2]string{h.Sentence(now), h.Brief(now)}; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		snapshot Snapshot
		want     []*Hold
	}{{Snapshot{Hold: everybody, Holds: []*Hold{one}}, []*Hold{everybody, one}}, {Snapshot{Holds: []*Hold{one}}, []*Hold{one}}} {
		if got := New(&c.snapshot, now, Options{}).InEffect(); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

// An agent that a slice names counts among those that may be launched.
func TestHoldWithANamedAgent(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	held := &Hold{Agent: "claude", Until: now.Add(time.Hour)}
	for agent, want := range map[string]*Hold{"": held, "codex": nil, "claude": held} {
		s := &Snapshot{Holds: []*Hold{held}, Items: []*Item{{ID: "S-1", Status: "pending", Agent: agent}}}
		if got := New(s, now, Options{Agents: []Account{{Agent: "claude"}}}).Hold; got != want {
			t.Errorf("%q: %v, want %v", agent, got, want)
		}
	}
}

// A hold applies to all agents, or to one agent and account; nothing can be launched once all
// allowed agents are held.
func TestHoldOf(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later, latest := now.Add(time.Hour), now.Add(2*time.Hour)
	claude, work, codex := Account{Agent: "claude", ID: "claude HOME=/a"}, Account{Agent: "work", ID: "claude DIR=/b"}, Account{Agent: "codex", ID: "codex HOME=/a"}
	onClaude := &Hold{Agent: "claude", Account: claude.ID, Until: later}
	onWork := &Hold{Agent: "work", Account: work.ID, Until: latest}
	all := []Account{claude, work, codex}
	for name, c := range map[string]struct {
		everybody *Hold
		holds     []*Hold
		agents    []Account
		held      string // the held agents
		stops     *Hold
	}{
		"none":                        {nil, nil, all, "", nil},
		"one of three":                {nil, []*Hold{onClaude}, all, "claude", nil},
		"all that may be launched":    {nil, []*Hold{onWork, onClaude}, []Account{claude, work}, "claude work", onClaude},
		"everybody":                   {onWork, []*Hold{onClaude}, all, "claude work codex", onWork},
		"over":                        {nil, []*Hold{{Agent: "claude", Account: claude.ID, Until: now}}, all, "", nil},
		"the account by another name": {nil, []*Hold{{Agent: "quick", Account: claude.ID, Until: later}}, all, "claude", nil},
		"by its name, a person's":     {nil, []*Hold{{Agent: "work", Kind: HeldByPerson, Until: later}}, all, "work", nil},
		"views know only names":       {nil, []*Hold{onClaude}, []Account{{Agent: "claude"}}, "claude", onClaude},
	} {
		p := New(&Snapshot{Hold: c.everybody, Holds: c.holds}, now, Options{Agents: c.agents})
		var held []string
		for _, a := range c.agents {
			if p.HoldOf(a) != nil {
				held = append(held, a.Agent)
			}
		}
		if got := strings.Join(held, " "); got != c.held || p.Hold != c.stops {
			t.Errorf("%s: held %q, want %q; stops %v, want %v", name, got, c.held, p.Hold, c.stops)
		}
	}
}
