package drain

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/spending"
)

// tellStart writes that this drain decides from now on. A task isn't a drain, though one runs it.
func (d *drain) tellStart() {
	if d.Task != nil || d.told {
		return
	}
	d.told = true
	_ = d.Project.Runs.Journal().Append(journal.Event{Kind: journal.DrainStarted, System: d.Project.Key(), PID: os.Getpid(), Max: d.Max, Fixed: d.Fixed,
		Agent: d.names(), Runner: d.Runner.Name()})
}

// tellEnd writes why the drain is over, and how it leaves the slices.
func (d *drain) tellEnd(err error) {
	if book, err := spending.Since(d.Project.Runs.Journal(), d.began); err == nil {
		d.res.Spent = book.Total()
	}
	if !d.told {
		return
	}
	e := journal.Event{Kind: journal.DrainEnded, System: d.Project.Key(), PID: os.Getpid(), Reason: journal.NothingLeft}
	switch {
	case d.res.Signal != nil:
		e.Reason = "signal: " + d.res.Signal.String()
	case err != nil:
		e.Reason, e.Detail = "error", err.Error()
	case d.res.Stopped:
		e.Reason = "gl stop --all"
	case d.plan != nil && d.hold().Open():
		e.Reason, e.Detail = "held", d.hold().Reason
	}
	e.CostUSD = d.res.Spent.CostUSD
	if p := d.plan; p != nil {
		e.Totals = &journal.Sums{Total: p.Total, Done: p.Done, Failed: len(p.Lists.Failed), Stalled: len(p.Lists.Stalled), Stopped: len(p.StoppedIDs()), Waiting: len(p.Lists.Waiting), Blocked: len(p.Lists.Blocked)}
	}
	_ = d.Project.Runs.Journal().Append(e)
}

// names are those of the agents in order of preference.
func (d *drain) names() string {
	var names []string
	for _, a := range d.Agents {
		if !a.named {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, ",")
}

// forgotten is the age from which on the end of a hold isn't news to anyone.
const forgotten = 24 * time.Hour

// tellHoldEnded writes which holds are over. A curfew is in no file, so its beginning is written here, too.
func (d *drain) tellHoldEnded() {
	now := d.plan.InEffect()
	for _, h := range append(d.held, d.newlyOver()...) {
		if !slices.ContainsFunc(now, func(n *plan.Hold) bool { return n.Agent == h.Agent && n.Account == h.Account }) {
			d.Project.Runs.TellHoldEnded(h, time.Now())
		}
	}
	for _, h := range now {
		if h.Kind == plan.HeldByCurfew {
			d.Project.Runs.TellHold(h)
		}
	}
	d.held = now
}

// newlyOver returns the holds on file that are over, each once. One that is short, or ended while no drain was there, was never seen in
// effect.
func (d *drain) newlyOver() (list []*plan.Hold) {
	s, now := d.plan.Snapshot, time.Now()
	for _, h := range append([]*plan.Hold{s.Hold}, s.Holds...) {
		if h == nil || now.Before(h.Until) {
			continue
		}
		id := fmt.Sprint(h.Agent, " ", h.Account, " ", h.Since.UnixNano(), " ", h.Until.UnixNano())
		if !d.over[id] && now.Sub(h.Until) < forgotten {
			list = append(list, h)
		}
		d.over[id] = true
	}
	return list
}

// noteUnheard tells what nobody has read of what a person said to work that is complete now. Its events come before the end of the attempt
// is seen. Where the journal can't be read, nobody can know.
func (d *drain) noteUnheard(r *Report) {
	if len(r.Ended) == 0 || !d.leads {
		return
	}
	for e, err := range d.unheard.All() {
		if err != nil {
			return
		}
		if d.tells(e) {
			r.Unheard = append(r.Unheard, e)
		}
	}
}

// noteJournal tells of a journal that can't be written. The run goes on without it.
func (d *drain) noteJournal(r *Report) {
	if err := d.Project.Runs.Journal().Trouble(); err != nil && err.Error() != d.journalErr {
		d.journalErr = err.Error()
		r.Warnings = append(r.Warnings, "the journal can't be written, so gl events lacks what happens now: "+err.Error())
	}
}
