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

// A handOver records what is in the worktree of the caller's attempt before its slice goes from writing tests to what comes after: from
// then on the lane doesn't accept other tests (package lane).
type handOver struct {
	pr   *project.Project
	who  attempt.Claimant
	edit editor
	due  *attempt.Record // whose attempt it is
	told bool            // the slice's step said that tests were being written; else there may be none to hand over
	done bool
}

// errDue says that the tests have to be handed over first. A snapshot may take longer than the project's lock should be held.
var errDue = errors.New("the tests haven't been handed over")

// do is h.edit, with the hand-over before it if f's check says that it is due.
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

// check is errDue if the change hands tests over: of the attempt whose agent makes it.
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

// make hands over what there is. An agent that calls its first step implementing, and writes its tests with the code, has none yet: it isn't
// held to what it hasn't written.
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
		return fmt.Errorf("lineage %d of %s has taken the place of %d", l.N, l.Slice, h.due.Place.Lineage)
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
	if err := h.pr.Runs.Proofs.NoteHanded(l.System, l.Slice, l.N, commit); err != nil && !h.due.Job.Confined() {
		return err
	}
	return nil
}

// wroteTests reports whether the tests in a lineage's worktree aren't those that it began with, nor those that a person has sent back: an agent
// that is to put something right there hasn't handed it over by going on.
func (h *handOver) wroteTests(ctx context.Context, repo *worktree.Repo, l *worktree.Lineage) (bool, error) {
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
		// Git may have dropped that tree since. Then what the lineage began with has to do.
		if changed, err := git.Changed(ctx, repo.Git.Common, back, is, except); err == nil && len(changed) == 0 {
			return false, nil
		}
	}
	changed, err := git.ChangedSince(ctx, repo.Git.Common, l.Base, is, except)
	return len(changed) > 0, err
}
