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
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/site"
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
	survey  survey
	unlocks func() bool // it replaces wrapped code, and may remove the tests that lock it; nil for no
}

// land takes one attempt as far as it goes. An error is about gl and the machine, not about the work: the attempt stays in the
// queue.
func (l *Lane) land(ctx context.Context, r *attempt.Record) error {
	if done, err := l.landed(ctx, r); done || err != nil {
		return err
	}
	if gone, err := l.turn.line.step(ctx, r, "merging", 0); gone || err != nil {
		return err
	}
	w, err := l.take(ctx, r)
	if w == nil || err != nil {
		return err
	}
	defer w.release()
	if w.base, err = l.turn.tip.base(ctx); err != nil {
		return err
	}
	if gone, err := l.revives(ctx, w); err != nil || gone != "" {
		return errors.Join(err, l.reviving(ctx, w, gone))
	}
	began := time.Now()
	changed, conflicts, err := l.trees.merge(ctx, w)
	if err != nil {
		return err
	}
	l.events.tellMerge(w, conflicts, time.Since(began))
	if len(conflicts) > 0 {
		return l.conflict(ctx, w, conflicts)
	}
	if len(changed) == 0 && r.Accepted() {
		return l.nothing(ctx, w)
	}
	if len(changed) == 0 {
		return l.empty(ctx, w)
	}
	w.unlocks = l.inspect.unlocksOf(r)
	if err := l.inspect.survey(ctx, w, changed); err != nil {
		return err
	}
	if problem := w.rule(gate.TestRun{Pending: true}).Refused(); problem != "" {
		return l.red(ctx, w, nil, problem)
	}
	if other, err := l.turn.line.resolver(ctx, w, changed); err != nil || other != "" {
		return errors.Join(err, l.turn.line.behind(ctx, w, other))
	}
	verdict, err := l.verify(ctx, w)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err != nil:
		return err
	case verdict == nil || verdict.Green():
		return l.approve(ctx, w, verdict, false)
	}
	return l.judgeRed(ctx, w, verdict)
}

// nothing completes what a person accepts that has changed nothing.
func (l *Lane) nothing(ctx context.Context, w *work) error {
	w.survey.compared = "its base: nothing has changed"
	ruling := w.rule(gate.TestRun{Why: "nothing to land"})
	if _, err := ruling.Pass(""); err != nil {
		return l.turn.line.ask(ctx, w.rec, ruling.Asks())
	}
	now, err := l.turn.settler.Proceed(ctx, w.rec, func(r *attempt.Record) { r.Gate = ruling })
	if now == nil || err != nil {
		return err
	}
	return l.turn.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: attempt.Done, Detail: "unverified: nothing to land", Verified: plan.Unverified})
}

// empty ends work that has changed nothing. Nobody goes on with a task, so its worktree has had its day.
func (l *Lane) empty(ctx context.Context, w *work) error {
	detail := "its agent calls it complete and has changed nothing"
	if w.rec.IsTask() {
		detail = "its agent ended well and has changed nothing"
	}
	err := l.turn.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: attempt.Empty, Detail: detail})
	if err == nil && w.rec.IsTask() {
		w.release()
		l.tidy(ctx, w.rec)
	}
	return err
}

// landed finishes what a worker was about when it was killed: a record that names its commit has passed everything.
func (l *Lane) landed(ctx context.Context, r *attempt.Record) (bool, error) {
	g := r.Landing
	if g.Commit == "" {
		return false, nil
	}
	tip, err := l.Repo.LaneTip(ctx)
	if err != nil {
		return false, err
	}
	in, err := git.IsAncestor(ctx, l.Repo.Common, g.Commit, tip)
	if err != nil {
		return false, err
	}
	there := in
	if !in {
		if there, err = git.HasCommit(ctx, l.Repo.Common, g.Commit); err != nil {
			return false, err
		}
	}
	switch {
	case in:
	case !there: // git prune was faster
	case g.Batch != nil && (tip == g.Batch.Base || tip == g.Batch.From):
		var passes []gate.Pass
		if passes, in, err = l.whole(g.Batch); err == nil && in {
			err = l.moveBatch(ctx, g.Batch, passes)
		}
	case g.Batch == nil && (tip == g.Base || tip == g.From):
		pass, passErr := r.Ruled().Pass(g.Commit)
		if passErr != nil {
			return false, passErr
		}
		in, err = true, l.turn.tip.move(ctx, tip, g.Commit, "land "+r.Work(), pass)
	}
	if err != nil {
		return false, err
	}
	if in {
		return true, l.complete(ctx, r)
	}
	return l.turn.line.again(ctx, r) // from the beginning
}

