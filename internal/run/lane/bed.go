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
	"greenlight/internal/core/agent"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/run/workers"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

// A bed is a worktree in which tests run: the queue's own, or a car's. It is made when it is first
// used in a turn. It runs one thing at a time; different beds may run side by side.
type bed struct {
	project  *project.Project
	repo     *worktree.Repo
	self     string
	environ  []string
	commands *commands
	tell     func(format string, a ...any)

	name      string // of its logs, and the mark of what its tests start: see testrun.Spec
	lineage   func(context.Context) (*worktree.Lineage, error)
	trees     *trees // for this bed's goroutine
	manifests string // of the tree that setup last ran for, "" if it never ran
	low       bool   // processes that are started now run at low priority
	// started records the process of tests or setup before it may run; setUp records that setup
	// has run for these manifests
	started func(command.Handle) error
	setUp   func(manifests string) error

	fleet  *fleet
	commit string     // that is checked out
	site   *site.Site // once it is made
	caches []string   // in it, of earlier runs: see worktree.Caches
}

// endGrace is the time between TERM and KILL.
const endGrace = 5 * time.Second

// make prepares the worktree.
func (b *bed) make(ctx context.Context) error {
	if b.site != nil {
		return nil
	}
	lineage, err := b.lineage(ctx)
	if err != nil {
		return err
	}
	config := b.commands.conf.Config
	env := append(agent.ScrubEnv(b.environ), "GREENLIGHT_ROOT="+b.project.Root)
	made := &site.Site{
		Root: b.project.Root, Run: executor.Commands(executor.NewLocal(b.self)),
		Environ:  func() []string { return env },
		Setup:    site.Setup{Command: config.Git.Setup, Limit: config.Git.SetupLimit},
		SetupLog: b.logFile(b.name + ".setup.log"),
		Sandbox: site.Sandbox{On: config.Sandbox == attempt.SandboxBwrap,
			Caches: config.Caches},
		Apart: "lane", Note: func(line string) { b.tell("the merge queue's worktree: %s", line) },
		Started: b.started, Leftover: func(err error) { b.tell("git.setup: %v", err) },
		Repo: b.repo, Lineage: lineage,
	}
	if err := made.Make(ctx); err != nil {
		return errors.Join(err, made.Close())
	}
	b.site = made
	if b.manifests != "" {
		return nil
	}
	// setup has run for what the worktree was made at
	if b.manifests, err = b.trees.manifests(ctx, lineage.Base); err != nil {
		b.manifests = "unknown" // git no longer has it
	}
	return b.setUp(b.manifests)
}

func (b *bed) logFile(name string) string {
	return filepath.Join(b.project.Runs.Files.Dir(), "log", name)
}

// key returns what a verdict on a tree depends on here.
func (b *bed) key(tree string) (testrun.Key, error) {
	command := b.commands.conf.Config.Test.Command
	key := testrun.Key{Tree: tree, Command: command.Line,
		Dir: strings.TrimSuffix(b.repo.Git.Prefix, "/")}
	var err error
	key.Toolchain, err = testrun.Toolchain(command.Argv, b.site.Dir(), b.site.Lineage.Path)
	if err != nil && b.commands.conf.Config.Test.Where == project.WhereWorkers {
		return key, nil // it may be on workers alone
	}
	return key, err
}

// run runs the tests on what is checked out, here or on a worker.
func (b *bed) run(ctx context.Context, key testrun.Key, log string) (*testrun.Verdict, error) {
	for {
		w, left, err := b.fleet.place(ctx, key.Tree)
		if err != nil {
			return nil, err
		}
		var v *testrun.Verdict
		if w == nil {
			v, err = b.runHere(ctx, key, log)
			left()
			return v, err
		}
		v, err = b.runOn(ctx, w, key, log)
		left()
		if b.fleet.ended(ctx, w, v, err) {
			return v, err
		}
	}
}

// spec returns what a run of the tests is, wherever it runs.
func (b *bed) spec(key testrun.Key, log string) testrun.Spec {
	test := b.commands.conf.Config.Test
	return testrun.Spec{
		Command: test.Command, Root: b.project.Root, Top: b.site.Lineage.Path, Dir: b.site.Dir(),
		Limit: test.Limit, Pattern: test.Pattern, Tree: key.Tree, Toolchain: key.Toolchain,
		Log: b.logFile(log + ".tests.log"), Mark: b.name,
	}
}

// runOn runs the tests on a worker. An error means that it has no verdict.
func (b *bed) runOn(ctx context.Context, w *workers.Worker, key testrun.Key, log string) (
	*testrun.Verdict, error) {
	needs, err := b.fleet.needs(ctx)
	if err != nil {
		return nil, err
	}
	config := b.commands.conf.Config
	spec := b.spec(key, log)
	spec.Executor = &workers.Tester{
		Runs: b.project.Runs.Files.Dir(), Worker: w.Name, Top: b.site.Lineage.Path,
		Job: remote.Job{
			Kind: remote.Tests, Commit: b.commit, Setup: config.Git.Setup,
			SetupLimit: config.Git.SetupLimit.Milliseconds(), Needs: needs,
		},
	}
	b.tell("running %s on worker %s", config.Test.Command.Line, w.Name)
	v, err := testrun.Run(ctx, spec)
	if v != nil {
		v.Worker = w.Name
	}
	return v, err
}

