package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/slice"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// An Acceptance is the result of approving a slice.
type Acceptance struct {
	Queued *attempt.Record // its work has to land first; nil if the slice is complete

	pr     *project.Project
	before []string // slices that were ready before
}

// Ready returns the slices that became ready because of it.
func (a *Acceptance) Ready() ([]string, error) {
	after, err := a.pr.Plan(time.Now(), a.pr.Options())
	if err != nil {
		return nil, fmt.Errorf("can't tell what is ready now: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(after.Lists.Ready),
		func(id string) bool { return slices.Contains(a.before, id) }), nil
}

// After is an acceptance that has changed what was planned before.
func After(pr *project.Project, before *plan.Plan) *Acceptance {
	return &Acceptance{pr: pr, before: before.Lists.Ready}
}

// Built returns the lineage in which a slice was built; nil if it was built in the checkout or by a
// person.
func Built(ctx context.Context, pr *project.Project, id string) (*worktree.Lineage, error) {
	if !pr.Tracker.Traits().Lands {
		return nil, nil
	}
	recs, err := pr.Runs.Last(id)
	if err != nil || len(recs[id]) == 0 || recs[id][0].Place.Lineage == 0 {
		return nil, err
	}
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	l, err := repo.Lineages.Get(pr.Key(), id)
	switch {
	case errors.Is(err, fs.ErrNotExist),
		err == nil && (l.Phase == worktree.Gone || l.N != recs[id][0].Place.Lineage):
		return nil, nil
	}
	return l, err
}

// An Approval is how a person approves.
type Approval struct {
	Force bool   // also a slice that is being verified or has stalled
	Tests bool   // one that is red because of its tests: see TestsToAccept
	Text  string // a line that is added to its decisions; "" for none
}

// Accept approves a slice that awaits approval. If it was built in a worktree, l, it is queued to
// be merged; otherwise it becomes complete. The error is ErrNothingToDo for a complete slice.
func Accept(ctx context.Context, pr *project.Project, id string, l *worktree.Lineage,
	how Approval) (*Acceptance, error) {
	before, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, err
	}
	a := After(pr, before)
	seen, err := asIs(ctx, pr, l)
	if err != nil { // the merge queue reports it
		seen = attempt.Left{}
	}
	if err := sameWork(ctx, id, seen.Tree); err != nil {
		return nil, err
	}
	var st *plan.State
	err = edit(ctx, pr, id, func(m moment, f *slice.File) error {
		st = m.st
		if err := a.mayAccept(m, how.Force, how.Tests); err != nil {
			return err
		}
		if how.Text != "" {
			if err := f.AppendToSection("Decisions", dated(m.now, "Accepted: "+how.Text)); err != nil {
				return err
			}
		}
		if l == nil {
			return a.complete(f, id)
		}
		if a.Queued == nil {
			if a.Queued, err = pr.Runs.Within(m.held).PutAccepted(pr.Key(), m.st.Item, l, seen,
				m.now); err != nil {
				return err
			}
		}
		mark := a.Queued.Judged.Seen
		return f.SetAll([][2]string{{"status", mark.Status}, {"step", mark.Step},
			{"waiting_for", ""}, {"session", mark.Session}})
	})
	if err != nil {
		if a.Queued != nil {
			err = errors.Join(err, amend(ctx, pr, func(w *attempt.Writer) error {
				return w.DropAccepted(a.Queued)
			}))
		}
		return nil, err
	}
	tell(pr, st, journal.Event{Kind: journal.Accepted, Reason: how.Text})
	if a.Queued != nil {
		pr.Runs.Tell(a.Queued)
		settler := pr.Settler()
		settler.Note(ctx, a.Queued)
	}
	return a, nil
}