// take gets hold of the attempt's worktree and commits what its agent has left there. The work is nil where that settles the
// attempt.
func (l *Lane) take(ctx context.Context, r *attempt.Record) (*work, error) {
	if r.Unsaved != "" {
		return nil, l.turn.line.ask(ctx, r, "not all of its work could be saved: "+r.Unsaved)
	}
	lineage, err := l.Repo.Get(r.System, r.Work())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*worktree.BadLineage)), err == nil && lineage.N != r.Lineage:
		return nil, l.turn.line.ask(ctx, r, fmt.Sprintf("the note of its worktree is gone; its work is on the branch %s", worktree.Short(r.Branch)))
	case err != nil:
		return nil, err
	case lineage.Phase == worktree.Gone: // a worker was killed after it has found that out
		return nil, l.over(ctx, r, &worktree.LostError{Slice: r.Slice, Base: lineage.Base})
	}
	hold, err := l.Repo.Make(ctx, lineage, worktree.Making{FilesOnly: true})
	if over := new(worktree.LostError); errors.As(err, &over) {
		return nil, l.over(ctx, r, over)
	}
	if err != nil {
		return nil, err
	}
	tree := l.Repo.Worktree(lineage)
	tip, err := "", tree.Adopt(git.Inherit(ctx, hold.File()), lineage.Branch) // agents switch branches
	if err == nil {
		tip, _, err = tree.CommitAll(git.Inherit(ctx, hold.File()), lineage.Branch, "gl: what attempt "+fmt.Sprint(r.N)+" of "+r.Work()+" left uncommitted")
	}
	if err == nil {
		w := &work{rec: r, lineage: lineage, hold: hold, tip: tip}
		if err = l.asLeft(ctx, w); err == nil {
			return w, nil
		}
	}
	defer hold.Release()
	unresolved, busy, elsewhere, unkept := new(git.UnresolvedError), new(git.BusyError), new(git.BranchError), new(git.UnkeptError)
	switch {
	case errors.As(err, &unresolved) && r.Landing.Why != "": // gl's own merge: a worker was killed after it
		err = l.turn.line.handBack(ctx, r)
	case errors.As(err, &unresolved):
		err = l.turn.line.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Conflict, Detail: "its agent has left " + some(unresolved.Paths) + " unresolved"})
	case errors.As(err, &busy):
		err = l.turn.line.ask(ctx, r, "a "+busy.Operation+" isn't finished in its worktree")
	case errors.As(err, &elsewhere):
		err = l.turn.line.ask(ctx, r, fmt.Sprintf("its worktree isn't on its branch %s", worktree.Short(lineage.Branch)))
	case errors.As(err, &unkept):
		err = l.turn.line.ask(ctx, r, "git can't take "+some(unkept.Paths))
	case errors.Is(err, errGoneTree):
		err = l.lost(ctx, r)
	}
	return nil, err
}

// lost gives up what nothing can be compared with anymore. What is in the worktree and on its branch stays.
func (l *Lane) lost(ctx context.Context, r *attempt.Record) error {
	effect, again := tracker.Release, ""
	if !r.IsTask() {
		again = ": gl retry " + r.Slice + " goes on from there"
	}
	return l.turn.line.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Interrupted, Effect: &effect, Detail: fmt.Sprintf(
		"interrupted: %v (git prune, git gc --prune=now); its work is on the branch %s%s", errGoneTree, worktree.Short(r.Branch), again)})
}

