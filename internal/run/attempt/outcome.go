package attempt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/words"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

// A rule gives an attempt its outcome. The detail says why in a few words. It is all that gl status
// and gl why show, so it begins with the outcome's Words where it wouldn't be understood without
// them; endedText doesn't repeat them. An empty detail stands for the Words.
type rule struct {
	outcome outcome.Outcome
	match   func(r *Record, it plan.Item) (detail string, ok bool)
}

// rules judge an attempt: the first one that matches decides. A complete slice is complete, however
// its agent ended, unless it asks something. A result event beats the exit status that our own
// later TERM caused.
var rules = [...]rule{
	{outcome.Waiting, asksBesides},
	{outcome.Red, testsFail},
	{outcome.Waiting, awaitsReview},
	{outcome.Done, isComplete},
	{outcome.Interrupted, gitKilled},
	{outcome.Failed, neverRan},
	{outcome.Stalled, outOfTurns},
	{outcome.Stalled, outOfBudget},
	{outcome.Held, metLimit},
	{outcome.Hung, fellSilent},
	{outcome.Interrupted, wasStopped},
	{outcome.Crashed, vanished},
	{outcome.Failed, endedBadly},
	{outcome.Failed, gaveUp},
	{outcome.Waiting, needsPerson},
	{outcome.Advanced, stepDone},
	{outcome.Failed, verdictNo},
	{outcome.Stalled, lacksResults},
	{outcome.Done, taskDone},
	{outcome.Stalled, leftUnfinished},
}

// asksBesides is for a slice that was called complete and asks something in the same breath:
// answered, it may not be complete. gl state set refuses that; an editor doesn't.
func asksBesides(_ *Record, it plan.Item) (string, bool) {
	return it.WaitingFor, it.WaitingFor != "" && plan.Classify(it.Status) == plan.Done
}

// testsFail is for slices that are built in the checkout. In worktrees the lane says so.
func testsFail(r *Record, it plan.Item) (string, bool) {
	if r.Judged.Verdict == nil || r.Judged.Verdict.Green() || r.Conditions.Test == nil ||
		plan.Classify(it.Status) != plan.Done {
		return "", false
	}
	return "tests: " + r.Judged.Verdict.How(plan.Age(r.Judged.Verdict.Duration())), true
}

// awaitsReview is for slices that are built in the checkout. In worktrees the lane asks.
func awaitsReview(r *Record, it plan.Item) (string, bool) {
	if r.Conditions.Review == "" || plan.Classify(it.Status) != plan.Done {
		return "", false
	}
	return ReviewText(r.Judged.Verdict, r.Conditions.Review), true
}

func isComplete(r *Record, it plan.Item) (detail string, ok bool) {
	switch detail = it.TestCount(); {
	case r.Judged.Verdict.Green():
		detail = r.Judged.Verdict.Count()
	case r.Conditions.Test != nil:
		detail = strings.TrimPrefix(detail+", unverified: "+
			cmp.Or(r.Judged.Unverified, "gl never saw its tests end"), ", ")
	}
	return detail, plan.Classify(it.Status) == plan.Done
}

func gitKilled(r *Record, _ plan.Item) (string, bool) {
	return "making its worktree: " + r.Judged.evidence().Worktree, r.Judged.evidence().Killed
}

func neverRan(r *Record, _ plan.Item) (string, bool) {
	switch e := r.Judged.evidence(); {
	case e.NotStarted != "":
		return e.NotStarted, true
	case e.Worktree != "":
		return e.Worktree, true
	case e.Missing != "":
		return e.Missing + " is not on PATH", true
	case e.Exec != "":
		return "can't start the agent: " + e.Exec, true
	}
	return r.Life.EndingDetail, r.Life.Ending == EndCommand
}

func outOfTurns(r *Record, _ plan.Item) (string, bool) {
	res := r.Judged.evidence().Result
	if res == nil || res.Subtype != "error_max_turns" && res.TerminalReason != "max_turns" {
		return "", false
	}
	return "turn limit after " + words.Count(turnsAllowed(res), "turn"), true
}

// outOfBudget is about the limit of one run (claude --max-budget-usd). An empty account is a limit:
// agent.Quota.
func outOfBudget(r *Record, _ plan.Item) (string, bool) {
	res := r.Judged.evidence().Result
	return "budget limit", res != nil && res.Subtype == "error_max_budget_usd"
}

// metLimit takes every kind of agent.Limit.
func metLimit(r *Record, _ plan.Item) (string, bool) {
	if e := r.Judged.evidence(); e.Limit != nil && e.Refuted == "" {
		return e.Limit.Kind, true
	}
	return "", false
}

func fellSilent(r *Record, _ plan.Item) (string, bool) {
	return r.Life.EndingDetail, r.Life.Ending == EndSilence && r.Judged.evidence().Result == nil
}

