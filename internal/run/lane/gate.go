package lane

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"greenlight/internal/core/gate"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/contracts"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// Package gate asks the questions; this file finds the facts about one work of the queue. In a landing the order is: asLeft takes the tree,
// survey compares and asks who has to look, rule asks the gate, first with a run that is pending, then with its verdict.

// A survey is what was found out about a work before its tests run.
type survey struct {
	compared string      // with what the tests were compared
	handed   string      // the commit of the hand-over among that; "" for none
	unseen   []string    // what couldn't be compared
	found    []gate.Item // what differs
	allowed  []gate.Item // of it, what a person has allowed beforehand
	review   string      // why a person has to look; "" if nobody has to
}

// runOf is a verdict of this queue's as the gate knows it; nil is for a project without a test command.
func (l *Lane) runOf(v *testrun.Verdict) gate.TestRun {
	if v == nil {
		return gate.TestRun{}
	}
	return attempt.RunOf(v, "the merge queue's worktree")
}

// rule asks the gate about a work.
func (w *work) rule(run gate.TestRun) *gate.Ruling {
	return gate.Ask(gate.Facts{
		Way: w.way(), Work: w.Slice, Left: w.left, Lands: w.lands, Later: w.later,
		Compared: w.compared, Unseen: w.unseen, Found: w.found, Beforehand: w.allowed, Run: run, Review: w.review, Approval: w.approval(),
	})
}

// way is how the work lands.
func (w *work) way() gate.Way {
	switch {
	case w.Accepted():
		return gate.Accepted
	case w.IsTask():
		return gate.Task
	case w.batched:
		return gate.Batch
	}
	return gate.Single
}

// approval is a person's, nil for none. A record of an older version has the problem that the person knew in words.
func (w *work) approval() *gate.Approval {
	if !w.Accepted() {
		return nil
	}
	a := &gate.Approval{By: attempt.AcceptedBy, Tree: w.Tree, Items: w.Landing.Approved}
	if g := w.Landing; g.Despite != "" && g.Tip == w.tip {
		a.Items = w.found
	}
	return a
}

// needsReview says why a person has to look at a work before it lands, "" if nobody has to.
func (l *Lane) needsReview(w *work) (string, error) {
	if w.Accepted() || w.IsTask() {
		return "", nil
	}
	return l.Project.Approvals().OfAttempt(w.Record, contracts.ReadBook(l.Project.Root), contracts.ReadBook(l.Repo.Dir(w.lineage)))
}

// asLeft has the tree land that the agent left, or that the person saw who accepted it. What something has changed since then stays on the
// branch.
func (l *Lane) asLeft(ctx context.Context, w *work) (err error) {
	if w.left, w.lands = w.Tree, w.Tree; w.Tree == "" {
		return nil
	}
	if w.later, err = git.Changed(ctx, l.Repo.Common, w.Tree, w.tip, statedir.InState); err != nil {
		return l.gone(ctx, w, err)
	}
	if len(w.later) == 0 {
		return nil
	}
	c := git.NewCommit{Tree: w.Tree, Message: "gl: " + w.Work() + " as its agent left it", Parents: []string{cmp.Or(w.Head, w.lineage.Base)}}
	if w.tip, err = git.CommitTree(ctx, l.Repo.Common, c); err == nil {
		l.tell("%s: changed after its agent had ended, and left out: %s", w.Label(), some(w.later))
	}
	return err
}

// gone is errGoneTree where git doesn't have the tree that the agent left anymore, else the error.
func (l *Lane) gone(ctx context.Context, w *work, err error) error {
	if there, hasErr := git.Has(ctx, l.Repo.Common, w.Tree+"^{tree}"); hasErr == nil && !there {
		return errGoneTree
	}
	return err
}

// errGoneTree says that something has pruned what an agent left.
var errGoneTree = errors.New("git has pruned what its agent left")

// survey finds out what differs of the tests, and whether a person has to look.
func (l *Lane) survey(ctx context.Context, w *work, changed []string) error {
	if err := l.inspect(ctx, w, changed); err != nil {
		return err
	}
	var err error
	w.review, err = l.needsReview(w)
	return err
}

// handedOver is the commit of the tests that were handed over, "" for none. An agent can write git's note of it: what gl has noted of the
// first hand-over counts, and what builds on that.
func (l *Lane) handedOver(ctx context.Context, lineage *worktree.Lineage) (string, error) {
	commit, err := l.Repo.HandedOver(ctx, lineage)
	if err != nil || l.Project == nil {
		return commit, err
	}
	first := l.Project.Runs.Handed(lineage.System, lineage.Slice, lineage.N)
	if first == "" || first == commit {
		return commit, nil
	}
	if commit == "" {
		return first, nil
	}
	chain, err := git.FirstParents(ctx, l.Repo.Common, commit)
	if err != nil || !slices.Contains(chain, first) {
		return first, nil
	}
	return commit, nil
}
