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

// A work is one attempt on its way through the lane.
type work struct {
	*attempt.Record

	lineage *worktree.Lineage
	hold    *worktree.Hold // of its worktree
	tip     string         // the slice's branch, everything committed
	base    string         // what it is merged into
	tree    string         // the merge
	caveats []string       // Landing.Caveats
	left    string         // the tree that its agent left, or that a person has accepted; "" if nobody recorded it
	lands   string         // the tree of tip
	later   []string       // changed after that, and left out
	batched bool           // it is tested together with others
	survey
	unlocks func() bool // it replaces wrapped code, and may remove the tests that lock it; nil for no
}

// land takes one attempt as far as it goes. An error is about gl and the machine, not about the work: the attempt stays in the
// queue.
func (l *Lane) land(ctx context.Context, r *attempt.Record) error {
	if done, err := l.landed(ctx, r); done || err != nil {
		return err
	}
	if gone, err := l.step(ctx, r, "merging", 0); gone || err != nil {
		return err
	}
	w, err := l.take(ctx, r)
	if w == nil || err != nil {
		return err
	}
	defer w.release()
	if w.base, err = l.base(ctx); err != nil {
		return err
	}
	if gone, err := l.revives(ctx, w); err != nil || gone != "" {
		return errors.Join(err, l.reviving(ctx, w, gone))
	}
	began := time.Now()
	changed, conflicts, err := l.merge(ctx, w)
	if err != nil {
		return err
	}
	l.tellMerge(w, conflicts, time.Since(began))
	if len(conflicts) > 0 {
		return l.conflict(ctx, w, conflicts)
	}
	if len(changed) == 0 && r.Accepted() {
		return l.nothing(ctx, w)
	}
	if len(changed) == 0 {
		return l.empty(ctx, w)
	}
	w.unlocks = l.unlocksOf(r)
	if err := l.survey(ctx, w, changed); err != nil {
		return err
	}
	if problem := w.rule(gate.TestRun{Pending: true}).Refused(); problem != "" {
		return l.red(ctx, w, nil, problem)
	}
	if other, err := l.resolver(ctx, w, changed); err != nil || other != "" {
		return errors.Join(err, l.behind(ctx, w, other))
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
	w.compared = "its base: nothing has changed"
	ruling := w.rule(gate.TestRun{Why: "nothing to land"})
	if _, err := ruling.Pass(""); err != nil {
		return l.ask(ctx, w.Record, ruling.Asks())
	}
	now, err := l.settler.Proceed(ctx, w.Record, func(r *attempt.Record) { r.Gate = ruling })
	if now == nil || err != nil {
		return err
	}
	return l.finish(ctx, w.Record, attempt.LandingResult{Outcome: attempt.Done, Detail: "unverified: nothing to land", Verified: plan.Unverified})
}

// empty ends work that has changed nothing. Nobody goes on with a task, so its worktree has had its day.
func (l *Lane) empty(ctx context.Context, w *work) error {
	detail := "its agent calls it complete and has changed nothing"
	if w.IsTask() {
		detail = "its agent ended well and has changed nothing"
	}
	err := l.finish(ctx, w.Record, attempt.LandingResult{Outcome: attempt.Empty, Detail: detail})
	if err == nil && w.IsTask() {
		w.release()
		l.tidy(ctx, w.Record)
	}
	return err
}

// landed finishes what a worker was about when it was killed: a record that names its commit has passed everything.
func (l *Lane) landed(ctx context.Context, r *attempt.Record) (bool, error) {
	g := r.Landing
	if g.Commit == "" {
		return false, nil
	}
	tip, err := l.Repo.Queue.Tip(ctx)
	if err != nil {
		return false, err
	}
	in, err := git.IsAncestor(ctx, l.Repo.Git.Common, g.Commit, tip)
	if err != nil {
		return false, err
	}
	there := in
	if !in {
		if there, err = git.HasCommit(ctx, l.Repo.Git.Common, g.Commit); err != nil {
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
		in, err = true, l.moveLane(ctx, tip, g.Commit, "land "+r.Work(), pass)
	}
	if err != nil {
		return false, err
	}
	if in {
		return true, l.complete(ctx, r)
	}
	return l.again(ctx, r) // from the beginning
}

// take gets hold of the attempt's worktree and commits what its agent has left there. The work is nil where that settles the
// attempt.
func (l *Lane) take(ctx context.Context, r *attempt.Record) (*work, error) {
	if r.Unsaved != "" {
		return nil, l.ask(ctx, r, "not all of its work could be saved: "+r.Unsaved)
	}
	lineage, err := l.Repo.Lineages.Get(r.System, r.Work())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*worktree.BadLineage)), err == nil && lineage.N != r.Lineage:
		return nil, l.ask(ctx, r, fmt.Sprintf("the note of its worktree is gone; its work is on the branch %s", worktree.Short(r.Branch)))
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
	tree := hold.Worktree()
	tip, err := "", tree.Adopt(git.Inherit(ctx, hold.File()), lineage.Branch) // agents switch branches
	if err == nil {
		tip, _, err = tree.CommitAll(git.Inherit(ctx, hold.File()), lineage.Branch, "gl: what attempt "+fmt.Sprint(r.N)+" of "+r.Work()+" left uncommitted")
	}
	if err == nil {
		w := &work{Record: r, lineage: lineage, hold: hold, tip: tip}
		if err = l.asLeft(ctx, w); err == nil {
			return w, nil
		}
	}
	defer hold.Release()
	unresolved, busy, elsewhere, unkept := new(git.UnresolvedError), new(git.BusyError), new(git.BranchError), new(git.UnkeptError)
	switch {
	case errors.As(err, &unresolved) && r.Landing.Why != "": // gl's own merge: a worker was killed after it
		err = l.handBack(ctx, r)
	case errors.As(err, &unresolved):
		err = l.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Conflict, Detail: "its agent has left " + some(unresolved.Paths) + " unresolved"})
	case errors.As(err, &busy):
		err = l.ask(ctx, r, "a "+busy.Operation+" isn't finished in its worktree")
	case errors.As(err, &elsewhere):
		err = l.ask(ctx, r, fmt.Sprintf("its worktree isn't on its branch %s", worktree.Short(lineage.Branch)))
	case errors.As(err, &unkept):
		err = l.ask(ctx, r, "git can't take "+some(unkept.Paths))
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
	return l.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Interrupted, Effect: &effect, Detail: fmt.Sprintf(
		"interrupted: %v (git prune, git gc --prune=now); its work is on the branch %s%s", errGoneTree, worktree.Short(r.Branch), again)})
}

