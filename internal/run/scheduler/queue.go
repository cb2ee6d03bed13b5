package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/run/lane"
	"greenlight/internal/workspace/worktree"
)

// queueJobs works the merge queue beside the loop, one job at a time: tests take as long as they
// take, and agents run meanwhile.
type queueJobs struct {
	lane     *lane.Queue // nil without worktrees: then there are no jobs
	runs     string      // the directory of the attempts
	interval time.Duration
	trace    func(format string, a ...any)
	life     context.Context // of the run

	busy   bool
	done   chan error
	cancel context.CancelFunc
	seen   string    // queued.news when a job last began
	at     time.Time // when that was
	sent   string    // queued.news when those that wait for the base were last sent back
	nudged string    // queued.news when a job that ran was last told of it

	elsewhere bool // when the last job ended, another process was working the queue
}

// queued is what awaits the merge queue.
type queued struct {
	names []string // of the run's own attempts, sorted
	news  string   // changes with what may let one of them move; empty if there are none
}

func newQueueJobs(ctx context.Context, cfg *Config) *queueJobs {
	return &queueJobs{
		lane: cfg.Tools.Lane, runs: cfg.Project.Runs.Files.Dir(),
		interval: cfg.Pace.Interval, trace: cfg.Output.Trace, life: ctx, done: make(chan error, 1),
	}
}

// start begins a job.
func (q *queueJobs) start(what string, job func(context.Context) error) {
	ctx, cancel := context.WithCancel(durable.Patiently(q.life, nil))
	q.busy, q.cancel, q.at = true, cancel, time.Now()
	q.trace("merge queue: %s", what)
	done := q.done
	go func() {
		defer cancel()
		done <- job(ctx)
	}()
}

// testBase runs the tests of the target itself while the first agents work: what fails there isn't
// the slices' fault.
func (q *queueJobs) testBase() {
	lane := q.lane
	q.start("testing the base", func(ctx context.Context) error {
		red, err := lane.TestBase(ctx)
		if err == nil && red != "" {
			err = fmt.Errorf("%s. If the command is wrong: gl settings set test.command 'COMMAND'", red)
		}
		return err
	})
}

// deliverAgain retries a delivery that failed, and reports whether it has begun to. With attempts
// in the queue that isn't needed: delivering follows them anyway.
func (q *queueJobs) deliverAgain(now queued) bool {
	idle := q.lane != nil && !q.busy && now.news == "" && time.Since(q.at) >= q.interval
	if !idle || lane.ReadStatus(q.runs).Reason == "" {
		return false
	}
	q.start("merging into the target branch again", q.lane.DeliverAgain)
	return true
}

// work merges what is queued, if something has changed or the interval is over.
func (q *queueJobs) work(now queued) {
	if q.lane == nil || now.news == "" {
		return
	}
	if q.elsewhere && !q.lane.IsWorked() { // it may have been killed
		q.elsewhere, q.seen = false, ""
	}
	if q.busy {
		if now.news != q.nudged {
			q.nudged = now.news
			q.lane.Nudge()
		}
		return
	}
	if now.news == q.seen && time.Since(q.at) < q.interval {
		return
	}
	q.seen = now.news
	q.start("merging "+strings.Join(now.names, ", "), q.lane.Work)
}

// over takes in the end of a job, and returns the error to report.
func (q *queueJobs) over(err error) error {
	q.busy, q.elsewhere = false, q.lane.IsWorked()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// pending reports whether something in the queue may still move by itself: also where another
// process works the queue, as the wrapper of an attempt whose run was killed.
func (q *queueJobs) pending(now queued, stopping bool) bool {
	return q.busy || q.lane != nil && !stopping && now.news != "" &&
		(now.news != q.seen || q.elsewhere)
}

// sendBack lets attempts continue that wait because the base is red, once nothing else can make it
// green. It reports whether it has begun to.
func (q *queueJobs) sendBack(now queued) bool {
	if q.lane == nil || now.news == "" || now.news == q.sent {
		return false
	}
	q.sent = now.news
	q.start("sending back what waits for a green base", q.lane.SendBack)
	return true
}

// stop ends the job that runs. ok reports whether there was one.
func (q *queueJobs) stop() (err error, ok bool) {
	if !q.busy {
		return nil, false
	}
	q.cancel()
	return q.over(<-q.done), true
}

// deliver delivers what has landed and commits the state: STATE.md is up to date by now.
func (q *queueJobs) deliver(ctx context.Context) error {
	err := q.lane.Deliver(ctx)
	if errors.Is(err, context.Canceled) || errors.As(err, new(*worktree.Refused)) {
		return nil
	}
	return err
}
