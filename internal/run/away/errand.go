package away

import (
	"context"
	"sync"

	"greenlight/internal/base/command"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/workers"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// An errand is a job that workers are to do: an attempt's agent, or a run of the tests. It has one
// run at a time.
type errand struct {
	server *server
	name   string // on workers

	mu  sync.Mutex
	run *run // the newest start; nil before the first
}

// current returns the newest run.
func (e *errand) current() *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run
}

func (e *errand) become(r *run) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.run = r
	return r
}

func (e *errand) more() {
	if r := e.current(); r != nil {
		r.more()
	}
}

// heard tells the newest run how many lines for its program are still on their way.
func (e *errand) heard(a *remote.Attempt) {
	if r, l := e.current(), a.Current(); r != nil && l != nil {
		r.unread(&l.Talk)
	}
}

// settle ends the newest run, and reports whether there is one.
func (e *errand) settle(end remote.Settle) bool {
	r := e.current()
	if r == nil || r.isOver() {
		return false
	}
	r.settle(end)
	return true
}

// start gives the job to a worker, as the errand's next lease.
func (e *errand) start(ctx context.Context, assign remote.Assign) (run *run, err error) {
	e.server.call(func() { run, err = e.assign(assign) })
	if run == nil && err == nil {
		return nil, context.Canceled // gl serve ends
	}
	if err == nil && ctx.Done() != nil {
		go run.heed(ctx)
	}
	return run, err
}

// assign has the machine make the lease, and begins to read its log. The loop calls it.
func (e *errand) assign(assign remote.Assign) (*run, error) {
	s := e.server
	r := e.become(newRun(s, e.name, &assign.Job.Command))
	if err := s.step(assign); err != nil {
		r.finish(unseen(), err)
		return nil, err
	}
	base := int64(0)
	if a := s.known[e.name]; a != nil {
		base = a.Base
	}
	r.begin(base)
	return r, nil
}

// find continues the job of an earlier gl serve, from byte seen of its log on. One
// that was never sent, since its lease isn't the machine's newest, is lost.
func (e *errand) find(worker string, lease int, seen int64) (found *run) {
	e.server.call(func() { found = e.attach(worker, lease, seen) })
	return found
}

// attach is find in the loop.
func (e *errand) attach(worker string, lease int, seen int64) *run {
	if r := e.current(); r != nil && !r.isOver() { // this gl serve has it
		return r
	}
	s := e.server
	a := s.known[e.name]
	if a == nil || a.Newest < lease {
		r := e.become(newRun(s, e.name, nil))
		r.begin(0)
		r.lose(remote.Vacant{Worker: worker, Why: "gl serve ended before the job was sent"})
		return r
	}
	var told *remote.Command
	if l := a.Current(); l != nil {
		told = &l.Job.Command
	}
	r := e.become(newRun(s, e.name, told))
	r.begin(a.Base + seen)
	if end, ok := s.settles[e.name]; ok {
		delete(s.settles, e.name)
		r.settle(end)
	}
	if v, ok := s.vacant[e.name]; ok && s.jobs[e.name] == nil {
		delete(s.vacant, e.name)
		r.lose(v)
	}
	return r
}

// fetch brings home what the worker has offered as the job's work, on the lineage's branch.
func (e *errand) fetch(ctx context.Context, repo *worktree.Repo, l *worktree.Lineage,
	o worktree.SnapshotOptions) (*worktree.Snapshot, error) {
	var unsaved remote.Text
	if r := e.current(); o.Last && r != nil && r.result != nil {
		unsaved = r.result.Unsaved
		if r.result.Commit != "" {
			if err := e.server.collect(ctx, r.fence, l, r.result.Commit, o.Why); err != nil {
				e.server.leave()
				return nil, err
			}
		}
	}
	snap, err := repo.Snapshots.Take(ctx, l, o)
	if snap != nil && unsaved != "" {
		snap.Failed = append(snap.Failed, git.Failure{Path: "the worktree on its worker", Why: string(unsaved)})
	}
	return snap, err
}

// done has the worker remove the errand's job, whose end was taken in, and closes the errand.
func (e *errand) done(keep bool) error {
	r, a := e.current(), e.server.known[e.name]
	if a == nil {
		return nil
	}
	fence := remote.Fence{Attempt: e.name, Lease: a.Newest}
	if r != nil && r.settledAs(fence) { // its work is home
		if err := e.server.step(remote.Done{Fence: fence, Keep: keep}); err != nil {
			return err
		}
	}
	e.server.close(e.name)
	return nil
}

// place starts a job on a worker: to is asked once the job can be sent, and record is called before
// it is.
func (e *errand) place(ctx context.Context, job remote.Job, first []byte,
	to func() (worker string, err error), record func(command.Handle) error) (*run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := workers.Fits(e.name, job); err != nil {
		return nil, err
	}
	worker, err := to()
	if err != nil {
		return nil, err
	}
	if err := record(command.Handle{}); err != nil {
		return nil, err
	}
	assign := remote.Assign{Attempt: e.name, Worker: worker, Job: job}
	if first != nil {
		assign.Talk = [][]byte{first}
	}
	return e.start(ctx, assign)
}