// over gives up work whose base is lost: it can't be merged.
func (l *Lane) over(ctx context.Context, r *attempt.Record, lost *worktree.LostError) error {
	effect := tracker.Release
	return l.turn.line.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Interrupted, Effect: &effect, Detail: "interrupted: " + lost.Error()})
}

// release gives the worktree back.
func (w *work) release() {
	if w.hold != nil {
		w.hold.Release()
	}
	w.hold = nil
}

// reviving stops work that was built on another slice's, which has been taken out of the lane.
func (l *Lane) reviving(ctx context.Context, w *work, other string) error {
	if other == "" {
		return nil
	}
	effect, anew := tracker.Release, ""
	if !w.rec.IsTask() {
		anew = ": gl retry --fresh " + w.rec.Slice + " begins anew"
	}
	return l.turn.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: attempt.Interrupted, Effect: &effect, Detail: fmt.Sprintf(
		"interrupted: it was built on %s, which gl land --reset has taken out, and would bring that back%s", other, anew)})
}

// approve lands the work if the gate lets it pass, or has a person look at it first. It is tested by then, so what is accepted lands as it
// is. knownRed says that the same tests fail without it.
func (l *Lane) approve(ctx context.Context, w *work, v *testrun.Verdict, knownRed bool) error {
	run := runOf(v)
	run.Known = knownRed
	fewer, err := l.turn.bench.fewer(ctx, w.base, v, w.survey.found)
	if err != nil {
		return err
	}
	w.survey.found = append(w.survey.found, fewer...)
	ruling := w.rule(run)
	if why := ruling.Asks(); why != "" {
		return l.askAbout(ctx, w, v, ruling, why)
	}
	return l.pass(ctx, w, v, ruling)
}

// askAbout has a person look at work whose tests have run.
func (l *Lane) askAbout(ctx context.Context, w *work, v *testrun.Verdict, ruling *gate.Ruling, why string) error {
	w.release()
	now, err := l.turn.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Caveats, g.Paths, g.Why, g.Output, r.Verdict, r.Gate = w.tip, w.base, w.caveats, nil, "", "", v, ruling
	})
	if now == nil || err != nil {
		return err
	}
	if w.rec.Accepted() {
		why += ". Accepted again, it lands"
	}
	l.tell("%s awaits review: %s", w.rec.Label(), why)
	return l.turn.line.ask(ctx, w.rec, attempt.ReviewText(v, why))
}

// pass lands the work.
func (l *Lane) pass(ctx context.Context, w *work, v *testrun.Verdict, ruling *gate.Ruling) error {
	lands, err := l.shape(ctx, w, l.trailers(w, v))
	if err != nil {
		return err
	}
	pass, err := ruling.Pass(lands.commit())
	if err != nil {
		return err
	}
	if err := l.Repo.KeepNext(ctx, lands.commit()); err != nil {
		return err
	}
	w.release()
	now, err := l.turn.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		w.passed(r, l.Repo.Target(), lands, v, ruling)
		r.Landing.From = l.turn.tip.from(w.base)
	})
	if now == nil || err != nil {
		return err
	}
	w.rec.Landing, w.rec.Verdict, w.rec.Gate = now.Landing, now.Verdict, now.Gate
	if err := l.turn.file.undeliver(w.rec.Work(), lands.commit()); err != nil {
		return err
	}
	if err := l.turn.tip.move(ctx, cmp.Or(l.turn.tip.from(w.base), w.base), lands.commit(), "land "+w.rec.Work(), pass); err != nil {
		return err
	}
	return l.complete(ctx, w.rec)
}

