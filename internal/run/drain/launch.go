package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// mayClaim says whether this drain may launch anything just now, whatever the plan says.
func (d *drain) mayClaim() bool {
	return d.leads && !d.stopping && !d.roundOver() && (d.Stagger <= 0 || time.Since(d.lastLaunch) >= d.Stagger)
}

// planAllows says whether there is a slice to launch and a slot for it.
func (d *drain) planAllows() bool {
	switch {
	case !d.inDoubt():
		d.unsure = time.Time{}
	case time.Since(d.unsureSince()) < settleTime || d.distrust():
		return false
	}
	if d.free(d.plan) <= 0 {
		return false
	}
	allotment := d.allot()
	return slices.ContainsFunc(d.candidates(d.plan), func(id string) bool { return allotment.Agent(id) >= 0 })
}

// allot decides who builds what, as far as holds go.
func (d *drain) allot() *plan.Allotment {
	var accounts []plan.Account
	for _, a := range d.permitted() {
		accounts = append(accounts, a.account())
	}
	return d.plan.Allot(accounts, time.Now(), plan.AllotOptions{Forced: d.ignoresHold(), Named: d.Find != nil})
}

// findNamed finds the agents that candidates name, and says whether there is a new one. A slice that names one that can't be launched
// is left alone.
func (d *drain) findNamed(r *Report) (found bool) {
	if d.Find == nil || d.Task != nil || d.plan == nil {
		return false
	}
	for _, id := range d.candidates(d.plan) {
		st := d.plan.State(id)
		if st == nil || st.Agent == "" || slices.ContainsFunc(d.Agents, func(a Agent) bool { return a.Name == st.Agent }) {
			continue
		}
		a, err := d.Find(d.permission.conf, st.Agent)
		if err != nil {
			d.excluded[id] = true
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s isn't built: it names an agent that can't be launched: %v", id, err))
			continue
		}
		a.named, found = true, true
		d.Agents = append(d.Agents, a)
	}
	return found
}

// ignoresHold says whether this drain launches in spite of a hold: a person who names slices and says --force goes past
// it, since it may be another agent's, or over.
func (d *drain) ignoresHold() bool { return d.Force && d.IDs != nil }

// hold is what keeps this drain from launching anything; nil for nothing.
func (d *drain) hold() *plan.Hold {
	if d.ignoresHold() {
		return nil
	}
	return d.plan.Hold
}

// inDoubt says whether the graph can't be read just now. A task needs none.
func (d *drain) inDoubt() bool { return d.Task == nil && d.plan.Snapshot.Unsure != "" }

// roundOver says whether a drain that doesn't refill has had its round: what a hold stopped in it is still to come.
func (d *drain) roundOver() bool { return !d.Refill && d.round && len(d.dueAgain) == 0 }

func (d *drain) unsureSince() time.Time {
	if d.unsure.IsZero() {
		d.unsure = time.Now()
	}
	return d.unsure
}

// distrust says whether the dependencies can't be trusted at all: the graph can't be read, not for a while now, and no
// slice names its own.
func (d *drain) distrust() bool {
	if time.Since(d.unsureSince()) < settleTime {
		return false
	}
	return !slices.ContainsFunc(d.plan.States, func(st plan.State) bool { return len(st.Deps) > 0 })
}

// free is how many more may be launched.
func (d *drain) free(p *plan.Plan) int {
	n := d.Max - p.Taken
	if d.Serial {
		n = min(n, 1-d.withSlots())
	}
	return n
}