// over gives up work whose base is lost: it can't be merged.
func (l *Lane) over(ctx context.Context, r *attempt.Record, lost *worktree.LostError) error {
	effect := tracker.Release
	return l.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Interrupted, Effect: &effect, Detail: "interrupted: " + lost.Error()})
}

// release gives the worktree back.
func (w *work) release() {
	if w.hold != nil {
		w.hold.Release()
	}
	w.hold = nil
}

// ask has a person look at it.
func (l *Lane) ask(ctx context.Context, r *attempt.Record, why string) error {
	effect := tracker.Ask
	return l.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Waiting, Detail: why, Effect: &effect})
}

// reviving stops work that was built on another slice's, which has been taken out of the lane.
func (l *Lane) reviving(ctx context.Context, w *work, other string) error {
	if other == "" {
		return nil
	}
	effect, anew := tracker.Release, ""
	if !w.IsTask() {
		anew = ": gl retry --fresh " + w.Slice + " begins anew"
	}
	return l.finish(ctx, w.Record, attempt.LandingResult{Outcome: attempt.Interrupted, Effect: &effect, Detail: fmt.Sprintf(
		"interrupted: it was built on %s, which gl land --reset has taken out, and would bring that back%s", other, anew)})
}

// approve lands the work if the gate lets it pass, or has a person look at it first. It is tested by then, so what is accepted lands as it
// is. knownRed says that the same tests fail without it.
func (l *Lane) approve(ctx context.Context, w *work, v *testrun.Verdict, knownRed bool) error {
	run := l.runOf(v)
	run.Known = knownRed
	fewer, err := l.fewer(ctx, w.base, v, w.found)
	if err != nil {
		return err
	}
	w.found = append(w.found, fewer...)
	ruling := w.rule(run)
	if why := ruling.Asks(); why != "" {
		return l.askAbout(ctx, w, v, ruling, why)
	}
	return l.pass(ctx, w, v, ruling)
}

// askAbout has a person look at work whose tests have run.
func (l *Lane) askAbout(ctx context.Context, w *work, v *testrun.Verdict, ruling *gate.Ruling, why string) error {
	w.release()
	now, err := l.settler.Proceed(ctx, w.Record, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Caveats, g.Paths, g.Why, g.Output, r.Verdict, r.Gate = w.tip, w.base, w.caveats, nil, "", "", v, ruling
	})
	if now == nil || err != nil {
		return err
	}
	if w.Accepted() {
		why += ". Accepted again, it lands"
	}
	l.tell("%s awaits review: %s", w.Label(), why)
	return l.ask(ctx, w.Record, attempt.ReviewText(v, why))
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
	if err := l.Repo.Queue.KeepNext(ctx, lands.commit()); err != nil {
		return err
	}
	w.release()
	now, err := l.settler.Proceed(ctx, w.Record, func(r *attempt.Record) {
		w.passed(r, l.Repo.Target(), lands, v, ruling)
		r.Landing.From = l.from(w.base)
	})
	if now == nil || err != nil {
		return err
	}
	w.Landing, w.Verdict, w.Gate = now.Landing, now.Verdict, now.Gate
	if err := l.undeliver(w.Work(), lands.commit()); err != nil {
		return err
	}
	if err := l.moveLane(ctx, cmp.Or(l.from(w.base), w.base), lands.commit(), "land "+w.Work(), pass); err != nil {
		return err
	}
	return l.complete(ctx, w.Record)
}

