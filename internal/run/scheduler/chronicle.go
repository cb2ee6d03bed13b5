package scheduler

import (
	"fmt"
	"os"
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/spending"
)

// chronicle writes into the project's journal what only the run knows: that it starts and ends,
// which holds are over, and which slices have spent their budget.
type chronicle struct {
	project    *project.Project
	began      time.Time         // of the run
	scoped     bool              // to named slices, or to a milestone
	started    bool              // the journal has the run's start
	held       []*plan.Hold      // in effect at the last pass
	over       map[string]bool   // holds whose end the journal has
	overBudget map[string]string // by slice id: what was written of its budget
}

func newChronicle(pr *project.Project, scope Scope) *chronicle {
	return &chronicle{
		project: pr, began: time.Now(),
		scoped: scope.Task == nil && (len(scope.IDs) > 0 || scope.Milestone != ""),
		over:   map[string]bool{}, overBudget: map[string]string{},
	}
}

// start writes that this run decides from now on.
func (c *chronicle) start(slots Slots, agents, runner string) {
	if c.started {
		return
	}
	c.started = true
	c.write(journal.Event{
		Kind: journal.DrainStarted, PID: os.Getpid(),
		Max: slots.Max, Fixed: slots.Fixed, Agent: agents, Runner: runner,
	})
}

// spent returns what the attempts cost that ended during the run; zero if the journal can't be
// read.
func (c *chronicle) spent() spending.Total {
	book, err := spending.Since(c.project.Runs.Journal(), c.began)
	if err != nil {
		return spending.Total{}
	}
	return book.Total()
}

// end writes why the run is over, and how it leaves the slices. p is nil if the state was never
// read.
func (c *chronicle) end(res *Result, p *plan.Plan, hold *plan.Hold, err error) {
	if !c.started {
		return
	}
	e := journal.Event{Kind: journal.DrainEnded, PID: os.Getpid(), Reason: journal.NothingLeft}
	if p != nil && (c.scoped || len(p.Lists.Ready) > 0) {
		e.Reason = journal.LaunchedOver
	}
	switch {
	case res.Signal != nil:
		e.Reason = "signal: " + res.Signal.String()
	case err != nil:
		e.Reason, e.Detail = "error", err.Error()
	case res.Stopped:
		e.Reason = "gl stop --all"
	case hold.Open():
		e.Reason, e.Detail = "held", hold.Reason
	}
	e.CostUSD = res.Spent.CostUSD
	if p != nil {
		e.Totals = &journal.Sums{
			Total: p.Total, Done: p.Done, Failed: len(p.Lists.Failed), Stalled: len(p.Lists.Stalled),
			Stopped: len(p.StoppedIDs()), Waiting: len(p.Lists.Waiting), Blocked: len(p.Lists.Blocked),
		}
	}
	c.write(e)
}

func (c *chronicle) write(e journal.Event) {
	e.System = c.project.Key()
	_ = c.project.Runs.Journal().Append(e) // see news.journal
}

// forgotten is the age from which on the end of a hold isn't news.
const forgotten = 24 * time.Hour

// holds writes which holds are over. A curfew is in no file, so its beginning is written here, too.
func (c *chronicle) holds(p *plan.Plan) {
	now := p.InEffect()
	for _, h := range append(c.held, c.newlyOver(p)...) {
		same := func(n *plan.Hold) bool { return n.Agent == h.Agent && n.Account == h.Account }
		if !slices.ContainsFunc(now, same) {
			c.project.Runs.HoldFile.TellEnded(h, time.Now())
		}
	}
	for _, h := range now {
		if h.Kind == plan.HeldByCurfew {
			c.project.Runs.HoldFile.Tell(h)
		}
	}
	c.held = now
}

// newlyOver returns the holds on file that are over, each once. A short one, or one that ended
// between two runs, was never seen in effect.
func (c *chronicle) newlyOver(p *plan.Plan) (list []*plan.Hold) {
	s, now := p.Snapshot, time.Now()
	for _, h := range append([]*plan.Hold{s.Hold}, s.Holds...) {
		if h == nil || now.Before(h.Until) {
			continue
		}
		id := fmt.Sprint(h.Agent, " ", h.Account, " ", h.Since.UnixNano(), " ", h.Until.UnixNano())
		if !c.over[id] && now.Sub(h.Until) < forgotten {
			list = append(list, h)
		}
		c.over[id] = true
	}
	return list
}

// budgets writes which slices a person is to raise the budget of: no attempt of theirs ends with
// it, so no settler writes it.
func (c *chronicle) budgets(p *plan.Plan) {
	for i := range p.States {
		st := &p.States[i]
		if !st.OverBudget || !st.InScope || c.overBudget[st.ID] == st.WaitingFor {
			continue
		}
		c.overBudget[st.ID] = st.WaitingFor
		e := journal.Event{
			Kind: journal.NeedsYou, System: c.project.Key(),
			Slice: st.ID, Reason: plan.WaitText(st.WaitingFor),
			Key: fmt.Sprintf("%s.budget.%.2f.%g",
				st.ID, p.Snapshot.Cost.Spent[st.ID], p.Snapshot.Cost.Limit),
		}
		if st.Attempt != nil {
			e.Attempt = st.Attempt.N
		}
		_ = c.project.Runs.Journal().AppendOnce(e)
	}
}
