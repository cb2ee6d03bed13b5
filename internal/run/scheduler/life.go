// Package scheduler is the scheduler of a run: it decides what to launch, launches it, notices what
// ended, and continues until nothing is left to do. It owns the goroutines, the tickers and the
// signals of a run, and makes all decisions in one goroutine. It doesn't run agents (package
// attempt does, in processes of their own) and it doesn't print.
//
// A run may be killed at any instant: it keeps nothing that the next one can't read from the files.
//
// This file is the life of one slice. The table below says for each state who moves the slice on,
// by which functions, and what a kill leaves; after it comes, in order, what the scheduler itself
// does: ready, claim, start, notice, again. Five kinds of processes take part:
//
//	gl slice --watch (1)            gl attempt (2)              gl gate, then the agent (3)
//	┌─────────────────────┐  start  ┌─────────────────┐ release ┌─────────────────────┐
//	│ look, claim, launch │────────►│ worktree, agent │────────►│ claude, codex, …    │
//	│ beside that, a turn │ record  │ snapshots, log  │◄─stdout─│  └ gl state set (5) │
//	│ of the merge queue  │◄────────│ decide, settle  │─stdin──►│    gl hook …    (5) │
//	└───────┬─────────────┘ removed └─────────────────┘         └─────────────────────┘
//	        │ start
//	        ▼
//	gl gate, above the test command (4): ends what the tests leave running
//
// 1 is the scheduler of a run, 2 the wrapper of one attempt, 3 its agent, which was a gate until
// its process was on disk, 4 a test command, behind a gate too, and 5 gl as the agent calls it.
// They tell each other everything by files.
package scheduler

import (
	"context"
	"errors"
	"slices"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/tracker"
)

// A state is where a slice can be on its way from ready to merged.
type state struct {
	name  string   // what people call it
	phase string   // of the attempt's record; empty if there is no record, or it is no matter
	by    string   // the process that moves the slice on, and the lock that it needs
	in    []string // how: FILE:FUNCTION, in order, below internal/
	kill  string   // what a kill leaves, and which process puts it right
}