// mayAccept returns why the slice can't be accepted as it is under the lock.
func (a *Acceptance) mayAccept(m moment, force, tests bool) error {
	red, redErr := tests && m.st.Class == plan.Red, error(nil)
	if red {
		redErr = TestsToAccept(a.pr, m.st.ID)
	}
	if err := cmp.Or(redErr, mayDecide(m, force)); err != nil && (!red || redErr != nil) {
		if a.Queued == nil || !m.st.Attempt.Open() || m.st.Attempt.Token != a.Queued.ID.Token {
			return err
		} // otherwise the attempt is ours: the file was changed meanwhile, and this is a retry
	}
	switch {
	case m.st.Class == plan.Done:
		return ErrNothingToDo
	case m.st.Class == plan.Waiting && !m.st.AtReview():
		// maybe nothing was built, so --force doesn't help
		return fmt.Errorf("%s isn't awaiting review: %s", m.st.ID, m.plan.Why(m.st.ID, m.now))
	case m.st.Class == plan.Waiting && m.st.Asks() && !force:
		why := m.plan.Why(m.st.ID, m.now)
		why.Next = append(why.Next, "gl accept "+m.st.ID+" --force to approve it as it is")
		return fmt.Errorf("%s has a question: %s", m.st.ID, why)
	}
	return nil
}

// asIs returns the current content of a lineage's worktree: that is accepted, regardless of later
// changes.
func asIs(ctx context.Context, pr *project.Project,
	l *worktree.Lineage) (is attempt.Left, err error) {
	if l == nil {
		return is, nil
	}
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return is, err
	}
	look, err := repo.Snapshots.Look(ctx, l)
	if err == nil && look != "" {
		is.Tree, err = git.TreeOf(ctx, repo.Git.Common, look)
	}
	if err == nil {
		is.Head, err = git.ResolveCommit(ctx, repo.Git.Common, l.Branch)
	}
	return is, err
}

// complete completes a slice that was built in the checkout, by the person's approval.
func (a *Acceptance) complete(f *slice.File, id string) error {
	facts := gate.Facts{Way: gate.Word, Work: id, Approval: &gate.Approval{By: attempt.AcceptedBy},
		Run: gate.TestRun{Why: "gl ran no tests"}}
	recs, err := a.pr.Runs.Last(id)
	if err != nil {
		return err
	}
	if last := recs[id]; len(last) > 0 {
		last[0].Approve(&facts)
	}
	ruling := gate.Ask(facts)
	pass, err := ruling.Pass("")
	if err != nil {
		return err
	}
	if err := f.Approve(id, pass, a.pr.Tracker.Traits().Completes); err != nil {
		return err
	}
	if pass.Verdict() == gate.Green {
		err = a.pr.Runs.Proofs.Vouch(a.pr.Key(), id)
	}
	return errors.Join(err, a.pr.Runs.Within(f.Held).MarkApproved(id, ruling))
}

// TestsToAccept returns an error unless a slice is red only because its tests were changed after
// the hand-over.
func TestsToAccept(pr *project.Project, id string) error {
	recs, err := pr.Runs.Last(id)
	if err != nil {
		return err
	}
	if last := recs[id]; len(last) > 0 && last[0].Judged.Gate != nil {
		if a := last[0].Judged.Gate.Answer(gate.Tests); a.Says == gate.No &&
			last[0].Judged.Gate.Answer(gate.Merge).Says != gate.No {
			return nil
		}
	}
	return fmt.Errorf("%s isn't red because of changed tests: run gl why %s", id, id)
}

// mayDecide refuses a slice that doesn't await a decision.
func mayDecide(m moment, force bool) error {
	st := m.st
	verifying := st.Class == plan.Active &&
		strings.EqualFold(strings.TrimSpace(st.Status), "verifying")
	why := m.plan.Why(st.ID, m.now)
	switch {
	case st.Attempt.Open():
		return atWork(st)
	case st.Class == plan.Done:
		return nil
	case st.Class == plan.Waiting && st.WaitingFor != "":
		return nil
	case st.Class == plan.Waiting:
		return fmt.Errorf("%s is paused, not awaiting approval: run %s", st.ID,
			strings.Join(why.Next, plan.Then))
	case (verifying || st.Class == plan.Stalled) && force:
		return nil
	case verifying || st.Class == plan.Stalled:
		why.If, why.Next = "", []string{"gl accept " + st.ID + " --force or gl reject " + st.ID +
			" TEXT --force to decide anyway"}
		if verifying { // an agent or a session may be working on it
			return taken("%s", why)
		}
		return errors.New(why.String())
	case st.Class == plan.Active:
		return taken("%s", why)
	}
	return fmt.Errorf("%s isn't awaiting approval: %s", st.ID, why)
}
