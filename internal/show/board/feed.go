package board

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"greenlight/internal/run/watch"
	"greenlight/internal/show/facts"
	"greenlight/internal/show/view"
)

// A snapshot is the data shown on the board.
type snapshot struct {
	model  *view.Model
	facts  view.Facts
	leader string // the process that drains the project, "" for none
	err    error
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

// feed sends data to show: at once, and whenever files have changed.
func feed(ctx context.Context, cfg Config, send func(tea.Msg)) {
	w := watch.New(cfg.Project.Runs, cfg.Project.Tracker.Watch(), func(string, ...any) {})
	defer w.Close()
	tick := time.NewTicker(looks)
	defer tick.Stop()
	reader := facts.NewReader(cfg.Project)
	send(look(cfg, nil))
	for {
		last := look(cfg, reader)
		send(last)
		if last.err == nil && reader.LookAtWork(ctx, last.model.Plan, last.model.Now) {
			last.model = view.New(last.model.Plan, reader.WithWork(last.facts), last.model.Now)
			send(last)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(calm):
		}
		longest := safety
		if last.model != nil && last.model.Counts.Running+last.model.Counts.Merging > 0 {
			longest = heard
		}
		for looked, same := time.Now(), true; same; {
			select {
			case <-w.News:
				same = false
			case <-tick.C:
				// A killed run leaves no event.
				leader, _ := cfg.Project.Runs.Control.Leader()
				same = !w.Renew(cfg.Project.Runs) && !w.Blind && leader == last.leader &&
					time.Since(looked) < longest
			case <-ctx.Done():
				return
			}
		}
	}
}

// look reads the project; without a reader, only what is fast to read.
func look(cfg Config, reader *facts.Reader) snapshot {
	now := time.Now()
	p, err := cfg.Plan(now)
	if err != nil {
		return snapshot{err: err}
	}
	f := facts.Brief(cfg.Project, p)
	if reader != nil {
		if all, err := reader.All(p); err == nil {
			f = all
		}
	}
	s := snapshot{model: view.New(p, f, now), facts: f}
	s.leader, _ = cfg.Project.Runs.Control.Leader()
	return s
}
