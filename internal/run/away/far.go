package away

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/workers"
	"greenlight/internal/state/journal"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A far starts and finds the agent of one remote attempt, and fetches its work. It is the executor
// of the attempt's wrapper. What only processes of this machine can have is refused: inherited
// files, and a sandbox that is made here.
type far struct {
	server *server
	job    *job
	rec    *attempt.Record // the wrapper's own
}

var _ executor.Executor = (*far)(nil)

// lineage returns the lineage of the attempt.
func (x *far) lineage() (*worktree.Lineage, error) { return x.rec.LineageIn(x.server.trees) }

// publish makes the lineage's branch. Its commit is published with the lease.
func (x *far) publish(ctx context.Context, r *attempt.Record) (branch string, err error) {
	l, err := r.LineageIn(x.server.trees)
	if err != nil {
		return "", err
	}
	_, err = x.server.trees.Begin(ctx, l)
	return l.Branch, err
}

// Start gives the job to the attempt's worker. The record names worker and lease before anything
// is sent.
func (x *far) Start(ctx context.Context, j executor.Job,
	record func(command.Handle) error) (executor.Run, error) {
	l, err := x.lineage()
	if err != nil {
		return nil, err
	}
	commit, err := x.server.trees.Begin(ctx, l)
	if err != nil {
		return nil, err
	}
	order, err := x.order(j, l, commit)
	if err != nil {
		return nil, err
	}
	choose := func() (string, error) {
		x.server.call(func() { x.choose() })
		return x.rec.Life.Remote.Worker, nil
	}
	return x.job.place(ctx, order, j.First, choose, record)
}

// choose writes worker and lease of the next start into the record.
func (x *far) choose() {
	now := *x.rec.Life.Remote
	now.Waits, x.job.waits = "", ""
	if to := x.job.next(); to != nil {
		now.Worker, now.Host, now.Silent = to.Name, string(to.Hello.Host), nil
	}
	now.Lease = 1
	if a := x.server.known[x.job.name]; a != nil {
		now.Lease = a.Newest + 1
	}
	x.rec.Life.Remote = &now
}

// order returns the job as its worker gets it.
func (x *far) order(j executor.Job, l *worktree.Lineage, commit string) (remote.Job, error) {
	rec, conf := x.rec, x.server.cfg.Project.Config
	j.Dir = filepath.Join(l.Path, filepath.FromSlash(x.server.trees.Git.Prefix))
	brief, err := x.brief(&j)
	if err != nil {
		return remote.Job{}, err
	}
	program, err := workers.CommandOf(j, l.Path, rec.Job.Program)
	var merge *remote.Merge
	if c := rec.Talk.Continues; c != nil && c.Merge != nil && c.Merge.Tip == commit {
		merge = &remote.Merge{Commit: c.Merge.Base, Message: l.MergeText()}
	}
	return remote.Job{
		Kind: remote.Agent, System: rec.ID.System, Slice: rec.ID.Slice, N: rec.ID.N,
		Lineage: workers.LineageName(l.System, l.Slice, l.N), Commit: commit, Merge: merge,
		Setup:      workers.There(rec.Job.Setup, l.Path),
		SetupLimit: conf.Git.SetupLimit.Milliseconds(), Save: conf.Git.SnapshotEvery.Milliseconds(),
		Work: true, Brief: brief, Command: program, Needs: x.job.needs,
	}, err
}

// brief returns the text of the agent's brief if its command line names the file, whose path
// becomes the placeholder that the worker replaces.
func (x *far) brief(j *executor.Job) (string, error) {
	path := x.server.runs.Files.Brief(x.rec.ID.Slice, x.rec.ID.N)
	if !slices.ContainsFunc(j.Argv, func(arg string) bool { return strings.Contains(arg, path) }) {
		return "", nil
	}
	j.Argv = slices.Clone(j.Argv)
	for i := range j.Argv {
		j.Argv[i] = strings.ReplaceAll(j.Argv[i], path, remote.BriefPlace)
	}
	text, err := durable.ReadFile(path)
	return string(text), err
}

// Find goes on with the agent of a gl serve that is gone. One that was never sent is lost.
func (x *far) Find(lost executor.Lost) executor.Run {
	now := x.rec.Life.Remote
	return x.job.find(now.Worker, now.Lease, lost.Seen)
}

// Fetch returns the work as the worker has offered it, on the lineage's branch.
func (x *far) Fetch(ctx context.Context, p executor.Place,
	o worktree.SnapshotOptions) (*worktree.Snapshot, error) {
	repo, l, err := p(ctx)
	if err != nil {
		return nil, err
	}
	snap, err := x.job.fetch(ctx, repo, l, o)
	r := x.job.current()
	if err != nil || !o.Last || r == nil || r.result == nil || r.result.Commit == "" {
		return snap, err
	}
	return snap, x.server.understand(ctx, x.rec, x.began(), r.result.Commit)
}

// leave keeps a wrapper from judging work that couldn't be collected since gl serve ends: the next
// one does that. It returns if gl serve doesn't end.
func (s *server) leave() {
	if s.life.Err() != nil {
		select {} // until the process ends
	}
}

// began returns the commit from which the newest start began; "" if that isn't known any more.
func (x *far) began() (commit string) {
	x.server.call(func() {
		a := x.server.known[x.job.name]
		if a == nil {
			return
		}
		if l := a.Current(); l != nil {
			commit = l.Job.Commit
		}
	})
	return commit
}

