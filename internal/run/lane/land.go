package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/words"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A work is one attempt on its way through the queue.
type work struct {
	rec     *attempt.Record
	lineage *worktree.Lineage
	hold    *worktree.Hold // of its worktree
	tip     string         // the slice's branch, everything committed
	base    string         // what it is merged into
	tree    string         // the merge
	caveats []string       // Landing.Caveats
	left    string         // the tree its agent left, or a person accepted; "" if not recorded
	lands   string         // the tree of tip
	later   []string       // changed after that, and left out
	batched bool           // it is tested together with others
	earlier bool           // base isn't where the queue's branch is
	survey  survey
	// it replaces wrapped code, and may remove the tests that lock it; nil for no
	unlocks func() bool
}

// A merging takes one attempt from the queue to the queue's branch: it merges, asks the gate, has
// the tests run, and lands the work or sends it back.
type merging struct {
	project  *project.Project
	repo     *worktree.Repo
	settler  attempt.Settler
	file     *file
	line     *line
	tip      *branchTip
	bench    *bench
	trees    *trees
	inspect  *inspector
	commands *commands
	events   *events
	cleanup  *cleanup
	tell     func(format string, a ...any)
}

// land takes one attempt as far as it goes. An error is about gl or the machine, not about the
// work: the attempt stays in the queue.
func (m *merging) land(ctx context.Context, r *attempt.Record) error {
	return m.landOn(ctx, r, "")
}

// landOn is land on an earlier commit of the queue's branch, "" for where it is. On an earlier one
// the work may be sent back, or await a person; it isn't merged there.
func (m *merging) landOn(ctx context.Context, r *attempt.Record, base string) error {
	if done, err := m.landed(ctx, r); done || err != nil {
		return err
	}
	if gone, err := m.line.step(ctx, r, "merging", 0); gone || err != nil {
		return err
	}
	w, err := m.take(ctx, r)
	if w == nil || err != nil {
		return err
	}
	defer w.release()
	if w.base, w.earlier = base, base != ""; !w.earlier {
		w.base, err = m.tip.base(ctx)
	}
	if err != nil {
		return err
	}
	if gone, err := m.revives(ctx, w); err != nil || gone != "" {
		return errors.Join(err, m.reviving(ctx, w, gone))
	}
	began := time.Now()
	changed, conflicts, err := m.trees.merge(ctx, w)
	if err != nil {
		return err
	}
	m.events.tellMerge(w, conflicts, time.Since(began))
	if len(conflicts) > 0 {
		return m.conflict(ctx, w, conflicts)
	}
	if len(changed) == 0 && r.Accepted() {
		return m.nothing(ctx, w)
	}
	if len(changed) == 0 {
		return m.empty(ctx, w)
	}
	return m.tryToLand(ctx, w, changed)
}

// tryToLand asks the gate about work that merges, runs its tests, and lands it or sends it back.
func (m *merging) tryToLand(ctx context.Context, w *work, changed []string) error {
	w.unlocks = m.inspect.unlocksOf(w.rec)
	if err := m.inspect.survey(ctx, w, changed); err != nil {
		return err
	}
	if problem := w.askGate(gate.TestRun{Pending: true}).Refused(); problem != "" {
		return m.red(ctx, w, nil, problem)
	}
	if other, err := m.line.resolver(ctx, w, changed); err != nil || other != "" {
		return errors.Join(err, m.line.behind(ctx, w, other))
	}
	verdict, err := m.verify(ctx, w)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		return err
	case verdict == nil || verdict.Green():
		return m.approve(ctx, w, verdict, false)
	}
	return m.judgeRed(ctx, w, verdict)
}

// nothing completes accepted work that has changed nothing.
func (m *merging) nothing(ctx context.Context, w *work) error {
	w.survey.compared = "its base: nothing has changed"
	ruling := w.askGate(gate.TestRun{Why: "nothing to merge"})
	if _, err := ruling.Pass(""); err != nil {
		return m.line.ask(ctx, w.rec, ruling.Asks())
	}
	now, err := m.settler.Proceed(ctx, w.rec, func(r *attempt.Record) { r.Judged.Gate = ruling })
	if now == nil || err != nil {
		return err
	}
	return m.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: outcome.Done,
		Detail: "unverified: nothing to merge", Verified: plan.Unverified})
}

