// Package outcome is the table of the ways in which an attempt can end, with everything that
// follows from each. Other packages read its columns and list no outcomes themselves. So a new
// outcome takes a name and a row in table.go, and a rule in package attempt (outcome.go) that says
// which evidence means it. CONTRIBUTING.md lists the tests that it needs. The package is pure.
package outcome

import (
	"cmp"
	"strings"

	"greenlight/internal/core/plan"
)

// An Outcome is how an attempt ended. Records, their file names and JSON documents contain its
// name, so a name never changes.
type Outcome string

// Traits are what follows from an outcome. Each row sets Shown's Words, Tone and Told, and Worth;
// of the others, the zero value is the usual answer.
type Traits struct {
	Outcome Outcome
	Shown   Shown

	Success bool        // gl exits 0; if the item is open again, it has been reset
	Effect  plan.Effect // what settling does to the item
	// if the attempt reached a step, Effect is Release: half-written tests need a look
	KeepsWork bool
	Available plan.Class // of the item if its status says available; "": stays so. See plan.Outcome
	Active    plan.Class // of the item if its status says active; "": stays so

	Claimed bool // what gl found of work that was called complete
	// the same agent is started again to repair it, once per outcome: see attempt.Record.Mends
	Continue bool
	Free     bool     // doesn't use up an attempt
	Holds    bool     // if the agent met a limit, no agent is launched until it is over
	Relaunch Relaunch // by the run that sees the attempt end

	Asks    bool   // the item needs an answer or an approval; the detail may be the question
	Limited bool   // a limit of the account ended it: it tells nothing about the slice
	Stopped bool   // a person ended it: nothing failed
	Review  Review // what gl review offers
	Worth   Worth  // of what the attempt cost
	Streak  Streak // for the hold on launching after several early failures
}

// Shown is how people learn of an outcome.
type Shown struct {
	Words string // "failed", as in "failed: exit 7"
	Line  string // replaces Words in a run's line: "S-3 complete (42 tests)"
	Stop  string // what gl stop answers, "" for "had ended already"
	Logs  bool   // a run's line names gl logs
	Tone  Tone   // of the line, on a terminal
	Told  Told   // the notification that it causes
}

// Said returns the words of a run's line: "complete".
func (s Shown) Said() string { return cmp.Or(s.Line, s.Words) }

// Tone is how good the news is.
type Tone string

// The tones.
const (
	Good  Tone = "good"
	Wait  Tone = "wait" // something that passes, or that a person decides
	Bad   Tone = "bad"
	Plain Tone = "plain"
)

// Told is the kind of notification that an outcome causes by itself.
type Told string

// The kinds of notifications.
const (
	AsFailure Told = "failed"
	AsDone    Told = "done"
	NotAtAll  Told = "not" // Red and conflicting work is repaired, or becomes a question to a person
)

// Relaunch is whether a run in progress launches an item again.
type Relaunch int

// The answers.
const (
	IfReady Relaunch = iota // if the plan has it ready; but a task or a named slice had its turn
	// its turn isn't over: only for an outcome that holds, or that moves the item on, or this loops
	Again
	Never // not in this run
)

// Review is what gl review offers where the class of the item doesn't decide it. The values are
// kinds in its document.
type Review string

// The values.
const (
	ByClass   Review = ""
	Unchanged Review = "empty"       // there is no work: reject it, or accept it as it is
	CutShort  Review = "interrupted" // the agent didn't fail: retry
)

// Worth is what an attempt's cost paid for.
type Worth string

// The values.
const (
	Useful     Worth = "useful"     // the work, and that of earlier Repairable attempts on the branch
	Neutral    Worth = "neutral"    // neither useful nor wasted
	Repairable Worth = "repairable" // wasted, unless a later attempt on the branch is Useful
	Wasted     Worth = "wasted"
)

// Streak is what an attempt means for the row of attempts that failed early in the same way.
type Streak string

// The values.
const (
	EndsStreak    Streak = ""
	ExtendsStreak Streak = "extends" // if it failed early
	KeepsStreak   Streak = "keeps"   // says nothing about other attempts
)

// All returns all outcomes.
func All() []Outcome {
	all := make([]Outcome, len(table))
	for i := range table {
		all[i] = table[i].Outcome
	}
	return all
}

// Of returns the traits of an outcome by its name, as journals have it.
func Of(name string) Traits { return Outcome(name).Traits() }

// Known reports whether the outcome is in the table. A record of another version of gl may have
// one that isn't.
func (o Outcome) Known() bool {
	for i := range table {
		if table[i].Outcome == o {
			return true
		}
	}
	return false
}

// Traits returns the outcome's row of the table. An outcome of another version of gl counts as a
// failure: people are notified, and its cost is wasted. That of an attempt that hasn't ended, "",
// means nothing.
func (o Outcome) Traits() Traits {
	for i := range table {
		if table[i].Outcome == o {
			return table[i]
		}
	}
	if o == "" {
		return Traits{Shown: Shown{Tone: Plain, Told: NotAtAll}, Worth: Neutral}
	}
	shown := Shown{Words: string(o), Tone: Plain, Told: AsFailure}
	return Traits{Outcome: o, Shown: shown, Worth: Wasted}
}

// Text returns the outcome with its detail, in a few words: "failed: exit 7", "interrupted in
// tests", or the question that the detail is.
func (o Outcome) Text(detail string) string {
	t := o.Traits()
	if t.IsQuestion(detail) {
		return detail
	}
	if rest, ok := strings.CutPrefix(detail, t.Shown.Words); ok {
		return t.Shown.Words + rest
	}
	if detail == "" {
		return t.Shown.Words
	}
	return t.Shown.Words + ": " + detail
}

// IsQuestion reports whether the detail of an attempt is a question that replaces the words.
func (t Traits) IsQuestion(detail string) bool {
	return t.Asks && strings.HasPrefix(detail, plan.Asking)
}

// LeavesWork reports whether there may be work on the attempt's branch.
func (t Traits) LeavesWork() bool { return t.Review != Unchanged }

// Plan returns what planning needs to know about the outcome.
func (t Traits) Plan() plan.Outcome {
	return plan.Outcome{
		Name:      string(t.Outcome),
		Available: t.Available,
		Active:    t.Active,
		Success:   t.Success,
		Stopped:   t.Stopped,
	}
}
