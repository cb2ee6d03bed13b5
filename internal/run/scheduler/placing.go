package scheduler

import (
	"context"

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
	project *project.Project
	local   bool // workers get nothing in this run
	serial  bool // it builds one slice after the other, here if it may
	trees   *worktree.Repo
	list    *workers.List
	busy    map[string]int // by worker
	here    int            // free slots of this machine
	needs   remote.Needs   // of every slice
	lacks   []string       // what workers with free slots miss
}

// local reports whether workers get nothing in this run: only slices that are built in worktrees
// run there.
func (s *scheduler) local() bool {
	return s.cfg.Tools.Trees == nil || s.cfg.Scope.Task != nil ||
		!s.cfg.Project.Config.Workers.Take(s.cfg.Project.Tracker.Traits())
}

// fleet reads which workers there are, and returns how many jobs they run at once.
func (s *scheduler) fleet() (l *workers.List, slots int) {
	if s.local() {
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
		project: s.cfg.Project, local: s.local(), serial: s.slots.Serial, trees: s.cfg.Tools.Trees,
		list: l, here: s.slots.here,
		busy: workers.Busy(s.cfg.Project.Runs.Files.Dir(), live),
	}
	if slots > 0 {
		var err error
		if p.needs, err = p.project.Config.WorkerNeeds(ctx, p.trees); err != nil {
			s.cfg.Output.Trace("nothing is placed on workers: %v", err)
			p.list = &workers.List{}
		}
	}
	for _, r := range live {
		if r.Life.Remote == nil && r.Life.Phase != plan.Queued {
			p.here--
		}
	}
	return p
}

// choose places a slice with these labels. It returns nil for this machine; ok is false if there
// is no room for it now, or the worker that has its agent's conversation is to be waited for.
func (p *placing) choose(ctx context.Context, req *attempt.Request,
	labels []string) (m *attempt.Remote, ok bool) {
	home := p.project.Config.Workers.Here(labels)
	if p.local || home && len(p.list.Workers) == 0 {
		return nil, true // as ever: the plan counts the slots
	}
	before := project.BeforeOf(ctx, p.project, p.trees, req.System, req.ID)
	switch {
	case home && before.Worker == "" && (p.serial || p.list.Slots() == 0):
		return nil, true
	case before.Here:
		return nil, p.here > 0
	case home && p.here > 0 && before.Worker == "":
		return nil, true
	}
	needs := p.needs
	needs.Agent, needs.Labels = req.Agent.Name, labels
	w, c := p.list.Choose(before.Wish(needs), p.busy)
	for _, lack := range c.Lacks {
		p.lacks = append(p.lacks, string(lack))
	}
	switch {
	case c.Waits != "":
		p.lacks = append(p.lacks, before.Worker+": "+string(c.Waits))
		return nil, false
	case w == nil:
		return nil, home && (p.here > 0 || p.serial || p.list.Slots() == 0)
	}
	return &attempt.Remote{Worker: w.Name, Host: string(w.Hello.Host), Lease: 1, Labels: labels}, true
}

// labelsOf returns the labels of the workers that may build an item; nil for a task.
func labelsOf(st *plan.State) []string {
	if st == nil {
		return nil
	}
	return st.Labels
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