// passed notes in the record that the work lands, and how.
func (w *work) passed(r *attempt.Record, target string, lands landing, v *testrun.Verdict, ruling *gate.Ruling) {
	g := r.Landing
	g.Step, g.Target, g.Tip, g.Base, g.Commit, r.Verdict = "landing", target, w.tip, w.base, lands.commit(), v
	g.Verified, r.Gate = plan.Verified(ruling.Verdict()), ruling
	g.Paths, g.Why, g.Output = nil, "", "" // of a conflict that is none any more
	g.As, g.Commits, g.Batch, g.Handed = lands.as, nil, nil, nil
	if w.survey.handed != "" {
		g.Handed = &attempt.Handed{Commit: w.survey.handed, Began: w.lineage.Base}
	}
	if len(lands.commits) > 1 {
		g.Commits = lands.commits
	}
	g.Caveats = append(slices.Clone(w.caveats), lands.caveats...)
}

// title is the landing commit's.
func (w *work) title() string {
	if w.rec.Title != "" && w.rec.Title != w.rec.Slice {
		return "Land " + w.rec.Work() + ": " + w.rec.Title
	}
	return "Land " + w.rec.Work()
}

// trailers are the proof that travels with the repository.
func (l *Lane) trailers(w *work, v *testrun.Verdict) []git.Trailer {
	trailers := []git.Trailer{{Key: "Slice", Value: w.rec.Work()}, {Key: "Attempt", Value: fmt.Sprint(w.rec.N)}}
	if l.Repo.Prefix != "" {
		trailers = append(trailers, git.Trailer{Key: "Project", Value: l.Repo.Prefix})
	}
	if v != nil {
		trailers = append(trailers, git.Trailer{Key: "Verified", Value: verifiedText(v)})
	}
	return trailers
}

// verifiedText is the verdict in one line: "go test ./..., exit 0, 12.4s".
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

// complete makes the slice complete whose commit the lane has.
func (l *Lane) complete(ctx context.Context, r *attempt.Record) error {
	if err := l.turn.file.undeliver(r.Work(), r.Landing.Commit); err != nil { // the file may have been lost
		return err
	}
	if err := l.turn.bench.noteSuite(ctx, r.Landing.Head(), r.Verdict); err != nil {
		return err
	}
	ruling, gained := r.Ruled(), l.turn.bench.gained(ctx, r)
	detail := verdictText(r.Verdict, gained)
	if marks := ruling.Answer(gate.Merge); marks.Says == gate.Approved {
		detail = "unverified: " + marks.Evidence
	}
	if approved := ruling.Approval(); approved != "" {
		detail += "; " + approved
	}
	if b := r.Landing.Batch; b != nil {
		detail += " together with " + strings.Join(slices.DeleteFunc(b.Slices(), func(id string) bool { return id == r.Slice }), ", ")
	}
	l.turn.line.unblock() // it may have been what others wait for
	if err := l.turn.line.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Done, Detail: detail, Verified: r.Landing.Verified, Tests: gained}); err != nil {
		return err
	}
	l.tidy(ctx, r)
	return nil
}

// tidy removes the worktree of work that has landed. Where it can't, gl clean says why.
func (l *Lane) tidy(ctx context.Context, r *attempt.Record) {
	lineage, err := l.Repo.Get(r.System, r.Work())
	if err != nil || lineage.N != r.Lineage {
		return
	}
	kept, err := l.discard(ctx, lineage)
	if err != nil {
		l.tell("%s: its worktree stays: %v", r.Label(), err)
	} else if kept != "" {
		l.tell("%s: its worktree stays: %s", r.Label(), kept)
	}
}

// discard removes the worktree of a slice that has landed.
func (l *Lane) discard(ctx context.Context, lineage *worktree.Lineage) (kept string, err error) {
	if config := l.commands.conf.Config.Git; len(config.Teardown) > 0 {
		if err := l.commands.allowed(ctx); err != nil {
			return "", err
		}
		if removable, why, err := l.Repo.Removable(ctx, lineage); err != nil || !removable {
			return why, err
		}
		if err := site.TearDown(ctx, l.Project.Root, l.Repo, lineage, l.Self, l.Environ, config.Teardown, config.SetupLimit); err != nil {
			return "", err
		}
	}
	return l.Repo.Remove(ctx, lineage)
}

// verdictText is what gl has seen of the tests of what lands: "42 tests, 3 new, verified". gained is how many the slice brought, nil for
// unknown.
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

