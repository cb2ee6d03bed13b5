package plan

import (
	"slices"
	"time"
)

// An Allotment decides which agent is launched for an item: by the items' own choice, by who knows the work already, by the order of
// preference, and by what holds leave. It counts what is launched, since that takes of what a hold has just left.
type Allotment struct {
	p      *Plan
	agents []Account
	o      AllotOptions
	ramps  []bound
}

// A bound is what a hold that is over leaves.
type bound struct {
	hold *Hold
	left int
}

// AllotOptions say what counts.
type AllotOptions struct {
	Forced bool // no hold counts
	Named  bool // the agents that items name count
}

// Allot begins an allotment among the agents, which are in order of preference.
func (p *Plan) Allot(agents []Account, now time.Time, o AllotOptions) *Allotment {
	a := &Allotment{p: p, agents: agents, o: o}
	for _, h := range slices.Concat([]*Hold{p.Snapshot.Hold}, p.Snapshot.Holds) {
		if left := p.ramp(h, now); left >= 0 && !now.Before(h.Until) {
			a.ramps = append(a.ramps, bound{h, left})
		}
	}
	return a
}

// Agent is the place among the agents of who may be launched for the item now; -1 for nobody. What isn't an item is for anybody.
func (a *Allotment) Agent(id string) int {
	st := a.p.State(id)
	if st == nil {
		st = &State{Item: &Item{}}
	}
	if st.Agent != "" && a.o.Named {
		return slices.IndexFunc(a.agents, func(x Account) bool { return x.Agent == st.Agent && a.free(x) })
	}
	if last := st.Attempt; last != nil { // whose conversation it is
		if i := slices.IndexFunc(a.agents, func(x Account) bool {
			return !x.Named && x.Agent == last.Agent && (x.ID == last.Account || last.Account == "") && a.free(x)
		}); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(a.agents, func(x Account) bool { return !x.Named && a.free(x) })
}

// free says whether nothing keeps the account from being launched.
func (a *Allotment) free(x Account) bool {
	if a.o.Forced {
		return true
	}
	return a.p.HoldOf(x) == nil && !slices.ContainsFunc(a.ramps, func(b bound) bool { return b.left <= 0 && b.hold.Holds(x) })
}

// Launched counts that the agent at the place was launched.
func (a *Allotment) Launched(i int) {
	for j := range a.ramps {
		if a.ramps[j].hold.Holds(a.agents[i]) {
			a.ramps[j].left--
		}
	}
}
