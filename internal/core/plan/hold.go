package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/text/textline"
)

// HeldByPerson is the kind of a hold set by gl hold --until.
const HeldByPerson = "person"

// HeldByFailures is the kind of a hold set after several attempts failed in the same way. It
// lasts until a person lifts it.
const HeldByFailures = "failures"

// HeldByBudget is the kind of a hold that lasts until the budget is raised, or the day it
// covers is over.
const HeldByBudget = "budget"

// HeldByCurfew is the kind of a hold that parallel.curfew sets each day. It is in no file.
const HeldByCurfew = "curfew"

// HeldByWindow is the kind of a hold set before a limit is met, because most of it is used.
const HeldByWindow = "window"

// UntilLifted is the end of a hold that lasts until a person lifts it. No clock reaches it.
var UntilLifted = time.Date(8000, 1, 1, 0, 0, 0, 0, time.UTC)

// Open reports whether the hold lasts until a person ends it.
func (h *Hold) Open() bool { return h != nil && !h.Until.Before(UntilLifted) }

// Budget returns whose budget is spent, "run" or "day"; "" for any other hold.
func (h *Hold) Budget() string {
	switch {
	case h == nil || h.Kind != HeldByBudget:
		return ""
	case h.Open():
		return "run"
	}
	return "day"
}

const liftHold = "gl hold --lift"

// Lifting returns the commands that end the hold before its time, the best one first.
func (h *Hold) Lifting() []string {
	switch of := h.Budget(); {
	case of != "":
		return []string{"gl budget " + of + " USD", liftHold}
	case h.Kind == HeldByCurfew: // gl hold --lift knows only holds in files
		return []string{"gl settings set parallel.curfew ''"}
	}
	return []string{liftHold}
}

// End describes when the hold is over: "until 14:05", "until you lift it".
func (h *Hold) End(now time.Time) string {
	if h.Open() {
		if h.Kind == HeldByBudget {
			return "until you raise the budget"
		}
		return "until you lift it"
	}
	return "until " + At(h.Until, now, "15:04")
}

// An Account is a login of an agent. Limits, and so holds, belong to an account.
type Account struct {
	Agent string // its name, as people write it
	ID    string // agent.Agent.Account; "" if not determined: the name decides
	Named bool   // launched only for items that name it
}

// Holds reports whether the hold applies to the account.
func (h *Hold) Holds(a Account) bool {
	switch {
	case h.Agent == "" && h.Account == "":
		return true
	case h.Account == "" || a.ID == "":
		return h.Agent == a.Agent
	}
	return h.Account == a.ID
}

// of reports whether the hold applies to the attempt's account.
func (h *Hold) of(a *Attempt) bool { return h.Holds(Account{Agent: a.Agent, ID: a.Account}) }

// Ramps reports whether launches resume with a probe after the hold. They don't if a person or
// a clock set it.
func (h *Hold) Ramps() bool {
	return h.Kind != HeldByPerson && h.Kind != HeldByBudget && h.Kind != HeldByCurfew
}

// heedHolds finds the holds in effect now.
func (p *Plan) heedHolds(now time.Time, o Options) {
	s := p.Snapshot
	p.agents = o.Agents
	p.all = o.Curfew.Hold(now)
	if h := s.Hold; h != nil && now.Before(h.Until) &&
		(p.all == nil || h.Until.After(p.all.Until)) {
		p.all = h
	}
	for _, h := range s.Holds {
		if now.Before(h.Until) {
			p.Holds = append(p.Holds, h)
		}
	}
	slices.SortStableFunc(p.Holds, func(a, b *Hold) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Agent, b.Agent))
	})
	p.Hold = p.stops()
}

// InEffect returns the holds that aren't over, starting with the one for all agents.
func (p *Plan) InEffect() []*Hold {
	if p.all == nil {
		return p.Holds
	}
	return append([]*Hold{p.all}, p.Holds...)
}

// HoldAll applies a hold for all agents to a finished plan.
func (p *Plan) HoldAll(h *Hold) { p.all, p.Hold = h, h }

// HoldOf returns the hold that keeps the account from being launched; nil for none.
func (p *Plan) HoldOf(a Account) *Hold {
	if p.all != nil {
		return p.all
	}
	for _, h := range slices.Backward(p.Holds) { // longest first
		if h.Holds(a) {
			return h
		}
	}
	return nil
}

// stops returns the hold that keeps everything from being launched: the one for all agents or,
// if each launchable agent is held, the one that ends first.
func (p *Plan) stops() *Hold {
	if p.all != nil {
		return p.all
	}
	var first *Hold
	agents := slices.Clone(p.agents)
	for _, id := range p.Lists.Ready {
		if name := p.State(id).Agent; name != "" && len(agents) > 0 &&
			!slices.ContainsFunc(agents, func(a Account) bool {
				return a.Agent == name
			}) {
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
	// rampTime is how long after a hold that proof is required.
	rampTime = time.Hour
)

// ramp returns how many more attempts may be launched after a hold: first one, the probe; then
// one for each attempt that has proven that the limit is over, plus the probe's slot once the
// probe has ended. So the slots double each time: 1, 2, 4. It returns a negative number for no
// bound.
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
	if h.Proven > 0 { // the first one's slot is free again
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

// Sentence is Describe with the agent: "held until 14:05 (…)", "codex is held until 14:05 (…)".
func (h *Hold) Sentence(now time.Time) string { return h.who("held ") + h.Describe(now) }

// Lifted is Sentence for a hold that is over, without advice.
func (h *Hold) Lifted(now time.Time) string { return h.who("held ") + h.about(now) }

// Listed is Describe for use after a label "held": "until 14:05 (…)", "codex until 14:05 (…)".
func (h *Hold) Listed(now time.Time) string {
	if h.Agent == "" {
		return h.Describe(now)
	}
	return textline.Collapse(h.Agent) + " " + h.Describe(now)
}

// Brief returns just the agent and the end: "held until 14:05", "codex held until 14:05".
func (h *Hold) Brief(now time.Time) string {
	return strings.Replace(h.who("held "), " is ", " ", 1) + h.End(now)
}

func (h *Hold) who(held string) string {
	if h.Agent == "" {
		return held
	}
	return textline.Collapse(h.Agent) + " is " + held
}

// Describe returns the end and the reason of a hold: "until 14:05 (rate limit met by S-3: come
// back later)". The time is local, with its date unless that is today. The text is one line,
// but isn't safe for a terminal: it includes the agent's words.
func (h *Hold) Describe(now time.Time) string {
	if h.Open() && h.Kind != HeldByBudget { // a budget's reason has the advice
		return h.about(now) + ": " + liftHold
	}
	return h.about(now)
}

// about is Describe without advice.
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

// At formats a time for people: local, in the layout, after its date unless that is today.
func At(t, now time.Time, layout string) string {
	t = t.Local()
	if t.Format(time.DateOnly) != now.Local().Format(time.DateOnly) {
		layout = time.DateOnly + " " + layout
	}
	return t.Format(layout)
}
