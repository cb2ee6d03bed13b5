// Package wrapper is the process of one attempt, in its pane: it makes the agent's place ready,
// starts the agent, watches it, talks to it and keeps snapshots of its work. When the agent is
// gone, it has the attempt settled. Records, and the rules by which an attempt is judged, are in
// package attempt, and what starts a wrapper is package runner.
//
// docs/design.md shows the steps of an attempt and what a kill leaves behind after each.
package wrapper

import (
	"context"
	"os"
	"time"

	"greenlight/internal/core/agent"
	"greenlight/internal/run/attempt"
)

// Options configure a wrapper, from the project's configuration and its process.
type Options struct {
	Root          string
	Env           []string
	AgentEnv      []string // added to Env for the agent alone
	Limits        Limits
	SetupLimit    time.Duration // of a worktree
	Tests         Tests         // how those of Record.Test are run
	WindowPercent float64       // use of a usage window at which the account is held; 0 for never
	Confine       bool          // confines what works in a worktree, whatever its record says
	Every         time.Duration // between two snapshots of a worktree while the agent runs
	Brief         Brief         // nil for none
	Print         func(agent.Event)
	Stop          <-chan os.Signal // each ends the agent; the second one at once

	// Publish makes the branch of a remote attempt, has its worker know the commit to start from,
	// and returns the branch. The Settler's Executor is then the attempt's own.
	Publish func(context.Context, *attempt.Record) (branch string, err error)
}

// A Wrapper runs the agent of one claimed attempt to its end and settles it. It is the whole work
// of its process or, for remote attempts, of one goroutine of gl serve. The Settler's Executor
// starts the agent.
type Wrapper struct {
	Settler attempt.Settler
	Options Options
}

// Run takes over the record of the attempt from its launcher, runs the agent, and returns the
// settled record. The error is ErrLate if there is nothing to do.
func (w *Wrapper) Run(ctx context.Context, rec *attempt.Record) (*attempt.Record, error) {
	store, o := w.Settler.Store, &w.Options
	if err := store.Files.Prepare(); err != nil { // git clean -x may have removed the directories
		return nil, err
	}
	log, err := openLog(store.Files.Log(rec.ID.Slice, rec.ID.N))
	if err != nil {
		return nil, err
	}
	c := &claimed{settler: &w.Settler, rec: rec, log: log}
	defer log.close()
	var lock *os.File
	if !isRemote(rec) { // its agent can't inherit one
		if lock, rec.Life.Lock = attempt.TakeLock(log.path); lock != nil {
			defer lock.Close()
		}
	}
	place, here := o.place(c), o.checkout(c, lock)
	work := o.session(c, place, lock)

	var ev *attempt.Evidence
	switch {
	case rec.Place.Lineage == 0:
		c.handOffHere()
		here.noteBaseline(ctx)
	case !goesOn(rec):
		ev, err = place.prepare(ctx)
		defer place.close()
	}
	if ev == nil && err == nil {
		store.StampWants(rec)
		ev, err = work.run(ctx)
	}
	if err != nil {
		return nil, err
	}
	place.lookAround(ctx) // before any git: it puts in order what the agent may have replaced
	c.settler.Keep(ctx, rec)
	now := c.settler.Now().UTC()
	rec.Judged.Evidence, rec.Life.EndedAt = ev, &now
	here.noteTree(ctx)
	here.compare(ctx)
	here.verify(ctx)
	attempt.LookForWants(ctx, rec)
	return c.settle(ctx, o.Root, o.Stop)
}

func (o *Options) place(c *claimed) place {
	if isRemote(c.rec) {
		return &faraway{claimed: c, stop: o.Stop, publish: o.Publish}
	}
	return &workplace{
		claimed: c, root: o.Root, env: o.Env, agentEnv: o.AgentEnv,
		limit: o.SetupLimit, confine: o.Confine, stop: o.Stop,
	}
}

func (o *Options) checkout(c *claimed, lock *os.File) *checkout {
	return &checkout{claimed: c, root: o.Root, env: o.Env, tests: o.Tests, lock: lock, stop: o.Stop}
}

func (o *Options) session(c *claimed, place place, lock *os.File) *session {
	s := &session{
		claimed: c, limits: o.Limits, every: o.Every, stop: o.Stop, print: o.Print,
		launch: &launch{store: c.settler.Store, rec: c.rec, place: place, brief: o.Brief, lock: lock},
		window: &window{settler: c.settler, rec: c.rec, percent: o.WindowPercent},
	}
	if place.sandboxed() {
		s.follower = &follower{claimed: c}
	}
	return s
}
