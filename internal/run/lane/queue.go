// Package lane is the merge queue. It merges, tests and delivers what agents call complete: a slice
// is complete only if its work passes the tests here. A Queue works the attempts in phase landing,
// one at a time; its turn owns lane.json, the queue's worktree and the queue's branch, which files
// and refs call lane. It starts no agents: the scheduler continues what the queue sends back.
// docs/merge-queue.md describes it.
//
// After a kill, the next worker continues from the records and git's refs.
//
// A Reader answers what needs no lock. A turn, which exists only while the lock is held, has a part
// for each job, none of which knows the turn or the queue:
//
//	line        the order of the queue; settles what leaves it
//	tip         the base of the next work; moves the queue's branch
//	bench       test runs in the queue's worktree, and their verdicts
//	merging     one attempt, from its worktree to the queue's branch
//	cars        several attempts, tested side by side on top of each other: package train decides
//	batching    several attempts, tested together
//	delivery    the target; pullRequests the remote
//	undoing     what is taken back; resetting begins again at the target
//	checking    gl verify; recheck asks the gate again about what landed
package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/trust"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A Queue is a project's merge queue as one process works it.
type Queue struct {
	Reader    *Reader // answers what needs no lock
	Project   *project.Project
	Repo      *worktree.Repo
	Self      string            // path of gl
	Environ   []string          // of setup and tests
	Trust     trust.Store       // commands that the person has allowed; no others run
	TrustRoot string            // project they are allowed for: this, or its original
	Told      func(line string) // gets progress, for people; may be nil
	Noted     func(line string) // gets what concerns the project, not one slice; nil for Told
	Asked     bool              // a person asked: do now what waits for its time or for a person

	commands *commands
	events   *events
	recheck  *recheck
	nudged   chan struct{} // see Nudge
	telling  sync.Mutex    // held while Told runs: tests side by side tell, too
	memory   func() (available, total uint64, known bool)
}

// Open returns the queue of a project. The error is a *worktree.Unavailable if the project can't
// have worktrees.
func Open(ctx context.Context, pr *project.Project, self string, environ []string) (*Queue, error) {
	read, err := OpenReader(ctx, pr)
	if err != nil {
		return nil, err
	}
	return &Queue{
		Reader: read, Project: pr, Repo: read.repo, Self: self, Environ: environ,
		commands: &commands{project: pr, conf: pr}, events: &events{project: pr, repo: read.repo},
		recheck: &recheck{
			project: pr, repo: read.repo, history: read.history, trees: read.trees,
			inspect: read.inspect,
		},
		nudged: make(chan struct{}, 1), memory: proc.Memory,
	}, nil
}

// Nudge tells Work, if it runs in another goroutine, that the queue has changed.
func (q *Queue) Nudge() {
	select {
	case q.nudged <- struct{}{}:
	default:
	}
}

// errBusy means that another process works the queue.
var errBusy = errors.New("another gl is working on the merge queue")

// peek is longer than a look at the queue's lock takes.
const peek = 20 * time.Millisecond

// Work lands what can land, and delivers it. If another process works the queue, it returns at
// once: that process looks at the queue once more before it gives the lock up. ctx ends it; what
// is in the queue then stays there.
func (q *Queue) Work(ctx context.Context) error {
	var stuck map[string]string
	work := func(ctx context.Context, t *turn) error {
		stuck = t.line.stuck
		return t.workQueue(ctx)
	}
	for {
		before, err := queueOf(q.Project)
		if err != nil || len(before) == 0 {
			return err
		}
		err = q.locked(ctx, work)
		for range 3 { // it may have been a look at the lock: see durable.Holder
			if !errors.Is(err, errBusy) {
				break
			}
			time.Sleep(peek)
			err = q.locked(ctx, work)
		}
		if errors.Is(err, errBusy) {
			return nil
		}
		if err != nil {
			return err
		}
		after, err := queueOf(q.Project)
		moves := func(r *attempt.Record) bool { _, is := stuck[r.ID.Name()]; return !is }
		if err != nil || !slices.ContainsFunc(after, moves) {
			return err
		}
	}
}

// Restore puts back into the queue the work whose records were removed with runs/, and the objects
// that a prune has taken.
func (q *Queue) Restore(ctx context.Context) error {
	if err := git.Mend(q.Repo.Git.Common); err != nil {
		return err
	}
	settler := q.Project.Settler()
	ids, err := settler.Restore(ctx)
	if len(ids) > 0 {
		q.tells()("in the merge queue again, after its record was removed: %s", strings.Join(ids, ", "))
	}
	return err
}

// CheckSlice runs the tests on a slice: on its work merged with what was merged before or, if it
// is done, on what landed. If a done one passes, it counts as verified.
func (q *Queue) CheckSlice(ctx context.Context, id string) (c *Check, err error) {
	err = q.check(ctx, func(ctx context.Context, t *turn) error {
		c, err = t.checking.checkSlice(ctx, id)
		return err
	})
	return c, err
}

// CheckLane runs the tests on the queue's commit.
func (q *Queue) CheckLane(ctx context.Context) (c *Check, err error) {
	err = q.check(ctx, func(ctx context.Context, t *turn) error {
		c, err = t.checking.checkLane(ctx)
		return err
	})
	return c, err
}

// check runs f with the queue's lock, if the project has tests.
func (q *Queue) check(ctx context.Context, f func(context.Context, *turn) error) error {
	if !q.Project.Config.Test.Command.IsSet() {
		return errNoTests
	}
	return q.whenFree(ctx, f)
}

