package lane

import (
	"errors"

	"greenlight/internal/core/gate"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
)

// Package gate asks the questions; the queue finds the facts about one work. The order in a landing
// is: asLeft takes the tree, survey compares it and finds whether a person has to review, and
// askGate asks, first with a pending run, then with its verdict.

// A survey is what is known about a work before its tests run.
type survey struct {
	compared string      // what the tests were compared with
	handed   string      // the commit of the hand-over among that; "" for none
	unseen   []string    // what couldn't be compared
	found    []gate.Item // what differs
	allowed  []gate.Item // what of that a person has allowed beforehand
	review   string      // why a person has to look; "" for no reason
}

// runOf returns a verdict of the queue as the gate needs it; nil is for a project without a test
// command.
func runOf(v *testrun.Verdict) gate.TestRun {
	if v == nil {
		return gate.TestRun{}
	}
	if v.Worker != "" {
		return attempt.RunOf(v, "worker "+v.Worker)
	}
	return attempt.RunOf(v, "the merge queue's worktree")
}

// askGate asks the gate about a work.
func (w *work) askGate(run gate.TestRun) *gate.Ruling {
	return gate.Ask(gate.Facts{
		Way: w.way(), Work: w.rec.ID.Slice, Left: w.left, Lands: w.lands, Later: w.later,
		Compared: w.survey.compared, Unseen: w.survey.unseen, Found: w.survey.found,
		Beforehand: w.survey.allowed, Run: run, Review: w.survey.review, Approval: w.approval(),
	})
}

// way returns how the work lands.
func (w *work) way() gate.Way {
	switch {
	case w.rec.Accepted():
		return gate.Accepted
	case w.rec.ID.IsTask():
		return gate.Task
	case w.batched:
		return gate.Batch
	}
	return gate.Single
}

// approval returns the person's approval, nil for none. A record of an older version has the
// problem that the person accepted in words.
func (w *work) approval() *gate.Approval {
	if !w.rec.Accepted() {
		return nil
	}
	a := &gate.Approval{
		By: attempt.AcceptedBy, Tree: w.rec.Place.Tree, Items: w.rec.Landing.Approved,
	}
	if g := w.rec.Landing; g.Despite != "" && g.Tip == w.tip {
		a.Items = w.survey.found
	}
	return a
}

// errGoneTree means that git has pruned what an agent left.
var errGoneTree = errors.New("git has pruned what its agent left")
