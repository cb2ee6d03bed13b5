// Package attempttext puts into words how an attempt is or has ended, what gl found out about its
// work, and what it cost. Callers sanitize the texts for a terminal or a page.
package attempttext

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/words"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/worktree"
)

// Ended returns the line of a settled attempt: "S-4 complete (42 tests)", "S-4 failed (exit 7,
// gl logs S-4)".
func Ended(rec *attempt.Record, flags string) string {
	t := rec.Judged.Outcome.Traits()
	if t.IsQuestion(rec.Judged.Detail) {
		return rec.ID.Label() + " " + rec.Judged.Detail
	}
	text := t.Shown.Said()
	var more []string
	if rest, ok := strings.CutPrefix(rec.Judged.Detail, t.Shown.Words); ok { // it says where, too
		text += rest
	} else if rec.Judged.Detail != "" {
		more = append(more, rec.Judged.Detail)
	}
	logs := ""
	if t.Shown.Logs {
		logs = "gl logs " + rec.ID.Label() + flags
	}
	text += words.InBrackets(strings.Join(more, ", "), logs)
	return rec.ID.Label() + " " + text
}

// Work returns lines about an attempt's work: problems, and where it is once the attempt is over.
func Work(r *attempt.Record) []string {
	list := append(Trouble(r), inTrain(r)...)
	t := r.Judged.Outcome.Traits()
	over := r.Life.Phase == plan.Settled && t.LeavesWork() && !(r.Landing != nil && t.Success)
	switch {
	case r.Place.Branch == "" || !over || r.Place.Left == attempt.LeftNothing:
	case r.Place.Left == attempt.LeftFiles && ToAccept(r) == "":
		if r.Place.Unsaved == "" { // which says where it is
			list = append(list, "its work isn't committed: it is in its worktree "+r.Job.Dir)
		}
	default:
		text := "its work is on the branch " + worktree.Short(r.Place.Branch)
		if way := ToAccept(r); way != "" {
			text += "; " + way
		}
		list = append(list, text)
	}
	return list
}

// inTrain tells where a queued attempt is among those that are tested side by side, and since when.
func inTrain(r *attempt.Record) []string {
	if r.Life.Phase != plan.Queued || r.Landing == nil || r.Landing.Train == nil {
		return nil
	}
	since := r.Landing.Train.Since.Local().Format("15:04")
	if n := r.Landing.Train.Position; n > 0 {
		return []string{fmt.Sprintf("place %d of the merges that are tested side by side, since %s", n, since)}
	}
	return []string{"those behind it have been tested without it since " + since}
}

// ToAccept tells how to turn the work of a task that awaits approval into a slice to accept,
// because a task can't be accepted. It returns "" for any other attempt.
func ToAccept(r *attempt.Record) string {
	if !r.ID.IsTask() || !r.Judged.Outcome.Traits().Asks || r.Judged.Gate == nil || r.Place.Branch == "" {
		return ""
	}
	return "git branch NAME " + worktree.Short(r.Place.Branch) + " and gl land NAME make it a slice to accept"
}

// Trouble returns lines about work that couldn't be saved, whose worktree stays, and about
// changes outside of the worktree meanwhile.
func Trouble(r *attempt.Record) []string {
	var list []string
	if r.Place.Unsaved != "" {
		list = append(list, fmt.Sprintf("not all of its work could be saved, so its worktree %s stays: %s", r.Job.Dir, r.Place.Unsaved))
	}
	for _, s := range r.Place.Strayed {
		list = append(list, "while it ran: "+s)
	}
	return list
}

// Proof returns lines about the tests that gl ran on the attempt's work, and what they don't
// prove. s says what the target lacks.
func Proof(r *attempt.Record, s lane.Status) []string {
	list := AtGate(r.Judged.Gate)
	if text := Verdict(r); text != "" {
		list = append(list, text)
	}
	list = append(list, Flaky(r)...)
	if text := landedText(r, s); text != "" {
		list = append(list, text)
	}
	// Verdict has the tests that passed
	said := func(a gate.Answer) bool { return a.Question != gate.Run || a.Says != gate.Yes }
	text := checked(r.Judged.Gate, said)
	if r.Landing != nil {
		for _, c := range r.Landing.Caveats {
			if head, _, _ := strings.Cut(c, ", so "); !strings.Contains(text, head) {
				list = append(list, c)
			}
		}
	}
	if text != "" {
		list = append(list, text)
	}
	return list
}

