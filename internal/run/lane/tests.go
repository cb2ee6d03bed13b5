package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/words"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/worktree"
)

// A tested names the work that a commit has: one attempt's, or that of several that are tested
// together. Neither is set for the target's own commits.
type tested struct {
	rec      *attempt.Record
	together []*work
	on       []string // labels of those ahead of rec, where several are tested side by side
}

// A bench runs the tests in the queue's worktree and knows their verdicts. Its worktree is ready
// for one turn.
type bench struct {
	project  *project.Project
	repo     *worktree.Repo
	commands *commands
	trees    *trees
	file     *file
	events   *events
	tell     func(format string, a ...any)
	since    time.Time // when this process took the queue's lock

	bed  *bed                             // the queue's worktree
	seen map[testrun.Key]*testrun.Verdict // verdicts since then

	others  *beds                  // where other tests may run meanwhile
	measure func(*testrun.Verdict) // gets each green run that had no others beside it
}

// test returns the verdict on a commit, a known one if there is one.
func (b *bench) test(ctx context.Context, commit string, of tested) (*testrun.Verdict, error) {
	return b.verdict(ctx, commit, of, func(*testrun.Verdict) bool { return true })
}

// verdict returns the verdict on a commit: a known one, if trust accepts it, otherwise that of a
// run. It is nil without a test command.
func (b *bench) verdict(ctx context.Context, commit string, of tested,
	trust func(*testrun.Verdict) bool) (*testrun.Verdict, error) {
	test := b.commands.conf.Config.Test
	if !test.Command.IsSet() {
		return nil, nil
	}
	if err := b.commands.allowed(ctx); err != nil {
		return nil, err
	}
	tree, err := b.trees.contentOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	if err := b.bed.make(ctx); err != nil {
		return nil, err
	}
	if _, v := b.recorded(tree); v != nil && trust(v) {
		return v, b.noteSuite(ctx, commit, v)
	}
	manifests, err := b.trees.manifests(ctx, commit)
	if err == nil {
		err = b.bed.checkOut(ctx, commit, manifests)
	}
	if err != nil {
		return nil, err
	}
	key, v := b.recorded(tree) // its program may come with the tree
	if v != nil && trust(v) {
		return v, b.noteSuite(ctx, commit, v)
	}
	memory := proc.OutOfMemory()
	if v, err = b.runTwice(ctx, commit, manifests, key, of); err == nil {
		err = signaled(v, memory)
	}
	if err != nil {
		return nil, err
	}
	b.keep(v)
	return v, b.noteSuite(ctx, commit, v)
}

// keep keeps a verdict for this turn and, if it lasts, for later ones.
func (b *bench) keep(v *testrun.Verdict) {
	if !v.TimedOut {
		b.seen[v.Key()] = v
	}
	if err := b.cache().Put(v); err != nil {
		b.tell("the verdict can't be kept: %v", err)
	}
}

// noteSuite keeps a verdict on the commit of the queue's branch as that on the project's whole
// suite. It ignores any other commit.
func (b *bench) noteSuite(ctx context.Context, commit string, v *testrun.Verdict) error {
	if v == nil || v.TimedOut || v.Signal != "" {
		return nil
	}
	tip, err := b.repo.Queue.Tip(ctx)
	if err != nil || tip != commit {
		return err
	}
	return b.project.Runs.Proofs.PutSuite(v, commit)
}

func (b *bench) cache() testrun.Cache {
	return testrun.Cache{Dir: filepath.Join(b.project.Runs.Files.Dir(), "verdicts")}
}

// recorded returns a known verdict on a tree, nil for none. The queue's worktree is made by then.
func (b *bench) recorded(tree string) (testrun.Key, *testrun.Verdict) {
	key, err := b.bed.key(tree)
	if err != nil {
		return key, nil
	}
	v := cmp.Or(b.seen[key], b.cache().Get(key))
	if v != nil && v.Worker != "" && b.commands.conf.Config.Test.Where == project.WhereHere {
		return key, nil
	}
	return key, v
}

// gained returns how many more tests pass with what an attempt landed, negative for fewer; nil if
// one of the numbers is unknown, as for each slice of a batch.
func (b *bench) gained(ctx context.Context, r *attempt.Record) *int {
	if r.Judged.Verdict == nil || r.Judged.Verdict.Passed == nil || r.Landing.Batch != nil {
		return nil
	}
	tree, err := b.trees.contentOf(ctx, r.Landing.Base)
	if err != nil {
		return nil
	}
	if b.bed.make(ctx) != nil {
		return nil
	}
	_, before := b.recorded(tree)
	if before == nil || before.Passed == nil {
		return nil
	}
	n := *r.Judged.Verdict.Passed - *before.Passed
	return &n
}

// runTwice runs the tests on the commit, which is checked out, and once more if they fail, because
// they may be flaky.
func (b *bench) runTwice(ctx context.Context, commit, manifests string, key testrun.Key,
	of tested) (*testrun.Verdict, error) {
	first, err := b.run(ctx, key, of)
	if err != nil || first.Green() || first.TimedOut && len(b.others.runs) == 0 {
		return first, err
	}
	// what fails beside others is repeated alone
	if err := errors.Join(b.others.drain(), b.bed.checkOut(ctx, commit, manifests)); err != nil {
		return nil, err
	}
	again, err := b.run(ctx, key, of)
	if err == nil && again.Green() {
		b.tellFlaky(first, again)
	}
	return again, err
}