// runHere runs the tests in the bed's own worktree.
func (b *bed) runHere(ctx context.Context, key testrun.Key, log string) (*testrun.Verdict, error) {
	spec := b.spec(key, log)
	spec.Executor, spec.Env = executor.NewLocal(b.self), b.site.Env(b.site.Environ())
	spec.Box, spec.Started, spec.Caches = b.site.Box, b.started, b.caches
	b.tell("running %s", spec.Command.Line)
	v, err := testrun.Run(ctx, spec)
	if err == nil {
		b.fleet.endedHere(v)
	}
	if err != nil || v.Green() {
		return v, err
	}
	return v, noSpace(b.site.Lineage.Path, cmp.Or(environ.Environ(b.site.Environ()).Get("TMPDIR"),
		os.TempDir()))
}

// signaled returns an error for tests that a signal ended, which says nothing about the work.
// memory is what proc.OutOfMemory said before they ran.
func signaled(v *testrun.Verdict, memory int) error {
	if v.Signal == "" || v.TimedOut {
		return nil
	}
	cause := ""
	if proc.OutOfMemory() > memory {
		cause = ", probably for lack of memory"
	}
	return fmt.Errorf("the tests were ended by the signal %q%s: see %s", v.Signal, cause, v.Log)
}

// noSpace returns an error if the disk of one of the directories is full: red tests mean nothing
// then.
func noSpace(dirs ...string) error {
	const tight = 1 << 20
	for _, dir := range dirs {
		if left, ok := durable.Free(dir); ok && left < tight {
			return fmt.Errorf("the tests failed, and the disk is full (%d KiB are free in %s): make room, then run gl land", left>>10, dir)
		}
	}
	return nil
}

// checkOut checks a commit out, set up as in a new worktree. manifests is what setup reads there:
// see trees.manifests.
func (b *bed) checkOut(ctx context.Context, commit, manifests string) error {
	if err := b.site.Hold().Checkout(ctx, commit); err != nil {
		return err
	}
	b.commit = commit
	if err := b.sweep(ctx); err != nil {
		return err
	}
	again, err := b.setUpAnew(ctx)
	if err != nil || manifests == b.manifests {
		return err
	}
	if len(b.site.Setup.Command) > 0 && !again {
		b.tell("running git.setup: what it reads has changed")
		if err := b.site.SetUpAgain(ctx); err != nil {
			return err
		}
	}
	b.manifests = manifests
	return b.setUp(manifests)
}

// setUpAnew runs setup again if tests have changed, removed or added something in its results,
// which would affect the tests of other work.
func (b *bed) setUpAnew(ctx context.Context) (done bool, err error) {
	differs, err := b.site.Hold().SetupDiffers()
	if err != nil || differs == "" {
		return false, err
	}
	if len(b.site.Setup.Command) > 0 {
		b.tell("running git.setup again: %s isn't as it left it", differs)
	}
	if err := b.site.Hold().ForgetSetup(); err != nil {
		return false, err
	}
	return true, b.site.SetUpAgain(ctx)
}

// kept are ignored directories that survive from one test run to the next: caches, and what test
// commands install by themselves.
var kept = append([]string{"node_modules", ".venv", "venv", "deps"}, worktree.Caches...)

// sweep removes ignored files that an earlier run left, because tests could pass or fail only with
// them.
func (b *bed) sweep(ctx context.Context) error {
	b.caches = nil
	lineage := b.site.Lineage
	ignored, err := b.repo.Layout.Worktree(lineage).Ignored(ctx)
	if err != nil {
		return err
	}
	for _, p := range ignored {
		name := strings.TrimSuffix(p, "/")
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		if setup := slices.Contains(lineage.Ignored, p); setup ||
			slices.Contains(kept, path.Base(name)) {
			if !setup || slices.Contains(worktree.Caches, path.Base(name)) {
				b.caches = append(b.caches, name)
			}
			continue
		}
		if err := os.RemoveAll(filepath.Join(lineage.Path,
			filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// leave gives up the worktree.
func (b *bed) leave() error {
	if b.site == nil {
		return nil
	}
	err := b.site.Close()
	b.site = nil
	return err
}

// end ends the tests that a worker left running here when it was killed.
func (b *bed) end(id proc.ID) error {
	run := executor.NewLocal(b.self).Find(executor.Lost{
		Handle: command.Handle{Process: id},
		Marks:  []string{testrun.MarkOf(b.project.Root, b.name)},
		Leaves: executor.Nothing, Grace: endGrace,
	})
	run.End()
	if res, err := run.Wait(); err != nil || res.Leftover != nil {
		return fmt.Errorf("what the tests left running can't be ended: %w",
			cmp.Or(err, res.Leftover))
	}
	return nil
}
