package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/lane"
	"greenlight/internal/workspace/worktree"
)

// The lane works beside the loop, one job at a time: its tests take as long as they take, and agents run meanwhile.

// laneState is what the drain knows of the lane.
type laneState struct {
	busy   bool
	done   chan error
	cancel context.CancelFunc
	seen   string    // the queue, and what might let it move, when a job began
	at     time.Time // when that was
	sent   string    // the queue when those that wait for the base were sent back
}

// startLane begins a job.
func (d *drain) startLane(what string, job func(context.Context) error) {
	ctx, cancel := context.WithCancel(durable.Patiently(d.life, nil))
	d.laneState.busy, d.laneState.cancel, d.laneState.at = true, cancel, time.Now()
	d.Trace("lane: %s", what)
	go func() {
		defer cancel()
		d.laneState.done <- job(ctx)
	}()
}

// testBase has the target's own tests run while the first agents work: what fails there isn't the slices' fault.
func (d *drain) testBase() {
	if d.Lane != nil && d.leads && d.Project.Config.Test.Command.IsSet() {
		d.startLane("testing the base", func(ctx context.Context) error {
			red, err := d.Lane.TestBase(ctx)
			if err == nil && red != "" {
				err = fmt.Errorf("%s: failures that are there without a slice's work aren't held against it", red)
			}
			return err
		})
	}
}

// queue is the attempts that this drain answers for and that await the lane.
func (d *drain) queue() []string {
	var names []string
	for name, rec := range d.open {
		if rec.Life.Phase == plan.Queued {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// withSlots counts the attempts of this drain that have agents.
func (d *drain) withSlots() int { return len(d.open) - len(d.queue()) }

// laneNews is what might let something in the queue move: the queue itself, and ends of attempts.
func (d *drain) laneNews() string {
	queue := d.queue()
	if len(queue) == 0 {
		return ""
	}
	return fmt.Sprint(len(d.res.Ended), d.withSlots(), strings.Join(queue, " "))
}

// workLane has the lane look at its queue, where there is news.
func (d *drain) workLane() {
	news := d.laneNews()
	if d.deliverAgain(news) {
		return
	}
	if d.Lane == nil || d.laneState.busy || d.stopping || news == "" || news == d.laneState.seen && time.Since(d.laneState.at) < d.Interval {
		return
	}
	d.laneState.seen = news
	d.startLane("landing "+strings.Join(d.queue(), ", "), d.Lane.Work)
}

// deliverAgain has what couldn't be delivered tried once more, with nothing in the queue after which that is done anyway. It reports whether it
// has begun to.
func (d *drain) deliverAgain(queue string) bool {
	if d.Lane == nil || !d.leads || d.laneState.busy || d.stopping || queue != "" || time.Since(d.laneState.at) < d.Interval ||
		lane.ReadStatus(d.Project.Runs.Files.Dir()).Reason == "" {
		return false
	}
	d.startLane("delivering again", d.Lane.DeliverAgain)
	return true
}

// laneOver takes in the end of a job.
func (d *drain) laneOver(err error) {
	d.laneState.busy = false
	d.dirty = true
	if err != nil && !errors.Is(err, context.Canceled) {
		d.report(Report{Warnings: []string{err.Error()}})
	}
}

// lanePending says whether something in the queue may still move by itself.
func (d *drain) lanePending() bool {
	return d.laneState.busy || d.Lane != nil && !d.stopping && d.laneNews() != d.laneState.seen && d.laneNews() != ""
}

// sendBack has those go on that wait because the base is red, once nothing else can make it green. It says whether it has begun to.
func (d *drain) sendBack() bool {
	news := d.laneNews()
	if d.Lane == nil || d.stopping || news == "" || news == d.laneState.sent || !d.leads {
		return false
	}
	d.laneState.sent = news
	d.startLane("sending back what waits for a green base", d.Lane.SendBack)
	return true
}

// stopLane ends the job that runs.
func (d *drain) stopLane() {
	if d.laneState.busy {
		d.laneState.cancel()
		d.laneOver(<-d.laneState.done)
	}
}

// deliver delivers what has landed and commits the state: STATE.md is up to date by now.
func (d *drain) deliver(ctx context.Context) {
	if d.Lane == nil {
		return
	}
	if d.res.Signal == nil {
		if err := d.Lane.Deliver(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, new(*worktree.Refused)) {
			d.report(Report{Warnings: []string{"what has landed can't be merged: " + err.Error()}})
		}
	}
	d.res.Lane = lane.ReadStatus(d.Project.Runs.Files.Dir())
}