// red sends the work back to its agent or, if that was told before, to a person. v may be nil: then problem says it all.
func (l *Lane) red(ctx context.Context, w *work, v *testrun.Verdict, problem string) error {
	why := fmt.Sprintf("gl merged your work and didn't accept it: %s. Put that right, %s.", problem, w.rec.Again())
	output := ""
	if v != nil {
		why = fmt.Sprintf("gl merged your work with what has landed meanwhile and ran the tests: %s. Put that right, %s. The command was: %s",
			problem, w.rec.Again(), v.Command)
		output = strings.Join(v.Shown(), "\n")
	}
	if !w.rec.Accepted() {
		if err := l.integrate(ctx, w); err != nil {
			return err
		}
	}
	now, err := l.turn.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Why, g.Output, r.Verdict = w.tip, w.base, why, output, v
		r.Gate = w.rule(runOf(v))
		if v == nil {
			r.Gate, g.Problem = w.rule(gate.TestRun{Pending: true}), problem
		}
	})
	if now == nil || err != nil {
		return err
	}
	detail := problem
	switch tests := w.rule(gate.TestRun{Pending: true}); {
	case v == nil && !w.rec.Accepted() && w.rec.Mends() && !w.rec.IsTask() && tests.Answer(gate.Tests).Says == gate.No && tests.Answer(gate.Merge).Says == gate.Yes:
		detail += fmt.Sprintf(". gl accept %s --tests shows that and accepts it, gl retry --fresh %s begins anew", w.rec.Slice, w.rec.Slice)
	case v == nil && w.rec.Accepted(): // see Landing.Approved
		detail += ". Accepted again, it lands"
	}
	return l.turn.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: attempt.Red, Detail: detail})
}

// integrate merges the base into the slice's branch, so that its agent sees the tree that was tested.
func (l *Lane) integrate(ctx context.Context, w *work) error {
	_, err := l.Repo.Worktree(w.lineage).Integrate(ctx, w.lineage.Branch, w.base, w.tree, "Merge what has landed into "+worktree.Short(w.lineage.Branch))
	if overlap := new(git.OverlapError); errors.As(err, &overlap) { // ignored files of the agent's: then it sees less
		return nil
	}
	return err
}

// conflict has the slice's agent resolve a conflict. One agent at a time resolves in the same paths: what the others would resolve
// against is about to change.
func (l *Lane) conflict(ctx context.Context, w *work, paths []string) error {
	if other, err := l.turn.line.resolver(ctx, w, paths); err != nil || other != "" {
		return errors.Join(err, l.turn.line.behind(ctx, w, other))
	}
	if w.rec.Accepted() {
		return l.turn.line.finish(ctx, w.rec, attempt.LandingResult{Outcome: attempt.Conflict, Detail: "it conflicts with what has landed: " + some(paths)})
	}
	// Before the merge is in the worktree: who finds it there must know whose it is.
	now, err := l.turn.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Paths, g.Output = w.tip, w.base, paths, "in conflict:\n"+strings.Join(paths, "\n")
		g.Why = "Other work has landed that conflicts with yours. gl has begun to merge it into your branch: the marks are in " + some(paths) +
			". Resolve them so that both sides' intent is kept, run the tests, " + w.rec.Again() + "."
	})
	if now == nil || err != nil {
		return err
	}
	_, err = l.Repo.Worktree(w.lineage).MergeConflicted(ctx, w.lineage.Branch, w.base, "Merge what has landed into "+worktree.Short(w.lineage.Branch), statedir.InState)
	if err != nil {
		return err
	}
	return l.turn.line.handBack(ctx, now)
}

// verify tests the merge. It is nil where the project has no test command.
func (l *Lane) verify(ctx context.Context, w *work) (*testrun.Verdict, error) {
	commit, err := git.CommitTree(ctx, l.Repo.Common, git.NewCommit{Tree: w.tree, Parents: []string{w.base, w.tip}, Message: "gl: candidate " + w.rec.Work()})
	if err != nil {
		return nil, err
	}
	l.trees.sameFiles(commit, w.tree)
	if l.commands.conf.Config.Test.Command.IsSet() {
		if gone, err := l.turn.line.step(ctx, w.rec, "testing", l.commands.usual()); gone || err != nil {
			return nil, errors.Join(err, errGone)
		}
	}
	return l.turn.bench.test(ctx, commit, tested{rec: w.rec})
}

