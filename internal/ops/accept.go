package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/journal"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/slice"
	"greenlight/internal/worktree"
)

// An Acceptance is what became of a slice that a person approved.
type Acceptance struct {
	Queued *attempt.Record // its work has to land before it is complete; nil if it is

	pr     *project.Project
	before []string // what was ready
}

// Ready are the slices that can be built because of it.
func (a *Acceptance) Ready() ([]string, error) {
	after, err := a.pr.Plan(time.Now(), a.pr.Options())
	if err != nil {
		return nil, fmt.Errorf("what can be built now isn't known: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(after.Ready), func(id string) bool { return slices.Contains(a.before, id) }), nil
}

// Built is the lineage in which a slice was built, nil for one that was built in the checkout, or by a person.
func Built(ctx context.Context, pr *project.Project, id string) (*worktree.Lineage, error) {
	if !pr.Tracker.Traits().Lands {
		return nil, nil
	}
	recs, err := pr.Runs.Last(id)
	if err != nil || len(recs[id]) == 0 || recs[id][0].Lineage == 0 {
		return nil, err
	}
	repo, err := pr.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	l, err := repo.Get(pr.Key(), id)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (l.Phase == worktree.Gone || l.N != recs[id][0].Lineage):
		return nil, nil
	}
	return l, err
}

// Accept approves a slice that awaits approval. Built in a worktree, l, it is queued for the lane; else it is complete. With force it
// also takes one that is being verified or has stalled. The error is ErrNothingToDo for a complete slice.
func Accept(ctx context.Context, pr *project.Project, id string, l *worktree.Lineage, force bool) (*Acceptance, error) {
	before, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, err
	}
	a := &Acceptance{pr: pr, before: before.Ready}
	var st *plan.State
	err = edit(ctx, pr, id, func(m moment, f *slice.File) error {
		st = m.st
		if err := mayDecide(m, force); err != nil {
			if a.Queued == nil || !m.st.Attempt.Open() || m.st.Attempt.Token != a.Queued.Token {
				return err
			} // else it is ours: somebody wrote the file meanwhile, and this is done again
		}
		switch {
		case m.st.Class == plan.Done:
			return ErrNothingToDo
		case m.st.Class == plan.Waiting && !m.st.AtReview(): // nothing may have been built: --force is no answer
			return fmt.Errorf("%s isn't at its review: %s", m.st.ID, m.plan.Why(m.st.ID, m.now))
		case m.st.Class == plan.Waiting && m.st.Asks() && !force:
			why := m.plan.Why(m.st.ID, m.now)
			why.Next = append(why.Next, "gl accept "+m.st.ID+" --force to approve it as it is")
			return fmt.Errorf("%s asks something: %s", m.st.ID, why)
		case l == nil:
			set := [][2]string{{"status", "complete"}, {"step", "complete"}, {"waiting_for", ""}, {"session", ""}}
			if pr.Tracker.Traits().Lands {
				verified := plan.Unverified
				if recs, err := pr.Runs.Last(id); err != nil {
					return err
				} else if len(recs[id]) > 0 && recs[id][0].Verdict.Green() && recs[id][0].Review != "" { // tested, and as it was since
					verified = plan.Green
				}
				set = append(set, [2]string{"verified", string(verified)})
			}
			return f.SetAll(set)
		}
		if a.Queued == nil {
			if a.Queued, err = pr.Runs.PutAccepted(pr.Key(), m.st.Item, l, m.now); err != nil {
				return err
			}
		}
		seen := a.Queued.Seen
		return f.SetAll([][2]string{{"status", seen.Status}, {"step", seen.Step}, {"waiting_for", ""}, {"session", seen.Session}})
	})
	if err != nil {
		if a.Queued != nil {
			err = errors.Join(err, pr.Runs.DropAccepted(a.Queued))
		}
		return nil, err
	}
	tell(pr, st, journal.Event{Kind: journal.Accepted})
	if a.Queued != nil {
		pr.Runs.TellAccepted(a.Queued)
		settler := pr.Settler()
		settler.Note(ctx, a.Queued)
	}
	return a, nil
}

// mayDecide refuses a slice that isn't a person's to decide about.
func mayDecide(m moment, force bool) error {
	st := m.st
	verifying := st.Class == plan.Active && strings.EqualFold(strings.TrimSpace(st.Status), "verifying")
	why := m.plan.Why(st.ID, m.now)
	switch {
	case st.Attempt.Open():
		return atWork(st)
	case st.Class == plan.Done:
		return nil
	case st.Class == plan.Waiting && st.WaitingFor != "":
		return nil
	case st.Class == plan.Waiting:
		return fmt.Errorf("%s is paused, not awaiting approval: run %s", st.ID, strings.Join(why.Next, plan.Then))
	case (verifying || st.Class == plan.Stalled) && force:
		return nil
	case verifying || st.Class == plan.Stalled:
		why.If, why.Next = "", []string{"gl accept " + st.ID + " --force or gl reject " + st.ID + " TEXT --force to decide anyway"}
		if verifying { // somebody may be at work on it
			return taken("%s", why)
		}
		return errors.New(why.String())
	case st.Class == plan.Active:
		return taken("%s", why)
	}
	return fmt.Errorf("%s isn't awaiting approval: %s", st.ID, why)
}
