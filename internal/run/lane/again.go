package lane

import (
	"cmp"
	"context"
	"slices"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A recheck asks the gate again about what has landed, with the facts that git and the records have
// now. A question that they can no longer answer is answered by the reason.
type recheck struct {
	project *project.Project
	repo    *worktree.Repo
	history history
	trees   *trees
	inspect *inspector
}

// A past is a piece of work that is complete, as far as gl still knows it.
type past struct {
	work string
	rec  *attempt.Record // of the attempt that completed it; nil if it isn't here

	// Of what went through the merge queue; "" if a commit isn't known, or git doesn't have it.
	commit string // what landed
	base   string // what it was merged into
	tip    string // the work itself
}

// checkDone tests what landed of a slice, and marks it as verified.
func (k *checking) checkDone(ctx context.Context, st *plan.State) (*Check, error) {
	rec, err := k.history.completed(st.ID)
	if err != nil {
		return nil, err
	}
	c := &Check{What: OfTarget, Slice: st.ID}
	w := &past{work: st.ID, rec: rec}
	if rec != nil && rec.Landing != nil && rec.Landing.Commit != "" {
		// of a batch: its work may need what the others bring
		c.What, c.Commit = OfLanded, rec.Landing.Head()
		w.commit, w.base, w.tip = rec.Landing.Commit, rec.Landing.Base, rec.Landing.Tip
	}
	if c.Commit == "" {
		if c.Commit, err = k.history.target(ctx); err != nil {
			return nil, err
		}
	}
	if c.Verdict, err = k.bench.retest(ctx, c.Commit, tested{}); err != nil {
		return c, err
	}
	if c.Gate, err = k.recheck.askAgain(ctx, w, runOf(c.Verdict)); err != nil {
		return nil, err
	}
	if c.Problem = c.Gate.Asks(); !c.Green() || st.Verified == plan.Green {
		return c, nil
	}
	return c, k.vouch(ctx, st.ID, c)
}

// vouch marks a slice as verified.
func (k *checking) vouch(ctx context.Context, id string, c *Check) error {
	return k.project.Tracker.Do(ctx, func(tx tracker.Tx) error {
		lander, lands := tx.(tracker.Lander)
		it, err := tx.Item(id)
		if !lands || err != nil || plan.Classify(it.Status) != plan.Done {
			return err
		}
		pass, err := c.Gate.Pass("")
		if err != nil {
			return err
		}
		if _, err = lander.Land(id, tracker.Landed{Pass: pass}); err == nil {
			err = k.project.Runs.Proofs.Vouch(k.project.Key(), id)
		}
		c.Set = err == nil
		return err
	})
}

// askCommit asks about a landing commit that an audit has tested.
func (a *recheck) askCommit(ctx context.Context, landed git.Landed, c *Check) error {
	w := &past{work: landed.Slice, commit: landed.Commit}
	// of git.land's shapes, merge alone tells by itself what was merged into what
	if len(landed.Parents) == 2 {
		w.base, w.tip = landed.Parents[0], landed.Parents[1]
	}
	var err error
	if w.rec, err = a.history.recordOf(landed); err != nil {
		return err
	}
	if w.rec != nil {
		w.base, w.tip = w.rec.Landing.Base, w.rec.Landing.Tip
	}
	run := gate.TestRun{Why: cmp.Or(c.Problem, "not tested")}
	if c.Verdict != nil {
		run = attempt.RunOf(c.Verdict, "a clone")
	}
	if c.Gate, err = a.askAgain(ctx, w, run); err != nil {
		return err
	}
	c.Problem = cmp.Or(c.Problem, c.Gate.Asks())
	return nil
}

// askAgain asks the gate about work that is complete.
func (a *recheck) askAgain(ctx context.Context, w *past, run gate.TestRun) (*gate.Ruling, error) {
	facts := gate.Facts{Way: gate.Retest, Work: w.work, Run: run, Gone: map[gate.Question]string{}}
	for _, c := range []*string{&w.commit, &w.base, &w.tip} {
		if *c == "" {
			continue
		}
		there, err := git.HasCommit(ctx, a.repo.Git.Common, *c)
		if err != nil {
			return nil, err
		}
		if !there {
			*c = ""
		}
	}
	if err := a.treeAgain(ctx, w, &facts); err != nil {
		return nil, err
	}
	if err := a.mergeAgain(ctx, w, &facts); err != nil {
		return nil, err
	}
	if err := a.testsAgain(ctx, w, &facts); err != nil {
		return nil, err
	}
	w.reviewAgain(&facts)
	return gate.Ask(facts), nil
}

const (
	noRecord   = "no record of its attempt is here"
	noBranch   = "the commit of its branch isn't known, or git no longer has it"
	noBase     = "what it was merged into isn't known, or git no longer has it"
	unmerged   = "it was built in the checkout, and nothing was merged"
	fromRecord = "; gl why has the answer of then"
)

// notMerged returns the reason why the gate can't ask about a merge, "" if it can.
func (w *past) notMerged() string {
	switch {
	case w.commit != "" && w.base != "":
		return ""
	case w.rec == nil:
		return noRecord
	case w.rec.Place.Lineage == 0:
		return unmerged + fromRecord
	}
	return noBase + fromRecord
}

// treeAgain compares what landed with the tree that the agent left.
func (a *recheck) treeAgain(ctx context.Context, w *past, facts *gate.Facts) error {
	switch {
	case w.rec == nil:
		facts.Gone[gate.Tree] = noRecord
		return nil
	case w.rec.Place.Lineage == 0:
		facts.Gone[gate.Tree] = "it was built in the checkout, and no commit is recorded that has it" + fromRecord
		return nil
	case w.tip == "":
		facts.Gone[gate.Tree] = noBranch
		return nil
	case w.rec.Place.Tree == "":
		return nil // the gate says so
	}
	lands, err := git.TreeOf(ctx, a.repo.Git.Common, w.tip)
	if err != nil {
		return err
	}
	if facts.Left, facts.Lands = w.rec.Place.Tree, lands; lands == w.rec.Place.Tree {
		return nil
	}
	// They may differ in state, which isn't a part of the work.
	changed, err := git.Changed(ctx, a.repo.Git.Common, w.rec.Place.Tree, lands, statedir.InState)
	if err != nil {
		facts.Gone[gate.Tree] = "git no longer has the tree " + short(w.rec.Place.Tree) +
			", which its agent left"
	} else if len(changed) == 0 {
		facts.Lands = w.rec.Place.Tree
	}
	return nil
}

// mergeAgain repeats the merge, which must have the same result.
func (a *recheck) mergeAgain(ctx context.Context, w *past, facts *gate.Facts) error {
	why := w.notMerged()
	if why == "" && w.tip == "" {
		why = noBranch
	}
	if why != "" {
		facts.Gone[gate.Merge] = why
		return nil
	}
	again := &work{base: w.base, tip: w.tip}
	_, conflicts, err := a.trees.merge(ctx, again)
	if err != nil {
		return err
	}
	landed, err := a.trees.contentOf(ctx, w.commit)
	if err != nil {
		return err
	}
	merging := "merging " + short(w.tip) + " into " + short(w.base)
	name := merging + " conflicts in " + some(conflicts)
	if len(conflicts) == 0 {
		merged, err := a.trees.contentOf(ctx, again.tree)
		if facts.Remerged = merged == landed; err != nil || facts.Remerged {
			return err
		}
		name = short(landed) + ", and " + merging + " gives " + short(merged)
	}
	facts.Found = append(facts.Found, gate.Item{Kind: gate.Differs, Name: name})
	return nil
}

// testsAgain compares the tests of what landed with its base and with the hand-over. Earlier
// approvals still count.
func (a *recheck) testsAgain(ctx context.Context, w *past, facts *gate.Facts) error {
	if why := w.notMerged(); why != "" {
		facts.Gone[gate.Tests] = why
		return nil
	}
	changed, err := git.Changed(ctx, a.repo.Git.Common, w.base, w.commit, statedir.InState)
	if err != nil {
		return err
	}
	now := &work{rec: w.rec, lineage: &worktree.Lineage{Slice: w.work, Base: w.base}, base: w.base,
		tree: w.commit}
	if w.rec == nil {
		now.rec = &attempt.Record{ID: attempt.Identity{Slice: w.work}}
	}
	now.unlocks = a.inspect.unlocksOf(now.rec)
	handed, lost, err := a.handedThen(ctx, w, now)
	if err != nil {
		return err
	}
	if err := a.inspect.inspectAgainst(ctx, now, changed, handed); err != nil {
		return err
	}
	if handed == "" {
		now.survey.compared = "the base " + short(w.base) + "; no hand-over is recorded"
	}
	facts.Compared, facts.Unseen, facts.Beforehand = now.survey.compared,
		slices.Concat(lost, now.survey.unseen), now.survey.allowed
	for i := range now.survey.found {
		now.survey.found[i].Red = false // no agent is left to put it right
	}
	if w.rec == nil && len(now.survey.found) > 0 {
		facts.Unseen = append(facts.Unseen,
			gate.ItemsText(now.survey.found)+"; whether a person approved that isn't known: "+noRecord)
		return nil
	}
	facts.Found = append(facts.Found, now.survey.found...)
	if w.rec != nil {
		facts.Beforehand = append(facts.Beforehand, w.rec.Judged.Gate.ApprovedItems()...)
	}
	return nil
}

// handedThen returns the hand-over that counted when the work landed, "" for none. lost names what
// git no longer has.
func (a *recheck) handedThen(ctx context.Context, w *past, now *work) (
	commit string, lost []string, err error) {
	if w.rec == nil || w.rec.Landing.Handed == nil {
		return "", nil, nil
	}
	handed := w.rec.Landing.Handed
	for _, c := range []string{handed.Commit, handed.Began} {
		there, err := git.HasCommit(ctx, a.repo.Git.Common, c)
		if err != nil {
			return "", nil, err
		}
		if !there {
			return "", []string{"the tests can't be compared with the hand-over: git no longer has " +
				short(c)}, nil
		}
	}
	now.lineage.Base = handed.Began
	return handed.Commit, nil, nil
}

// reviewAgain finds whether the terms of the claim required a review, and whether a person
// reviewed.
func (w *past) reviewAgain(facts *gate.Facts) {
	r := w.rec
	switch {
	case r == nil:
		facts.Gone[gate.Review] = noRecord
	case r.ID.IsTask():
		facts.Gone[gate.Review] = "a person started the task"
	case r.Accepted():
		facts.Approval = &gate.Approval{By: attempt.AcceptedBy, Tree: r.Place.Tree}
		if r.Judged.Gate == nil { // of an older version, which didn't say what the person knew
			facts.Approval.Items = facts.Found
		}
	case r.Judged.Gate != nil && r.Judged.Gate.Way == gate.Word:
		facts.Approval = &gate.Approval{By: attempt.AcceptedBy}
	case r.Conditions.Terms == nil:
		facts.Gone[gate.Review] = "its record doesn't say what had been decided when it was claimed"
	default:
		facts.Review = cmp.Or(r.Conditions.Terms.Review, r.Conditions.Review)
	}
}