// empty ends work that has changed nothing. A task doesn't continue, so its worktree can be
// removed.
func (m *merging) empty(ctx context.Context, w *work) error {
	detail := "its agent calls it complete and has changed nothing"
	if w.rec.ID.IsTask() {
		detail = "its agent ended well and has changed nothing"
	}
	err := m.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: outcome.Empty, Detail: detail})
	if err == nil && w.rec.ID.IsTask() {
		w.release()
		m.cleanup.tidy(ctx, w.rec)
	}
	return err
}

// landed finishes what a worker that was killed had begun: if a record names its commit, the work
// has passed everything.
func (m *merging) landed(ctx context.Context, r *attempt.Record) (bool, error) {
	g := r.Landing
	if g.Commit == "" {
		return false, nil
	}
	tip, err := m.repo.Queue.Tip(ctx)
	if err != nil {
		return false, err
	}
	in, err := git.IsAncestor(ctx, m.repo.Git.Common, g.Commit, tip)
	if err != nil {
		return false, err
	}
	there := in
	if !in {
		if there, err = git.HasCommit(ctx, m.repo.Git.Common, g.Commit); err != nil {
			return false, err
		}
	}
	switch {
	case in:
	case !there: // git prune has removed it
	case g.Batch != nil && (tip == g.Batch.Base || tip == g.Batch.From):
		var passes []gate.Pass
		if passes, in, err = m.whole(g.Batch); err == nil && in {
			err = m.moveBatch(ctx, g.Batch, passes)
		}
	case g.Batch == nil && (tip == g.Base || tip == g.From):
		pass, passErr := r.Ruled().Pass(g.Commit)
		if passErr != nil {
			return false, passErr
		}
		in, err = true, m.tip.move(ctx, tip, g.Commit, "merge "+r.ID.Work(), pass)
	}
	if err != nil {
		return false, err
	}
	if in {
		return true, m.complete(ctx, r)
	}
	return m.line.again(ctx, r) // from the beginning
}

// take takes the attempt's worktree and commits what its agent left there. It returns nil if that
// settles the attempt.
func (m *merging) take(ctx context.Context, r *attempt.Record) (*work, error) {
	if r.Place.Unsaved != "" {
		return nil, m.line.ask(ctx, r, "not all of its work could be saved: "+r.Place.Unsaved)
	}
	lineage, err := m.repo.Lineages.Get(r.ID.System, r.ID.Work())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*worktree.BadLineage)),
		err == nil && lineage.N != r.Place.Lineage:
		return nil, m.line.ask(ctx, r,
			fmt.Sprintf("the note of its worktree is gone; its work is on the branch %s",
				worktree.Short(r.Place.Branch)))
	case err != nil:
		return nil, err
	case lineage.Phase == worktree.Gone: // a worker was killed after it has found that out
		return nil, m.over(ctx, r, &worktree.LostError{Slice: r.ID.Slice, Base: lineage.Base})
	}
	hold, err := m.repo.Make(ctx, lineage, worktree.Making{FilesOnly: true})
	if over := new(worktree.LostError); errors.As(err, &over) {
		return nil, m.over(ctx, r, over)
	}
	if err != nil {
		return nil, err
	}
	tree := hold.Worktree()
	// agents switch branches
	tip, err := "", tree.Adopt(git.Inherit(ctx, hold.File()), lineage.Branch)
	if err == nil {
		tip, _, err = tree.CommitAll(git.Inherit(ctx, hold.File()), lineage.Branch,
			"gl: what attempt "+fmt.Sprint(r.ID.N)+" of "+r.ID.Work()+" left uncommitted")
	}
	if err == nil {
		w := &work{rec: r, lineage: lineage, hold: hold, tip: tip}
		if err = m.asLeft(ctx, w); err == nil {
			return w, nil
		}
	}
	defer hold.Release()
	return nil, m.notTaken(ctx, r, lineage, err)
}

