package scheduler

import (
	"context"
	"time"

	"greenlight/internal/core/plan"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/workers"
	"greenlight/internal/workspace/worktree"
)

// A placing decides where the attempts of one pass run: here or on a worker. parallel.max is the
// number of slots here; each worker brings its own.
type placing struct {
	where   string
	trees   *worktree.Repo
	runs    *attempt.Store
	list    *workers.List
	busy    map[string]int // by worker
	here    int            // free slots of this machine
	files   []string       // outside of git, that jobs need
	sandbox string         // in which agents run
	lacks   []string       // what workers with free slots miss
}

// fleet reads which workers there are, and returns how many jobs they run at once. Only slices that
// are built in worktrees run there.
func (s *scheduler) fleet() (l *workers.List, slots int) {
	conf := s.cfg.Project.Config.Workers
	if s.cfg.Tools.Trees == nil || s.cfg.Scope.Task != nil || s.slots.Serial ||
		conf.Where == project.WhereHere || !s.cfg.Project.Tracker.Traits().Lands {
		return &workers.List{}, 0
	}
	l, err := workers.Read(s.cfg.Project.Runs.Files.Dir())
	s.warn(err)
	return l, l.Slots()
}

// placing returns where there is room now.
func (s *scheduler) placing(ctx context.Context) *placing {
	l, slots := s.fleet()
	live, _, _ := s.cfg.Project.Runs.Live() // what can't be read takes no slot of a worker
	p := &placing{
		where: s.cfg.Project.Config.Workers.Where, trees: s.cfg.Tools.Trees, runs: s.cfg.Project.Runs,
		list: l, busy: workers.Busy(s.cfg.Project.Runs.Files.Dir(), live), here: s.slots.here,
	}
	if slots > 0 {
		var err error
		if p.files, err = workers.Files(ctx, p.trees.Git.Top); err != nil {
			s.cfg.Output.Trace("nothing is placed on workers: %v", err)
			p.list = &workers.List{}
		}
	}
	if box := s.cfg.Project.Config.Sandbox; box != project.SandboxOff {
		p.sandbox = box
	}
	for _, r := range live {
		if r.Life.Remote == nil && r.Life.Phase != plan.Queued {
			p.here--
		}
	}
	return p
}

// choose places a slice. It returns nil for this machine; ok is false if there is no room for it
// now, or the worker that has its worktree is to be waited for.
func (p *placing) choose(req *attempt.Request) (m *attempt.Remote, ok bool) {
	alone := p.list.Slots() == 0
	switch {
	case p.trees == nil || req.Task != nil || alone && p.where != project.WhereWorkers:
		return nil, true // as ever: the plan counts the slots
	case p.isHere(req):
		return nil, p.here > 0
	}
	last := p.last(req)
	prefer := ""
	if last != nil && last.Life.Remote != nil {
		prefer = last.Life.Remote.Worker
	}
	if p.where == project.WhereAuto && p.here > 0 && prefer == "" {
		return nil, true
	}
	w, why := p.list.Choose(remote.Needs{Agent: req.Agent.Name, Sandbox: p.sandbox, Files: p.files}, p.busy, prefer)
	p.lacks = append(p.lacks, why...)
	switch {
	case w != nil && w.Name == prefer, w != nil && prefer == "":
	case prefer != "" && p.list.Find(prefer).Returns() && last.Life.EndedAt != nil &&
		time.Since(*last.Life.EndedAt) < workers.LeaseWait:
		return nil, false
	case w == nil:
		return nil, p.here > 0 && p.where == project.WhereAuto
	}
	return &attempt.Remote{Worker: w.Name, Host: string(w.Hello.Host), Lease: 1}, true
}

// isHere reports whether the slice's worktree is on this machine.
func (p *placing) isHere(req *attempt.Request) bool {
	l, err := p.trees.Lineages.Get(req.System, req.ID)
	return err == nil && l.Phase != worktree.Gone && l.IsHere()
}

// last returns the slice's last settled attempt; nil for none.
func (p *placing) last(req *attempt.Request) *attempt.Record {
	l, err := p.trees.Lineages.Get(req.System, req.ID)
	if err != nil {
		return nil
	}
	of := &attempt.Record{}
	of.ID.System, of.ID.Slice, of.Place.Lineage = req.System, req.ID, l.N
	last, _ := p.runs.LastIn(of, func(*attempt.Record) bool { return true }) // without it, no worker is preferred
	return last
}

// took notes that an attempt was claimed.
func (p *placing) took(m *attempt.Remote) {
	if m == nil {
		p.here--
		return
	}
	p.busy[m.Worker]++
}

// away changes a request for an attempt that runs on a worker: there, gl's plugin has another path,
// and only a worker that has kept the worktree has the conversation.
func (p *placing) away(req *attempt.Request, l *worktree.Lineage) {
	if req.Remote == nil {
		return
	}
	req.Runner, req.Environ = runner.WorkerName, nil
	if len(req.Job.PluginDirs) > 0 {
		req.Job.PluginDirs = []string{remote.PluginPlace}
	}
	w := p.list.Find(req.Remote.Worker)
	req.Forgotten = w == nil || !w.Keeps(workers.LineageName(l.System, l.Slice, l.N))
}
