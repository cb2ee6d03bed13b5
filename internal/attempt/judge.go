package attempt

import (
	"fmt"
	"strings"

	"greenlight/internal/agent"
	"greenlight/internal/plan"
	"greenlight/internal/tracker"
	"greenlight/internal/words"
)

// A Verdict is what an attempt came to and what that does to its slice.
type Verdict struct {
	Outcome plan.Outcome
	Detail  string
	Effect  tracker.Effect
	Limit   *agent.Limit // non-nil: everybody holds
}

// Judge is the outcome table. The record's evidence may be nil: nobody saw the end. Judging twice, the second time
// after the first verdict's change was written, gives the same state again, so that a settler may be killed anywhere.
//
// The first matching row wins. An agent that completed its slice has done so however it ended. A result event beats
// the exit status that our own later TERM caused.
func Judge(r *Record, it plan.Item) Verdict {
	v := judge(r, it)
	if r.IsTask() {
		v = judgeTask(r, v)
	}
	if e := r.Evidence; e != nil {
		v.Limit = e.Limit
	}
	return v
}

func judge(r *Record, it plan.Item) Verdict {
	e := r.Evidence
	if plan.Classify(it.Status) == plan.Done {
		return Verdict{Outcome: plan.Complete, Detail: it.TestCount()}
	}
	if e == nil {
		e = &Evidence{}
	}
	switch {
	case e.Missing != "":
		return failed(e.Missing + " is not on PATH")
	case e.Exec != "":
		return failed("can't start the agent: " + e.Exec)
	case r.Ending == EndCommand:
		return failed(r.EndingDetail)
	case e.turnLimit() != "":
		return Verdict{Outcome: plan.StalledOut, Detail: e.turnLimit()}
	case e.Limit != nil:
		return Verdict{Outcome: plan.HeldOut, Detail: e.Limit.Kind, Effect: tracker.Restore}
	case e.Result != nil:
		return ended(r, e, it)
	case r.Ending == EndSilence:
		v := failed(r.EndingDetail)
		v.Outcome = plan.Hung
		return v
	case r.Ending == EndStop:
		return interrupted(r, it)
	case r.Evidence == nil:
		return Verdict{Outcome: plan.Crashed, Detail: "its gl process vanished"}
	}
	return ended(r, e, it)
}

// ended judges an agent that ended by itself, or that we ended after its result.
func ended(r *Record, e *Evidence, it plan.Item) Verdict {
	if bad := e.failure(r.Ending != ""); bad != "" {
		return failed(bad)
	}
	if plan.Classify(it.Status) == plan.Failed {
		return failed("its agent gave up and marked it failed")
	}
	if it.WaitingFor != "" {
		return Verdict{Outcome: plan.WaitingOut, Detail: "waiting for " + it.WaitingFor}
	}
	if it.Staged && it.Step != r.Before.Step {
		return Verdict{Outcome: plan.Advanced, Detail: r.Before.Step + " done, " + it.Step + " is next"}
	}
	return Verdict{Outcome: plan.StalledOut, Detail: e.unfinished()}
}

func failed(detail string) Verdict {
	return Verdict{Outcome: plan.FailedOut, Detail: detail, Effect: tracker.Fail}
}

// interrupted goes back to the start only where no work was begun: half-written tests are somebody's to look at.
func interrupted(r *Record, it plan.Item) Verdict {
	v := Verdict{Outcome: plan.Interrupted, Detail: "interrupted", Effect: tracker.Restore}
	if plan.IsStep(it.Status) || plan.StepReached(it.Step) && it.Step != r.Before.Step {
		v.Effect = tracker.Release
		v.Detail = "interrupted in " + it.Step
	}
	return v
}

func (e *Evidence) turnLimit() string {
	if e.Result == nil {
		return ""
	}
	switch {
	case e.Result.Subtype == "error_max_turns" || e.Result.TerminalReason == "max_turns":
		return "turn limit after " + words.Count(turnsAllowed(e.Result), "turn")
	case e.Result.Subtype == "error_max_budget_usd":
		return "budget limit"
	}
	return ""
}

// turnsAllowed is how many turns the agent had. Claude counts the one it was refused too; its error names the limit.
func turnsAllowed(r *agent.Result) int {
	n := r.Turns
	for _, e := range r.Errors {
		if _, err := fmt.Sscanf(e, "Reached maximum number of turns (%d)", &n); err == nil {
			break
		}
	}
	return n
}

// failure says how the agent failed; "" when it ended well. When we ended it, its exit status is our doing.
func (e *Evidence) failure(ours bool) string {
	switch {
	case e.Result != nil && e.Result.IsError:
		return e.withExit(sentence(firstOf(e.Result.Errors, e.Result.Text, e.Result.Subtype)))
	case ours:
		return ""
	case e.Signal == "killed":
		return "killed by signal 9, maybe for lack of memory"
	case e.Signal != "":
		return "killed by signal: " + e.Signal
	case e.ExitCode != nil && *e.ExitCode != 0:
		return e.withExit(e.Stderr)
	}
	return ""
}

func (e *Evidence) withExit(words string) string {
	s := ""
	if e.ExitCode != nil && *e.ExitCode != 0 {
		s = fmt.Sprintf("exit %d", *e.ExitCode)
	}
	switch {
	case words == "":
		return s
	case s == "":
		return words
	}
	return s + ": " + words
}

func (e *Evidence) unfinished() string {
	switch {
	case e.Result != nil && e.Result.Turns == 0:
		return strings.TrimSuffix("ended without a single turn: "+sentence(e.Result.Text), ": ") // the client's complaint
	case e.Denials > 0:
		return fmt.Sprintf("ended without completing, %s denied", words.Count(e.Denials, "tool call"))
	}
	return "ended without completing"
}

// sentence is what an agent said as a part of one of our lines.
func sentence(s string) string { return strings.TrimRight(strings.Join(strings.Fields(s), " "), ".") }

func firstOf(list []string, more ...string) string {
	for _, s := range append(append([]string(nil), list...), more...) {
		if s != "" {
			return s
		}
	}
	return ""
}
