package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// An undoNote is what lane.json notes of a slice or a task that is being taken back.
type undoNote struct {
	Slice   string `json:"slice"`             // of a task: see attempt.Identity.Work
	Attempt int    `json:"attempt,omitempty"` // whose work landed; 0 where its record is gone
	Commit  string `json:"commit"`            // by which it landed
	Revert  string `json:"revert"`            // the lane's next commit
	Why     string `json:"why,omitempty"`

	Verdict *testrun.Verdict `json:"verdict,omitempty"` // of what is left
}

// An Undone is a slice or a task that was taken back.
type Undone struct {
	Commit  string
	Verdict *testrun.Verdict // of what is left; nil without a test command
}

// An undoing takes back slices that have landed: it reverts the landing, tests what is left, and
// makes the slice pending again. A task has no file, so only its record says so.
type undoing struct {
	project *project.Project
	repo    *worktree.Repo
	history history
	settler attempt.Settler
	file    *file
	tip     *branchTip
	bench   *bench
	tell    func(format string, a ...any)
}

// mayUndo refuses work that isn't done, and slices that others depend on.
func (un *undoing) mayUndo(id string, force bool) error {
	if attempt.IsTask(id) {
		return un.mayUndoTask(id)
	}
	p, err := un.project.Plan(now(), un.project.Options())
	if err != nil {
		return err
	}
	st := p.State(id)
	switch {
	case st == nil:
		return fmt.Errorf("%s: %w", id, tracker.ErrNotFound)
	case st.Class != plan.Done:
		if rec, err := un.history.landingRecord(id); err == nil && rec != nil && rec.Since.Undone != nil {
			return fmt.Errorf("%s was taken back already, as %s: %s", id,
				short(rec.Since.Undone.Commit), p.Why(id, now()))
		}
		return fmt.Errorf("%s isn't done, so nothing of it was merged: %s", id, p.Why(id, now()))
	case force:
		return nil
	}
	var done, open []string
	for i := range p.States {
		switch other := &p.States[i]; {
		case !slices.Contains(other.Deps, id):
		case other.Class == plan.Done:
			done = append(done, other.ID)
		case other.Attempt.Open():
			open = append(open, other.ID)
		}
	}
	switch {
	case len(open) > 0:
		return fmt.Errorf("%s is needed by %s, which is being built: run gl stop %s first, or gl undo %s --force", id, some(open), open[0], id)
	case len(done) > 0:
		return fmt.Errorf("%s is needed by %s: run gl undo %s first, or gl undo %s --force", id,
			some(done), done[0], id)
	}
	return nil
}

func (un *undoing) mayUndoTask(work string) error {
	switch rec, err := un.history.landingRecord(work); {
	case err != nil:
		return err
	case rec == nil:
		return fmt.Errorf("gl hasn't merged %s, so it can't take it back: gl why %[1]s; what an agent committed in the checkout, git revert takes back", work)
	case rec.Since.Undone != nil:
		return fmt.Errorf("%s was taken back already, as %s", work, short(rec.Since.Undone.Commit))
	}
	return nil
}

func (un *undoing) undo(ctx context.Context, id, why string, force bool) (*Undone, error) {
	base, err := un.tip.settledBase(ctx)
	if err != nil {
		return nil, err
	}
	landed, err := un.history.landing(ctx, id)
	if err != nil {
		return nil, err
	}
	return un.undoLanding(ctx, base, &undoNote{Slice: id, Why: why, Commit: landed}, force)
}

// undoLanding reverts the landing that the note names.
func (un *undoing) undoLanding(ctx context.Context, base string, note *undoNote,
	force bool) (*Undone, error) {
	id := note.Slice
	if err := un.commitRevert(ctx, base, note); err != nil {
		return nil, err
	}
	un.tell("%s: testing without it", id)
	var err error
	if note.Verdict, err = un.bench.test(ctx, note.Revert, tested{}); err != nil {
		return nil, err
	}
	run := runOf(note.Verdict)
	if note.Verdict != nil && !note.Verdict.Green() && !force {
		was, err := un.bench.baseVerdict(ctx, base)
		if err != nil {
			return nil, err
		}
		if run.Known = !was.Green(); was.Green() {
			return nil, fmt.Errorf("the tests fail without %s (%s), so it stays: gl undo %[1]s --force takes it back anyway",
				id, How(note.Verdict, un.project.Config.Test.Limit))
		}
	}
	pass, err := gate.Ask(gate.Facts{Way: gate.Undo, Run: run,
		Approval: &gate.Approval{By: "a person, by gl undo", All: force}}).Pass(note.Revert)
	if err != nil {
		return nil, err
	}
	if err := un.repo.Queue.KeepNext(ctx, note.Revert); err != nil {
		return nil, err
	}
	un.file.Undoing = note // deliverLater saves it
	later := Undelivered{Slice: id, Commit: note.Revert, Undone: true}
	if err := un.file.deliverLater(later); err != nil {
		return nil, err
	}
	if err := un.tip.move(ctx, base, note.Revert, "take back "+id, pass); err != nil {
		return nil, err
	}
	return &Undone{Commit: note.Commit, Verdict: note.Verdict}, un.finishUndo(ctx)
}

