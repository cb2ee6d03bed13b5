package lane

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/environ"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/words"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

// verify tests the merge. It is nil where the project has no test command.
func (l *Lane) verify(ctx context.Context, w *work) (*testrun.Verdict, error) {
	commit, err := git.CommitTree(ctx, l.Repo.Common, git.NewCommit{Tree: w.tree, Parents: []string{w.base, w.tip}, Message: "gl: candidate " + w.ID.Work()})
	if err != nil {
		return nil, err
	}
	l.sameFiles(commit, w.tree)
	if l.conf.Config.Test.Command.IsSet() {
		if gone, err := l.step(ctx, w.Record, "testing", l.usual()); gone || err != nil {
			return nil, errors.Join(err, errGone)
		}
	}
	return l.test(ctx, commit, w.Record)
}

// errGone says that the attempt isn't in the queue any more.
var errGone = errors.New("it isn't in the merge queue any more")

// test is the verdict on a commit, an old one if there is one. The commit is of an attempt, or of none.
func (l *Lane) test(ctx context.Context, commit string, of *attempt.Record) (*testrun.Verdict, error) {
	return l.verdict(ctx, commit, of, func(*testrun.Verdict) bool { return true })
}

// verdict is the verdict on a commit: an old one, if trust says so, else that of a run. It is nil without a test command.
func (l *Lane) verdict(ctx context.Context, commit string, of *attempt.Record, trust func(*testrun.Verdict) bool) (*testrun.Verdict, error) {
	test := l.conf.Config.Test
	if !test.Command.IsSet() {
		return nil, nil
	}
	if err := l.allowed(ctx); err != nil {
		return nil, err
	}
	tree, err := l.contentOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	bed, err := l.makeBed(ctx)
	if err != nil {
		return nil, err
	}
	if _, v := l.recorded(bed, tree); v != nil && trust(v) {
		return v, l.noteSuite(ctx, commit, v)
	}
	if err := l.checkOut(ctx, bed, commit); err != nil {
		return nil, err
	}
	key, v := l.recorded(bed, tree) // its program may come with the tree
	if v != nil && trust(v) {
		return v, l.noteSuite(ctx, commit, v)
	}
	memory := proc.OutOfMemory()
	if v, err = l.runTwice(ctx, bed, commit, key, of); err != nil {
		return nil, err
	}
	if v.Signal != "" && !v.TimedOut {
		cause := ""
		if proc.OutOfMemory() > memory {
			cause = ", probably for lack of memory"
		}
		return nil, fmt.Errorf("the tests were ended by the signal %q%s: see %s", v.Signal, cause, v.Log)
	}
	if !v.TimedOut {
		l.seen[key] = v
	}
	if err := l.cache().Put(v); err != nil {
		l.tell("the verdict can't be kept: %v", err)
	}
	return v, l.noteSuite(ctx, commit, v)
}

// noteSuite keeps a verdict on what the lane has as that on the project's whole suite. Of any other commit it says nothing.
func (l *Lane) noteSuite(ctx context.Context, commit string, v *testrun.Verdict) error {
	if v == nil || v.TimedOut || v.Signal != "" {
		return nil
	}
	tip, err := l.Repo.LaneTip(ctx)
	if err != nil || tip != commit {
		return err
	}
	return l.Project.Runs.Proofs.PutSuite(v, commit)
}

func (l *Lane) cache() testrun.Cache {
	return testrun.Cache{Dir: filepath.Join(l.Project.Runs.Files.Dir(), "verdicts")}
}

// recorded is an old verdict on a tree, nil for none.
func (l *Lane) recorded(bed *site.Site, tree string) (testrun.Key, *testrun.Verdict) {
	command := l.conf.Config.Test.Command
	key := testrun.Key{Tree: tree, Command: command.Line, Dir: strings.TrimSuffix(l.Repo.Prefix, "/")}
	var err error
	if key.Toolchain, err = testrun.Toolchain(command.Argv, bed.Dir(), bed.Lineage.Path); err != nil {
		return key, nil
	}
	return key, cmp.Or(l.seen[key], l.cache().Get(key))
}

// gained is by how much the number of tests that pass has grown with what an attempt landed, negative where it has shrunk; nil where one
// of the numbers is unknown, as for each slice of a batch.
func (l *Lane) gained(ctx context.Context, r *attempt.Record) *int {
	if r.Judged.Verdict == nil || r.Judged.Verdict.Passed == nil || r.Landing.Batch != nil {
		return nil
	}
	tree, err := l.contentOf(ctx, r.Landing.Base)
	if err != nil {
		return nil
	}
	bed, err := l.makeBed(ctx)
	if err != nil {
		return nil
	}
	_, before := l.recorded(bed, tree)
	if before == nil || before.Passed == nil {
		return nil
	}
	n := *r.Judged.Verdict.Passed - *before.Passed
	return &n
}

