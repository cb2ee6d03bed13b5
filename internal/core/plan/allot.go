package plan

import (
	"slices"
	"time"
)

// An Allotment decides which agent to launch for an item: the item's own choice, the agent that
// knows the work already, the order of preference, and the limits of holds. It counts launches,
// because each uses up what an ended hold has just allowed.
type Allotment struct {
	p      *Plan
	agents []Account
	o      AllotOptions
	ramps  []bound
}

// A bound is the remaining number of launches after an ended hold.
type bound struct {
	hold *Hold
	left int
}

// AllotOptions modify an Allotment.
type AllotOptions struct {
	Forced bool // ignore all holds
	Named  bool // respect the agents named by items
}

// Allot begins an allotment among the agents, given in order of preference.
func (p *Plan) Allot(agents []Account, now time.Time, o AllotOptions) *Allotment {
	a := &Allotment{p: p, agents: agents, o: o}
	for _, h := range slices.Concat([]*Hold{p.Snapshot.Hold}, p.Snapshot.Holds) {
		if left := p.ramp(h, now); left >= 0 && !now.Before(h.Until) {
			a.ramps = append(a.ramps, bound{h, left})
		}
	}
	return a
}

// Agent returns the index of the agent to launch for the item now; -1 for none. Anything that
// isn't an item may go to any agent.
func (a *Allotment) Agent(id string) int {
	st := a.p.State(id)
	if st == nil {
		st = &State{Item: &Item{}}
	}
	if st.Agent != "" && a.o.Named {
		return slices.IndexFunc(a.agents, func(x Account) bool {
			return x.Agent == st.Agent && a.free(x)
		})
	}
	if last := st.Attempt; last != nil { // prefer the agent that has the conversation
		if i := slices.IndexFunc(a.agents, func(x Account) bool {
			return !x.Named && x.Agent == last.Agent &&
				(x.ID == last.Account || last.Account == "") && a.free(x)
		}); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(a.agents, func(x Account) bool { return !x.Named && a.free(x) })
}

// free reports whether the account may be launched.
func (a *Allotment) free(x Account) bool {
	if a.o.Forced {
		return true
	}
	return a.p.HoldOf(x) == nil && !slices.ContainsFunc(a.ramps, func(b bound) bool {
		return b.left <= 0 && b.hold.Holds(x)
	})
}

// Launched counts a launch of agent i.
func (a *Allotment) Launched(i int) {
	for j := range a.ramps {
		if a.ramps[j].hold.Holds(a.agents[i]) {
			a.ramps[j].left--
		}
	}
}
