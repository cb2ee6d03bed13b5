package scheduler

import (
	"context"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// A claimer makes claims for the run's slices, or for its task. The project's lock must be held,
// but for request.
type claimer struct{ cfg *Config }

// request returns what to claim for an agent. first is the task's first attempt in this run.
func (c claimer) request(p *plan.Plan, id string, a Agent, first int) attempt.Request {
	job := a.Job
	if t := c.cfg.Scope.Task; t != nil {
		job.Prompt = t.Prompt
		job.Instructions = a.instructions(job.Prompt)
		return attempt.Request{
			ID: id, Task: t, First: first, Named: true,
			Agent: a.Agent, Environ: a.Environ, Job: job, Runner: c.cfg.Tools.Runner.Name(),
		}
	}
	if st := p.State(id); st != nil && c.cfg.Builders.Find != nil {
		job.Model = st.Model
	}
	job.Prompt = c.cfg.Project.Tracker.Prompt(id)
	job.Instructions = a.instructions(job.Prompt)
	if s := p.Snapshot; s.Cost.Limit > 0 {
		job.BudgetUSD = max(s.Cost.Limit-s.Cost.Spent[id], 0.01)
	}
	req := attempt.Request{
		System: c.cfg.Project.Key(), ID: id,
		Named: c.cfg.Scope.IDs != nil, Force: c.cfg.Scope.Force,
		Agent: a.Agent, Environ: a.Environ, Job: job,
		Runner: c.cfg.Tools.Runner.Name(), Escalate: c.cfg.Builders.Escalate,
	}
	if session, agreed := c.cfg.Scope.Over[id]; agreed {
		req.Over = &session
	}
	return req
}

// asPlanned reports whether the item's own file agrees with the plan. A tracker that answers from
// memory may not know yet of a change that the kernel hasn't announced.
func (c claimer) asPlanned(tx tracker.Tx, p *plan.Plan, id string) bool {
	st := p.State(id)
	if st == nil || c.cfg.Scope.Task != nil {
		return true
	}
	planned := plan.Mark{Status: st.Status, Step: st.Step, Session: st.Session}
	if st.Reverted != nil { // the records decided what the plan was made from
		planned = *st.Reverted
	}
	it, err := tx.Item(id)
	return err != nil || st.HeldBack && plan.Classify(it.Status) == plan.Done ||
		it.Mark() == planned && it.Corrupt == st.Corrupt && it.WaitingFor == st.WaitingFor
}

// claim claims a slice, or the task, and the worktree for it. The commands are conf's.
func (c claimer) claim(
	ctx context.Context, tx tracker.Tx, conf *project.Project, req attempt.Request, place *placing,
) (*attempt.Record, error) {
	req.Test = conf.Config.Test.Command
	trees := c.cfg.Tools.Trees
	if c.cfg.Scope.Task == nil {
		terms, err := conf.Approvals().Terms(req.ID)
		if err != nil {
			return nil, err
		}
		if req.Terms = terms; trees == nil {
			req.Review = terms.Review
		}
	}
	if trees != nil {
		l, redone, err := c.lineage(ctx, req)
		if err != nil {
			return nil, err
		}
		req.Place.Redone = redone
		req.Place.Lineage, req.Job.Dir, req.Place.Setup = l, trees.Layout.Dir(l), conf.Config.Git.Setup
		if conf.Config.Sandbox != project.SandboxOff {
			req.Place.Sandbox, req.Place.Caches = conf.Config.Sandbox, conf.Config.Caches
		}
		place.away(&req, l)
	}
	return c.cfg.Project.Runs.Within(tx.Held()).Claim(tx, req, time.Now())
}

// lineage returns the lineage in which the work continues, or a new one. For a slice that was taken
// back, redone is the commit that has its earlier work.
func (c claimer) lineage(
	ctx context.Context, req attempt.Request,
) (l *worktree.Lineage, redone string, err error) {
	trees := c.cfg.Tools.Trees
	base, err := trees.Queue.Base(ctx)
	if err == nil && c.cfg.Tools.Lane != nil && req.Task == nil {
		redone, err = c.cfg.Tools.Lane.Reader.Redo(ctx, req.ID)
	}
	if err != nil {
		return nil, "", err
	}
	if redone != "" {
		base = redone
	}
	work, err := c.cfg.Project.Runs.WorkOf(req)
	if err != nil {
		return nil, "", err
	}
	l, err = trees.Lineages.Plan(ctx, req.System, work, base, false)
	return l, redone, err
}