// commitRevert makes the commit on base that reverts the landing, and notes it with its attempt.
func (un *undoing) commitRevert(ctx context.Context, base string, note *undoNote) error {
	tree, err := un.without(ctx, base, note.Slice, note.Commit)
	if err != nil {
		return err
	}
	title := note.Slice
	rec, err := un.history.landingRecord(note.Slice)
	if err != nil {
		return err
	}
	if rec != nil {
		note.Attempt = cmp.Or(note.Attempt, rec.ID.N)
		if rec.ID.Title != "" && rec.ID.Title != note.Slice {
			title += ": " + rec.ID.Title
		}
	}
	note.Revert, err = git.CommitTree(ctx, un.repo.Git.Common,
		git.NewCommit{Tree: tree, Parents: []string{base},
			Message: git.LandingMessage("Take back "+title,
				git.Trailer{Key: "Undone", Value: note.Slice},
				git.Trailer{Key: "Reverts", Value: note.Commit},
				git.Trailer{Key: "Project", Value: un.repo.Git.Prefix})})
	return err
}

// undoAgain takes back again what a person took back and a reset to the target restored. If later
// work changes the same lines, a person has to decide: until then the slice is complete, since the
// target has it, and isn't built a second time.
func (un *undoing) undoAgain(ctx context.Context) error {
	for len(un.file.Again) > 0 {
		u, conflict := un.file.Again[0], new(conflictError)
		switch err := un.undoOnceMore(ctx, u); {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, new(*Standstill)): // another time
			return nil
		case errors.As(err, &conflict):
			stays, err := un.redone(ctx, u)
			if err != nil {
				return err
			}
			state := "is in " + worktree.Short(un.repo.Target()) + " again"
			if stays {
				state += ", so it is complete"
			}
			un.tell("%s was taken back, and %s: %v", u.Slice, state, conflict)
		case err != nil:
			un.tell("%s was taken back, and is in %s again: %v", u.Slice,
				worktree.Short(un.repo.Target()), err)
		}
		un.file.Again = un.file.Again[1:]
		if err := un.file.save(); err != nil {
			return err
		}
	}
	return nil
}

// redone marks a slice complete again that a person took back although the target still has it.
// stays is false if the slice is being built anew.
func (un *undoing) redone(ctx context.Context, u Undelivered) (stays bool, err error) {
	rec, err := un.history.landingRecord(u.Slice)
	if err != nil || rec == nil {
		return false, err
	}
	if rec.ID.IsTask() {
		return true, un.project.Tracker.Do(ctx, func(tx tracker.Tx) error {
			return un.project.Runs.Within(tx.Held()).MarkRedone(rec.ID.Slice, rec.ID.N)
		})
	}
	err = un.project.Tracker.Do(ctx, func(tx tracker.Tx) error {
		all, err := un.project.Runs.History(u.Slice)
		open := func(r *attempt.Record) bool {
			return r.ID.N > rec.ID.N && r.Life.Phase != plan.Settled
		}
		if err != nil || slices.ContainsFunc(all, open) {
			return err
		}
		stays = true
		if err := un.project.Runs.Proofs.CallComplete(un.project.Key(), u.Slice); err != nil ||
			rec.Since.Undone == nil {
			return err
		}
		return un.project.Runs.Within(tx.Held()).MarkRedone(u.Slice, rec.ID.N)
	})
	if err != nil || !stays {
		return false, err
	}
	_, err = un.settler.Rewrite(ctx, rec)
	return true, err
}

