// Package hands is what a worker does: it prepares worktrees of a repository of its own, runs
// agents and tests there behind gates, keeps their output until the coordinator has it, takes
// snapshots and offers what a job has left until that is confirmed. What an agent's gl asks goes to
// the coordinator.
//
// What is decided is decided by remote.Worker, the machine: this package carries its effects out
// and tells it what has happened. Every effect may be repeated, so that a kill at any moment is
// the same as the machine's restart: docs/design/machines.md has the table.
package hands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/hub"
)

// Options configure a worker.
type Options struct {
	Dir     string // its directory for this project, which it makes
	Self    string // path of gl
	Release string // of gl
	Environ []string
	Plugin  string // directory of gl's plugin for agents

	Slots   int
	Agents  []string // to offer; none for all that are found
	Labels  []string
	Include string // directory of the files outside of git that jobs need; "" for none

	Policy remote.Policy
	Print  func(line string) // tells a person what happens
	// the first one: no new jobs; the second: ends what runs; the third: exits
	Stop <-chan os.Signal
	Hub  hub.Worker // its connection
}

// Work works until it is told to stop and all that it had is confirmed, or the coordinator revokes
// its key.
func Work(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return err
	}
	o.Dir = dir
	lock, err := durable.TryLock(filepath.Join(o.Dir, "lock"))
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("another gl worker works in %s", o.Dir)
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := newWorker(ctx, &o)
	if err != nil {
		return err
	}
	defer w.sender.close()
	err = w.loop(ctx)
	if w.departs {
		w.removals.Wait()
	}
	return err
}

// A worker carries out what its machine wants done.
type worker struct {
	o       *Options
	place   *place
	machine *remote.Worker
	runs    map[remote.Fence]*run
	logs    map[remote.Fence]*output // of leases that nothing runs for any more
	sender  *sender
	begun   time.Time
	departs bool
	signals int // how many came
	disk    *disk

	removals sync.WaitGroup // that are under way
}

func newWorker(ctx context.Context, o *Options) (*worker, error) {
	s := files{o.Dir}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	hello, lacks, err := look(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, text := range lacks {
		o.Print(text)
		hello.Lacks = append(hello.Lacks, remote.Text(text))
	}
	mark, works, err := s.load()
	if err != nil {
		return nil, err
	}
	if hello.Boot, err = s.boot(time.Now()); err != nil {
		return nil, err
	}
	w := &worker{o: o, runs: map[remote.Fence]*run{}, logs: map[remote.Fence]*output{},
		begun: time.Now(), machine: remote.NewWorker(o.Policy, hello, mark, works)}
	w.place = &place{
		ctx: ctx, files: s, repo: &repository{top: s.path("repo")}, hub: o.Hub,
		local: executor.NewLocal(o.Self), self: o.Self, include: o.Include, plugin: o.Plugin,
		environ: o.Environ, queue: newQueue(), waiting: map[int64]chan remote.Answer{},
		denied: map[remote.Fence]int{},
		print:  func(f remote.Fence, text string) { o.Print(f.String() + ": " + text) },
	}
	w.sender = newSender(ctx, o.Hub)
	w.disk = &disk{place: w.place}
	for _, work := range works {
		w.tellLog(work.Fence)
	}
	return w, nil
}

const (
	tick      = time.Second // of the machine
	diskEvery = 5 * time.Minute
)

// loop feeds the machine.
func (w *worker) loop(ctx context.Context) error {
	ticker, measure := time.NewTicker(tick), time.NewTicker(diskEvery)
	defer ticker.Stop()
	defer measure.Stop()
	messages := w.o.Hub.Messages()
	w.disk.measure()
	w.step(ctx, remote.Begin{})
	for !w.departs {
		select {
		case <-w.place.queue.ready:
			for _, e := range w.place.queue.take() {
				w.step(ctx, e)
			}
		case e, ok := <-messages:
			if !ok {
				return w.o.Hub.Err()
			}
			w.receive(ctx, e)
		case <-ticker.C:
			w.step(ctx, remote.Tick{})
		case <-measure.C:
			w.disk.measure()
		case <-w.o.Stop:
			if w.signals++; w.signals > 2 {
				return errors.New("ended at once: what was running is offered at the next start")
			}
			w.step(ctx, remote.Leave{Now: w.signals == 2, Reason: "it was stopped"})
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// receive takes a message of the coordinator. One that can't be understood is dropped: it would
// come again forever.
func (w *worker) receive(ctx context.Context, e hub.Envelope) {
	m, err := remote.DecodeToWorker(e.Data)
	if err != nil {
		w.o.Print("a message of the coordinator can't be understood: " + err.Error())
	} else {
		w.step(ctx, remote.FromCoordinator{Message: m})
	}
	// without it, the message comes again
	_ = e.Ack()
}

func (w *worker) step(ctx context.Context, e remote.WorkerEvent) {
	w.told(e)
	for _, effect := range w.machine.Step(time.Since(w.begun), e) {
		w.carryOut(ctx, effect)
	}
}

// told prints a job's progress.
func (w *worker) told(e remote.WorkerEvent) {
	switch e := e.(type) {
	case remote.Launched:
		w.place.print(e.Fence, "running")
	case remote.Finished:
		w.place.print(e.Fence, "ended: "+howEnded(&e.Result))
		if r := w.runs[e.Fence]; r != nil {
			w.logs[e.Fence] = r.log
		}
		delete(w.runs, e.Fence)
		w.disk.measure()
	case remote.Removed:
		w.disk.measure()
	}
}

func howEnded(r *remote.Result) string {
	switch {
	case r.How != remote.Exited:
		return string(r.How) + ": " + string(r.Reason)
	case r.Signal != "":
		return "signal: " + string(r.Signal)
	}
	return fmt.Sprintf("exit status %d", r.ExitCode)
}