func wasStopped(r *Record, it plan.Item) (string, bool) {
	detail := "interrupted"
	if r.Life.reachedStep(it) {
		detail += " in " + it.Step
	}
	return detail, r.Life.Ending == EndStop && r.Judged.evidence().Result == nil
}

func vanished(r *Record, _ plan.Item) (string, bool) {
	detail := "its gl process vanished"
	switch {
	case r.Life.Ending == EndAbandon:
		detail = r.Life.EndingDetail
	case r.Life.Remote != nil:
		detail = "gl worker vanished on " + r.Life.Remote.Label()
	}
	return detail, r.Judged.Evidence == nil
}

// endedBadly disregards the exit status of an agent that we ended: it is our doing.
func endedBadly(r *Record, _ plan.Item) (string, bool) {
	bad := r.Judged.evidence().failure(r.Life.Ending != "")
	return bad, bad != ""
}

func gaveUp(_ *Record, it plan.Item) (string, bool) {
	return "its agent gave up and marked it failed", plan.Classify(it.Status) == plan.Failed
}

func needsPerson(_ *Record, it plan.Item) (string, bool) {
	return plan.WaitText(it.WaitingFor), it.WaitingFor != ""
}

func stepDone(r *Record, it plan.Item) (string, bool) {
	return r.Life.Before.Step + " done, " + it.Step + " is next", it.Staged &&
		it.Step != r.Life.Before.Step
}

// verdictNo: the agent has done its work, and what came of it is no.
func verdictNo(r *Record, _ plan.Item) (string, bool) {
	return "verdict no: " + r.Task.Refused, r.Task.Refused != "" &&
		r.Judged.evidence().endedWell(r.Job.Stream)
}

// lacksResults: an agent that ended well hasn't left what its task is for.
func lacksResults(r *Record, _ plan.Item) (string, bool) {
	return "ended without " + strings.Join(r.Task.Lacks, ", "), len(r.Task.Lacks) > 0 &&
		r.Judged.evidence().endedWell(r.Job.Stream)
}

// taskDone: no file could say that a task is complete, so an agent that ended well, and has left
// what was wanted, has completed it.
func taskDone(r *Record, _ plan.Item) (detail string, ok bool) {
	if n := r.Judged.evidence().Denials; n > 0 {
		detail = words.Count(n, "tool call") + " denied"
	}
	return detail, r.ID.IsTask() && r.Judged.evidence().endedWell(r.Job.Stream)
}

// leftUnfinished is what remains: the agent ended by itself, and nothing says that the slice is
// complete.
func leftUnfinished(r *Record, _ plan.Item) (string, bool) {
	switch e := r.Judged.evidence(); {
	case e.Result != nil && e.Result.Turns == 0: // with the client's complaint
		return withReason("ended without a single turn", sentence(e.Result.Text)), true
	case e.Denials > 0:
		return fmt.Sprintf("ended without completing, %s denied",
			words.Count(e.Denials, "tool call")), true
	case e.ReadOnly != "":
		return "ended without completing, met a read-only file system: " + e.ReadOnly, true
	}
	return "ended without completing", true
}

// PlanOutcome is what the plan needs to know about how the attempt ended.
func (r *Record) PlanOutcome() plan.Outcome {
	o := r.Judged.Outcome.Traits().Plan()
	o.Continue = r.goesOn()
	return o
}

// needsPerson reports whether only a person can move the item on.
func (r *Record) needsPerson() bool {
	t := r.Judged.Outcome.Traits()
	return t.Asks || t.Claimed && !r.goesOn()
}

// goesOn reports whether the same agent continues.
func (r *Record) goesOn() bool { return r.GoesOnAfter(r.Judged.Outcome) }

// GoesOnAfter reports whether the same agent continues after that outcome.
func (r *Record) GoesOnAfter(o outcome.Outcome) bool {
	return o.Traits().Continue && !r.Accepted() && (!r.Talk.Mends() ||
		r.Talk.Continues.Mends != o && !slices.Contains(r.Talk.Continues.Mended, o))
}

// Mends reports whether the agent was started to fix what the merge queue found.
func (d *Dialog) Mends() bool { return d.Continues != nil && d.Continues.Mends != "" }

// Relaunch reports whether the run that sees the attempt end launches the item again.
func (r *Record) Relaunch() outcome.Relaunch {
	if r.goesOn() {
		return outcome.Again
	}
	return r.Judged.Outcome.Traits().Relaunch
}

// mended is what the lineage's next attempt is there to put right, "" for nothing but the slice
// itself. An attempt that doesn't count leaves it to the next one.
func (r *Record) mended() outcome.Outcome {
	switch {
	case r.Since.Retried:
		return ""
	case r.goesOn():
		return r.Judged.Outcome
	case r.Judged.Outcome.Traits().Free && r.Talk.Continues != nil:
		return r.Talk.Continues.Mends
	}
	return ""
}