// undoOnceMore reverts the landing of a slice again, if the queue's branch has it and the commit u
// that reverted it is gone.
func (un *undoing) undoOnceMore(ctx context.Context, u Undelivered) error {
	all, err := un.project.Runs.AttemptsAt(u.Slice)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(r *attempt.Record) bool {
		return r.Since.Undone != nil && r.Since.Undone.Commit == u.Commit && r.Landing != nil
	})
	if i < 0 {
		if rec, err := un.history.landingRecord(u.Slice); err == nil && rec != nil &&
			rec.Since.Undone == nil {
			_, err = un.redone(ctx, u) // killed after the record was changed
			return err
		}
		return fmt.Errorf("its record is gone, so run gl undo %s", u.Slice)
	}
	base, err := un.tip.settledBase(ctx)
	if err != nil {
		return err
	}
	landings, err := git.Landings(ctx, un.repo.Git.Common, "", base)
	if err != nil {
		return err
	}
	landed := "" // by its trailers: an amended or rebased commit keeps them
	for _, c := range landings {
		if un.history.landedBy(c, u.Slice, all[i].ID.N) {
			landed = c.Commit
		}
	}
	if landed == "" {
		return nil
	}
	_, err = un.undoLanding(ctx, base, &undoNote{Slice: u.Slice, Attempt: all[i].ID.N,
		Why: all[i].Since.Undone.Why, Commit: landed}, true)
	return err
}

// without returns the base's tree without the commit by which a slice has landed, "" for none.
func (un *undoing) without(ctx context.Context, base, id, commit string) (tree string, err error) {
	if commit == "" {
		return "", fmt.Errorf("%s wasn't merged by the merge queue, so there is no merge to take back: revert its commits with git revert", id)
	}
	in, err := git.IsAncestor(ctx, un.repo.Git.Common, commit, base)
	if err != nil {
		return "", err
	}
	if !in {
		return "", fmt.Errorf("%s was merged in %s, which %s no longer has", id, short(commit),
			worktree.Short(un.repo.Target()))
	}
	tree, conflicts, err := revert(ctx, un.repo.Git.Common, base, commit)
	if err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		later, err := un.laterWork(ctx, commit, base, conflicts)
		if err != nil {
			return "", err
		}
		return "", &conflictError{id, conflicts, later}
	}
	changed, err := git.Changed(ctx, un.repo.Git.Common, base, tree, statedir.InState)
	if err != nil {
		return "", err
	}
	if len(changed) == 0 {
		return "", fmt.Errorf("nothing is left of what %s has changed", id)
	}
	return tree, nil
}

// A conflictError means that a slice can't be taken back by itself.
type conflictError struct {
	slice string
	paths []string
	later []string // work merged after it that changes these paths, the newest first
}

func (e *conflictError) Error() string {
	advice := "What changed them since wasn't merged by gl: take that back with git revert"
	if len(e.later) > 0 {
		advice = "Run gl undo " + strings.Join(e.later, ", then gl undo ") + " first"
	}
	return fmt.Sprintf("later work changes the same lines, so %s can't be taken back by itself: %s. %s",
		e.slice, some(e.paths), advice)
}

// laterWork lists the work that was merged after a commit, changes any of the paths and wasn't
// taken back, the newest first.
func (un *undoing) laterWork(ctx context.Context, commit, base string, paths []string) ([]string,
	error) {
	landings, err := git.Landings(ctx, un.repo.Git.Common, commit, base)
	if err != nil {
		return nil, err
	}
	var works []string
	for _, c := range slices.Backward(landings) {
		rec, err := un.history.recordOf(c)
		if err != nil {
			return nil, err
		}
		if rec == nil || rec.Since.Undone != nil || len(c.Parents) == 0 {
			continue
		}
		changed, err := git.Changed(ctx, un.repo.Git.Common, c.Parents[0], c.Commit, nil)
		if err != nil {
			return nil, err
		}
		if work := rec.ID.Work(); !slices.Contains(works, work) && slices.ContainsFunc(changed,
			func(path string) bool { return slices.Contains(paths, path) }) {
			works = append(works, work)
		}
	}
	return works, nil
}

// revert returns the tree of the commit tip without the changes of another commit against its first
// parent. git revert would need a checkout, run hooks, and leave a sequencer behind when it is
// killed.
func revert(ctx context.Context, common, tip, commit string) (
	tree string, conflicts []string, err error) {
	for try := 1; ; try++ {
		tree, conflicts, err = revertOnce(ctx, common, tip, commit)
		if err == nil || ctx.Err() != nil || try == mostReverts {
			return tree, conflicts, err
		}
		if back, _ := git.PutBack(ctx, common); !back { // no ref has its objects
			return "", nil, err
		}
	}
}