// collect brings a commit of a worker into the repository and moves the lineage's branch to it.
func (s *server) collect(ctx context.Context, f remote.Fence, l *worktree.Lineage,
	want, why string) error {
	mu := s.lock(l)
	mu.Lock()
	defer mu.Unlock()
	into := "refs/gl/hub/" + f.String()
	commit, err := s.cfg.Hub.Collect(ctx, f, into)
	if err != nil {
		return fmt.Errorf("collect the work of %s: %w", f, err)
	}
	if want != "" && commit != want {
		return fmt.Errorf("%s has offered %.12s and pushed %.12s", f, want, commit)
	}
	if err := s.trees.Carry(ctx, l, commit, why); err != nil {
		return err
	}
	return git.ChangeRefs(ctx, s.trees.Git.Common, why, git.RefChange{Name: into, Old: commit})
}

// lock returns the lock for what is done to a lineage's branch.
func (s *server) lock(l *worktree.Lineage) *sync.Mutex {
	s.commitsMu.Lock()
	defer s.commitsMu.Unlock()
	mu := s.commits[l.Branch]
	if mu == nil {
		mu = &sync.Mutex{}
		s.commits[l.Branch] = mu
	}
	return mu
}

// saved has a worker's snapshots brought home, one at a time. However many are told meanwhile, only
// the newest one is there to fetch.
func (j *job) saved(f remote.Fence) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unfetched = &f
	if j.fetching {
		return
	}
	j.fetching = true
	next := func() *remote.Fence {
		j.mu.Lock()
		defer j.mu.Unlock()
		f := j.unfetched
		j.unfetched, j.fetching = nil, f != nil
		return f
	}
	go func() {
		for f := next(); f != nil; f = next() {
			j.server.snapshot(*f, j)
		}
	}()
}

// snapshot brings home what a worker has saved of a running job.
func (s *server) snapshot(f remote.Fence, j *job) {
	repo := s.trees
	rec := &attempt.Record{ID: j.id}
	l, err := repo.Lineages.Get(j.id.System, rec.ID.Work())
	if err == nil {
		err = s.collect(s.life, f, l, "", "gl: snapshot of "+rec.ID.Work()+" on a worker")
	}
	if err != nil && s.life.Err() == nil && !errors.Is(err, hub.ErrNothing) {
		s.cfg.Tell(fmt.Sprintf("%s: no snapshot: %v", j.id.Name(), err))
	}
}

// keep keeps work that doesn't count, since another worker had taken it over or a person had given
// the attempt up, as work in progress of the slice.
func (s *server) keep(e remote.Keep) {
	for pause := time.Second; ; pause = min(2*pause, mostKeepPause) {
		err := s.tryKeep(e)
		if err == nil {
			s.post(remote.Kept{Fence: e.Fence, Worker: e.Worker})
			return
		}
		if errors.Is(err, git.ErrUnpacked) { // no later try can help: its worker keeps it
			refuseLate(s, e, err)
			return
		}
		s.cfg.Tell(fmt.Sprintf("what worker %s has brought of %s can't be kept yet: %v", e.Worker, e.Attempt, err))
		select {
		case <-time.After(pause):
		case <-s.life.Done():
			return
		}
	}
}

// refuseLate tells a person of work that doesn't count and that gl doesn't take. Its worker isn't
// told that it may remove it; a later gl serve asks once more.
func refuseLate(s *server, e remote.Keep, why error) {
	s.cfg.Tell(fmt.Sprintf("what worker %s has brought of %s isn't taken, and stays there: %v; "+
		"gl workers revoke %s gives it up", e.Worker, e.Attempt, why, e.Worker))
	var rec *attempt.Record
	s.call(func() { rec = s.recordOf(e.Attempt) })
	if rec == nil {
		return
	}
	event := rec.ID.Event(journal.LateWork)
	event.Key += "." + e.Fence.String() + ".refused"
	event.Worker, event.Reason = e.Worker, why.Error()
	if err := s.runs.Journal().AppendOnce(event); err != nil {
		s.cfg.Tell(err.Error())
	}
}

// mostKeepPause is between two attempts to keep what can't be kept. Its worker has it until then.
const mostKeepPause = 10 * time.Minute

func (s *server) tryKeep(e remote.Keep) error {
	into := "refs/gl/hub/" + e.Fence.String()
	commit, err := s.cfg.Hub.Collect(s.life, e.Fence, into)
	if errors.Is(err, hub.ErrNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.spare(e, into, commit)
}

// spare keeps a commit of an attempt's superseded lease with the slice's work in progress, and
// tells it in the journal. Of an attempt that isn't known any more it stays where it was
// collected.
func (s *server) spare(e remote.Keep, into, commit string) error {
	var rec *attempt.Record
	s.call(func() { rec = s.recordOf(e.Attempt) })
	if rec == nil {
		s.cfg.Tell(fmt.Sprintf("worker %s has brought work of %s, which is unknown: kept as %s", e.Worker, e.Attempt, into))
		return nil
	}
	event := rec.ID.Event(journal.LateWork)
	event.Key += "." + e.Fence.String()
	event.Worker, event.Commit, event.Branch = e.Worker, commit, into
	if l, err := rec.LineageIn(s.trees); err == nil {
		why := fmt.Sprintf("gl: late work of attempt %d of %s", rec.ID.N, rec.ID.Work())
		prefix, err := s.trees.Snapshots.Spare(s.life, l, commit, why)
		if err != nil {
			return err
		}
		event.Branch = prefix
		drop := git.RefChange{Name: into, Old: commit}
		if err := git.ChangeRefs(s.life, s.trees.Git.Common, why, drop); err != nil {
			return err
		}
	}
	return s.runs.Journal().AppendOnce(event)
}
