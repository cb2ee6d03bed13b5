package plan

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAllotment(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	claude, codex, named := Account{Agent: "claude", ID: "c"}, Account{Agent: "codex", ID: "x"}, Account{Agent: "opus", ID: "o", Named: true}
	agents := []Account{claude, codex, named}
	held := func(a Account) *Hold {
		return &Hold{Agent: a.Agent, Account: a.ID, Kind: "rate limit", Until: now.Add(time.Hour)}
	}
	lasted := func(agent, account string) *Attempt {
		return &Attempt{Agent: agent, Account: account, Phase: Settled, Retried: true}
	}
	for name, c := range map[string]struct {
		item  Item
		last  *Attempt
		holds []*Hold
		o     AllotOptions
		want  int
	}{
		"the preferred one":                    {want: 0},
		"the next one while that is held":      {holds: []*Hold{held(claude)}, want: 1},
		"nobody":                               {holds: []*Hold{held(claude), held(codex)}, want: -1},
		"force":                                {holds: []*Hold{held(claude), held(codex)}, o: AllotOptions{Forced: true}, want: 0},
		"whose conversation it is":             {last: lasted("codex", "x"), want: 1},
		"of another account":                   {last: lasted("codex", "y"), want: 0},
		"of an earlier version":                {last: lasted("codex", ""), want: 1},
		"whose is held: another goes on":       {last: lasted("codex", "x"), holds: []*Hold{held(codex)}, want: 0},
		"by an agent that isn't in the order":  {last: lasted("opus", "o"), want: 0},
		"the slice's own":                      {item: Item{Agent: "opus"}, o: AllotOptions{Named: true}, want: 2},
		"the slice's own counts over the last": {item: Item{Agent: "opus"}, last: lasted("codex", "x"), o: AllotOptions{Named: true}, want: 2},
		"the slice's own doesn't count":        {item: Item{Agent: "opus"}, want: 0},
		"the slice's own is held: it waits":    {item: Item{Agent: "opus"}, holds: []*Hold{held(named)}, o: AllotOptions{Named: true}, want: -1},
		"the slice's own is in the order":      {item: Item{Agent: "codex"}, o: AllotOptions{Named: true}, want: 1},
		"the slice's own isn't there":          {item: Item{Agent: "gone"}, o: AllotOptions{Named: true}, want: -1},
	} {
		c.item.ID = "S-1"
		s := &Snapshot{Items: Pointers([]Item{c.item}), Holds: c.holds, Attempts: map[string]*Attempt{}}
		if c.last != nil {
			s.Attempts["S-1"] = c.last
		}
		if got := New(s, now, Options{}).Allot(agents, now, c.o).Agent("S-1"); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// With any number of slots and any running work: no held agent is launched, after a hold at
// most as many as have proved that the limit is over (one at first), and no slice waits while
// an agent that may build it is free.
func TestAllotmentProperties(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		s := &Snapshot{Attempts: map[string]*Attempt{}}
		var agents []Account
		for i := range rapid.IntRange(1, 4).Draw(t, "agents") {
			a := Account{Agent: fmt.Sprint("a", i), ID: fmt.Sprint("id", i)}
			agents = append(agents, a)
			if rapid.Bool().Draw(t, "hold") {
				s.Holds = append(s.Holds, &Hold{Agent: a.Agent, Account: a.ID, Kind: "quota", Proven: rapid.IntRange(0, 5).Draw(t, "proven"),
					Until: now.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "until")) * time.Minute)})
			}
		}
		pick := func() Account { return rapid.SampledFrom(agents).Draw(t, "agent") }
		for i := range rapid.IntRange(0, 8).Draw(t, "running") {
			a := pick()
			s.Attempts[fmt.Sprint("r", i)] = &Attempt{Agent: a.Agent, Account: a.ID, Phase: Started, Started: now.Add(-time.Duration(rapid.IntRange(0, 3600).Draw(t, "ago")) * time.Second)}
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "ready") {
			it := Item{ID: fmt.Sprint("S-", i)}
			if rapid.Bool().Draw(t, "names") {
				it.Agent = pick().Agent
			}
			s.Items = append(s.Items, &it)
		}
		p := New(s, now, Options{Agents: agents})
		allotment := p.Allot(agents, now, AllotOptions{Named: true})
		launched := map[string]int{}
		waits := map[string]bool{}
		for _, it := range s.Items {
			i := allotment.Agent(it.ID)
			if i < 0 {
				waits[it.ID] = true
				continue
			}
			if it.Agent != "" && agents[i].Agent != it.Agent {
				t.Fatalf("%s names %s and got %s", it.ID, it.Agent, agents[i].Agent)
			}
			allotment.Launched(i)
			launched[agents[i].ID]++
		}
		for _, a := range agents {
			most := 1 << 20
			for _, h := range s.Holds {
				switch {
				case h.Account != a.ID:
				case now.Before(h.Until):
					most = 0
				default:
					proven, unproven := h.Proven, 0
					for _, at := range s.Attempts {
						if at.Account == a.ID && at.Started.After(h.Until) {
							if now.Sub(at.Started) >= probeTime {
								proven++
							} else {
								unproven++
							}
						}
					}
					if h.Proven > 0 {
						proven++
					}
					most = max(max(proven, 1)-unproven, 0)
				}
			}
			if launched[a.ID] > most {
				t.Fatalf("%s: %d launched, at most %d", a.Agent, launched[a.ID], most)
			}
			for _, it := range s.Items {
				if waits[it.ID] && launched[a.ID] < most && (it.Agent == "" || it.Agent == a.Agent) {
					t.Fatalf("%s waits, and %s has room", it.ID, a.Agent)
				}
			}
		}
	})
}
