package scheduler

import (
	"maps"
	"os"
	"slices"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/notify"
	"greenlight/internal/state/journal"
)

// goodbye is how long the end of a run waits for the last notifications.
const goodbye = 3 * time.Second

// news finds what a pass has to report beside what it launched and saw end, each thing once, and
// has people notified of what the journal says. It adds to reports; it sends none.
type news struct {
	runs       *attempt.Store
	audience   audience
	unheard    *journal.Reader
	notifier   *notify.Notifier            // nil without channels
	journalErr string                      // reported
	holds      map[plan.Account]time.Time  // the ends of those that were reported
	unplaced   map[plan.Obstacle]time.Time // since when; the zero time once it was reported
	full       bool                        // reported
	noSpace    bool                        // reported
}

func newNews(runs *attempt.Store, a audience) *news {
	return &news{
		runs: runs, audience: a, unheard: runs.Journal().ReaderOf(a.began, journal.Unheard),
		holds: map[plan.Account]time.Time{}, unplaced: map[plan.Obstacle]time.Time{},
	}
}

// An audience is the people of this run: it decides which events they are told.
type audience struct {
	leads bool // gl slice --watch
	task  string
	began time.Time

	leadership *leadership
	tried      map[string]bool // slices that the run has launched
}

// hears reports whether an event is for this run to tell. One with --watch tells all while it
// leads; one that was started for slices or a task tells theirs. The end of a run is its own.
func (a *audience) hears(e journal.Event) bool {
	switch {
	case e.Kind == journal.DrainEnded:
		return e.PID == os.Getpid() && !e.Time.Before(a.began.Add(-time.Second))
	case a.leads:
		return a.leadership.ours
	case e.Slice == "" || e.Kind == journal.Held:
		return true
	case a.task != "":
		return e.Slice == a.task
	}
	return a.tried[e.Slice]
}

// start begins to notify people. One that leads also tells what a killed run hasn't told.
func (n *news) start(cfg *Config) error {
	if len(cfg.Output.Channels) == 0 {
		return nil
	}
	notifier, err := notify.Start(notify.Config{
		Journal: n.runs.Journal(), Root: cfg.Project.Root, Web: cfg.Project.Config.WebURL,
		Kinds:    cfg.Project.Config.Notify.Events,
		Channels: cfg.Output.Channels, Past: cfg.Mode.Lead, Mine: n.audience.hears,
	})
	if err == nil {
		n.notifier = notifier
	}
	return err
}

// addUnheard adds what a person said to work that is complete now and no agent has read. Those
// events come before the end of the attempt is seen.
func (n *news) addUnheard(r *Report) {
	for e, err := range n.unheard.All() {
		if err != nil {
			return // addJournal reports it
		}
		if n.audience.hears(e) {
			r.Unheard = append(r.Unheard, e)
		}
	}
}

// addJournal adds that the journal can't be written. The run continues without it.
func (n *news) addJournal(r *Report) {
	if err := n.runs.Journal().Trouble(); err != nil && err.Error() != n.journalErr {
		n.journalErr = err.Error()
		r.warn("the journal can't be written, so gl events lacks what happens now: %v", err)
	}
}

// addHolds adds the holds in effect on agents that the run may launch.
func (n *news) addHolds(p *plan.Plan, agents []Agent, r *Report) {
	for _, h := range p.InEffect() {
		key := plan.Account{Agent: h.Agent, ID: h.Account}
		concerns := slices.ContainsFunc(agents, func(a Agent) bool { return h.Holds(a.account()) })
		if concerns && !h.Until.Equal(n.holds[key]) {
			n.holds[key] = h.Until
			r.Holds = append(r.Holds, h)
		}
	}
}

// unplacedTime is how long slices wait for a worker before that is reported: workers connect again
// within it.
const unplacedTime = 5 * time.Second

// addUnplaced adds why slices wait for a worker.
func (n *news) addUnplaced(p *plan.Plan, now time.Time, r *Report) {
	waiting := plan.WithoutAgent(p)
	maps.DeleteFunc(n.unplaced, func(o plan.Obstacle, _ time.Time) bool {
		return !slices.ContainsFunc(waiting, func(u plan.Unplaced) bool { return u.Obstacle == o })
	})
	for _, u := range waiting {
		switch since, known := n.unplaced[u.Obstacle]; {
		case !known:
			n.unplaced[u.Obstacle] = now
		case !since.IsZero() && now.Sub(since) >= unplacedTime:
			n.unplaced[u.Obstacle] = time.Time{}
			r.Unplaced = append(r.Unplaced, u)
		}
	}
}

// addFull adds that slices wait for slots that others have. Some of those may never be freed: a
// claim outside an attempt doesn't tell whether its session lives.
func (n *news) addFull(full bool, r *Report) {
	r.Full = full && !n.full
	n.full = full
}

// addSpace adds that the state can't be written. Only the run can report it: a wrapper whose agent
// has ended waits for space beside a log that has no room either.
func (n *news) addSpace(r *Report) {
	err := durable.Room(n.runs.Files.Dir())
	if err != nil && !n.noSpace {
		r.NoSpace = err
	}
	n.noSpace = err != nil
}

// notify notifies people of what has happened since the last call, and adds what goes wrong.
func (n *news) notify(r *Report) {
	if n.notifier == nil || !n.audience.leadership.ours {
		return
	}
	if err := n.notifier.Look(); err != nil && err.Error() != n.journalErr {
		n.journalErr = err.Error()
		r.warn("no notifications, since the journal can't be read: %v", err)
	}
	r.Warnings = append(r.Warnings, n.notifier.Trouble()...)
}

// stop notifies people of the rest, and adds what goes wrong.
func (n *news) stop(r *Report) {
	if n.notifier == nil {
		return
	}
	n.notify(r)
	n.notifier.Close(goodbye)
	r.Warnings = append(r.Warnings, n.notifier.Trouble()...)
}
