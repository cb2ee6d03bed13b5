package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/command"
	"greenlight/internal/base/environ"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A Check is the result of tests that a person asked for. It lands nothing.
type Check struct {
	What      CheckOf
	Slice     string // "" for none
	Commit    string // that was tested; "" if none could be
	Conflicts []string
	Problem   string // why it wouldn't land, whatever its tests say
	Claim     string // an audited commit's trailer; "" for none
	Verdict   *testrun.Verdict
	Gate      *gate.Ruling // of what has landed, asked again; nil if it wasn't
	Set       bool         // the slice counts as verified because of it
}

// CheckOf is what was tested.
type CheckOf string

const (
	OfMerge  CheckOf = "merge"  // the slice as it is, merged with what was merged before
	OfLanded CheckOf = "landed" // the commit by which the slice was merged
	OfTarget CheckOf = "target" // the target's commit: where the slice was merged isn't known
	OfLane   CheckOf = "lane"   // the lane's commit
)

// Green reports whether the work would land, or was right to land.
func (c *Check) Green() bool {
	return len(c.Conflicts) == 0 && c.Problem == "" && c.Verdict.Green()
}

// Belied reports whether the verdict contradicts the commit's trailer.
func (c *Check) Belied() bool {
	return c.Claim != "" && strings.Contains(c.Claim, ", exit 0, ") != c.Verdict.Green()
}

// errNoTests means that the project has no test command.
var errNoTests = errors.New(`there is no test command: gl settings set test.command "…"`)

// A checking runs the tests on request, and lands nothing.
type checking struct {
	project *project.Project
	repo    *worktree.Repo
	history history
	trees   *trees
	inspect *inspector
	bench   *bench
	recheck *recheck
}

// checkSlice tests a slice: see Queue.CheckSlice.
func (k *checking) checkSlice(ctx context.Context, id string) (*Check, error) {
	p, err := k.project.Plan(now(), k.project.Options())
	if err != nil {
		return nil, err
	}
	if st := p.State(id); st != nil && st.Class == plan.Done {
		return k.checkDone(ctx, st)
	}
	return k.checkMerge(ctx, id)
}

// checkLane tests the commit of the queue's branch.
func (k *checking) checkLane(ctx context.Context) (*Check, error) {
	c := &Check{What: OfLane}
	var err error
	if c.Commit, err = k.repo.Queue.Tip(ctx); err == nil {
		c.Verdict, err = k.bench.retest(ctx, c.Commit, tested{})
	}
	return c, err
}

// checkMerge tests what would land of a slice now.
func (k *checking) checkMerge(ctx context.Context, id string) (*Check, error) {
	lineage, err := k.repo.Lineages.Get(k.project.Key(), id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no worktree, so there is nothing to merge: run gl slice %s",
			id, id)
	}
	if err != nil {
		return nil, err
	}
	w := &work{lineage: lineage}
	if w.tip, err = k.repo.Snapshots.Look(ctx, lineage); err != nil {
		return nil, err
	}
	if w.tip == "" {
		return nil, fmt.Errorf("%s has no worktree, and its branch %s is gone: gl salvage %s lists what is kept of it", id, worktree.Short(lineage.Branch), id)
	}
	if w.base, err = k.history.newest(ctx); err != nil {
		return nil, err
	}
	last, err := k.project.Runs.Last(id)
	if err != nil {
		return nil, err
	}
	if w.rec = (&attempt.Record{ID: attempt.Identity{System: lineage.System,
		Slice: id}}); len(last[id]) > 0 {
		w.rec = last[id][0]
	}
	c := &Check{What: OfMerge, Slice: id}
	changed, conflicts, err := k.trees.merge(ctx, w)
	if c.Conflicts = conflicts; err != nil || len(conflicts) > 0 {
		return c, err
	}
	w.unlocks = k.inspect.unlocks(id)
	if err := k.inspect.inspect(ctx, w, changed); err != nil {
		return nil, err
	}
	ruling := w.askGate(gate.TestRun{Pending: true})
	c.Problem = cmp.Or(ruling.Refused(), ruling.Asks())
	c.Commit, err = git.CommitTree(ctx, k.repo.Git.Common,
		git.NewCommit{Tree: w.tree, Parents: []string{w.base, w.tip},
			Message: "gl: " + id + " merged"})
	if err == nil {
		c.Verdict, err = k.bench.retest(ctx, c.Commit, tested{rec: w.rec})
	}
	return c, err
}

