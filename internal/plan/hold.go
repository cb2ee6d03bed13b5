package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/text/textline"
)

// HeldByPerson is the kind of a hold that gl hold --until put.
const HeldByPerson = "person"

// HeldByFailures is the kind of a hold that several attempts put that failed in the same way. It lasts until somebody lifts it.
const HeldByFailures = "failures"

// HeldByBudget is the kind of a hold that lasts until the budget is raised, or the day is over for which it is.
const HeldByBudget = "budget"

// HeldByCurfew is the kind of a hold that parallel.curfew puts each day. No file has it.
const HeldByCurfew = "curfew"

// HeldByWindow is the kind of a hold that is put before a limit is met: so much of it is used.
const HeldByWindow = "window"

// UntilLifted is the end of a hold that lasts until a person lifts it. No clock comes to it.
var UntilLifted = time.Date(8000, 1, 1, 0, 0, 0, 0, time.UTC)

// Open says whether the hold asks a person, who ends it.
func (h *Hold) Open() bool { return h != nil && !h.Until.Before(UntilLifted) }

// End says when the hold is over: "until 14:05", "until you lift it".
func (h *Hold) End(now time.Time) string {
	if h.Open() {
		if h.Kind == HeldByBudget {
			return "until you raise the budget"
		}
		return "until you lift it"
	}
	return "until " + At(h.Until, now, "15:04")
}

// An Account is a login of an agent: what limits, and so holds, belong to.
type Account struct {
	Agent string // its name, as people give it
	ID    string // agent.Agent.Account; "" where nobody has asked for it: the name decides
	Named bool   // launched only for items that name it
}

// Holds says whether the hold is about the account.
func (h *Hold) Holds(a Account) bool {
	switch {
	case h.Agent == "" && h.Account == "":
		return true
	case h.Account == "" || a.ID == "":
		return h.Agent == a.Agent
	}
	return h.Account == a.ID
}

// of says whether the hold is about the account of the attempt.
func (h *Hold) of(a *Attempt) bool { return h.Holds(Account{Agent: a.Agent, ID: a.Account}) }

// Ramps says whether what follows the hold begins with a probe: not where a person or a clock put it.
func (h *Hold) Ramps() bool {
	return h.Kind != HeldByPerson && h.Kind != HeldByBudget && h.Kind != HeldByCurfew
}

// heedHolds finds the holds that count now.
func (p *Plan) heedHolds(now time.Time, o Options) {
	s := p.Snapshot
	p.agents = o.Agents
	p.all = o.Curfew.Hold(now)
	if h := s.Hold; h != nil && now.Before(h.Until) && (p.all == nil || h.Until.After(p.all.Until)) {
		p.all = h
	}
	for _, h := range s.Holds {
		if now.Before(h.Until) {
			p.Holds = append(p.Holds, h)
		}
	}
	slices.SortStableFunc(p.Holds, func(a, b *Hold) int { return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Agent, b.Agent)) })
	p.Hold = p.stops()
}

// InEffect are the holds that aren't over: everybody's first.
func (p *Plan) InEffect() []*Hold {
	if p.all == nil {
		return p.Holds
	}
	return append([]*Hold{p.all}, p.Holds...)
}

// HoldAll has everybody held: the plan was made before.
func (p *Plan) HoldAll(h *Hold) { p.all, p.Hold = h, h }

// HoldOf is what keeps the account from being launched; nil for nothing.
func (p *Plan) HoldOf(a Account) *Hold {
	if p.all != nil {
		return p.all
	}
	for _, h := range slices.Backward(p.Holds) { // the longest
		if h.Holds(a) {
			return h
		}
	}
	return nil
}

// stops is the hold that keeps everything from being launched: everybody's or, where all agents that may be launched are held,
// that which ends first.
func (p *Plan) stops() *Hold {
	if p.all != nil {
		return p.all
	}
	var first *Hold
	agents := slices.Clone(p.agents)
	for _, id := range p.Ready {
		if name := p.State(id).Agent; name != "" && len(agents) > 0 && !slices.ContainsFunc(agents, func(a Account) bool { return a.Agent == name }) {
			agents = append(agents, Account{Agent: name})
		}
	}
	for _, a := range agents {
		h := p.HoldOf(a)
		if h == nil {
			return nil
		}
		if first == nil || h.Until.Before(first.Until) {
			first = h
		}
	}
	return first
}

