// Package live reads a project again whenever it has changed, for views that stay open. It changes
// nothing.
package live

import (
	"context"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/run/watch"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/view"
)

// A Source is what to read.
type Source struct {
	Project *project.Project
	Plan    func(time.Time) (*plan.Plan, error)
	Again   <-chan struct{} // asks for another look; may be nil
}

// A Look is a project at one time.
type Look struct {
	Model  *view.Model
	Facts  view.Facts
	Leader string // the process of the run, "" for none
	Err    error
}

const (
	// interval for checking whether a run lives: a killed one leaves no event
	looks = 5 * time.Second
	// longest time without reading the files while agents run, because their logs have no
	// events,
	heard  = 30 * time.Second
	safety = 10 * time.Minute       // and otherwise, in case an event was lost
	calm   = 150 * time.Millisecond // minimum time between two reads of the files
)

// Follow sends a look at once, and another one whenever files have changed, until ctx ends. The
// first one has only what is fast to read.
func Follow(ctx context.Context, src Source, send func(Look)) {
	w := watch.New(src.Project.Runs, src.Project.Tracker.Watch(), func(string, ...any) {})
	defer w.Close()
	tick := time.NewTicker(looks)
	defer tick.Stop()
	reader := facts.NewReader(src.Project)
	send(Glance(src))
	for {
		last := take(src, reader)
		send(last)
		if last.Err == nil && reader.LookAtWork(ctx, last.Model.Plan, last.Model.Now) {
			last.Model = view.New(last.Model.Plan, reader.WithWork(last.Facts), last.Model.Now)
			send(last)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(calm):
		}
		if !src.wait(ctx, w, last, tick.C) {
			return
		}
	}
}

// Glance returns a look with only what is fast to read.
func Glance(src Source) Look { return take(src, nil) }

// Now returns a look with everything.
func Now(src Source) Look { return take(src, facts.NewReader(src.Project)) }

// wait returns when it is time to look again; false once ctx has ended.
func (src Source) wait(ctx context.Context, w *watch.Watcher, last Look,
	tick <-chan time.Time) bool {
	longest := safety
	if last.Model != nil && last.Model.Counts.Running+last.Model.Counts.Merging > 0 {
		longest = heard
	}
	for looked := time.Now(); ; {
		select {
		case <-w.News:
			return true
		case <-src.Again:
			return true
		case <-tick:
			// A killed run leaves no event.
			leader, _ := src.Project.Runs.Control.Leader()
			if w.Renew(src.Project.Runs) || w.Blind || leader != last.Leader ||
				time.Since(looked) >= longest {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// take reads the project; without a reader, only what is fast to read.
func take(src Source, reader *facts.Reader) Look {
	now := time.Now()
	p, err := src.Plan(now)
	if err != nil {
		return Look{Err: err}
	}
	f := facts.Brief(src.Project, p)
	if reader != nil {
		if all, err := reader.All(p); err == nil {
			f = all
		}
	}
	l := Look{Model: view.New(p, f, now), Facts: f}
	l.Leader, _ = src.Project.Runs.Control.Leader()
	return l
}