// Audit runs the tests on every commit by which a slice has landed since a revision, "" for all,
// and passes each check to tell. It looks in the target or, if gl doesn't move the target, in the
// queue's branch. It works in a clone, because the queue's worktree is busy and keeps caches;
// git.setup runs before each commit's tests. The command is the project's: a commit's trailer must
// not choose what runs.
func (q *Queue) Audit(ctx context.Context, since string, tell func(*Check)) error {
	if !q.Project.Config.Test.Command.IsSet() {
		return errNoTests
	}
	if err := q.permitted().allowed(ctx); err != nil {
		return err
	}
	landings, target, err := q.landingsSince(ctx, since)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gl-audit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a := audit{
		project: q.Project, repo: q.Repo, self: q.Self, environ: q.Environ, tell: q.tells(),
		top: filepath.Join(dir, "clone"), temp: filepath.Join(dir, "tmp"),
	}
	for _, d := range []string{a.top, a.temp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	if err := git.CloneCommit(ctx, q.Repo.Git.Top, a.top, target); err != nil {
		return err
	}
	landings = slices.DeleteFunc(landings,
		func(c git.Landed) bool { return c.Project != q.Repo.Git.Prefix })
	known := map[string]*Check{}
	for i, landed := range landings {
		tested := landings[i+tail(landings[i:])]
		c := known[tested.Commit]
		if c == nil {
			if c, err = a.check(ctx, tested); err != nil {
				return err
			}
			known[tested.Commit] = c
		}
		of := *c
		of.Slice, of.Claim = landed.Slice, landed.Verified
		if err := q.recheck.askCommit(ctx, landed, &of); err != nil {
			return err
		}
		tell(&of)
	}
	return nil
}

// landingsSince returns the landings since a revision, and the commit that has them.
func (q *Queue) landingsSince(ctx context.Context, since string) (
	landings []git.Landed, target string, err error) {
	target, err = q.Reader.history.target(ctx)
	if err == nil && q.Project.Config.Git.Deliver != project.DeliverMerge {
		target, err = q.Reader.history.newest(ctx)
	}
	if err != nil {
		return nil, "", err
	}
	if since != "" {
		commit, err := git.ResolveCommit(ctx, q.Repo.Git.Common, since)
		if err == nil && commit == "" {
			err = fmt.Errorf("there is no commit %q", since)
		}
		if err != nil {
			return nil, "", err
		}
		since = commit
	}
	landings, err = git.Landings(ctx, q.Repo.Git.Common, since, target)
	return landings, target, err
}

// tail returns how far the last landing of its batch, the one that was tested, is from the first of
// the landings.
func tail(landings []git.Landed) int {
	var i, n int
	if _, err := fmt.Sscanf(landings[0].Batch, "%d of %d", &i, &n); err != nil || i < 1 || n < i ||
		n-i >= len(landings) {
		return 0
	}
	if landings[n-i].Batch != fmt.Sprintf("%d of %d", n, n) {
		return 0
	}
	return n - i
}

// An audit is a clone in which commits are tested.
type audit struct {
	project   *project.Project
	repo      *worktree.Repo
	self      string
	environ   []string
	tell      func(format string, a ...any)
	top, temp string
}

func (a *audit) check(ctx context.Context, landed git.Landed) (*Check, error) {
	c := &Check{What: OfLanded, Slice: landed.Slice, Commit: landed.Commit, Claim: landed.Verified}
	if err := git.CheckoutClone(ctx, a.top, landed.Commit); err != nil {
		return nil, err
	}
	dir, env := filepath.Join(a.top, filepath.FromSlash(a.repo.Git.Prefix)),
		append(agent.ScrubEnv(a.environ), "TMPDIR="+a.temp)
	config := a.project.Config
	if len(config.Git.Setup) > 0 {
		a.tell("%s: running git.setup", short(landed.Commit))
		res, err := executor.Command(ctx, executor.NewLocal(a.self), command.Spec{
			Argv: config.Git.Setup, Dir: dir,
			Env:   append(slices.Clip(env), environ.SetupMark(a.project.Root)),
			Limit: config.Git.SetupLimit,
		})
		if err != nil {
			return nil, fmt.Errorf("git.setup: %w", err)
		}
		if !res.OK() {
			c.Problem = "git.setup failed: " + res.How(plan.Age(config.Git.SetupLimit))
			return c, nil
		}
	}
	a.tell("%s: running %s", short(landed.Commit), config.Test.Command.Line)
	var err error
	c.Verdict, err = testrun.Run(ctx, testrun.Spec{
		Executor: executor.NewLocal(a.self), Command: config.Test.Command, Root: a.project.Root,
		Top: a.top, Dir: dir,
		Env: env, Limit: config.Test.Limit, Pattern: config.Test.Pattern, Tree: landed.Tree,
	})
	return c, err
}