const (
	// probeTime is how long an attempt after a hold must last to prove that the limit is over.
	probeTime = time.Minute
	// rampTime is how long after a hold that proof is asked for.
	rampTime = time.Hour
)

// ramp is how many more may be launched after a hold: one, the probe; then one for each that has proved that the limit is over, and the place of
// the probe once that has ended. So the slots double each time: 1, 2, 4. It is negative for no bound.
func (p *Plan) ramp(h *Hold, now time.Time) int {
	if h == nil || !h.Ramps() || h.Proven > 0 && now.Sub(h.Until) > rampTime {
		return -1
	}
	proven, unproven := h.Proven, 0
	p.eachOpen(func(a *Attempt) {
		switch {
		case !a.HasSlot() || !h.of(a):
		case a.Started.IsZero():
			unproven++
		case !a.Started.After(h.Until):
		case now.Sub(a.Started) >= probeTime:
			proven++
		default:
			unproven++
		}
	})
	if h.Proven > 0 { // the slot of the first one is free again
		proven++
	}
	return max(max(1, proven)-unproven, 0)
}

// eachOpen calls f for every open attempt.
func (p *Plan) eachOpen(f func(*Attempt)) {
	for _, a := range p.Snapshot.Attempts {
		if a.Open() {
			f(a)
		}
	}
	for i := range p.Snapshot.Tasks {
		if a := p.Snapshot.Tasks[i].Attempt; a.Open() {
			f(a)
		}
	}
}

// Sentence is Describe with who is held: "held until 14:05 (…)", "codex is held until 14:05 (…)".
func (h *Hold) Sentence(now time.Time) string { return h.who("held ") + h.Describe(now) }

// Lifted is Sentence of a hold that is over: it needs no advice.
func (h *Hold) Lifted(now time.Time) string { return h.who("held ") + h.about(now) }

// Listed is Describe behind a label that says "held": "until 14:05 (…)", "codex until 14:05 (…)".
func (h *Hold) Listed(now time.Time) string {
	if h.Agent == "" {
		return h.Describe(now)
	}
	return textline.Collapse(h.Agent) + " " + h.Describe(now)
}

// Brief is until when who is held: "held until 14:05", "codex held until 14:05".
func (h *Hold) Brief(now time.Time) string {
	return strings.Replace(h.who("held "), " is ", " ", 1) + h.End(now)
}

func (h *Hold) who(held string) string {
	if h.Agent == "" {
		return held
	}
	return textline.Collapse(h.Agent) + " is " + held
}

// Describe says until when nothing is launched, and why: "until 14:05 (rate limit met by S-3: come back later)". The time
// is local, with its date unless that is today's. The text is one line, but it isn't safe for a terminal: the agent's words
// are in it.
func (h *Hold) Describe(now time.Time) string {
	if h.Open() && h.Kind != HeldByBudget { // whose reason says it
		return h.about(now) + ": gl hold --lift"
	}
	return h.about(now)
}

// about is Describe without what to do.
func (h *Hold) about(now time.Time) string {
	why, reason := h.Kind, h.Reason
	switch h.Kind {
	case HeldByPerson:
		why = "gl hold"
	case HeldByCurfew:
		why, reason = reason, ""
	}
	if h.By != "" && !h.Open() && h.Kind != HeldByWindow {
		why += " met by " + h.By
	}
	if reason != "" {
		why += ": " + reason
	}
	if h.Reset != nil {
		why += fmt.Sprintf("; said to be over at %s, tried once before", At(*h.Reset, now, "15:04"))
	}
	return fmt.Sprintf("%s (%s)", h.End(now), textline.Collapse(why))
}

// At is a time as people read it, local, in the layout, after its date unless that is today's.
func At(t, now time.Time, layout string) string {
	t = t.Local()
	if t.Format(time.DateOnly) != now.Local().Format(time.DateOnly) {
		layout = time.DateOnly + " " + layout
	}
	return t.Format(layout)
}