// candidates are the slices that may be launched, in order, slots or no slots.
func (d *drain) candidates(p *plan.Plan) []string {
	if d.Task != nil {
		if id := attempt.TaskID(d.Task.Name); !d.tried[id] && !d.excluded[id] {
			return []string{id}
		}
		return nil
	}
	if d.IDs == nil {
		secondRound := d.round && !d.Refill // it is for those alone whom a hold has stopped in the first
		return slices.DeleteFunc(slices.Clone(p.Lists.Ready), func(id string) bool {
			return d.excluded[id] || d.isOpen(id) || d.needsOpen(p, id) || secondRound && !d.dueAgain[id]
		})
	}
	var ids []string
	for _, id := range append(slices.Clone(p.Lists.Ready), d.IDs...) {
		if d.tried[id] || d.excluded[id] || d.isOpen(id) || d.needsOpen(p, id) || slices.Contains(ids, id) {
			continue
		}
		if attempt.Admit(p, d.request(id, Agent{}), time.Now()) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (d *drain) request(id string, a Agent) attempt.Request {
	job := a.Job
	if d.Task != nil {
		job.Prompt = d.Task.Prompt
		return attempt.Request{ID: id, Task: d.Task, First: d.first, Named: true, Agent: a.Agent, Environ: a.Environ, Job: job, Runner: d.Runner.Name()}
	}
	if st := d.plan.State(id); st != nil && d.Find != nil {
		job.Model = st.Model
	}
	job.Prompt = d.Project.Tracker.Prompt(id)
	if s := d.plan.Snapshot; s.Cost.Limit > 0 {
		job.BudgetUSD = max(s.Cost.Limit-s.Cost.Spent[id], 0.01)
	}
	req := attempt.Request{System: d.Project.Key(), ID: id, Named: d.IDs != nil, Force: d.Force, Agent: a.Agent, Environ: a.Environ, Job: job,
		Runner: d.Runner.Name(), Escalate: d.Escalate}
	if session, agreed := d.Over[id]; agreed {
		req.Over = &session
	}
	return req
}

// launch claims under the lock, against a plan made under the same lock, and starts the wrappers after it.
func (d *drain) launch(ctx context.Context, r *Report) error {
	d.Runner.Expect()
	if ok, err := d.permit(ctx, r); !ok || err != nil {
		return err
	}
	var claimed []*attempt.Record
	err := d.Project.Tracker.Do(ctx, func(tx tracker.Tx) (err error) {
		claimed, err = d.claim(ctx, tx, r)
		return err
	})
	for _, rec := range claimed {
		d.open[rec.Name()] = rec
		d.claimedAt[rec.Token] = time.Now()
		d.tried[rec.Slice] = true
		if d.Task != nil && rec.Lineage != 0 {
			d.first = cmp.Or(d.first, rec.N)
		}
		delete(d.dueAgain, rec.Slice)
		d.dirty, d.round = true, true
		d.lastLaunch = time.Now()
		if err := d.Runner.Start(rec); err != nil {
			d.failedStart(ctx, rec, r, err.Error())
			continue
		}
		if d.Runner.Exits() != nil {
			d.wrappers[rec.Token] = true
		}
		d.Trace("launched %s, attempt %d: %q", rec.Slice, rec.N, rec.Argv)
		r.Launched = append(r.Launched, rec)
	}
	return err
}

func (d *drain) claim(ctx context.Context, tx tracker.Tx, r *Report) ([]*attempt.Record, error) {
	if d.heedStop() {
		return nil, nil
	}
	s, err := d.Project.Snapshot(tx.Load)
	if err != nil {
		return nil, unreadable{err}
	}
	d.plan = plan.New(s, time.Now(), d.options())
	if !d.planAllows() {
		return nil, nil
	}
	if err := d.heedBudget(time.Now()); err != nil || !d.planAllows() {
		return nil, err
	}
	candidates := d.candidates(d.plan)
	if r.Ready == 0 {
		r.Ready = len(candidates)
	}
	return d.claimSome(ctx, tx, r, candidates)
}

// claimSome claims as many of the candidates as there are slots for, just one where launches are staggered.
func (d *drain) claimSome(ctx context.Context, tx tracker.Tx, r *Report, candidates []string) ([]*attempt.Record, error) {
	n, allotment, agents := d.free(d.plan), d.allot(), d.permitted()
	if d.Stagger > 0 {
		n = min(n, 1)
	}
	var claimed []*attempt.Record
	for _, id := range candidates {
		if len(claimed) >= n {
			break
		}
		i := allotment.Agent(id)
		if i < 0 {
			continue
		}
		if !d.asPlanned(tx, id) {
			d.Trace("%s isn't as it was planned: looking again", id)
			continue
		}
		rec, err := d.claimOne(ctx, tx, id, agents[i])
		if err != nil && d.Task != nil {
			return nil, err
		}
		if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, tracker.ErrNotFound) && d.cleaned[id] < cleanTries {
			d.cleaned[id]++ // somebody removes runs/ under our hands
			d.Trace("%s can't be claimed, trying again: %v", id, err)
			continue
		}
		if err != nil {
			// One slice whose file can't be written is no reason to stop the others.
			d.excluded[id] = true
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s can't be claimed: %v", id, err))
			continue
		}
		if st := d.plan.State(id); st != nil && st.Stale {
			r.Warnings = append(r.Warnings, st.ClaimText(time.Now())+": taken over")
		}
		claimed = append(claimed, rec)
		allotment.Launched(i)
	}
	return claimed, nil
}

// asPlanned says whether the item's own file says what the plan was made from: of a change that the kernel hasn't noticed a tracker that
// answers from memory doesn't know yet.
func (d *drain) asPlanned(tx tracker.Tx, id string) bool {
	st := d.plan.State(id)
	if st == nil || d.Task != nil {
		return true
	}
	planned := plan.Mark{Status: st.Status, Step: st.Step, Session: st.Session}
	if st.Reverted != nil { // the records decided what the plan was made from
		planned = *st.Reverted
	}
	it, err := tx.Item(id)
	return err != nil || it.Mark() == planned && it.Corrupt == st.Corrupt && it.WaitingFor == st.WaitingFor
}

// claimOne claims a slice, or the task, and the worktree for it.
func (d *drain) claimOne(ctx context.Context, tx tracker.Tx, id string, a Agent) (*attempt.Record, error) {
	req := d.request(id, a)
	conf := d.permission.conf.Config
	req.Test = conf.Test.Command
	if d.Task == nil {
		terms, err := d.permission.conf.Approvals().Terms(id)
		if err != nil {
			return nil, err
		}
		if req.Terms = terms; d.Trees == nil {
			req.Review = terms.Review
		}
	}
	if d.Trees != nil {
		l, redone, err := d.lineage(ctx, req)
		if err != nil {
			return nil, err
		}
		req.Redone = redone
		req.Lineage, req.Job.Dir, req.Setup = l, d.Trees.Dir(l), conf.Git.Setup
		if conf.Sandbox != project.SandboxOff {
			req.Sandbox, req.Caches = conf.Sandbox, conf.Caches
		}
	}
	return d.Project.Runs.Claim(tx, req, time.Now())
}

// lineage is the one in which the work goes on, or a new one. Of a slice that was taken back, redone is the commit that has its earlier
// work.
func (d *drain) lineage(ctx context.Context, req attempt.Request) (l *worktree.Lineage, redone string, err error) {
	base, err := d.Trees.Base(ctx)
	if err == nil && d.Lane != nil && req.Task == nil {
		redone, err = d.Lane.Redo(ctx, req.ID)
	}
	if err != nil {
		return nil, "", err
	}
	if redone != "" {
		base = redone
	}
	work, err := d.Project.Runs.WorkOf(req)
	if err != nil {
		return nil, "", err
	}
	l, err = d.Trees.Plan(ctx, req.System, work, base, false)
	return l, redone, err
}

// failedStart gives a claim back whose agent never ran. The last of several such attempts is settled as failed.
func (d *drain) failedStart(ctx context.Context, rec *attempt.Record, r *Report, why string) {
	delete(d.wrappers, rec.Token)
	var err error
	var failed *attempt.Record
	if d.lastStart(rec) {
		failed, err = d.settler.FailStart(ctx, rec, neverStarted(why))
	} else {
		err = d.settler.GiveBack(ctx, rec)
	}
	if failed != nil { // the next look tells it
		return
	}
	if err != nil {
		why += "; its claim can't be given back: " + err.Error()
	}
	d.countStart(rec, r, why)
}

// lastStart reports whether the attempt, should it never start its agent, is the last one of its slice in this run.
func (d *drain) lastStart(rec *attempt.Record) bool { return d.failedStarts[rec.Slice]+1 >= startTries }

// neverStarted is the reason of the last of these.
func neverStarted(why string) string {
	return fmt.Sprintf("%s, %d times in a row", why, startTries)
}

// countStart counts an attempt that never started its agent. After the last one its slice isn't launched again by this run.
func (d *drain) countStart(rec *attempt.Record, r *Report, why string) {
	delete(d.tried, rec.Slice)
	last := d.lastStart(rec)
	d.failedStarts[rec.Slice]++
	if last {
		d.excluded[rec.Slice] = true
		why += ", not tried again"
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("%s didn't start: %s", rec.Label(), why))
}

// isOpen says whether an attempt of the slice is open as far as this drain has seen. The plan may know better: it may
// have been settled since. But how it ended decides whether the slice may be launched again.
func (d *drain) isOpen(id string) bool {
	for _, rec := range d.open {
		if rec.Slice == id {
			return true
		}
	}
	return false
}

// needsOpen reports whether a slice needs one whose attempt is open as far as this drain has seen. Its file may say complete already
// after the record of its attempt was removed (git clean -x), while its agent still works.
func (d *drain) needsOpen(p *plan.Plan, id string) bool {
	st := p.State(id)
	return st != nil && !d.Force && slices.ContainsFunc(st.Deps, d.isOpen)
}
