// Package away is the coordinator's side of attempts that run on workers: the loop of gl serve. It
// carries out what the coordinator's machine in core/remote decides, with the messages and commits
// that package hub moves, and runs the wrappers of all remote attempts as goroutines.
//
// A wrapper goroutine ends when its attempt is settled. If gl serve is killed, the next one finds
// the attempts by their records, the leases by runs/hub/attempts, and goes on with both.
package away

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/project"
	"greenlight/internal/run/roster"
	"greenlight/internal/run/workers"
	"greenlight/internal/run/wrapper"
	"greenlight/internal/workspace/worktree"
)

// A Config configures Serve.
type Config struct {
	Project *project.Project
	Hub     hub.Coordinator
	Members func() ([]roster.Member, error)
	Policy  remote.Policy
	Self    string   // path of gl, which runs the commands of agents
	Environ []string // of those commands

	// Wrapper returns the wrapper of a remote attempt. Its agent is started by x.
	Wrapper func(r *attempt.Record, x executor.Executor, stop <-chan os.Signal) *wrapper.Wrapper
	Tell    func(line string) // reports what happens to people
}

// The loop's intervals.
const (
	startEvery = 100 * time.Millisecond // between two looks for attempts to take over
	tickEvery  = time.Second
	restart    = time.Second // before a machine whose files couldn't be written is made anew
)

// ErrServed is returned by Serve if another gl serves the project.
var ErrServed = errors.New("another gl serve serves this project")

// A server is the loop. The machine, its files and the jobs are used by one goroutine alone; all
// others send events, or calls to run there.
type server struct {
	cfg   Config
	runs  *attempt.Store
	trees *worktree.Repo
	life  context.Context

	files   files
	machine *remote.Coordinator
	begun   time.Time // the machine's clock begins here
	known   map[string]*remote.Attempt

	events chan remote.CoordinatorEvent
	calls  chan func() error

	jobs    map[string]*job    // by the attempt's name on workers
	errands map[string]*errand // the jobs', and all others, by their names
	tests   *testings
	settles map[string]remote.Settle // for wrappers that aren't there yet
	vacant  map[string]remote.Vacant // attempts without a worker
	silent  map[string]*time.Time    // workers, since when
	asking  chan struct{}            // bounds the commands of agents that run at once

	commitsMu sync.Mutex
	commits   map[string]*sync.Mutex // one collection of a lineage at a time
	listed    string                 // what workers.json has
}

// Serve runs the loop until ctx ends. Agents on workers run on then.
func Serve(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, unlock, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer unlock()
	return s.loop(ctx)
}