// whenFree runs f with the queue's lock. For a person it is an error if another process has it.
func (q *Queue) whenFree(ctx context.Context, f func(context.Context, *turn) error) error {
	err := q.locked(ctx, f)
	if errors.Is(err, errBusy) {
		err = fmt.Errorf("another gl is working on the merge queue: %s. Try again when it is done", q.busy())
	}
	return err
}

// unlessBusy runs f with the queue's lock. If another process has it, that one does the work.
func (q *Queue) unlessBusy(ctx context.Context, f func(context.Context, *turn) error) error {
	err := q.locked(ctx, f)
	if errors.Is(err, errBusy) {
		return nil
	}
	return err
}

// IsWorked reports whether a process works the queue.
func (q *Queue) IsWorked() bool { return q.busy() != "" }

// busy names the process that works the queue, "" for none.
func (q *Queue) busy() string {
	who, err := durable.Holder(q.Repo.Queue.LockFile())
	if err != nil {
		return ""
	}
	return who
}

// TestBase runs the tests on the commit that slices begin at, if no verdict is known. red says that
// they fail, and what that means for the slices.
func (q *Queue) TestBase(ctx context.Context) (red string, err error) {
	err = q.unlessBusy(ctx, func(ctx context.Context, t *turn) error {
		base, err := t.tip.settledBase(ctx)
		if err != nil {
			return err
		}
		v, err := t.bench.baseVerdict(ctx, base)
		if err == nil && v != nil && !v.Green() {
			red = "the tests fail on " + worktree.Short(q.Repo.Target()) + " (" +
				How(v, q.Project.Config.Test.Limit) + "): "
			if v.Named() {
				red += "failures that are there without a slice's work aren't held against it"
			} else {
				red += "their output doesn't name the failures, so a slice is merged only if all tests pass with it"
			}
		}
		return err
	})
	return red, err
}

// SendBack returns work that waits because the base is red to its agents or, the second time, to a
// person: nothing else will make the base green.
func (q *Queue) SendBack(ctx context.Context) error {
	return q.unlessBusy(ctx, func(ctx context.Context, t *turn) error {
		return t.merging.sendBack(ctx)
	})
}

// Reset begins the queue's branch again at the target as it is. What has landed and wasn't
// delivered stays on the slices' branches; it returns these slices, and those that are pending
// again because nothing has them.
func (q *Queue) Reset(ctx context.Context) (dropped, reopened []string, err error) {
	err = q.locked(ctx, func(ctx context.Context, t *turn) error {
		dropped, reopened, err = t.resetting.reset(ctx)
		return err
	})
	return dropped, reopened, err
}

// Deliver delivers what has landed, for gl land and the end of a run, and commits state. The error
// is nil if another process works the queue: it delivers. If a person has asked, a Standstill is
// returned even where nothing waits to be delivered, as with a target that was reset.
func (q *Queue) Deliver(ctx context.Context) error {
	return q.unlessBusy(ctx, func(ctx context.Context, t *turn) error {
		if t.file.Tip == "" && len(t.file.Undelivered) == 0 { // nothing has ever landed
			return nil
		}
		reason, err := t.delivery.tryDeliver(ctx)
		if err != nil {
			return err
		}
		var still error
		if reason != "" {
			if err := t.delivery.undelivered(reason); err != nil {
				return err
			}
			if q.Asked && len(t.file.Undelivered) == 0 {
				still = &Standstill{Reason: reason}
			}
		}
		return cmp.Or(t.delivery.commitState(ctx), still)
	})
}

// DeliverAgain delivers what couldn't be delivered before: a person may have removed the reason.
func (q *Queue) DeliverAgain(ctx context.Context) error {
	return q.unlessBusy(ctx, func(ctx context.Context, t *turn) error {
		if t.file.Reason == "" {
			return nil
		}
		return errors.Join(t.delivery.deliver(ctx), t.delivery.commitStateNow(ctx))
	})
}

// Undo takes back a slice that has landed: it reverts the merge in the queue's branch, tests what
// is left, and makes the slice pending again. With force it also does that if other finished slices
// need it, or the tests fail without it.
func (q *Queue) Undo(ctx context.Context, id, why string, force bool) (u *Undone, err error) {
	err = q.whenFree(ctx, func(ctx context.Context, t *turn) error {
		if err := t.undoing.mayUndo(id, force); err != nil {
			return err
		}
		if u, err = t.undoing.undo(ctx, id, why, force); err != nil {
			return err
		}
		return errors.Join(t.delivery.deliver(ctx), t.delivery.commitState(ctx))
	})
	return u, err
}

// permitted returns the commands, with the permission that the person has given by now.
func (q *Queue) permitted() *commands {
	q.commands.trust, q.commands.root = q.Trust, q.TrustRoot
	return q.commands
}

// tells returns a function that tells of progress.
func (q *Queue) tells() func(format string, a ...any) { return q.teller(q.Told) }

// notes returns a function that tells what people see whether or not they follow the progress.
func (q *Queue) notes() func(format string, a ...any) {
	if q.Noted == nil {
		return q.tells()
	}
	return q.teller(q.Noted)
}

func (q *Queue) teller(told func(line string)) func(format string, a ...any) {
	return func(format string, a ...any) {
		if told != nil {
			q.telling.Lock()
			defer q.telling.Unlock()
			told(fmt.Sprintf(format, a...))
		}
	}
}

// short is a commit as people read it.
func short(commit string) string { return commit[:min(len(commit), 10)] }

func now() time.Time { return time.Now().UTC() }