// judgeRed decides what follows from tests that fail on a merge. What fails without the work, too, isn't its fault.
func (l *Lane) judgeRed(ctx context.Context, w *work, v *testrun.Verdict) error {
	problem := How(v, l.Project.Config.Test.Limit)
	if a := l.turn.tip.aheadAt(w.base); a != nil { // what the target has may be to blame
		if _, err := l.turn.tip.takeIn(ctx, a); err != nil {
			return err
		}
	}
	if v.TimedOut {
		return l.red(ctx, w, v, problem)
	}
	base, err := l.turn.bench.baseVerdict(ctx, w.base)
	if err != nil {
		return err
	}
	if base.Green() {
		return l.red(ctx, w, v, problem)
	}
	if v.Named() && base.Named() {
		added := slices.DeleteFunc(slices.Clone(v.Failing), func(t string) bool { return slices.Contains(base.Failing, t) })
		if len(added) > 0 {
			return l.red(ctx, w, v, problem+", and without it they don't fail: "+some(added))
		}
		if v.Passed == nil || base.Passed == nil || *v.Passed >= *base.Passed {
			return l.approve(ctx, w, v, true)
		}
	}
	reason := fmt.Sprintf("base red: the tests fail on %s, too (%s)", worktree.Short(l.Repo.Target()), How(base, l.Project.Config.Test.Limit))
	l.turn.line.block(w.rec, reason)
	l.tell("%s waits: %s", w.rec.Label(), reason)
	_, err = l.turn.settler.Proceed(ctx, w.rec, func(r *attempt.Record) {
		g := r.Landing
		g.Step, g.Tried, g.Reason, g.Tip, g.Base, r.Verdict = "", w.base, reason, w.tip, w.base, v
	})
	return err
}

// SendBack has the agents of those that wait because the base is red go on, or a person look at them: nothing else will make it green.
func (l *Lane) SendBack(ctx context.Context) error {
	err := l.locked(ctx, func(ctx context.Context) error {
		queue, err := queueOf(l.Project)
		if err != nil {
			return err
		}
		for _, r := range queue {
			v := r.Verdict
			if r.Landing.Tried == "" || v == nil || v.Green() || r.Landing.Behind != "" {
				continue
			}
			if there, err := git.HasCommit(ctx, l.Repo.Common, r.Landing.Base); err != nil || !there {
				continue
			}
			w, err := l.take(ctx, r)
			if err != nil {
				return err
			}
			if w == nil {
				continue
			}
			w.base = r.Landing.Base
			if w.tree, _, err = git.MergeTree(ctx, l.Repo.Common, w.base, w.tip, statedir.InState); err == nil && w.tree != "" {
				err = l.red(ctx, w, v, How(v, l.Project.Config.Test.Limit)+"; they fail without it, too")
			}
			w.release()
			if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errBusy) {
		return nil
	}
	return err
}

// errGone says that the attempt isn't in the queue any more.
var errGone = errors.New("it isn't in the merge queue any more")

// revives is a slice that was taken out of the lane and that the work would bring back, "" for none.
func (l *Lane) revives(ctx context.Context, w *work) (string, error) {
	for _, d := range l.turn.file.Dropped {
		if d.Undone && d.Slice != w.rec.Slice { // what takes it back again is there, and merges with this
			continue
		}
		in, err := git.IsAncestor(ctx, l.Repo.Common, d.Commit, w.tip)
		if err != nil {
			return "", err
		}
		if !in {
			continue
		}
		if in, err = git.IsAncestor(ctx, l.Repo.Common, d.Commit, w.base); err != nil || !in {
			return d.Slice, err
		}
	}
	return "", nil
}