// notTaken settles an attempt whose work can't be committed. Any error that isn't about the work is
// returned.
func (m *merging) notTaken(ctx context.Context, r *attempt.Record, lineage *worktree.Lineage,
	err error) error {
	unresolved, busy, elsewhere, unkept := new(git.UnresolvedError), new(git.BusyError),
		new(git.BranchError), new(git.UnkeptError)
	switch {
	case errors.As(err, &unresolved) && r.Landing.Why != "":
		// gl's own merge: a worker was killed after it
		err = m.line.handBack(ctx, r)
	case errors.As(err, &unresolved):
		err = m.line.finish(ctx, r, attempt.LandingResult{Outcome: outcome.Conflict,
			Detail: "its agent has left " + some(unresolved.Paths) + " unresolved"})
	case errors.As(err, &busy):
		err = m.line.ask(ctx, r, "a "+busy.Operation+" isn't finished in its worktree")
	case errors.As(err, &elsewhere):
		err = m.line.ask(ctx, r, fmt.Sprintf("its worktree isn't on its branch %s",
			worktree.Short(lineage.Branch)))
	case errors.As(err, &unkept):
		err = m.line.ask(ctx, r, "git can't take "+some(unkept.Paths))
	case errors.Is(err, errGoneTree):
		err = m.lost(ctx, r)
	}
	return err
}

// lost gives up work that nothing can be compared with any more. The worktree and the branch stay.
func (m *merging) lost(ctx context.Context, r *attempt.Record) error {
	effect, again := tracker.Release, ""
	if !r.ID.IsTask() {
		again = ": gl retry " + r.ID.Slice + " continues from there"
	}
	return m.line.finish(ctx, r, attempt.LandingResult{Outcome: outcome.Interrupted,
		Effect: &effect, Detail: fmt.Sprintf(
			"interrupted: %v (git prune, git gc --prune=now); its work is on the branch %s%s",
			errGoneTree, worktree.Short(r.Place.Branch), again)})
}

// over gives up work whose base is lost, since it can't be merged.
func (m *merging) over(ctx context.Context, r *attempt.Record, lost *worktree.LostError) error {
	effect := tracker.Release
	return m.line.finish(ctx, r, attempt.LandingResult{Outcome: outcome.Interrupted,
		Effect: &effect, Detail: "interrupted: " + lost.Error()})
}

// release gives the worktree back.
func (w *work) release() {
	if w.hold != nil {
		w.hold.Release()
	}
	w.hold = nil
}

// reviving stops work that would bring back the other slice, which was taken out of the queue's
// branch; "" for none.
func (m *merging) reviving(ctx context.Context, w *work, other string) error {
	if other == "" {
		return nil
	}
	effect, anew := tracker.Release, ""
	if !w.rec.ID.IsTask() {
		anew = ": gl retry --fresh " + w.rec.ID.Slice + " starts over"
	}
	return m.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: outcome.Interrupted,
		Effect: &effect, Detail: fmt.Sprintf(
			"interrupted: it was built on %s, which gl land --reset has taken out, and would bring that back%s", other, anew)})
}

// approve lands the work if the gate lets it pass, and otherwise asks a person. It is tested by
// then, so accepted work lands as it is. knownRed means that the same tests fail without it.
func (m *merging) approve(ctx context.Context, w *work, v *testrun.Verdict, knownRed bool) error {
	run := runOf(v)
	run.Known = knownRed
	fewer, err := m.bench.fewer(ctx, w.base, v, w.survey.found)
	if err != nil {
		return err
	}
	w.survey.found = append(w.survey.found, fewer...)
	ruling := w.askGate(run)
	if why := ruling.Asks(); why != "" {
		return m.askAbout(ctx, w, v, ruling, why)
	}
	if w.earlier {
		return nil
	}
	return m.pass(ctx, w, v, ruling)
}

// askAbout asks a person to review work whose tests have run.
func (m *merging) askAbout(ctx context.Context, w *work, v *testrun.Verdict, ruling *gate.Ruling,
	why string) error {
	w.release()
	now, err := m.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Caveats, g.Paths, g.Why, g.Output, r.Judged.Verdict, r.Judged.Gate = w.tip,
			w.base,
			w.caveats, nil, "", "", v, ruling
	})
	if now == nil || err != nil {
		return err
	}
	if w.rec.Accepted() {
		why += ". Accept it again to merge it"
	}
	m.tell("%s awaits review: %s", w.rec.ID.Label(), why)
	return m.line.ask(ctx, w.rec, attempt.ReviewText(v, why))
}