// open returns a server that has taken over what one before it has left.
func open(ctx context.Context, cfg Config) (s *server, unlock func(), err error) {
	runs := cfg.Project.Runs
	if err := runs.Files.Prepare(); err != nil {
		return nil, nil, err
	}
	dir := workers.Dir(runs.Files.Dir())
	if err := durable.MkdirPrivate(dir); err != nil {
		return nil, nil, err
	}
	lock, err := durable.TryLock(filepath.Join(dir, "serve.lock"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, nil, ErrServed
	}
	if err != nil {
		return nil, nil, err
	}
	unlock = func() { _ = lock.Unlock() }
	trees, err := cfg.Project.Worktrees(ctx)
	if err == nil {
		s = &server{
			cfg: cfg, runs: runs, trees: trees, life: ctx, files: files{dir}, begun: time.Now(),
			events: make(chan remote.CoordinatorEvent, 64), calls: make(chan func() error, 64),
			jobs: map[string]*job{}, errands: map[string]*errand{}, silent: map[string]*time.Time{},
			commits: map[string]*sync.Mutex{}, asking: make(chan struct{}, mostAsking),
			listed: "unknown", // without workers, too, the file says that gl serve runs
		}
		s.tests = &testings{s, map[string]*errand{}}
		err = s.begin()
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return s, unlock, nil
}

// begin makes the machine from its files and takes over what a gl serve before this one has left.
func (s *server) begin() error {
	attempts, members, err := s.files.load()
	if err != nil {
		return err
	}
	s.known = map[string]*remote.Attempt{}
	s.settles, s.vacant = map[string]remote.Settle{}, map[string]remote.Vacant{}
	for _, a := range attempts {
		s.known[a.Name] = copyOf(a)
	}
	s.machine = remote.NewCoordinator(s.cfg.Policy, attempts, members)
	if err := s.step(remote.Begin{}); err != nil {
		return err
	}
	s.heedMembers()
	s.adopt()
	return nil
}

func (s *server) loop(ctx context.Context) error {
	tick, start := time.NewTicker(tickEvery), time.NewTicker(startEvery)
	defer tick.Stop()
	defer start.Stop()
	messages := s.cfg.Hub.Messages()
	kept := &keptTrees{}
	for {
		var err error
		select {
		case <-ctx.Done():
			s.list(true)
			return nil
		case e, ok := <-messages:
			if !ok {
				return errors.New("the connection to the workers is closed")
			}
			err = s.receive(e)
		case <-s.cfg.Hub.Changed():
			s.heedMembers()
		case e := <-s.events:
			err = s.step(e)
		case f := <-s.calls:
			err = f()
		case <-start.C:
			s.takeOver()
			err = s.tests.look()
		case <-tick.C:
			if err = s.step(remote.Tick{}); err == nil {
				s.look()
				err = kept.discard(s)
			}
		}
		for err != nil { // nothing that followed was done: the files are the truth
			s.cfg.Tell(fmt.Sprintf("gl serve can't write its state, and tries again: %v", err))
			select {
			case <-ctx.Done():
				return err
			case <-time.After(restart):
			}
			err = s.begin()
		}
	}
}

// receive feeds a worker's message to the machine. One that can't be understood is dropped: its
// worker is of another version, or hostile.
func (s *server) receive(e hub.Envelope) error {
	msg, err := remote.DecodeToCoordinator(e.Data)
	if err == nil {
		if err := s.step(remote.FromWorker{Worker: e.Worker, Message: msg}); err != nil {
			return err
		}
	}
	_ = e.Ack() // otherwise it comes again, and changes nothing
	return nil
}

// step has the machine take an event, and carries out what it decides.
func (s *server) step(e remote.CoordinatorEvent) error {
	for _, effect := range s.machine.Step(time.Since(s.begun), e) {
		if err := s.carryOut(effect); err != nil {
			return err
		}
	}
	return nil
}

// post sends an event to the loop, from any other goroutine.
func (s *server) post(e remote.CoordinatorEvent) {
	select {
	case s.events <- e:
	case <-s.life.Done():
	}
}

// call runs f in the loop and waits for it, from any other goroutine.
func (s *server) call(f func()) {
	s.inLoop(func() error {
		f()
		return nil
	})
}

// inLoop is call for what writes the machine's state: if that fails, the machine is made anew.
func (s *server) inLoop(f func() error) {
	done := make(chan struct{})
	select {
	case s.calls <- func() error { defer close(done); return f() }:
	case <-s.life.Done():
		return
	}
	select {
	case <-done:
	case <-s.life.Done():
	}
}

// heedMembers tells the machine who has joined, was drained or revoked.
func (s *server) heedMembers() {
	list, err := s.cfg.Members()
	if err != nil {
		s.cfg.Tell(err.Error())
		return
	}
	for _, m := range list {
		if m.Revoked {
			err = s.step(remote.Revoked{Worker: m.Name})
		} else if err = s.step(remote.Joined{Worker: m.Name, Key: m.NKey}); err == nil {
			err = s.step(remote.SetDraining{Worker: m.Name, On: m.Draining})
		}
		if err != nil {
			s.cfg.Tell(fmt.Sprintf("gl serve can't write what it knows of %s: %v", m.Name, err))
			return
		}
	}
}

// list writes workers.json if something has changed; over is set as gl serve ends.
func (s *server) list(over bool) {
	l := &workers.List{Server: proc.Self()}
	if over {
		l.Server = proc.ID{}
	}
	text := ""
	for _, p := range s.machine.Workers() {
		w := workers.Worker{
			Name: p.Name, Silent: p.Silent || p.Hello == nil,
			Draining: p.Draining, Revoked: p.Revoked, Refused: string(p.Refused),
			Seen: time.Now().Add(-p.Ago).UTC().Truncate(time.Second),
		}
		if p.Hello != nil {
			w.Hello = *p.Hello
			w.Hello.Held, w.Hello.Lineages = nil, p.Kept
			w.Hello.Full, w.Hello.Draining = p.Full, p.Leaving
		}
		l.Workers = append(l.Workers, w)
		w.Seen = w.Seen.Truncate(10 * time.Second)
		text += fmt.Sprintf("%+v\n", w)
	}
	if text == s.listed && !over {
		return
	}
	if err := workers.Write(s.runs.Files.Dir(), l); err != nil {
		s.cfg.Tell(fmt.Sprintf("gl serve can't write the list of workers: %v", err))
		return
	}
	s.listed = text
}