// passed notes in the record that the work lands, and how.
func (w *work) passed(r *attempt.Record, target string, lands landing, v *testrun.Verdict, ruling *gate.Ruling) {
	g := r.Landing
	g.Step, g.Target, g.Tip, g.Base, g.Commit, r.Verdict = "landing", target, w.tip, w.base, lands.commit(), v
	g.Verified, r.Gate = plan.Verified(ruling.Verdict()), ruling
	g.Paths, g.Why, g.Output = nil, "", "" // of a conflict that is none any more
	g.As, g.Commits, g.Batch, g.Handed = lands.as, nil, nil, nil
	if w.handed != "" {
		g.Handed = &attempt.Handed{Commit: w.handed, Began: w.lineage.Base}
	}
	if len(lands.commits) > 1 {
		g.Commits = lands.commits
	}
	g.Caveats = append(slices.Clone(w.caveats), lands.caveats...)
}

// title is the landing commit's.
func (w *work) title() string {
	if w.Title != "" && w.Title != w.Slice {
		return "Land " + w.Work() + ": " + w.Title
	}
	return "Land " + w.Work()
}

// trailers are the proof that travels with the repository.
func (l *Lane) trailers(w *work, v *testrun.Verdict) []git.Trailer {
	trailers := []git.Trailer{{Key: "Slice", Value: w.Work()}, {Key: "Attempt", Value: fmt.Sprint(w.N)}}
	if l.Repo.Git.Prefix != "" {
		trailers = append(trailers, git.Trailer{Key: "Project", Value: l.Repo.Git.Prefix})
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
	if err := l.undeliver(r.Work(), r.Landing.Commit); err != nil { // the file may have been lost
		return err
	}
	if err := l.noteSuite(ctx, r.Landing.Head(), r.Verdict); err != nil {
		return err
	}
	ruling, gained := r.Ruled(), l.gained(ctx, r)
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
	clear(l.stuck) // it may have been what others wait for
	if err := l.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Done, Detail: detail, Verified: r.Landing.Verified, Tests: gained}); err != nil {
		return err
	}
	l.tidy(ctx, r)
	return nil
}

// tidy removes the worktree of work that has landed. Where it can't, gl clean says why.
func (l *Lane) tidy(ctx context.Context, r *attempt.Record) {
	lineage, err := l.Repo.Lineages.Get(r.System, r.Work())
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
	if config := l.conf.Config.Git; len(config.Teardown) > 0 {
		if err := l.allowed(ctx); err != nil {
			return "", err
		}
		if removable, why, err := l.Repo.Cleaner.Removable(ctx, lineage); err != nil || !removable {
			return why, err
		}
		if err := site.TearDown(ctx, l.Project.Root, l.Repo, lineage, l.Self, l.Environ, config.Teardown, config.SetupLimit); err != nil {
			return "", err
		}
	}
	return l.Repo.Cleaner.Remove(ctx, lineage)
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
	why := fmt.Sprintf("gl merged your work and didn't accept it: %s. Put that right, %s.", problem, w.Again())
	output := ""
	if v != nil {
		why = fmt.Sprintf("gl merged your work with what has landed meanwhile and ran the tests: %s. Put that right, %s. The command was: %s",
			problem, w.Again(), v.Command)
		output = strings.Join(v.Shown(), "\n")
	}
	if !w.Accepted() {
		if err := l.integrate(ctx, w); err != nil {
			return err
		}
	}
	now, err := l.settler.Proceed(ctx, w.Record, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Why, g.Output, r.Verdict = w.tip, w.base, why, output, v
		r.Gate = w.rule(l.runOf(v))
		if v == nil {
			r.Gate, g.Problem = w.rule(gate.TestRun{Pending: true}), problem
		}
	})
	if now == nil || err != nil {
		return err
	}
	detail := problem
	switch tests := w.rule(gate.TestRun{Pending: true}); {
	case v == nil && !w.Accepted() && w.Mends() && !w.IsTask() && tests.Answer(gate.Tests).Says == gate.No && tests.Answer(gate.Merge).Says == gate.Yes:
		detail += fmt.Sprintf(". gl accept %s --tests shows that and accepts it, gl retry --fresh %s begins anew", w.Slice, w.Slice)
	case v == nil && w.Accepted(): // see Landing.Approved
		detail += ". Accepted again, it lands"
	}
	return l.finish(ctx, w.Record, attempt.LandingResult{Outcome: attempt.Red, Detail: detail})
}