// pass lands the work.
func (m *merging) pass(ctx context.Context, w *work, v *testrun.Verdict,
	ruling *gate.Ruling) error {
	lands, err := m.shape(ctx, w, m.trailers(w, v))
	if err != nil {
		return err
	}
	pass, err := ruling.Pass(lands.commit())
	if err != nil {
		return err
	}
	if err := m.repo.Queue.KeepNext(ctx, lands.commit()); err != nil {
		return err
	}
	w.release()
	now, err := m.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		w.passed(r, m.repo.Target(), lands, v, ruling)
		r.Landing.From = m.tip.from(w.base)
	})
	if now == nil || err != nil {
		return err
	}
	w.rec.Landing, w.rec.Judged.Verdict, w.rec.Judged.Gate = now.Landing, now.Judged.Verdict,
		now.Judged.Gate
	if err := m.file.undeliver(w.rec.ID.Work(), lands.commit()); err != nil {
		return err
	}
	if err := m.tip.move(ctx, cmp.Or(m.tip.from(w.base), w.base), lands.commit(),
		"merge "+w.rec.ID.Work(), pass); err != nil {
		return err
	}
	return m.complete(ctx, w.rec)
}

// passed notes in the record that the work lands, and as what.
func (w *work) passed(r *attempt.Record, target string, lands landing, v *testrun.Verdict,
	ruling *gate.Ruling) {
	g := r.Landing
	g.Step, g.Target, g.Tip, g.Base, g.Commit, r.Judged.Verdict = "landing", target, w.tip, w.base,
		lands.commit(), v
	g.Verified, r.Judged.Gate = plan.Verified(ruling.Verdict()), ruling
	g.Paths, g.Why, g.Output = nil, "", "" // of a conflict that is resolved
	g.As, g.Commits, g.Batch, g.Handed = lands.as, nil, nil, nil
	if w.survey.handed != "" {
		g.Handed = &attempt.Handed{Commit: w.survey.handed, Began: w.lineage.Base}
	}
	if len(lands.commits) > 1 {
		g.Commits = lands.commits
	}
	g.Caveats = append(slices.Clone(w.caveats), lands.caveats...)
}

// title returns the subject of the landing commit.
func (w *work) title() string {
	if w.rec.ID.Title != "" && w.rec.ID.Title != w.rec.ID.Slice {
		return "Land " + w.rec.ID.Work() + ": " + w.rec.ID.Title
	}
	return "Land " + w.rec.ID.Work()
}

// trailers returns the proof that travels with the repository.
func (m *merging) trailers(w *work, v *testrun.Verdict) []git.Trailer {
	trailers := []git.Trailer{{Key: "Slice", Value: w.rec.ID.Work()},
		{Key: "Attempt", Value: fmt.Sprint(w.rec.ID.N)}}
	if m.repo.Git.Prefix != "" {
		trailers = append(trailers, git.Trailer{Key: "Project", Value: m.repo.Git.Prefix})
	}
	if v != nil {
		trailers = append(trailers, git.Trailer{Key: "Verified", Value: verifiedText(v)})
	}
	return trailers
}

// verifiedText returns the verdict in one line: "go test ./..., exit 0, 12.4s".
func verifiedText(v *testrun.Verdict) string {
	how := "signal " + v.Signal
	switch {
	case v.TimedOut:
		how = "timed out"
	case v.ExitCode != nil:
		how = fmt.Sprintf("exit %d", *v.ExitCode)
	}
	return fmt.Sprintf("%s, %s, %.1fs", v.Command, how, v.Seconds)
}

// complete marks a slice complete once the queue's branch has its commit.
func (m *merging) complete(ctx context.Context, r *attempt.Record) error {
	if err := m.file.undeliver(r.ID.Work(), r.Landing.Commit); err != nil {
		// the file may have been lost
		return err
	}
	if err := m.bench.noteSuite(ctx, r.Landing.Head(), r.Judged.Verdict); err != nil {
		return err
	}
	ruling, gained := r.Ruled(), m.bench.gained(ctx, r)
	detail := verdictText(r.Judged.Verdict, gained)
	if marks := ruling.Answer(gate.Merge); marks.Says == gate.Approved {
		detail = "unverified: " + marks.Evidence
	}
	if approved := ruling.Approval(); approved != "" {
		detail += "; " + approved
	}
	if b := r.Landing.Batch; b != nil {
		detail += " together with " + strings.Join(slices.DeleteFunc(b.Slices(),
			func(id string) bool { return id == r.ID.Slice }), ", ")
	}
	m.line.unblock() // it may have been what others wait for
	if err := m.line.finish(ctx, r, attempt.LandingResult{Outcome: outcome.Done, Detail: detail,
		Verified: r.Landing.Verified, Tests: gained}); err != nil {
		return err
	}
	m.cleanup.tidy(ctx, r)
	return nil
}