// tellFlaky notes in the verdict of the second run, which is green, what failed in the first.
func (b *bench) tellFlaky(first, again *testrun.Verdict) {
	if again.Flaky = first.Failing; len(again.Flaky) == 0 {
		again.Flaky = []string{"(the runner names no test)"}
	}
	b.tell("flaky: failed, and passed when run again: %s", some(again.Flaky))
}

// run runs the tests on what is checked out.
func (b *bench) run(ctx context.Context, key testrun.Key, of tested) (*testrun.Verdict, error) {
	log := "lane"
	switch {
	case of.rec != nil:
		log = of.rec.ID.Name()
	case len(of.together) > 0:
		log = of.together[0].rec.ID.Name()
	}
	alone := ""
	if of.rec == nil && len(of.together) == 0 {
		alone = worktree.Short(b.repo.Target())
	}
	if err := b.project.Runs.Control.NoteQueueWork(alone); err != nil {
		return nil, err
	}
	v, err := b.bed.run(ctx, key, log)
	b.file.Tests, err = nil, errors.Join(err, b.project.Runs.Control.NoteQueueWork(""))
	if err == nil {
		b.events.tellVerdict(of, v)
	}
	if err == nil && v.Green() && v.Worker == "" && len(b.others.runs) == 0 {
		b.measure(v)
	}
	return v, errors.Join(err, b.file.save())
}

// started records the process of tests or setup before it may run.
func (b *bench) started(h command.Handle) error {
	b.file.Tests = &h.Process
	return b.file.save()
}

// setUp records that setup has run for these manifests.
func (b *bench) setUp(manifests string) error {
	b.file.Manifests, b.file.Tests = manifests, nil
	return b.file.save()
}

// How describes how tests ended that aren't green.
func How(v *testrun.Verdict, limit time.Duration) string {
	if v.ExitCode != nil && v.Failed != nil && *v.Failed > 0 {
		text := fmt.Sprintf("tests: exit %d: %d failed", *v.ExitCode, *v.Failed)
		if n := len(v.Failing); n > 0 {
			const most = 3
			text += ": " + strings.Join(v.Failing[:min(most, n)], ", ") + words.More(n-most)
		}
		return text
	}
	return "tests: " + v.How(plan.Age(limit))
}

// needsTest reports whether the merge has to be tested. If the target has changed only state, it
// has the verdict of the queue's branch.
func (b *bench) needsTest(ctx context.Context, a *ahead) (bool, error) {
	if !b.commands.conf.Config.Test.Command.IsSet() {
		return false, nil
	}
	was, err := b.trees.contentOf(ctx, a.lane)
	if err != nil {
		return false, err
	}
	if is, err := b.trees.contentOf(ctx, a.commit); err != nil || is == was {
		return false, err
	}
	v, err := b.knownVerdict(ctx, a.commit)
	return v == nil, err
}

// checkBoth tests a merge of the queue's branch and the target. It stops if the merge is red
// although the target is green.
func (b *bench) checkBoth(ctx context.Context, a *ahead) (gate.TestRun, error) {
	verdict, err := b.test(ctx, a.commit, tested{})
	run := runOf(verdict)
	if err != nil || verdict == nil || verdict.Green() {
		return run, err
	}
	own, err := b.baseVerdict(ctx, a.target)
	if run.Known = true; err != nil || !own.Green() {
		return run, err
	}
	return run, standstill("the tests pass on %s and on the merged work, but not on both together (%s): see %s, merge the branch %s and fix it, then run gl land",
		worktree.Short(b.repo.Target()), How(verdict, b.project.Config.Test.Limit), verdict.Log,
		worktree.Short(b.repo.Queue.Ref()))
}

// knownVerdict returns the verdict on a commit that was tested before, nil for none.
func (b *bench) knownVerdict(ctx context.Context, commit string) (*testrun.Verdict, error) {
	tree, err := b.trees.contentOf(ctx, commit)
	if err == nil {
		err = b.commands.allowed(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := b.bed.make(ctx); err != nil {
		return nil, err
	}
	_, v := b.recorded(tree)
	return v, nil
}

// baseVerdict returns the verdict on a commit without the work of an agent. It repeats a red run of
// an earlier turn, when the disk may have been full.
func (b *bench) baseVerdict(ctx context.Context, commit string) (*testrun.Verdict, error) {
	return b.verdict(ctx, commit, tested{}, func(v *testrun.Verdict) bool {
		return v.Green() || v.At.After(b.since)
	})
}

// leave gives up the queue's worktree.
func (b *bench) leave() error { return b.bed.leave() }

// endTests ends the tests that a worker left running when it was killed.
func (b *bench) endTests() error {
	if b.file.Tests == nil {
		return nil
	}
	if err := b.bed.end(*b.file.Tests); err != nil {
		return err
	}
	b.file.Tests = nil
	return b.file.save()
}

// retest runs the tests on a commit whose verdict may be known already.
func (b *bench) retest(ctx context.Context, commit string, of tested) (*testrun.Verdict, error) {
	return b.verdict(ctx, commit, of, func(v *testrun.Verdict) bool {
		return !v.At.Before(b.since)
	})
}

// knownRed reports whether the tests are known to fail on the queue's branch.
func (b *bench) knownRed(ctx context.Context) (bool, error) {
	tip, err := b.repo.Queue.Tip(ctx)
	if err != nil {
		return false, err
	}
	v, err := b.knownVerdict(ctx, tip)
	return v != nil && !v.Green(), err
}
