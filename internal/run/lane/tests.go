package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/environ"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/words"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

// A tested is whose work a commit has: one attempt's, or that of several that are tested together.
// Neither is set for the target's own.
type tested struct {
	rec      *attempt.Record
	together []*work
}

// A bench runs the tests in the queue's worktree and knows their verdicts. Its worktree is ready
// for one turn.
type bench struct {
	project  *project.Project
	repo     *worktree.Repo
	self     string
	environ  []string
	commands *commands
	trees    *trees
	file     *file
	events   *events
	tell     func(format string, a ...any)
	since    time.Time // when this process took the queue's lock

	bed    *site.Site                       // the queue's worktree, once it is needed
	caches []string                         // in it, of earlier runs: see worktree.Caches
	seen   map[testrun.Key]*testrun.Verdict // verdicts since then
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
	bed, err := b.makeBed(ctx)
	if err != nil {
		return nil, err
	}
	if _, v := b.recorded(bed, tree); v != nil && trust(v) {
		return v, b.noteSuite(ctx, commit, v)
	}
	if err := b.checkOut(ctx, bed, commit); err != nil {
		return nil, err
	}
	key, v := b.recorded(bed, tree) // its program may come with the tree
	if v != nil && trust(v) {
		return v, b.noteSuite(ctx, commit, v)
	}
	memory := proc.OutOfMemory()
	if v, err = b.runTwice(ctx, bed, commit, key, of); err != nil {
		return nil, err
	}
	if v.Signal != "" && !v.TimedOut {
		cause := ""
		if proc.OutOfMemory() > memory {
			cause = ", probably for lack of memory"
		}
		return nil, fmt.Errorf("the tests were ended by the signal %q%s: see %s",
			v.Signal, cause, v.Log)
	}
	if !v.TimedOut {
		b.seen[key] = v
	}
	if err := b.cache().Put(v); err != nil {
		b.tell("the verdict can't be kept: %v", err)
	}
	return v, b.noteSuite(ctx, commit, v)
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

// recorded returns a known verdict on a tree, nil for none.
func (b *bench) recorded(bed *site.Site, tree string) (testrun.Key, *testrun.Verdict) {
	command := b.commands.conf.Config.Test.Command
	key := testrun.Key{Tree: tree, Command: command.Line,
		Dir: strings.TrimSuffix(b.repo.Git.Prefix, "/")}
	var err error
	if key.Toolchain, err = testrun.Toolchain(command.Argv, bed.Dir(),
		bed.Lineage.Path); err != nil {
		return key, nil
	}
	return key, cmp.Or(b.seen[key], b.cache().Get(key))
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
	bed, err := b.makeBed(ctx)
	if err != nil {
		return nil
	}
	_, before := b.recorded(bed, tree)
	if before == nil || before.Passed == nil {
		return nil
	}
	n := *r.Judged.Verdict.Passed - *before.Passed
	return &n
}

// runTwice runs the tests on the commit, which is checked out, and once more if they fail, because
// they may be flaky.
func (b *bench) runTwice(ctx context.Context, bed *site.Site, commit string, key testrun.Key,
	of tested) (*testrun.Verdict, error) {
	first, err := b.run(ctx, bed, key, of)
	if err != nil || first.Green() || first.TimedOut {
		return first, err
	}
	if err := b.checkOut(ctx, bed, commit); err != nil {
		return nil, err
	}
	again, err := b.run(ctx, bed, key, of)
	if err == nil && again.Green() {
		if again.Flaky = first.Failing; len(again.Flaky) == 0 {
			again.Flaky = []string{"(the runner names no test)"}
		}
		b.tell("flaky: failed, and passed when run again: %s", some(again.Flaky))
	}
	return again, err
}

// run runs the tests on what is checked out.
func (b *bench) run(ctx context.Context, bed *site.Site, key testrun.Key,
	of tested) (*testrun.Verdict, error) {
	test := b.commands.conf.Config.Test
	log := "lane.tests.log"
	switch {
	case of.rec != nil:
		log = of.rec.ID.Name() + ".tests.log"
	case len(of.together) > 0:
		log = of.together[0].rec.ID.Name() + ".tests.log"
	}
	alone := ""
	if of.rec == nil && len(of.together) == 0 {
		alone = worktree.Short(b.repo.Target())
	}
	if err := b.project.Runs.Control.NoteQueueWork(alone); err != nil {
		return nil, err
	}
	b.tell("running %s", test.Command.Line)
	v, err := testrun.Run(ctx, testrun.Spec{
		Executor: executor.NewLocal(b.self), Command: test.Command, Root: b.project.Root,
		Top: bed.Lineage.Path,
		Dir: bed.Dir(), Env: bed.Env(bed.Environ()), Limit: test.Limit,
		Box: bed.Box, Pattern: test.Pattern, Tree: key.Tree, Toolchain: key.Toolchain,
		Log:     filepath.Join(b.project.Runs.Files.Dir(), "log", log),
		Started: b.startedTests, Mark: testsMark, Caches: b.caches,
	})
	b.file.Tests, err = nil, errors.Join(err, b.project.Runs.Control.NoteQueueWork(""))
	if err == nil && !v.Green() {
		err = noSpace(bed.Lineage.Path, cmp.Or(environ.Environ(bed.Environ()).Get("TMPDIR"),
			os.TempDir()))
	}
	if err == nil {
		b.events.tellVerdict(of, v)
	}
	return v, errors.Join(err, b.file.save())
}

// noSpace returns an error if the disk of one of the directories is full: then red tests mean
// nothing.
func noSpace(dirs ...string) error {
	const tight = 1 << 20
	for _, dir := range dirs {
		if left, ok := durable.Free(dir); ok && left < tight {
			return fmt.Errorf("the tests failed, and the disk is full (%d KiB are free in %s): make room, then run gl land", left>>10, dir)
		}
	}
	return nil
}

// startedTests records the process of tests or setup before it may run.
func (b *bench) startedTests(h command.Handle) error {
	b.file.Tests = &h.Process
	return b.file.save()
}

// makeBed prepares the queue's worktree.
func (b *bench) makeBed(ctx context.Context) (*site.Site, error) {
	if b.bed != nil {
		return b.bed, nil
	}
	lineage, err := b.repo.Lineages.Lane(ctx)
	if err != nil {
		return nil, err
	}
	config := b.commands.conf.Config
	env := append(agent.ScrubEnv(b.environ), "GREENLIGHT_ROOT="+b.project.Root)
	bed := &site.Site{
		Root: b.project.Root, Run: executor.Commands(executor.NewLocal(b.self)),
		Environ:  func() []string { return env },
		Setup:    site.Setup{Command: config.Git.Setup, Limit: config.Git.SetupLimit},
		SetupLog: filepath.Join(b.project.Runs.Files.Dir(), "log", "lane.setup.log"),
		Sandbox: site.Sandbox{On: config.Sandbox == attempt.SandboxBwrap,
			Caches: config.Caches},
		Apart: "lane", Note: func(line string) { b.tell("the merge queue's worktree: %s", line) },
		Started: b.startedTests, Leftover: func(err error) { b.tell("git.setup: %v", err) },
		Repo: b.repo, Lineage: lineage,
	}
	if err := bed.Make(ctx); err != nil {
		return nil, errors.Join(err, bed.Close())
	}
	b.bed = bed
	return bed, nil
}

// checkOut checks a commit out in the queue's worktree, set up as for a new one.
func (b *bench) checkOut(ctx context.Context, bed *site.Site, commit string) error {
	if err := bed.Hold().Checkout(ctx, commit); err != nil {
		return err
	}
	if err := b.sweep(ctx, bed); err != nil {
		return err
	}
	again, err := b.setUpAnew(ctx, bed)
	if err != nil {
		return err
	}
	manifests, err := b.trees.manifests(ctx, commit)
	if err != nil || manifests == b.file.Manifests {
		return err
	}
	if b.file.Manifests != "" && len(bed.Setup.Command) > 0 && !again {
		b.tell("running git.setup: what it reads has changed")
		if err := bed.SetUpAgain(ctx); err != nil {
			return err
		}
	}
	b.file.Manifests, b.file.Tests = manifests, nil
	return b.file.save()
}

// setUpAnew runs setup again if tests have changed, removed or added something in its results,
// which would affect the tests of other work.
func (b *bench) setUpAnew(ctx context.Context, bed *site.Site) (done bool, err error) {
	differs, err := bed.Hold().SetupDiffers()
	if err != nil || differs == "" {
		return false, err
	}
	if len(bed.Setup.Command) > 0 {
		b.tell("running git.setup again: %s isn't as it left it", differs)
	}
	if err := bed.Hold().ForgetSetup(); err != nil {
		return false, err
	}
	return true, bed.SetUpAgain(ctx)
}

// kept are ignored directories that survive from one test run to the next: caches, and what test
// commands install by themselves.
var kept = append([]string{"node_modules", ".venv", "venv", "deps"}, worktree.Caches...)

// sweep removes ignored files that an earlier run left, because tests could pass or fail only with
// them.
func (b *bench) sweep(ctx context.Context, bed *site.Site) error {
	b.caches = nil
	ignored, err := b.repo.Layout.Worktree(bed.Lineage).Ignored(ctx)
	if err != nil {
		return err
	}
	for _, p := range ignored {
		name := strings.TrimSuffix(p, "/")
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		if setup := slices.Contains(bed.Lineage.Ignored, p); setup ||
			slices.Contains(kept, path.Base(name)) {
			if !setup || slices.Contains(worktree.Caches, path.Base(name)) {
				b.caches = append(b.caches, name)
			}
			continue
		}
		if err := os.RemoveAll(filepath.Join(bed.Lineage.Path,
			filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
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

// needsTest reports whether the merge has no known verdict. If the target has changed only state,
// the verdict is that of the queue's branch.
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
	bed, err := b.makeBed(ctx)
	if err != nil {
		return nil, err
	}
	_, v := b.recorded(bed, tree)
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
func (b *bench) leave() error {
	if b.bed == nil {
		return nil
	}
	err := b.bed.Close()
	b.bed = nil
	return err
}

// endTests ends the tests that a worker left running when it was killed.
func (b *bench) endTests() error {
	if b.file.Tests == nil {
		return nil
	}
	run := executor.NewLocal(b.self).Find(executor.Lost{
		Handle: command.Handle{Process: *b.file.Tests},
		Marks:  []string{testrun.MarkOf(b.project.Root, testsMark)},
		Leaves: executor.Nothing, Grace: endGrace,
	})
	run.End()
	if res, err := run.Wait(); err != nil || res.Leftover != nil {
		return fmt.Errorf("what the tests left running can't be ended: %w",
			cmp.Or(err, res.Leftover))
	}
	b.file.Tests = nil
	return b.file.save()
}

// retest runs the tests on a commit, whatever is known of it.
func (b *bench) retest(ctx context.Context, commit string, of tested) (*testrun.Verdict, error) {
	return b.verdict(ctx, commit, of, func(v *testrun.Verdict) bool {
		return !v.At.Before(b.since)
	})
}

// testsMark distinguishes the queue's tests from others of the project: see testrun.Spec.
const testsMark = "lane"

// endGrace is the time between TERM and KILL.
const endGrace = 5 * time.Second

// knownRed reports whether the tests are known to fail on the queue's branch.
func (b *bench) knownRed(ctx context.Context) (bool, error) {
	tip, err := b.repo.Queue.Tip(ctx)
	if err != nil {
		return false, err
	}
	v, err := b.knownVerdict(ctx, tip)
	return v != nil && !v.Green(), err
}