// verdictText describes the tests of what lands: "42 tests, 3 new, verified". gained is how many
// the slice added, nil for unknown.
func verdictText(v *testrun.Verdict, gained *int) string {
	switch {
	case v == nil:
		return "unverified: no test.command"
	case !v.Green():
		return "unverified: the same tests fail without it"
	case v.Passed == nil:
		return "verified"
	}
	if gained != nil {
		return v.Count() + ", " + plan.Gain(*gained) + ", verified"
	}
	return v.Count() + ", verified"
}

// some names the first of a list.
func some(paths []string) string {
	const most = 5
	return strings.Join(paths[:min(most, len(paths))], ", ") + words.More(len(paths)-most)
}

// red sends the work back to its agent or, the second time, to a person. v may be nil if problem
// says it all.
func (m *merging) red(ctx context.Context, w *work, v *testrun.Verdict, problem string) error {
	why := fmt.Sprintf("gl merged your work and didn't accept it: %s. Put that right, %s.",
		problem, w.rec.ID.Again())
	output := ""
	if v != nil {
		why = fmt.Sprintf("gl merged your work with what was merged meanwhile and ran the tests: %s. Put that right, %s. The command was: %s",
			problem, w.rec.ID.Again(), v.Command)
		output = strings.Join(v.Shown(), "\n")
	}
	if !w.rec.Accepted() {
		if err := m.integrate(ctx, w); err != nil {
			return err
		}
	}
	now, err := m.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Why, g.Output, r.Judged.Verdict = w.tip, w.base, why, output, v
		r.Judged.Gate = w.askGate(runOf(v))
		if v == nil {
			r.Judged.Gate, g.Problem = w.askGate(gate.TestRun{Pending: true}), problem
		}
	})
	if now == nil || err != nil {
		return err
	}
	detail := problem
	switch tests := w.askGate(gate.TestRun{Pending: true}); {
	case v == nil && !w.rec.Accepted() && w.rec.Talk.Mends() && !w.rec.ID.IsTask() &&
		tests.Answer(gate.Tests).Says == gate.No && tests.Answer(gate.Merge).Says == gate.Yes:
		detail += fmt.Sprintf(". gl accept %s --tests shows that and accepts it, gl retry --fresh %s starts over", w.rec.ID.Slice, w.rec.ID.Slice)
	case v == nil && w.rec.Accepted(): // see Landing.Approved
		detail += ". Accept it again to merge it"
	}
	return m.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: outcome.Red, Detail: detail})
}

// integrate merges the base into the slice's branch, so that its agent sees the tree that was
// tested.
func (m *merging) integrate(ctx context.Context, w *work) error {
	_, err := w.hold.Worktree().Integrate(ctx, w.lineage.Branch, w.base, w.tree,
		w.lineage.MergeText())
	// files that git ignores are in the way: the agent goes on without the merge
	if overlap := new(git.OverlapError); errors.As(err, &overlap) {
		return nil
	}
	return err
}

