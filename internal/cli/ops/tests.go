package ops

import (
	"context"
	"errors"
	"fmt"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/slice"
	"greenlight/internal/workspace/drift"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A handOver records the worktree of the caller's attempt before its slice moves on from writing
// tests: from then on the merge queue accepts no other tests (package lane).
type handOver struct {
	pr   *project.Project
	who  attempt.Claimant
	edit editor
	due  *attempt.Record // whose tests are due
	// the slice's step was writing tests; otherwise there may be none to hand over
	told bool
	done bool
}

// errDue means that the tests have to be handed over first, without the project's lock: a snapshot
// may take too long to hold it.
var errDue = errors.New("the tests haven't been handed over")

// do is h.edit, preceded by the hand-over if f's check returns errDue.
func (h *handOver) do(ctx context.Context, id string, f func(moment, *slice.File) error) error {
	err := h.edit(ctx, h.pr, id, f)
	if !errors.Is(err, errDue) {
		return err
	}
	if err := h.make(ctx); err != nil {
		return fmt.Errorf("%s stays as it is, since its tests can't be handed over: %w", id, err)
	}
	h.done = true
	return h.edit(ctx, h.pr, id, f)
}

// check returns errDue if the change, made by the attempt's agent, hands tests over.
func (h *handOver) check(st *plan.State, was, is journal.Progress) error {
	own := h.who.Token != "" && st.Attempt.Open() && st.Attempt.Token == h.who.Token
	if h.done || !own || !plan.HandsOver(was.Status, was.Step, is.Status, is.Step) {
		return nil
	}
	r, err := h.pr.Runs.Get(st.ID, st.Attempt.N)
	if err != nil || r.Place.Lineage == 0 && !r.Conditions.Baseline {
		return err
	}
	h.due, h.told = r, plan.WritesTests(was.Status, was.Step)
	return errDue
}

// make hands over the tests. An agent that starts with the step implementing, and writes its tests
// along with the code, has none yet, and nothing is recorded.
func (h *handOver) make(ctx context.Context) error {
	if h.due.Place.Lineage == 0 {
		return h.pr.Runs.Proofs.HandOverHere(ctx, h.due, h.told)
	}
	repo, err := h.pr.Worktrees(ctx)
	if err != nil {
		return err
	}
	l, err := repo.Lineages.Get(h.due.ID.System, h.due.ID.Slice)
	if err != nil {
		return err
	}
	if l.N != h.due.Place.Lineage {
		return fmt.Errorf("worktree %d of %s has taken the place of %d", l.N, l.Slice,
			h.due.Place.Lineage)
	}
	if !h.told {
		if wrote, err := h.wroteTests(ctx, repo, l); err != nil || !wrote {
			return err
		}
	}
	commit, err := repo.Snapshots.HandOver(ctx, l)
	if err != nil {
		return err
	}
	if err := h.pr.Runs.Proofs.NoteHanded(l.System, l.Slice, l.N, commit); err != nil &&
		!h.due.Job.Confined() {
		return err
	}
	return nil
}

// wroteTests reports whether the tests in a lineage's worktree differ from those that it began with
// and from those that a person sent back: an agent that has yet to fix those hasn't handed them
// over by moving on.
func (h *handOver) wroteTests(ctx context.Context, repo *worktree.Repo,
	l *worktree.Lineage) (bool, error) {
	is, err := repo.Snapshots.Look(ctx, l)
	if err != nil || is == "" {
		return false, err
	}
	c := drift.Comparer{Prefix: repo.Git.Prefix}
	except := func(p string) bool { return !c.IsTest(p) }
	back, err := h.pr.Runs.SentBack(h.due)
	if err != nil {
		return false, err
	}
	if back != "" {
		// Git may have dropped that tree. Fall back to the lineage's base.
		if changed, err := git.Changed(ctx, repo.Git.Common, back, is, except); err == nil &&
			len(changed) == 0 {
			return false, nil
		}
	}
	changed, err := git.ChangedSince(ctx, repo.Git.Common, l.Base, is, except)
	return len(changed) > 0, err
}