// AtGate returns a line for each kind of problem at the gate, approved ones included.
func AtGate(ruling *gate.Ruling) []string {
	var list []string
	if ruling == nil {
		return nil
	}
	for _, a := range ruling.Answers {
		for _, k := range gate.Kinds() {
			var names []string
			for _, i := range a.Items {
				if i.Kind == k && k != gate.Failing {
					names = append(names, i.Name)
				}
			}
			if len(names) == 0 {
				continue
			}
			text := k.Noun() + ": " + strings.Join(names, ", ")
			if a.Says == gate.Approved {
				text = k.Noun() + ", approved: " + strings.Join(names, ", ")
			}
			list = append(list, text)
		}
	}
	return list
}

// Gate returns what gl checked before the merge, on one line; "" for none.
func Gate(ruling *gate.Ruling) string {
	return checked(ruling, func(gate.Answer) bool { return true })
}

// checked is Gate with the answers that are wanted.
func checked(ruling *gate.Ruling, wanted func(gate.Answer) bool) string {
	if ruling == nil {
		return ""
	}
	var list []string
	nothing := true
	for _, a := range ruling.Answers {
		none := a.Says == gate.Unknown || a.Says == gate.Skipped
		nothing = nothing && (none || a.Question == gate.Review)
		if wanted(a) {
			list = append(list, answerText(a))
		}
	}
	if nothing { // built in the checkout, without tests
		return "checked: nothing (" + ruling.Answer(gate.Run).Evidence + ")"
	}
	return "checked: " + strings.Join(list, "; ")
}

// answerText returns one of the gate's answers in words: "the merge has no conflict marks". AtGate
// has the names of the defects.
func answerText(a gate.Answer) string {
	if a.Says == gate.Yes {
		switch a.Question {
		case gate.Tree:
			return "it is what its agent left (" + a.Evidence + ")"
		case gate.Merge:
			return "the merge has " + a.Evidence
		case gate.Run:
			return "tested with " + a.Evidence
		case gate.Review:
			return "review: " + a.Evidence
		case gate.Tests:
		}
		return a.Evidence
	}
	subject := map[gate.Question]string{gate.Tree: "what its agent left", gate.Merge: "the merge",
		gate.Tests: "changes of tests", gate.Run: "the tests' result", gate.Review: "review"}[a.Question]
	said := map[gate.Says]string{gate.Approved: "approved by a person", gate.Unknown: "unknown",
		gate.Skipped: "not checked", gate.Pending: "not checked yet",
		gate.Person: "for a person to decide", gate.No: "refused"}[a.Says]
	text := subject + ": " + said
	if len(a.Items) == 0 && a.Evidence != "" && a.Says != gate.Pending {
		text += " (" + a.Evidence + ")"
	}
	return text
}

// Flaky returns a line with the tests that failed and then passed; nil for none.
func Flaky(r *attempt.Record) []string {
	if r.Judged.Verdict == nil || len(r.Judged.Verdict.Flaky) == 0 {
		return nil
	}
	text := "flaky: failed, and passed when run again: " + words.Some(r.Judged.Verdict.Flaky)
	if g := r.Landing; g != nil && g.Batch != nil { // any of them may have caused it
		text += "; tested with " + words.Some(slices.DeleteFunc(g.Batch.Slices(), func(id string) bool { return id == r.ID.Slice })) + ", so it may be theirs"
	}
	return []string{text}
}

// landedText returns how the attempt's work landed, or "".
func landedText(r *attempt.Record, s lane.Status) string {
	g := r.Landing
	if g == nil || g.Commit == "" || !r.Judged.Outcome.Traits().Success {
		return ""
	}
	merged, into := "merged", " into "
	switch {
	case slices.Contains(s.Dropped, g.Commit):
		merged, into = "tested", ", dropped by gl land --reset because it wasn't in "
	case r.Since.Undone == nil && !s.Has(r.ID.Work()):
		merged, into = "tested", ", not merged yet into "
	}
	text := fmt.Sprintf("%s as %.10s", merged, g.Commit)
	switch {
	case len(g.Commits) > 1:
		text = fmt.Sprintf("%s as %d commits, the last %.10s", merged, len(g.Commits), g.Commit)
	case g.As == project.LandSquash:
		text += " (squashed)"
	}
	if g.Target != "" {
		text += into + worktree.Short(g.Target)
	}
	if g.Batch != nil {
		text += ", tested together with " + strings.Join(slices.DeleteFunc(g.Batch.Slices(), func(id string) bool { return id == r.ID.Slice }), ", ")
	}
	if r.Since.Undone != nil {
		text += fmt.Sprintf(", taken back as %.10s", r.Since.Undone.Commit)
		if r.Since.Undone.Why != "" {
			text += ": " + r.Since.Undone.Why
		}
	}
	return text
}