// conflict has the slice's agent resolve a conflict. Only one agent at a time resolves in the same
// paths, because its work changes what the others would resolve against.
func (m *merging) conflict(ctx context.Context, w *work, paths []string) error {
	if other, err := m.line.resolver(ctx, w, paths); err != nil || other != "" {
		return errors.Join(err, m.line.behind(ctx, w, other))
	}
	begun := "gl has begun to merge it into your branch: the marks are in " + some(paths)
	// The next attempt begins the merge where a person has to decide first, or where the agent goes
	// on in its own worktree, on a worker.
	later := w.rec.Accepted()
	if later {
		begun = fmt.Sprintf("The conflicts are in %s. If these files have no marks, run git merge %s",
			some(paths), short(w.base))
	}
	if w.rec.Life.Remote != nil && w.rec.GoesOnAfter(outcome.Conflict) {
		var err error
		if later, err = m.repo.Needless(ctx, w.lineage); err != nil {
			return err
		}
	}
	// The record comes before the merge, so that the next worker knows the merge as gl's.
	now, err := m.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Paths, g.Output, g.Unmade = w.tip, w.base, paths,
			"in conflict:\n"+strings.Join(paths, "\n"), later
		g.Why = "Other work was merged that conflicts with yours. " + begun +
			". Resolve them so that both sides' intent is kept, run the tests, " +
			w.rec.ID.Again() + "."
	})
	if now == nil || err != nil {
		return err
	}
	if now.Accepted() {
		return m.line.finish(ctx, now, attempt.LandingResult{Outcome: outcome.Conflict,
			Detail: "it conflicts with merged work: " + some(paths)})
	}
	if !later {
		if err := w.hold.BeginMerge(ctx, w.base, w.lineage.MergeText()); err != nil {
			return err
		}
	}
	return m.line.handBack(ctx, now)
}

// verify tests the merge. It returns nil if the project has no test command.
func (m *merging) verify(ctx context.Context, w *work) (*testrun.Verdict, error) {
	commit, err := git.CommitTree(ctx, m.repo.Git.Common,
		git.NewCommit{Tree: w.tree, Parents: []string{w.base, w.tip},
			Message: "gl: candidate " + w.rec.ID.Work()})
	if err != nil {
		return nil, err
	}
	m.trees.sameFiles(commit, w.tree)
	if m.commands.conf.Config.Test.Command.IsSet() {
		if gone, err := m.line.step(ctx, w.rec, "testing", m.commands.usual()); gone || err != nil {
			return nil, errors.Join(err, errGone)
		}
	}
	return m.bench.test(ctx, commit, tested{rec: w.rec})
}

// judgeRed decides about work whose tests fail. Failures that are there without the work aren't
// held against it.
func (m *merging) judgeRed(ctx context.Context, w *work, v *testrun.Verdict) error {
	problem := How(v, m.project.Config.Test.Limit)
	if a := m.tip.aheadAt(w.base); a != nil { // what the target has may be to blame
		if _, err := m.tip.takeIn(ctx, a); err != nil {
			return err
		}
	}
	if v.TimedOut {
		return m.red(ctx, w, v, problem)
	}
	base, err := m.bench.baseVerdict(ctx, w.base)
	if err != nil {
		return err
	}
	if base.Green() {
		return m.red(ctx, w, v, problem)
	}
	if v.Named() && base.Named() {
		added := slices.DeleteFunc(slices.Clone(v.Failing),
			func(t string) bool { return slices.Contains(base.Failing, t) })
		if len(added) > 0 {
			return m.red(ctx, w, v, problem+", and without it they don't fail: "+some(added))
		}
		if v.Passed == nil || base.Passed == nil || *v.Passed >= *base.Passed {
			return m.approve(ctx, w, v, true)
		}
	}
	target, how := worktree.Short(m.repo.Target()), How(base, m.project.Config.Test.Limit)
	reason := fmt.Sprintf("base red: the tests fail on %s, too (%s)", target, how)
	alike := v.FailsLike(base)
	if alike {
		reason = fmt.Sprintf("the test command fails on %s as well (%s); fix %[1]s or the command: %[3]s",
			target, strings.TrimPrefix(how, "tests: "), testrun.SetCommand(m.project.Root,
				m.project.Flags(), m.commands.conf.Config.Test.Command))
	}
	m.line.block(w.rec, reason)
	m.tell("%s waits: %s", w.rec.ID.Label(), reason)
	_, err = m.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Step, g.Tried, g.Reason, g.Tip, g.Base, r.Judged.Verdict = "", w.base, reason,
			w.tip, w.base, v
		g.Alike = alike
	})
	return err
}

