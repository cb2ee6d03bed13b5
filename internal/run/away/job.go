package away

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/workers"
	"greenlight/internal/run/wrapper"
)

// A job is a remote attempt whose wrapper runs as a goroutine of this process.
type job struct {
	errand
	id    attempt.Identity
	needs remote.Needs
	stop  chan os.Signal
	told  bool // that it is to end

	placements int             // on workers after the first one
	due        time.Time       // no placement before
	to         *workers.Worker // for the next start; nil for the one in the record
	before     *project.Before // what it goes on with; nil until that is read

	// the lease whose newest snapshot is to be fetched; nil for none. fetching is set meanwhile
	unfetched *remote.Fence
	fetching  bool

	waits string // why it has no worker, as its record says
}

// nameOf returns an attempt's name on workers.
func nameOf(id attempt.Identity) string {
	return remote.AttemptName(id.System, id.Slice, id.N, id.Token)
}

// isUnderWay reports whether an attempt is on a worker, and this package's to go on with.
func isUnderWay(r *attempt.Record) bool {
	return r.Life.Remote != nil && (r.Life.Phase == plan.Preparing || r.Life.Phase == plan.Started)
}

// next returns the worker of the next start; nil for the one in the record.
func (j *job) next() *workers.Worker {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.to
}

// takeOver starts the wrappers of attempts that a scheduler has placed.
func (s *server) takeOver() {
	dir := runner.StartDir(s.runs.Files.Dir())
	list, err := durable.ReadDir(dir)
	if err != nil || len(list) == 0 { // there is none before the first
		return
	}
	live, _, err := s.runs.Live()
	if err != nil {
		return
	}
	for _, e := range list {
		for _, r := range live {
			if r.ID.Name() == e.Name() && r.Life.Remote != nil && r.Life.Phase == plan.Claimed {
				s.attend(r)
			}
		}
		_ = durable.Remove(filepath.Join(dir, e.Name())) // one that stays names no claim
	}
}

// adopt goes on with the attempts of a gl serve that is gone, and closes those that were settled
// without it.
func (s *server) adopt() {
	live, _, err := s.runs.Live()
	if err != nil {
		s.cfg.Tell(err.Error())
		return
	}
	open := map[string]bool{}
	for name := range workers.Testings(s.runs.Files.Dir()) {
		open[name] = true
	}
	for _, r := range live {
		if !isUnderWay(r) {
			continue
		}
		open[nameOf(r.ID)] = true
		if s.jobs[nameOf(r.ID)] == nil {
			s.attend(r)
		}
	}
	for name, a := range s.known {
		if !open[name] && !a.Closed {
			s.close(name)
		}
	}
}

// close tells the machine that an attempt is settled. What its worker has, or brings later, is kept
// before the worker may remove it.
func (s *server) close(name string) {
	if err := s.step(remote.Abandon{Attempt: name, Reason: "the attempt is settled"}); err != nil {
		s.cfg.Tell(fmt.Sprintf("gl serve can't note the end of %s: %v", name, err))
	}
	delete(s.settles, name)
	delete(s.vacant, name)
}

// attend runs the wrapper of an attempt.
func (s *server) attend(r *attempt.Record) {
	j := &job{
		errand: errand{server: s, name: nameOf(r.ID)}, id: r.ID, stop: make(chan os.Signal, 4),
		needs: remote.Needs{Agent: r.Job.Agent, Sandbox: r.Job.Sandbox, Caches: r.Job.Caches,
			Labels: r.Life.Remote.Labels},
	}
	var err error
	if j.needs.Files, err = workers.Files(s.life, s.trees.Git.Top); err != nil {
		s.cfg.Tell(err.Error())
	}
	s.jobs[j.name], s.errands[j.name] = j, &j.errand
	x := &far{server: s, job: j, rec: r}
	w := s.cfg.Wrapper(r, x, j.stop)
	w.Settler.Executor = x
	w.Options.Publish = x.publish
	go func() {
		final, err := w.Run(s.life, r)
		if s.life.Err() != nil {
			return // the next gl serve goes on
		}
		s.call(func() { s.over(j, final, err) })
	}()
}

// over takes in the end of a wrapper.
func (s *server) over(j *job, final *attempt.Record, err error) {
	if s.jobs[j.name] == j {
		delete(s.jobs, j.name)
		delete(s.errands, j.name)
	}
	switch {
	case errors.Is(err, wrapper.ErrLate): // the attempt is another's: what its worker has is kept
		s.close(j.name)
	case err != nil: // the next look finds it again
		s.cfg.Tell(fmt.Sprintf("%s: %v", j.id.Name(), err))
	default:
		keep := final.Life.Phase == plan.Queued || !final.Judged.Outcome.Traits().Success ||
			final.Place.Unsaved != "" // the rest of its work is there alone
		if err := j.done(keep); err != nil {
			s.cfg.Tell(fmt.Sprintf("gl serve can't note the end of %s: %v", j.name, err))
		}
	}
}