// Verdict returns the result of the tests that gl ran on the attempt's work; "" for none.
func Verdict(r *attempt.Record) string {
	v := r.Judged.Verdict
	if v == nil {
		return ""
	}
	how := "passed"
	switch {
	case v.TimedOut:
		how = "timed out"
	case v.Signal != "":
		how = "were ended by the signal " + v.Signal
	case v.ExitCode == nil:
		how = "ended in an unknown way"
	case !v.Green():
		how = fmt.Sprintf("failed with exit %d", *v.ExitCode)
	}
	if v.Tree != "" { // in a checkout it has no name
		how += fmt.Sprintf(" on tree %.10s", v.Tree)
	}
	text := fmt.Sprintf("tests (%s) %s in %.1fs", v.Command, how, v.Seconds)
	for _, c := range []struct {
		n    *int
		what string
	}{{v.Passed, "passed"}, {v.Failed, "failed"}, {v.Skipped, "skipped"}} {
		if c.n != nil && (*c.n > 0 || c.what == "passed") {
			text += fmt.Sprintf(", %d %s", *c.n, c.what)
		}
	}
	if r.Since.Fixed {
		text += ", after a person fixed what failed"
	}
	if v.Log != "" {
		text += ": " + v.Log
	}
	return text
}

// Output returns the last lines of tests that failed on the attempt's work.
func Output(r *attempt.Record) []string {
	v := r.Judged.Verdict
	if v == nil || v.Green() {
		return nil
	}
	return v.Shown()
}

// Line returns one attempt on one line: "attempt 2 with claude, 2026-03-01 14:05: failed:
// exit 7, after 12s, 3 turns, $0.42". The time is local. st is nil for a task.
func Line(st *plan.State, r *attempt.Record, now time.Time) string {
	began := r.Life.ClaimedAt
	if r.Life.StartedAt != nil {
		began = *r.Life.StartedAt
	}
	other := ""
	if st != nil && !r.ID.IsOf(st.Item) {
		other = " in " + r.ID.Of
	}
	with := r.Job.Agent
	if r.Job.Model != "" {
		with += " (" + r.Job.Model + ")"
	}
	if r.Life.Remote != nil {
		with += " " + r.Life.Remote.Place()
	}
	return fmt.Sprintf("attempt %d%s with %s, %s: %s", r.ID.N, other, with, began.Local().Format("2006-01-02 15:04"),
		WithCost(attemptState(st, r, now), r))
}

// WithCost appends the cost of an attempt to its state: "failed: exit 7, after 12s, 3 turns,
// $0.42".
func WithCost(text string, r *attempt.Record) string {
	spent := Spent(r)
	if len(spent) > 0 {
		text = strings.TrimSuffix(text, ".")
	}
	return strings.Join(append([]string{text}, spent...), ", ")
}

// Spent returns the known costs of an attempt: "after 12s", "3 turns", "$0.42".
func Spent(r *attempt.Record) []string {
	var parts []string
	if d := r.Life.Duration(); d != nil {
		parts = append(parts, "after "+plan.Age(*d))
	}
	if turns := r.Judged.Turns(); turns != nil {
		parts = append(parts, words.Count(*turns, "turn"))
	}
	if cost := r.Judged.Cost(); cost != nil {
		parts = append(parts, fmt.Sprintf("$%.2f", *cost))
	}
	return parts
}

// attemptState returns how far an attempt is, or how it ended. st is nil for a task.
func attemptState(st *plan.State, r *attempt.Record, now time.Time) string {
	known := st != nil && st.Attempt != nil && st.Attempt.N == r.ID.N
	switch {
	case r.Life.Phase == plan.Settled:
		return r.Judged.Outcome.Text(r.Judged.Detail)
	case known && st.Attempt.Dead, st == nil && r.Life.Dead():
		return "its gl process vanished"
	case r.Life.Phase == plan.Queued && known:
		return "in the merge queue: " + st.Attempt.Landing
	case r.Life.Phase == plan.Queued:
		return "in the merge queue: " + r.Landing.Text()
	case r.Life.Phase != plan.Queued && r.Life.Remote != nil && r.Life.Remote.Waits != "":
		return r.Life.Remote.Waits
	case r.Life.Phase == plan.Preparing:
		return "preparing its worktree"
	case r.Life.StartedAt == nil:
		return "starting"
	case r.Life.Phase == plan.Ended:
		return "ended, being settled"
	}
	return "running for " + plan.Age(now.Sub(*r.Life.StartedAt))
}

// Stopped describes how the attempt ended, possibly on its own.
func Stopped(r *attempt.Record) string {
	ended := r.Judged.Outcome.Traits().Shown.Stop
	switch {
	case ended != "" && r.Judged.Detail != "":
		return fmt.Sprintf("%s %s (%s)", r.ID.Label(), ended, r.Judged.Detail)
	case ended != "":
		return r.ID.Label() + " " + ended
	}
	return fmt.Sprintf("%s had ended already: %s", r.ID.Label(),
		r.Judged.Outcome.Text(r.Judged.Detail))
}
