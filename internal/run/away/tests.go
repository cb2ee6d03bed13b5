package away

import (
	"errors"
	"fmt"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/workers"
)

// testings are the runs of the tests that workers do, by their names.
type testings struct {
	server  *server
	running map[string]*errand
}

// look has workers do the runs of the tests that the merge queue wants done, and ends those that
// it no longer wants.
func (s *testings) look() error {
	runs := s.server.runs.Files.Dir()
	wanted := workers.Testings(runs)
	for name, t := range wanted {
		if t.Owner.State() == proc.Dead {
			_ = workers.RemoveTesting(runs, name) // one that stays is seen again
			delete(wanted, name)
			continue
		}
		if s.running[name] == nil {
			if err := s.begin(name, t); err != nil {
				return err
			}
		}
	}
	for name, e := range s.running {
		if wanted[name] != nil {
			continue
		}
		delete(s.running, name)
		delete(s.server.errands, name)
		if err := e.done(false); err != nil {
			return err
		}
	}
	return nil
}

// begin begins a run of the tests, or goes on with that of a gl serve before this one.
func (s *testings) begin(name string, t *workers.Testing) error {
	e := &errand{server: s.server, name: name}
	s.running[name], s.server.errands[name] = e, e
	var r *run
	if s.server.known[name] != nil {
		r = e.attach(t.Worker, 1, 0)
	} else {
		var err error
		if r, err = e.assign(remote.Assign{Attempt: name, Worker: t.Worker, Job: t.Job}); err != nil {
			return err
		}
	}
	go func() {
		for range r.output { // the queue reads the log itself
		}
	}()
	go func() {
		select {
		case <-r.exited:
		case <-s.server.life.Done():
			return // the next gl serve goes on
		}
		if err := workers.End(s.server.runs.Files.Dir(), name, r.testingEnd(t)); err != nil {
			s.server.cfg.Tell(fmt.Sprintf("the end of %s can't be written: %v", name, err))
		}
	}()
	return nil
}

// testingEnd returns how tests ended. A result that isn't of the job's commit counts for nothing.
func (r *run) testingEnd(t *workers.Testing) workers.TestingEnd {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := new(executor.LostError)
	switch {
	case errors.As(r.err, &lost):
		return workers.TestingEnd{Lost: lost.Why}
	case r.result == nil:
		return workers.TestingEnd{Lost: "it was given up"}
	case r.result.How == remote.Exited && r.result.Tested != t.Job.Commit:
		r.server.cfg.Tell(fmt.Sprintf("worker %s says that it tested %.12q, not %.12s: its result doesn't count",
			t.Worker, r.result.Tested, t.Job.Commit))
		return workers.TestingEnd{Lost: "it tested another commit"}
	}
	return workers.TestingEnd{Result: r.result}
}

// giveUp ends the runs of the tests on a worker that is silent: they can be run elsewhere, and
// nothing is lost with them.
func (s *testings) giveUp(worker string) {
	for name, e := range s.running {
		a := s.server.known[name]
		if a == nil || len(a.Leases) == 0 || a.Leases[0].Worker != worker {
			continue
		}
		e.current().lose(remote.Vacant{Worker: worker, Why: "it is silent"})
	}
}