// integrate merges the base into the slice's branch, so that its agent sees the tree that was tested.
func (l *Lane) integrate(ctx context.Context, w *work) error {
	_, err := w.hold.Worktree().Integrate(ctx, w.lineage.Branch, w.base, w.tree, "Merge what has landed into "+worktree.Short(w.lineage.Branch))
	if overlap := new(git.OverlapError); errors.As(err, &overlap) { // ignored files of the agent's: then it sees less
		return nil
	}
	return err
}

// conflict has the slice's agent resolve a conflict. One agent at a time resolves in the same paths: what the others would resolve
// against is about to change.
func (l *Lane) conflict(ctx context.Context, w *work, paths []string) error {
	if other, err := l.resolver(ctx, w, paths); err != nil || other != "" {
		return errors.Join(err, l.behind(ctx, w, other))
	}
	if w.Accepted() {
		return l.finish(ctx, w.Record, attempt.LandingResult{Outcome: attempt.Conflict, Detail: "it conflicts with what has landed: " + some(paths)})
	}
	// Before the merge is in the worktree: who finds it there must know whose it is.
	now, err := l.settler.Proceed(ctx, w.Record, func(r *attempt.Record) {
		g := r.Landing
		g.Tip, g.Base, g.Paths, g.Output = w.tip, w.base, paths, "in conflict:\n"+strings.Join(paths, "\n")
		g.Why = "Other work has landed that conflicts with yours. gl has begun to merge it into your branch: the marks are in " + some(paths) +
			". Resolve them so that both sides' intent is kept, run the tests, " + w.Again() + "."
	})
	if now == nil || err != nil {
		return err
	}
	_, err = w.hold.Worktree().MergeConflicted(ctx, w.lineage.Branch, w.base, "Merge what has landed into "+worktree.Short(w.lineage.Branch), statedir.InState)
	if err != nil {
		return err
	}
	return l.handBack(ctx, now)
}

// handBack settles an attempt whose worktree has the merge that is in conflict.
func (l *Lane) handBack(ctx context.Context, r *attempt.Record) error {
	return l.finish(ctx, r, attempt.LandingResult{Outcome: attempt.Conflict, Detail: some(r.Landing.Paths)})
}

// behind has the work wait for another slice's.
func (l *Lane) behind(ctx context.Context, w *work, other string) error {
	if other == "" {
		return nil
	}
	reason := fmt.Sprintf("behind %s, which resolves a conflict in the same files", other)
	l.stuck[w.Name()] = reason
	_, err := l.settler.Proceed(ctx, w.Record, func(r *attempt.Record) {
		g := r.Landing
		g.Step, g.Behind, g.Tried, g.Reason = "", other, w.base, reason
	})
	return err
}

// anyResolves says whether somebody may be at work on a conflict, or may be about to be: by the open attempts, and by how the last of each
// slice and task ended.
func (l *Lane) anyResolves() (bool, error) {
	live, _, err := l.Project.Runs.Live()
	if err != nil || slices.ContainsFunc(live, (*attempt.Record).Mends) {
		return true, err
	}
	tallies, err := l.Project.Runs.Tallies()
	for id, t := range tallies {
		if t.Last.Outcome == attempt.Conflict || attempt.IsTask(id) { // of a task each attempt may be another one's
			return true, err
		}
	}
	return false, err
}

// resolver is another slice, or task, whose agent resolves, or is about to resolve, a conflict in one of the paths; "" for none. What has
// itself resolved one waits for nobody: else two might wait for each other.
func (l *Lane) resolver(ctx context.Context, w *work, paths []string) (string, error) {
	if w.Mends() {
		return "", nil
	}
	if any, err := l.anyResolves(); err != nil || !any { // in most cases: the project needn't be read for that
		return "", err
	}
	p, err := l.Project.Plan(now(), l.Project.Options())
	if err != nil {
		return "", err
	}
	others, err := l.Project.Runs.TaskWorks()
	if err != nil {
		return "", err
	}
	for i := range p.States {
		if p.States[i].Attempt != nil {
			others = append(others, p.States[i].ID)
		}
	}
	for _, other := range others {
		if other == w.Work() || !l.isResolving(other, func() (*plan.Plan, error) { return p, nil }) {
			continue
		}
		all, err := l.Project.Runs.AttemptsAt(other)
		if err != nil {
			return "", err
		}
		for _, r := range all {
			if r.Landing != nil && slices.ContainsFunc(r.Landing.Paths, func(p string) bool { return slices.Contains(paths, p) }) {
				return other, nil
			}
		}
	}
	return "", nil
}