// sendBack sends back those that wait because the base is red. Work after which the tests fail just
// as they do without it stays in the queue: another attempt would cost money and change nothing,
// and once the command or the base is put right, it is tested again.
func (m *merging) sendBack(ctx context.Context) error {
	queue, err := queueOf(m.project)
	if err != nil {
		return err
	}
	for _, r := range queue {
		v := r.Judged.Verdict
		if r.Landing.Tried == "" || v == nil || v.Green() || r.Landing.Behind != "" ||
			r.Landing.Alike {
			continue
		}
		if there, err := git.HasCommit(ctx, m.repo.Git.Common, r.Landing.Base); err != nil ||
			!there {
			continue
		}
		w, err := m.take(ctx, r)
		if err != nil {
			return err
		}
		if w == nil {
			continue
		}
		w.base = r.Landing.Base
		if w.tree, _, err = git.MergeTree(ctx, m.repo.Git.Common, w.base, w.tip,
			statedir.InState); err == nil && w.tree != "" {
			err = m.red(ctx, w, v,
				How(v, m.project.Config.Test.Limit)+"; they fail without it, too")
		}
		w.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// errGone means that the attempt has left the queue.
var errGone = errors.New("it isn't in the merge queue any more")

// revives returns a slice that was taken out of the queue's branch and that the work would bring
// back, "" for none.
func (m *merging) revives(ctx context.Context, w *work) (string, error) {
	for _, d := range m.file.Dropped {
		if d.Undone && d.Slice != w.rec.ID.Slice {
			// the commit that takes it back again is in the base, and merges with this work
			continue
		}
		in, err := git.IsAncestor(ctx, m.repo.Git.Common, d.Commit, w.tip)
		if err != nil {
			return "", err
		}
		if !in {
			continue
		}
		if in, err = git.IsAncestor(ctx, m.repo.Git.Common, d.Commit, w.base); err != nil || !in {
			return d.Slice, err
		}
	}
	return "", nil
}

// moveBatch moves the queue's branch to a batch, once each record says that it lands.
func (m *merging) moveBatch(ctx context.Context, batch *attempt.Batch, passes []gate.Pass) error {
	pass, err := gate.Together(batch.Head, passes...)
	if err != nil {
		return err
	}
	queue, err := queueOf(m.project)
	if err != nil {
		return err
	}
	for _, r := range queue {
		if batch.Has(r) {
			if err := m.file.undeliver(r.ID.Slice, r.Landing.Commit); err != nil {
				return err
			}
		}
	}
	return m.tip.move(ctx, cmp.Or(batch.From, batch.Base), batch.Head,
		"merge "+strings.Join(batch.Slices(), ", "), pass)
}

// whole returns the passes of a batch, in order, if all of its attempts are in the queue and land
// by it.
func (m *merging) whole(batch *attempt.Batch) ([]gate.Pass, bool, error) {
	queue, err := queueOf(m.project)
	if err != nil {
		return nil, false, err
	}
	var passes []gate.Pass
	for _, name := range batch.Members {
		i := slices.IndexFunc(queue, func(r *attempt.Record) bool {
			return r.ID.Name() == name && batch.Has(r)
		})
		if i < 0 {
			return nil, false, nil
		}
		pass, err := queue[i].Ruled().Pass(queue[i].Landing.Commit)
		if err != nil {
			return nil, false, err
		}
		passes = append(passes, pass)
	}
	return passes, true, nil
}

// asLeft has the tree land that the agent left, or that a person accepted. Later changes stay on
// the branch.
func (m *merging) asLeft(ctx context.Context, w *work) (err error) {
	if w.left, w.lands = w.rec.Place.Tree, w.rec.Place.Tree; w.rec.Place.Tree == "" {
		return nil
	}
	if w.later, err = git.Changed(ctx, m.repo.Git.Common, w.rec.Place.Tree, w.tip,
		statedir.InState); err != nil {
		return m.gone(ctx, w, err)
	}
	if len(w.later) == 0 {
		return nil
	}
	c := git.NewCommit{Tree: w.rec.Place.Tree,
		Message: "gl: " + w.rec.ID.Work() + " as its agent left it",
		Parents: []string{cmp.Or(w.rec.Place.Head, w.lineage.Base)}}
	if w.tip, err = git.CommitTree(ctx, m.repo.Git.Common, c); err == nil {
		m.tell("%s: changed after its agent had ended, and left out: %s", w.rec.ID.Label(),
			some(w.later))
	}
	return err
}

// gone returns errGoneTree if git has pruned the tree that the agent left, and otherwise err.
func (m *merging) gone(ctx context.Context, w *work, err error) error {
	if there, hasErr := git.Has(ctx, m.repo.Git.Common,
		w.rec.Place.Tree+"^{tree}"); hasErr == nil && !there {
		return errGoneTree
	}
	return err
}