// mostReverts is how often revert tries while git prune runs.
const mostReverts = 3

func revertOnce(ctx context.Context, common, tip, commit string) (
	tree string, conflicts []string, err error) {
	before, err := git.ResolveCommit(ctx, common, commit+"^1")
	if err == nil && before == "" {
		err = fmt.Errorf("%s has no parent", short(commit))
	}
	if err != nil {
		return "", nil, err
	}
	// Merging this, whose merge base is the commit, removes what the commit has changed and nothing
	// else.
	if before, err = git.TreeLike(ctx, common, before, commit, statedir.InState); err != nil {
		return "", nil, err
	}
	back, err := git.CommitTree(ctx, common, git.NewCommit{Tree: before, Parents: []string{commit},
		Message: "gl: without " + commit})
	if err != nil {
		return "", nil, err
	}
	return git.MergeTree(ctx, common, tip, back, statedir.InState)
}

// finishUndo does the rest for a slice whose revert is in the queue's branch. If a worker was
// killed before that, nothing has changed, and the note is dropped.
func (un *undoing) finishUndo(ctx context.Context) error {
	note := un.file.Undoing
	if note == nil {
		return nil
	}
	tip, err := un.repo.Queue.Tip(ctx)
	if err != nil {
		return err
	}
	in, err := git.IsAncestor(ctx, un.repo.Git.Common, note.Revert, tip)
	if err != nil {
		return err
	}
	if !in {
		un.file.Undelivered = slices.DeleteFunc(un.file.Undelivered,
			func(u Undelivered) bool { return u.Commit == note.Revert })
		un.file.Undoing = nil
		return un.file.save()
	}
	if err := un.bench.noteSuite(ctx, note.Revert, note.Verdict); err != nil {
		return err
	}
	err = un.project.Tracker.Do(ctx, func(tx tracker.Tx) error { return un.pendAgain(tx, note) })
	if err != nil {
		return err
	}
	e := journal.Event{Kind: journal.Undone, System: un.history.system(note.Slice),
		Slice: note.Slice, Attempt: note.Attempt, Commit: note.Revert, Reason: note.Why,
		Target: worktree.Short(un.repo.Target()), Key: "undone." + note.Revert}
	if id, _, isTask := attempt.SplitTask(note.Slice); isTask {
		e.Slice = id
	}
	_ = un.project.Runs.Journal().AppendOnce(e)
	un.file.Undoing = nil
	return un.file.save()
}

// pendAgain makes a slice that was taken back pending, and marks the record of its landing.
func (un *undoing) pendAgain(tx tracker.Tx, note *undoNote) error {
	mark := attempt.Undo{Commit: note.Revert, Why: note.Why}
	if id, _, isTask := attempt.SplitTask(note.Slice); isTask {
		return un.project.Runs.Within(tx.Held()).MarkUndone(id, note.Attempt, mark)
	}
	lander, lands := tx.(tracker.Lander)
	it, err := tx.Item(note.Slice)
	switch {
	case errors.Is(err, tracker.ErrNotFound) || !lands: // it was removed
		return nil
	case err != nil:
		return err
	case plan.Classify(it.Status) == plan.Done:
		if err := lander.Undo(note.Slice, note.Why); err != nil {
			return err
		}
	}
	if err := un.retireLanded(note); err != nil {
		return err
	}
	if err := un.project.Runs.Within(tx.Held()).MarkUndone(note.Slice, note.Attempt,
		mark); err != nil {
		return err
	}
	return un.project.Runs.Proofs.Withdraw(un.project.Key(), note.Slice, note.Attempt)
}

// retireLanded has the slice's next attempt begin a new lineage, since merging a branch that has
// landed would bring nothing back. A lineage that has begun since stays.
func (un *undoing) retireLanded(note *undoNote) error {
	lineage, err := un.repo.Lineages.Get(un.project.Key(), note.Slice)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*worktree.BadLineage)) {
		return nil
	}
	if err != nil {
		return err
	}
	if r, err := un.project.Runs.Get(note.Slice, note.Attempt); err == nil &&
		r.Place.Lineage != lineage.N {
		return nil
	}
	return un.repo.Lineages.Retire(lineage.System, lineage.Slice, lineage.N)
}