// runTwice runs the tests on the commit, which is checked out, and once more if they fail: they may be flaky.
func (l *Lane) runTwice(ctx context.Context, bed *site.Site, commit string, key testrun.Key, of *attempt.Record) (*testrun.Verdict, error) {
	first, err := l.run(ctx, bed, key, of)
	if err != nil || first.Green() || first.TimedOut {
		return first, err
	}
	if err := l.checkOut(ctx, bed, commit); err != nil {
		return nil, err
	}
	again, err := l.run(ctx, bed, key, of)
	if err == nil && again.Green() {
		if again.Flaky = first.Failing; len(again.Flaky) == 0 {
			again.Flaky = []string{"(the runner names no test)"}
		}
		l.tell("flaky: failed, and passed when run again: %s", some(again.Flaky))
	}
	return again, err
}

// run runs the tests on what is checked out.
func (l *Lane) run(ctx context.Context, bed *site.Site, key testrun.Key, of *attempt.Record) (*testrun.Verdict, error) {
	test := l.conf.Config.Test
	log := "lane.tests.log"
	switch {
	case of != nil:
		log = of.ID.Name() + ".tests.log"
	case len(l.batch) > 0:
		log = l.batch[0].ID.Name() + ".tests.log"
	}
	alone := ""
	if of == nil && len(l.batch) == 0 {
		alone = worktree.Short(l.Repo.Target())
	}
	if err := l.Project.Runs.Control.NoteQueueWork(alone); err != nil {
		return nil, err
	}
	l.tell("running %s", test.Command.Line)
	v, err := testrun.Run(ctx, testrun.Spec{
		Self: l.Self, Command: test.Command, Root: l.Project.Root, Top: bed.Lineage.Path, Dir: bed.Dir(), Env: bed.Env(bed.Environ()), Limit: test.Limit,
		Box: bed.Box, Pattern: test.Pattern, Tree: key.Tree, Toolchain: key.Toolchain, Log: filepath.Join(l.Project.Runs.Files.Dir(), "log", log),
		Started: l.startedTests, Mark: testsMark, Caches: l.caches,
	})
	l.file.Tests, err = nil, errors.Join(err, l.Project.Runs.Control.NoteQueueWork(""))
	if err == nil && !v.Green() {
		err = noSpace(bed.Lineage.Path, cmp.Or(environ.Environ(bed.Environ()).Get("TMPDIR"), os.TempDir()))
	}
	if err == nil {
		l.tellVerdict(of, v)
	}
	return v, errors.Join(err, l.save())
}

// noSpace is the error that red tests say nothing where the disk of one of the directories is full.
func noSpace(dirs ...string) error {
	const tight = 1 << 20
	for _, dir := range dirs {
		if left, ok := durable.Free(dir); ok && left < tight {
			return fmt.Errorf("the tests failed, and the disk is full (%d KiB are free in %s): make room, then run gl land", left>>10, dir)
		}
	}
	return nil
}

// startedTests records the process of tests, or of setup, before it may run.
func (l *Lane) startedTests(id proc.ID) error {
	l.file.Tests = &id
	return l.save()
}

// makeBed makes the lane's worktree ready.
func (l *Lane) makeBed(ctx context.Context) (*site.Site, error) {
	if l.bed != nil {
		return l.bed, nil
	}
	lineage, err := l.Repo.Lane(ctx)
	if err != nil {
		return nil, err
	}
	config := l.conf.Config
	env := append(agent.ScrubEnv(l.Environ), "GREENLIGHT_ROOT="+l.Project.Root)
	bed := &site.Site{
		Root: l.Project.Root, Self: l.Self, Environ: func() []string { return env }, Setup: site.Setup{Command: config.Git.Setup, Limit: config.Git.SetupLimit},
		SetupLog: filepath.Join(l.Project.Runs.Files.Dir(), "log", "lane.setup.log"), Sandbox: site.Sandbox{On: config.Sandbox == attempt.SandboxBwrap, Caches: config.Caches},
		Apart: "lane", Note: func(line string) { l.tell("the merge queue's worktree: %s", line) }, Started: l.startedTests, Leftover: func(err error) { l.tell("git.setup: %v", err) },
		Repo: l.Repo, Lineage: lineage,
	}
	if err := bed.Make(ctx); err != nil {
		return nil, errors.Join(err, bed.Close())
	}
	l.bed = bed
	return bed, nil
}