// look does what is due each second: it ends what is to be stopped, notices what was settled by
// others, finds workers for attempts without one, and writes who is there.
func (s *server) look() {
	live, _, err := s.runs.Live()
	if err != nil {
		return
	}
	open := map[string]*attempt.Record{}
	for _, r := range live {
		if r.Life.Remote != nil {
			open[nameOf(r.ID)] = r
		}
	}
	for name, j := range s.jobs {
		r := open[name]
		switch {
		case r == nil: // settled by another, or removed: its wrapper finds out
			s.orphaned(j)
		case r.Life.Ending != "" && !j.told:
			j.told = true
			j.stop <- syscall.SIGTERM
		}
	}
	for name, r := range open {
		if s.jobs[name] == nil && isUnderWay(r) {
			s.attend(r)
		}
	}
	s.list(false) // place reads it: a worker that was revoked just now gets nothing
	s.place(live)
}

// orphaned ends the run of an attempt that a person has given up, so that what its worker brings
// later is kept beside it.
func (s *server) orphaned(j *job) {
	rec, err := s.runs.Get(j.id.Slice, j.id.N)
	if err != nil || rec.ID.Token != j.id.Token || rec.Life.Phase != plan.Settled {
		return
	}
	if r := j.current(); r != nil && !r.isOver() {
		r.finish(unseen(), nil)
	}
}

// mostPlacements bounds how often one attempt is placed.
const mostPlacements = 10

// place finds workers for the attempts that have none: their worker refused, or is lost.
func (s *server) place(live []*attempt.Record) {
	if len(s.vacant) == 0 {
		return
	}
	list, err := workers.Read(s.runs.Files.Dir())
	if err != nil {
		s.cfg.Tell(err.Error())
		return
	}
	placed := slices.DeleteFunc(slices.Clone(live), func(r *attempt.Record) bool {
		_, vacant := s.vacant[nameOf(r.ID)]
		return vacant // its record names a worker that doesn't have it
	})
	busy := workers.Busy(s.runs.Files.Dir(), placed)
	for name, v := range s.vacant {
		j := s.jobs[name]
		if j == nil || time.Now().Before(j.due) {
			continue
		}
		r := j.current()
		if r == nil || r.isOver() {
			continue
		}
		unbegun := j.unbegun(v)
		w, c := list.Choose(j.wish(unbegun), busy)
		switch {
		case j.placements == mostPlacements:
			delete(s.vacant, name)
			r.finish(unseen(), &executor.PlaceError{Reason: fmt.Sprintf("no worker takes it: %s", v.Why)})
			continue
		case w == nil:
			why := "waits for a worker: " + string(v.Why)
			if c.Waits != "" {
				why = j.before.Waits(string(c.Waits))
			}
			j.markWaiting(why)
			continue
		}
		delete(s.vacant, name)
		busy[w.Name]++
		j.placements++
		j.due = time.Now().Add(time.Duration(j.placements) * time.Second)
		j.mu.Lock()
		j.to = w
		j.mu.Unlock()
		s.cfg.Tell(fmt.Sprintf("%s goes to worker %s: %s", j.id.Name(), w.Name, v.Why))
		r.loseAs(v, unbegun && w.Name == v.Worker)
	}
}

// unbegun reports whether an attempt without a worker has begun on none.
func (j *job) unbegun(v remote.Vacant) bool {
	a := j.server.known[j.name]
	return a == nil || a.Newest == v.Lease && a.Current() == nil && a.Saved == ""
}

// wish returns what an attempt needs of a worker. One that hasn't begun prefers the one that has
// its agent's conversation.
func (j *job) wish(unbegun bool) remote.Wish {
	if !unbegun {
		return remote.Wish{Needs: j.needs}
	}
	if j.before == nil {
		s := j.server
		b := project.BeforeOf(s.life, s.cfg.Project, s.trees, j.id.System, j.id.Work())
		j.before = &b
	}
	return j.before.Wish(j.needs)
}

// markWaiting writes into an attempt's record why it has no worker.
func (j *job) markWaiting(why string) {
	if j.waits == why {
		return
	}
	s := j.server
	j.waits = why
	r, err := s.runs.Get(j.id.Slice, j.id.N)
	if err != nil {
		return
	}
	settler := s.cfg.Project.Whose(r).Settler()
	go func() { // only what people see
		_ = settler.ChangeRemote(s.life, r, func(m *attempt.Remote) { m.Waits = why })
	}()
}

// markSilent writes into the records of a worker's attempts since when it is silent; nil for not.
func (s *server) markSilent(worker string, since *time.Time) {
	live, _, err := s.runs.Live()
	if err != nil {
		return
	}
	for _, r := range live {
		if r.Life.Remote == nil || r.Life.Remote.Worker != worker {
			continue
		}
		settler := s.cfg.Project.Whose(r).Settler()
		go func() { // only what people see
			_ = settler.ChangeRemote(s.life, r, func(m *attempt.Remote) { m.Silent = since })
		}()
	}
}
