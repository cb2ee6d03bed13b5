package drain

import (
	"os"
	"time"

	"greenlight/internal/journal"
	"greenlight/internal/spending"
)

// tellStart writes that this drain decides from now on. A task isn't a drain, though one runs it.
func (d *drain) tellStart() {
	if d.Task != nil || d.told {
		return
	}
	d.told = true
	_ = d.Project.Runs.Journal().Append(journal.Event{Kind: journal.DrainStarted, System: d.Project.Key(), PID: os.Getpid(), Max: d.Max,
		Agent: d.Agent.Name, Runner: d.Runner.Name()})
}

// tellEnd writes why the drain is over, and how it leaves the slices.
func (d *drain) tellEnd(err error) {
	if book, err := spending.Read(d.Project.Runs.Journal().Events(d.began), time.Local); err == nil {
		d.res.Spent = book.Total()
	}
	if !d.told {
		return
	}
	e := journal.Event{Kind: journal.DrainEnded, System: d.Project.Key(), PID: os.Getpid(), Reason: "nothing left to do"}
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
		e.Totals = &journal.Sums{Total: p.Total, Done: p.Done, Failed: len(p.Failed), Stalled: len(p.Stalled), Waiting: len(p.Waiting), Blocked: len(p.Blocked)}
	}
	_ = d.Project.Runs.Journal().Append(e)
}

// tellHoldEnded writes that a hold is over, once no launch is held any more.
func (d *drain) tellHoldEnded() {
	switch h := d.plan.Hold; {
	case h != nil:
		d.held = h
	case d.held != nil:
		d.Project.Runs.TellHoldEnded(d.held, time.Now())
		d.held = nil
	}
}

// noteJournal tells of a journal that can't be written. The run goes on without it.
func (d *drain) noteJournal(r *Report) {
	if err := d.Project.Runs.Journal().Trouble(); err != nil && err.Error() != d.journalErr {
		d.journalErr = err.Error()
		r.Warnings = append(r.Warnings, "the journal can't be written, so gl events lacks what happens now: "+err.Error())
	}
}