// checkOut makes the lane's worktree a commit's, set up as for a new one.
func (l *Lane) checkOut(ctx context.Context, bed *site.Site, commit string) error {
	if err := l.Repo.CheckoutLane(ctx, bed.Lineage, bed.Hold(), commit); err != nil {
		return err
	}
	if err := l.sweep(ctx, bed); err != nil {
		return err
	}
	again, err := l.setUpAnew(ctx, bed)
	if err != nil {
		return err
	}
	manifests, err := l.manifests(ctx, commit)
	if err != nil || manifests == l.file.Manifests {
		return err
	}
	if l.file.Manifests != "" && len(bed.Setup.Command) > 0 && !again {
		l.tell("running git.setup: what it reads has changed")
		if err := bed.SetUpAgain(ctx); err != nil {
			return err
		}
	}
	l.file.Manifests, l.file.Tests = manifests, nil
	return l.save()
}

// setUpAnew runs setup again where tests have changed, removed or added something in what it made: that would decide about others' work.
func (l *Lane) setUpAnew(ctx context.Context, bed *site.Site) (done bool, err error) {
	differs, err := l.Repo.SetupDiffers(bed.Lineage)
	if err != nil || differs == "" {
		return false, err
	}
	if len(bed.Setup.Command) > 0 {
		l.tell("running git.setup again: %s isn't as it left it", differs)
	}
	if err := l.Repo.ForgetSetup(bed.Lineage); err != nil {
		return false, err
	}
	return true, bed.SetUpAgain(ctx)
}

// kept are ignored directories that survive from one run of the tests to the next: caches, and what test commands install by themselves.
var kept = append([]string{"node_modules", ".venv", "venv", "deps"}, worktree.Caches...)

// sweep removes what git ignores and an earlier run has left: with it tests may pass, or fail, that wouldn't elsewhere.
func (l *Lane) sweep(ctx context.Context, bed *site.Site) error {
	l.caches = nil
	ignored, err := l.Repo.Worktree(bed.Lineage).Ignored(ctx)
	if err != nil {
		return err
	}
	for _, p := range ignored {
		name := strings.TrimSuffix(p, "/")
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		if setup := slices.Contains(bed.Lineage.Ignored, p); setup || slices.Contains(kept, path.Base(name)) {
			if !setup || slices.Contains(worktree.Caches, path.Base(name)) {
				l.caches = append(l.caches, name)
			}
			continue
		}
		if err := os.RemoveAll(filepath.Join(bed.Lineage.Path, filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// manifestNames are files by which setup commands find out what to install.
var manifestNames = []string{
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "deno.lock",
	"requirements*.txt", "pyproject.toml", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "setup.py", "environment.yml",
	"Gemfile", "Gemfile.lock", "go.mod", "go.sum", "go.work", "Cargo.toml", "Cargo.lock", "composer.json", "composer.lock", "mix.exs", "mix.lock",
	"pom.xml", "build.gradle", "build.gradle.kts", "gradle.lockfile", "pubspec.yaml", "pubspec.lock", "Makefile", "justfile", ".tool-versions", "mise.toml",
	".nvmrc", ".node-version", ".python-version", ".ruby-version", "rust-toolchain*", "flake.nix", "flake.lock", ".gitmodules",
}

// manifests is a hash of a commit's manifests.
func (l *Lane) manifests(ctx context.Context, commit string) (string, error) {
	files, err := l.files(ctx, commit)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, p := range sorted(files) {
		if slices.ContainsFunc(manifestNames, func(pattern string) bool { ok, _ := path.Match(pattern, path.Base(p)); return ok }) {
			fmt.Fprintf(sum, "%q %s\n", p, files[p].ID)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// judgeRed decides what follows from tests that fail on a merge. What fails without the work, too, isn't its fault.
func (l *Lane) judgeRed(ctx context.Context, w *work, v *testrun.Verdict) error {
	problem := How(v, l.Project.Config.Test.Limit)
	if a := l.aheadAt(w.base); a != nil { // what the target has may be to blame
		if _, err := l.takeIn(ctx, a); err != nil {
			return err
		}
	}
	if v.TimedOut {
		return l.red(ctx, w, v, problem)
	}
	base, err := l.baseVerdict(ctx, w.base)
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
	l.stuck[w.ID.Name()] = reason
	l.tell("%s waits: %s", w.ID.Label(), reason)
	_, err = l.settler.Proceed(ctx, w.Record, func(r *attempt.Record) {
		g := r.Landing
		g.Step, g.Tried, g.Reason, g.Tip, g.Base, r.Judged.Verdict = "", w.base, reason, w.tip, w.base, v
	})
	return err
}

// SendBack has the agents of those that wait because the base is red go on, or a person look at them: nothing else will make it green.
func (l *Lane) SendBack(ctx context.Context) error {
	err := l.locked(ctx, func(ctx context.Context) error {
		queue, err := l.queue()
		if err != nil {
			return err
		}
		for _, r := range queue {
			v := r.Judged.Verdict
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

// How says how tests ended that aren't green.
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