// life is every state, in order, then the ways that lead back or wait for a person. docs/design.md
// shows this table.
var life = [...]state{
	{
		name: "blocked, ready", by: "scheduler, project lock",
		in: []string{
			"core/plan/plan.go:New", "run/scheduler/life.go:candidates",
			"run/scheduler/life.go:launch",
			"run/scheduler/life.go:claimSome", "run/scheduler/claimer.go:claim",
			"run/attempt/claim.go:Claim",
		},
		kill: "nothing; between the two writes a record without a claim, which a settler removes",
	},
	{
		name: "claimed", phase: "claimed", by: "scheduler, which starts the wrapper",
		in: []string{
			"run/scheduler/life.go:start", "run/runner/process.go:Start",
			"run/runner/tmux.go:Start",
			"cli/attempt.go:runAttempt", "cli/attempt.go:claimed",
		},
		kill: "a claim whose launcher is dead: a settler restores the slice as it was before. " +
			"If the wrapper dies instead, its launcher does that, after 30 s at the latest",
	},
	{
		name: "preparing", phase: "preparing", by: "wrapper, lineage lock",
		in: []string{
			"run/wrapper/prepare.go:prepare", "workspace/site/site.go:Make",
			"workspace/worktree/make.go:Make", "run/wrapper/handoff.go:handOff",
			"run/wrapper/session.go:attend", "run/wrapper/claimed.go:begin",
		},
		kill: "a gate, which exits: no agent has run. A settler ends the setup command and " +
			"gives the claim back; " +
			"the worktree stays",
	},
	{
		name: "started", phase: "started", by: "wrapper",
		in: []string{
			"base/command/gate.go:Release", "run/wrapper/session.go:watch",
			"run/wrapper/keeper.go:take", "run/wrapper/session.go:exited",
		},
		kill: "an orphan whose identity is on disk: a settler ends it and all that it started, " +
			"and reads the log for its result",
	},
	{
		name: "started, agent gone", phase: "started", by: "wrapper or settler, project lock",
		in: []string{
			"run/attempt/keep.go:Keep", "run/wrapper/checkout.go:verify",
			"run/attempt/settle.go:Settle", "run/attempt/settle.go:decide",
			"run/attempt/settle.go:askGate",
		},
		kill: "as before: the settler takes the last snapshot and judges",
	},
	{
		name: "judged", phase: "ended", by: "wrapper or settler, project lock",
		in:   []string{"run/attempt/settle.go:apply", "run/attempt/writer.go:finish"},
		kill: "the verdict on disk, which any settler applies",
	},
	{
		name: "in the merge queue", phase: "landing",
		by: "merge queue, in a turn of the scheduler or the wrapper",
		in: []string{
			"run/attempt/landing.go:withdraw", "run/scheduler/queue.go:work",
			"cli/attempt.go:workLane",
			"run/lane/queue.go:Work", "run/lane/turn.go:workQueue", "run/lane/line.go:next",
			"run/lane/cars.go:work", "run/lane/batch.go:landGroup", "run/lane/land.go:land",
		},
		kill: "nothing is lost: no process has to be there. " +
			"A record that is removed comes back from its note (run/lane/queue.go:Restore)",
	},
	{
		name: "merging", phase: "landing", by: "merge queue, its lock",
		in:   []string{"run/lane/land.go:take", "run/lane/files.go:merge"},
		kill: "the next turn starts over; take recovers the worktree",
	},
	{
		name: "testing", phase: "landing", by: "merge queue, behind a gate",
		in: []string{
			"run/lane/land.go:verify", "run/lane/tests.go:verdict", "run/lane/tests.go:run",
			"run/testrun/run.go:Run",
		},
		kill: "tests whose process is in lane.json: the next turn ends them " +
			"(run/lane/tests.go:endTests). Verdicts are kept by tree",
	},
	{
		name: "passed", phase: "landing", by: "merge queue, project lock",
		in: []string{
			"run/lane/land.go:pass", "run/attempt/landing.go:Proceed", "run/lane/base.go:move",
			"run/lane/land.go:complete", "run/attempt/landing.go:EndLanding",
		},
		kill: "a record that names its commit: the next turn moves the ref or, if that is done, " +
			"completes (run/lane/land.go:landed)",
	},
	{
		name: "judged by the merge queue", phase: "ended", by: "merge queue, project lock",
		in: []string{
			"run/attempt/settle.go:apply", "run/attempt/writer.go:finish",
			"run/lane/cleanup.go:tidy",
		},
		kill: "the verdict on disk: the next turn applies it (run/lane/turn.go:settleEnded). " +
			"gl clean removes a worktree that is left",
	},
	{
		name: "landed, not merged yet", phase: "settled", by: "merge queue, its lock",
		in: []string{
			"run/lane/deliver.go:deliver", "run/lane/deliver.go:forward",
			"run/lane/pullrequest.go:propose",
		},
		kill: "lane.json has what isn't delivered; the next turn delivers it",
	},
	{
		name: "merged", phase: "settled", by: "–",
		in:   []string{"run/lane/deliver.go:delivered"},
		kill: "the next delivery sees it by the target branch",
	},
	{
		name: "red, conflict", phase: "settled", by: "scheduler: once more, in the same worktree",
		in: []string{
			"run/scheduler/life.go:noteClosed", "run/scheduler/life.go:again",
			"run/attempt/outcome.go:Relaunch", "run/attempt/continue.go:goOn",
		},
		kill: "the settled record says that it is due again: any run launches it",
	},
	{
		name: "advanced", phase: "settled",
		by:   "scheduler: an item's next step, once it is ready",
		in:   []string{"run/scheduler/life.go:candidates"},
		kill: "the item's own file has its step: any run launches the next one",
	},
	{
		name: "held", phase: "settled", by: "scheduler, once the hold ends",
		in: []string{
			"run/attempt/hold.go:put", "run/scheduler/wait.go:nextLook",
			"run/attempt/hold.go:end",
		},
		kill: "hold.json says until when nothing is launched",
	},
	{
		name: "waiting, failed, stalled, hung, crashed, interrupted, empty", phase: "settled",
		by: "a person: gl answer, accept, reject, retry",
		in: []string{
			"cli/ops/answer.go:Answer", "cli/ops/accept.go:Accept", "cli/ops/reject.go:Reject",
			"cli/ops/retry.go:Retry",
		},
		kill: "the slice's file changes first, then the mark on the record: repeat the command",
	},
}

// Ready: what may be launched now.

// mayClaim reports whether this run may launch anything just now, whatever the plan has.
func (s *scheduler) mayClaim() bool {
	return s.leadership.ours && !s.stopping && !s.turns.roundOver() &&
		s.turns.pause(s.cfg.Pace.Stagger) <= 0
}

// planAllows reports whether there is a slice to launch, an agent for it, and a slot.
func (s *scheduler) planAllows() bool {
	if !s.picture.trusted() || s.free() <= 0 {
		return false
	}
	allotment := s.allot()
	hasAgent := func(id string) bool { return allotment.Agent(id) >= 0 }
	return slices.ContainsFunc(s.candidates(), hasAgent)
}

// free returns how many more attempts may be launched.
func (s *scheduler) free() int {
	return s.slots.free(s.picture.plan, s.supervisor.roster.withSlots())
}

// allot decides which agent builds what.
func (s *scheduler) allot() *plan.Allotment {
	return s.permissions.allot(s.picture.plan, s.picture.forced)
}

