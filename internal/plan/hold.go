package plan

import (
	"fmt"
	"time"

	"greenlight/internal/text/textline"
)

// HeldByPerson is the kind of a hold that gl hold --until put.
const HeldByPerson = "person"

// HeldByFailures is the kind of a hold that several attempts put that failed in the same way. It lasts until somebody lifts it.
const HeldByFailures = "failures"

// HeldByBudget is the kind of a hold that lasts until the budget is raised, or the day is over for which it is.
const HeldByBudget = "budget"

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

// probeTime is how long the first attempt after a hold must last to prove that the limit is over.
const probeTime = time.Minute

// Room is how many may be launched now, as far as a hold is concerned: none while it lasts; after it one, the probe, until
// that has lasted for a while. The end of an attempt that met no limit makes everybody forget the hold. It is negative for
// no bound.
func (p *Plan) Room(now time.Time) int {
	h := p.Snapshot.Hold
	switch {
	case p.Hold != nil:
		return 0
	case h == nil || h.Kind == HeldByPerson || h.Kind == HeldByBudget:
		return -1
	}
	room := 1
	count := func(a *Attempt) {
		switch {
		case !a.Open():
		case a.Started.IsZero():
			room = min(room, 0)
		case a.Started.After(h.Until) && now.Sub(a.Started) >= probeTime:
			room = -1
		case a.Started.After(h.Until) && room > 0:
			room = 0
		}
	}
	for _, a := range p.Snapshot.Attempts {
		if room >= 0 {
			count(a)
		}
	}
	for i := range p.Snapshot.Tasks {
		if room >= 0 {
			count(p.Snapshot.Tasks[i].Attempt)
		}
	}
	return room
}

// Describe says until when nothing is launched, and why: "until 14:05 (rate limit met by S-3: come back later)". The time
// is local, with its date unless that is today's. The text is one line, but it isn't safe for a terminal: the agent's words
// are in it.
func (h *Hold) Describe(now time.Time) string {
	why := h.Kind
	if h.Kind == HeldByPerson {
		why = "gl hold"
	}
	if h.By != "" && !h.Open() {
		why += " met by " + h.By
	}
	if h.Reason != "" {
		why += ": " + h.Reason
	}
	if h.Reset != nil {
		why += fmt.Sprintf("; said to be over at %s, tried once before", At(*h.Reset, now, "15:04"))
	}
	why = fmt.Sprintf("%s (%s)", h.End(now), textline.Collapse(why))
	if h.Open() && h.Kind != HeldByBudget { // whose reason says it
		why += ": gl hold --lift"
	}
	return why
}

// At is a time as people read it, local, in the layout, after its date unless that is today's.
func At(t, now time.Time, layout string) string {
	t = t.Local()
	if t.Format(time.DateOnly) != now.Local().Format(time.DateOnly) {
		layout = time.DateOnly + " " + layout
	}
	return t.Format(layout)
}
