package attempt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// A Verdict is what an attempt came to and what that does to its slice.
type Verdict struct {
	Outcome  outcome.Outcome
	Detail   string
	Effect   tracker.Effect
	Verified plan.Verified
	Limit    *agent.Limit // non-nil: everybody holds
}

// Judge applies the rules. The record's evidence may be nil: the end was unseen. Judging twice,
// the second time after the first verdict's change was written, gives the same state again, so
// that a settler may be killed anywhere.
func Judge(r *Record, it plan.Item) (Verdict, error) { return judge(rules[:], r, it) }

func judge(rules []rule, r *Record, it plan.Item) (Verdict, error) {
	for _, rule := range rules {
		if detail, ok := rule.match(r, it); ok {
			return verdict(rule.outcome, detail, r, it)
		}
	}
	return Verdict{}, fmt.Errorf("judge %s: no rule matches", r.ID.Name())
}

// verdict refuses an outcome that isn't in the table: a record of it could be written, and
// never be read again.
func verdict(o outcome.Outcome, detail string, r *Record, it plan.Item) (Verdict, error) {
	if !o.Known() {
		return Verdict{}, fmt.Errorf("judge %s: outcome %q isn't in the table", r.ID.Name(), o)
	}
	t := o.Traits()
	v := Verdict{Outcome: o, Detail: detail, Effect: t.Effect}
	if o == outcome.Done && !r.ID.IsTask() {
		v.Verified = plan.Unverified
		if r.Judged.Verdict.Green() {
			v.Verified = plan.Green
		}
	}
	if detail == "" && !t.Success {
		v.Detail = t.Shown.Words
	}
	if t.KeepsWork && r.Life.reachedStep(it) {
		v.Effect = tracker.Release
	}
	if o == outcome.Waiting && plan.Classify(it.Status) == plan.Done {
		// called complete, and to be approved
		v.Effect = tracker.Ask
	}
	if t.Holds {
		v.Limit = r.Judged.evidence().Limit
	}
	return v, nil
}

// evidence returns what was seen of the agent's end, empty if nothing was.
func (j *Judgement) evidence() *Evidence {
	if j.Evidence == nil {
		return &Evidence{}
	}
	return j.Evidence
}

// reachedStep reports whether the attempt began a step of its own: one that the slice had
// reached before isn't its work.
func (l *Life) reachedStep(it plan.Item) bool {
	return plan.IsStep(it.Status) || plan.StepReached(it.Step) && it.Step != l.Before.Step
}

// turnsAllowed is how many turns the agent had. Claude counts the one it was refused too; its
// error names the limit.
func turnsAllowed(r *agent.Result) int {
	n := r.Turns
	for _, e := range r.Errors {
		if _, err := fmt.Sscanf(e, "Reached maximum number of turns (%d)", &n); err == nil {
			break
		}
	}
	return n
}

// failure says how the agent failed; "" when it ended well. When we ended it, its exit status
// is our doing.
func (e *Evidence) failure(ours bool) string {
	switch {
	case e.Result != nil && e.Result.IsError:
		return e.withExit(sentence(cmp.Or(slices.Concat(e.Result.Errors,
			[]string{e.Result.Text, e.Result.Subtype})...)))
	case ours:
		return ""
	case e.Signal == "killed":
		return "killed by signal 9" + lackOfMemory(e.OutOfMemory)
	case e.Signal != "":
		return "killed by signal: " + e.Signal
	case e.ExitCode != nil && *e.ExitCode != 0:
		return e.withExit(e.Stderr)
	}
	return ""
}

// lackOfMemory is the probable cause of a kill.
func lackOfMemory(probable bool) string {
	if probable {
		return ", probably for lack of memory"
	}
	return ""
}

// withExit puts the exit code before the reason; without one the reason is enough.
func (e *Evidence) withExit(reason string) string {
	if e.ExitCode == nil || *e.ExitCode == 0 {
		return reason
	}
	return withReason(fmt.Sprintf("exit %d", *e.ExitCode), reason)
}

// endedWell reports whether the agent of a task came to an end of its own: a result after at
// least one turn. One that only writes text for people says so by its exit code.
func (e *Evidence) endedWell(stream string) bool {
	switch {
	case e.Result != nil:
		return e.Result.Turns > 0
	case stream != agent.StreamText && (stream != agent.StreamAuto || e.Version != ""):
		return false
	}
	return e.ExitCode != nil && *e.ExitCode == 0
}

func withReason(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// sentence is what an agent said as a part of one of our lines.
func sentence(s string) string { return strings.TrimRight(textline.Collapse(s), ".") }