// unpermitted reports whether nothing that could be launched may be.
func (s *scheduler) unpermitted() bool {
	return s.permissions.forbidden() && (s.permissions.err != nil || !s.planAllows())
}

// candidates returns the slices that may be launched, in order, whether or not there are slots.
func (s *scheduler) candidates() []string {
	scope, p := &s.cfg.Scope, s.picture.plan
	if scope.Task != nil {
		if id := attempt.TaskID(scope.Task.Name); !s.turns.tried[id] && !s.turns.excluded[id] {
			return []string{id}
		}
		return nil
	}
	roster := &s.supervisor.roster
	barred := func(id string) bool {
		return s.turns.excluded[id] || s.refused.waits(id, time.Now()) || roster.isOpen(id) ||
			!scope.Force && roster.needsOpen(p, id)
	}
	if scope.IDs == nil {
		return slices.DeleteFunc(slices.Clone(p.Lists.Ready), func(id string) bool {
			return barred(id) || s.turns.secondRound() && !s.turns.dueAgain[id]
		})
	}
	var ids []string
	for _, id := range append(slices.Clone(p.Lists.Ready), scope.IDs...) {
		if s.turns.tried[id] || barred(id) || slices.Contains(ids, id) {
			continue
		}
		if attempt.Admit(p, s.claimer.request(p, id, Agent{}, 0), time.Now()) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// findNamed finds the agents that candidates name, and reports whether there is a new one. A slice
// that names an agent that can't be launched is left alone.
func (s *scheduler) findNamed(r *Report) (found bool) {
	if s.cfg.Builders.Find == nil || s.cfg.Scope.Task != nil || s.picture.plan == nil {
		return false
	}
	for _, id := range s.candidates() {
		st := s.picture.plan.State(id)
		if st == nil || st.Agent == "" {
			continue
		}
		added, err := s.permissions.find(st.Agent)
		if err != nil {
			s.turns.exclude(id)
			r.warn("%s isn't built: it names an agent that can't be launched: %v", id, err)
		}
		found = found || added
	}
	return found
}

// Claim: under the project's lock, by a plan made under the same lock.

// launch claims what may be launched and starts the wrappers of what it has claimed.
func (s *scheduler) launch(ctx context.Context, r *Report) error {
	s.cfg.Tools.Runner.Expect()
	if s.cfg.Scope.Task != nil {
		if err := s.permissions.checkTask(ctx); err != nil {
			return err
		}
	} else if ok, err := s.permissions.check(ctx, r); !ok || err != nil {
		return err
	}
	var claimed []*attempt.Record
	err := s.cfg.Project.Tracker.Do(ctx, func(tx tracker.Tx) (err error) {
		claimed, err = s.claim(ctx, tx, r)
		return err
	})
	for _, rec := range claimed {
		s.start(ctx, rec, r)
	}
	return err
}

// claim makes the plan once more and claims what it has ready.
func (s *scheduler) claim(
	ctx context.Context, tx tracker.Tx, r *Report,
) ([]*attempt.Record, error) {
	if s.heedStop() {
		return nil, nil
	}
	snapshot, err := s.cfg.Project.Snapshot(tx.Load)
	if err != nil {
		return nil, unreadable{err}
	}
	p := plan.New(snapshot, time.Now(), s.options())
	s.picture.plan = p
	if !s.planAllows() {
		return nil, nil
	}
	if !s.picture.forced {
		if err := holdForBudget(s.cfg.Project, p, s.chronicle.began, time.Now()); err != nil {
			return nil, err
		}
	}
	if !s.planAllows() {
		return nil, nil
	}
	candidates := s.candidates()
	if r.Ready == 0 {
		r.Ready = len(candidates)
	}
	return s.claimSome(ctx, tx, r, candidates)
}

// claimSome claims as many of the candidates as there are slots for, one if launches are staggered.
func (s *scheduler) claimSome(
	ctx context.Context, tx tracker.Tx, r *Report, candidates []string,
) (claimed []*attempt.Record, err error) {
	p, n, allotment, agents := s.picture.plan, s.free(), s.allot(), s.permissions.permitted()
	if s.cfg.Pace.Stagger > 0 {
		n = min(n, 1)
	}
	place := s.placing(ctx)
	for _, id := range candidates {
		if len(claimed) >= n {
			break
		}
		i := allotment.Agent(id)
		if i < 0 {
			continue
		}
		if !s.claimer.asPlanned(tx, p, id) {
			s.cfg.Output.Trace("%s isn't as it was planned: looking again", id)
			continue
		}
		req := s.claimer.request(p, id, agents[i], s.turns.first)
		var room bool
		if req.Remote, room = place.choose(ctx, &req, labelsOf(p.State(id))); !room {
			s.cfg.Output.Trace("no room for %s on this machine or a worker %v", id, place.lacks)
			continue
		}
		rec, err := s.claimer.claim(ctx, tx, s.permissions.conf, req, place)
		if err != nil && s.cfg.Scope.Task != nil {
			return nil, err
		}
		if err != nil && s.removed.again(id, err) {
			s.cfg.Output.Trace("%s can't be claimed, trying again: %v", id, err)
			continue
		}
		if err != nil {
			s.refuse(id, err, r)
			continue
		}
		delete(s.refused.slices, id)
		if st := p.State(id); st != nil && st.Stale {
			r.warn("%s: taken over", st.ClaimText(time.Now()))
		}
		place.took(req.Remote)
		claimed = append(claimed, rec)
		allotment.Launched(i)
	}
	return claimed, nil
}

// refuse takes in that a slice can't be claimed. If its file can't be written, that is no reason to
// stop the others.
func (s *scheduler) refuse(id string, err error, r *Report) {
	first := s.refused.slices[id].times == 0
	switch again := s.refused.again(id, time.Now()); {
	case !again:
		s.turns.exclude(id)
		r.warn("%s can't be claimed: %v", id, err)
	case first:
		r.warn("%s can't be claimed, trying again: %v", id, err)
	}
}

// Start: without the lock. The wrapper needs no other process from here on.

// start starts the wrapper of a claimed attempt.
func (s *scheduler) start(ctx context.Context, rec *attempt.Record, r *Report) {
	s.supervisor.claimed(rec)
	s.turns.took(rec)
	if err := s.cfg.Tools.Runner.Start(rec); err != nil {
		s.supervisor.failedStart(ctx, rec, r, err.Error())
		return
	}
	if s.cfg.Tools.Runner.Exits() != nil && rec.Life.Remote == nil {
		s.supervisor.starts.wrappers[rec.ID.Token] = true
	}
	s.cfg.Output.Trace("launched %s, attempt %d: %q", rec.ID.Slice, rec.ID.N, rec.Job.Argv)
	r.Launched = append(r.Launched, rec)
}

// claimed takes in an attempt that the run has claimed itself.
func (s *supervisor) claimed(rec *attempt.Record) {
	s.roster.open[rec.ID.Name()] = rec
	s.starts.claimedAt[rec.ID.Token] = time.Now()
	s.stateFile.dirty = true
}

// Notice: the wrapper settles its attempt, and the file events wake the scheduler.

// noteOpen takes in an open attempt: one of this run's, one to adopt, or one whose wrapper is dead.
func (s *supervisor) noteOpen(ctx context.Context, rec *attempt.Record, r *Report) {
	if s.recoveries.of(rec).stuck {
		return
	}
	if !s.project.Has(rec) {
		s.roster.elsewhere = append(s.roster.elsewhere, rec)
		if s.leadership.ours && rec.Life.Dead() { // maybe no other process is there to settle it
			s.recover(rec, r)
		}
		return
	}
	name := rec.ID.Name()
	known := s.roster.open[name] != nil || slices.Contains(s.mode.Adopt, name)
	if known || s.adopts(rec) {
		s.roster.open[name] = rec
		if !known && s.leadership.ours && !rec.ID.IsTask() {
			r.Adopted = append(r.Adopted, rec)
		}
	}
	switch {
	case !s.leadership.ours:
	case rec.Life.Phase == plan.Claimed && rec.Life.Launcher == proc.Self():
		if s.starts.late(rec) {
			s.failedStart(ctx, rec, r, "its wrapper hasn't started")
		}
	case rec.Life.Dead():
		s.recover(rec, r)
	}
}

// noteClosed takes in that an attempt of this run isn't open any more: it was settled, or given
// back.
func (s *supervisor) noteClosed(ctx context.Context, name string, r *Report) {
	was := s.roster.open[name]
	rec, err := s.project.Runs.Get(was.ID.Slice, was.ID.N)
	var bad *attempt.BadRecord
	switch {
	case errors.As(err, &bad) && bad.Settled:
		s.noteUnknownEnd(was, bad, r)
		return
	case err != nil || rec.Life.Phase != plan.Settled:
		s.noteLost(ctx, was, r)
		return
	}
	s.drop(was)
	r.Ended = append(r.Ended, rec)
	s.ended = append(s.ended, rec)
	s.again(rec)
}

// Again: how the attempt ended decides whether this run may launch the slice once more.

// again gives the slice of a settled attempt its next turn, or none.
func (s *supervisor) again(rec *attempt.Record) {
	switch rec.Relaunch() {
	case outcome.Never:
		s.turns.exclude(rec.ID.Slice)
	case outcome.Again:
		s.turns.again(rec.ID.Slice)
	}
}
