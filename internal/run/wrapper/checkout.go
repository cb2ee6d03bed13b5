package wrapper

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
)

// What an agent has built in the checkout is tested there, before the attempt is judged; it keeps
// its slot meanwhile. The result proves something only if no other agent has worked there since.
// Otherwise the slice is done but unverified, and says why. The same holds if this process is
// killed: by then, another agent may work in the checkout.

// Tests defines how a wrapper runs tests.
type Tests struct {
	Limit   time.Duration
	Pattern *regexp.Regexp // testrun.Spec.Pattern

	Removable []string // paths whose tests may be removed without asking a person
}

// A checkout is the project's own directory as the place of an attempt: what its agent has done
// to the tests, and whether they pass. For an attempt in a worktree, it does nothing.
type checkout struct {
	*claimed
	root  string
	env   []string
	tests Tests
	lock  *os.File // on the log; nil where locks don't work
	stop  <-chan os.Signal
}

const (
	besideText  = "another agent worked in the same checkout"
	stoppedText = "its tests were stopped"
)

// verify runs the tests if the agent calls its slice complete, and records the result.
func (c *checkout) verify(ctx context.Context) {
	if c.rec.Conditions.Test == nil || c.over || !c.calledComplete(ctx) {
		return
	}
	if c.rec.Life.Ending == attempt.EndStop {
		c.rec.Judged.Unverified = stoppedText
		return
	}
	if c.besides() {
		return
	}
	c.note("running the tests: " + c.rec.Conditions.Test.Line)
	v, err := c.runTests(ctx)
	switch {
	case c.rec.Life.Ending == attempt.EndStop:
		c.rec.Judged.Unverified = stoppedText
	case err != nil:
		c.rec.Judged.Unverified = "its tests can't be run: " + err.Error()
	case c.besides():
	default:
		c.rec.Judged.Verdict = v
		fewer := c.settler.Store.Fewer(c.rec)
		c.rec.Judged.Compared.Found = append(c.rec.Judged.Compared.Found, fewer...)
		if v.Green() && len(fewer) == 0 { // otherwise the checkout has work that isn't accepted
			// if it fails, the counts stay those of the run before
			_ = c.settler.Store.Proofs.PutSuite(v, "")
		}
	}
}

// besides reports, and notes, whether another agent has worked in the checkout since this one
// began.
func (c *checkout) besides() bool {
	beside, err := c.settler.Store.Beside(c.rec)
	switch {
	case err != nil:
		c.rec.Judged.Unverified = "can't tell whether another agent worked in the same checkout: " + err.Error()
	case beside:
		c.rec.Judged.Unverified = besideText
	}
	return c.rec.Judged.Unverified != ""
}

// runTests runs the tests to their end, or until the attempt is stopped.
func (c *checkout) runTests(ctx context.Context) (*testrun.Verdict, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		v   *testrun.Verdict
		err error
	}
	begun, recorded, done := make(chan command.Handle), make(chan error), make(chan result, 1)
	env := c.rec.Env(c.env, c.root)
	var files []*os.File
	if c.lock != nil {
		files = []*os.File{c.lock} // as for the agent
	}
	go func() {
		v, err := testrun.Run(ctx, testrun.Spec{
			Executor: c.settler.Executor, Command: *c.rec.Conditions.Test, Root: c.root,
			Top: c.root, Dir: c.root,
			Env: env, Files: files, Limit: c.tests.Limit, Pattern: c.tests.Pattern,
			Mark:    c.rec.ID.Token,
			Log:     c.settler.Store.Files.TestsLog(c.rec.ID.Slice, c.rec.ID.N),
			Started: func(h command.Handle) error { begun <- h; return <-recorded },
		})
		done <- result{v, err}
	}()
	ticker := time.NewTicker(longestTick)
	defer ticker.Stop()
	for {
		select {
		case h := <-begun:
			recorded <- c.recordTests(ctx, h.Process)
		case <-ticker.C:
			c.keepRecord(ctx)
		case <-c.stop:
			if c.rec.Life.Ending == attempt.EndStop && c.rec.Life.Process != nil {
				agent := command.Handle{Process: *c.rec.Life.Process}
				c.settler.Executor.Find(executor.Lost{Handle: agent}).Kill()
			}
			c.end(ctx, attempt.EndStop, "")
			cancel()
		case r := <-done:
			return r.v, r.err
		}
	}
}

// recordTests records the tests' process in the agent's place. If this process dies, its settler
// then ends the tests first.
func (c *checkout) recordTests(ctx context.Context, id proc.ID) error {
	ctx = durable.Patiently(ctx, nil)
	return c.settler.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := c.settler.Store.Get(c.rec.ID.Slice, c.rec.ID.N)
		switch {
		case errors.Is(err, fs.ErrNotExist): // git clean -x
			err = c.settler.Store.Files.Prepare()
		case err == nil && (disk.Life.Phase != plan.Started || disk.ID.Token != c.rec.ID.Token):
			err = ErrLate
		case err == nil && disk.Life.Ending == attempt.EndStop: // its signal is on the way
			c.rec.Life.Ending, c.rec.Life.EndingDetail = disk.Life.Ending, disk.Life.EndingDetail
			err = errEnding
		}
		if err != nil {
			return err
		}
		c.rec.Life.Process = &id
		return c.settler.Store.Within(tx.Held()).Put(c.rec)
	})
}

// noteTree notes the tree that the agent has left in the checkout, without state files. It is
// unknown without git, or if another agent has worked there.
func (c *checkout) noteTree(ctx context.Context) {
	if c.rec.Place.Lineage != 0 || c.rec.ID.IsTask() || !c.calledComplete(ctx) {
		return
	}
	if beside, err := c.settler.Store.Beside(c.rec); err != nil || beside {
		return
	}
	tree, err := git.CheckoutTree(ctx, c.root, statedir.Name)
	if err != nil && !errors.Is(err, git.ErrNone) && !errors.Is(err, git.ErrMissing) {
		c.note("can't record the tree that its agent left: " + err.Error())
	}
	if err == nil {
		c.rec.Place.Tree = tree
	}
}

// noteBaseline notes how the tests are before the agent begins. If it can't, they aren't compared,
// and the verdict says so.
func (c *checkout) noteBaseline(ctx context.Context) {
	if c.rec.Conditions.Test == nil || !c.settler.Tracker.Traits().Completes {
		return
	}
	err := c.settler.Store.Proofs.NoteBaseline(ctx, c.rec)
	if c.rec.Conditions.Baseline = err == nil; err != nil {
		c.note("its tests won't be compared: " + err.Error())
	}
}

// compare compares the tests with how they were at the claim.
func (c *checkout) compare(ctx context.Context) {
	if !c.rec.Conditions.Baseline {
		return
	}
	var err error
	c.rec.Judged.Compared, err = c.settler.Store.Proofs.Compare(ctx, c.rec, c.tests.Removable)
	if err != nil {
		c.note("can't record the state of its tests: " + err.Error())
	}
}
