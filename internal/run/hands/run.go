package hands

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/environ"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/relay"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/include"
	"greenlight/internal/workspace/site"
)

// A run is a lease's job on this worker: its worktree, its program, its log. Its methods return at
// once, and tell what has happened by events, in the order in which it has.
type run struct {
	f     remote.Fence
	job   *remote.Job
	place *place
	log   *output
	lines *logfile.Log // for the streams told apart, and notes; nil for a job with one stream

	ctx    context.Context // ends when the preparation is to end
	cancel context.CancelFunc

	mu     sync.Mutex
	step   step
	halted *remote.Halting // nil until it is to end
	site   *site.Site      // once it is prepared
	asks   *asks
	exec   executor.Run // once it is launched
	tested string       // the commit that is checked out for tests; "" for other jobs
}

// A step is how far a run is.
type step int

const (
	preparing step = iota
	prepared       // nothing is done until it is launched, or ended
	launched
	over
)

func newRun(p *place, f remote.Fence, job *remote.Job, log *output) *run {
	r := &run{f: f, job: job, place: p, log: log}
	if job.Command.Apart || job.Command.Talks {
		r.lines = logfile.NewLog(log)
	}
	r.ctx, r.cancel = context.WithCancel(p.ctx)
	return r
}

// note tells of the worktree, in the log if notes have a place there.
func (r *run) note(text string) {
	text = sanitize.Text(text)
	if r.lines == nil {
		r.place.print(r.f, text)
		return
	}
	r.lines.Note(logfile.Worktree, text)
	r.logged()
}

func (r *run) logged() {
	size, start := r.log.Size()
	r.place.tell(remote.Logged{Fence: r.f, Start: start, Size: size})
}

// prepare makes the worktree and sets it up.
func (r *run) prepare() {
	if err := r.tryPrepare(); err != nil {
		r.fail(err)
		return
	}
	r.mu.Lock()
	halted := r.halted != nil
	if !halted {
		r.step = prepared
		r.place.tell(remote.Ready{Fence: r.f})
	}
	r.mu.Unlock()
	if halted {
		r.fail(errHalted)
	}
}

var errHalted = errors.New("it was ended before it started")

// fail ends a job that wasn't started.
func (r *run) fail(err error) {
	r.closeSite()
	r.mu.Lock()
	r.step = over
	if r.halted != nil {
		err = errHalted
	}
	r.mu.Unlock()
	res := remote.Result{How: remote.Failed, ExitCode: -1, Reason: remote.Text(err.Error())}
	if program := new(programError); errors.As(err, &program) {
		res.Program = remote.Text(program.path)
	}
	r.finish(res)
}

// A programError is why a program can't be started in a worktree that is ready.
type programError struct {
	path string
	err  error
}

func (e *programError) Error() string { return e.err.Error() }
func (e *programError) Unwrap() error { return e.err }

func (r *run) tryPrepare() error {
	if err := r.place.endEarlier(r.f); err != nil {
		return err
	}
	repo, l, err := r.place.repo.get(r.ctx, r.place.hub, r.f, r.job)
	if err != nil {
		return err
	}
	s := &site.Site{
		Root: r.place.repo.root(r.job.Command.Dir), Run: executor.Commands(r.place.local),
		Repo: repo, Lineage: l,
		Setup: site.Setup{Command: r.fill(l.Path, r.job.Setup),
			Limit: cmp.Or(milliseconds(r.job.SetupLimit), setupLimit)},
		SetupLog: r.place.files.lease(r.f, ".setup.log"),
		Sandbox:  site.Sandbox{On: r.job.Needs.Sandbox != "", Caches: r.job.Needs.Caches},
		Include:  &include.Options{From: r.place.include, Only: append([]string{}, r.job.Needs.Files...)},
		Note:     r.note,
		Started: func(h command.Handle) error {
			return r.place.files.record(r.f, process{Handle: h, Setup: true})
		},
		Leftover: func(err error) { r.note("what setup left running can't be ended: " + err.Error()) },
	}
	s.Environ = func() []string { return r.environ(s) }
	if r.job.Kind == remote.Tests {
		s.Apart = "lane"
	}
	r.mu.Lock()
	r.site = s
	r.mu.Unlock()
	if err := s.Make(r.ctx); err != nil {
		return err
	}
	if err := s.Hold().Continue(r.ctx, r.job.Commit); err != nil {
		return err
	}
	if m := r.job.Merge; m != nil {
		if err := s.Hold().BeginMerge(r.ctx, m.Commit, m.Message); err != nil {
			return err
		}
	}
	if r.job.Kind == remote.Tests {
		r.tested, err = git.ResolveCommit(r.ctx, l.Admin, "HEAD")
	}
	return err
}

// setupLimit bounds setup where the job has no limit of its own.
const setupLimit = 30 * time.Minute

// fill puts this worker's paths in place of the placeholders.
func (r *run) fill(top string, list []string) []string {
	p := strings.NewReplacer(remote.WorktreePlace, top, remote.PluginPlace, r.place.plugin,
		remote.BriefPlace, r.place.files.lease(r.f, ".brief"))
	list = slices.Clone(list)
	for i := range list {
		list[i] = p.Replace(list[i])
	}
	return list
}

// environ is the environment of setup and of the program: the worker's own, with its logins, and
// what the job adds.
func (r *run) environ(s *site.Site) []string {
	env := agent.WithEnv(agent.ScrubEnv(r.place.environ), r.fill(s.Lineage.Path, r.job.Command.Env))
	env = agent.WithEnv(env, r.job.Command.Marks)
	env = agent.WithEnv(env, []string{"GREENLIGHT_ROOT=" + s.Dir(), r.mark()})
	return withGL(env, r.place.self)
}

// mark is a variable that no other lease's program has.
func (r *run) mark() string { return "GL_LEASE=" + r.f.String() }

// withGL makes gl, whose path is self, the first that programs with the environment find: another
// one may not know the socket.
func withGL(env []string, self string) []string {
	if filepath.Base(self) != "gl" {
		return env
	}
	path := environ.Environ(env).Get("PATH")
	if first := filepath.SplitList(path); len(first) > 0 && first[0] == filepath.Dir(self) {
		return env
	}
	path = strings.TrimSuffix(filepath.Dir(self)+string(filepath.ListSeparator)+path,
		string(filepath.ListSeparator))
	return agent.WithEnv(env, []string{"PATH=" + path})
}

// launch starts the program, unless the job is over.
func (r *run) launch() {
	r.mu.Lock()
	ready := r.step == prepared
	if ready {
		r.step = launched
	}
	r.mu.Unlock()
	if !ready {
		return
	}
	if err := r.tryLaunch(); err != nil {
		r.fail(err)
		return
	}
	r.place.tell(remote.Launched{Fence: r.f})
	r.watch()
}

func (r *run) tryLaunch() error {
	job, err := r.program()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.halted != nil {
		return errHalted
	}
	r.exec, err = r.place.local.Start(context.WithoutCancel(r.ctx), job,
		func(h command.Handle) error {
			return r.place.files.record(r.f, process{Handle: h, Marks: job.Marks})
		})
	if err != nil && !errors.As(err, new(*executor.BoxError)) {
		return &programError{job.Path, err}
	}
	return err
}

// program returns the job as this machine's executor starts it.
func (r *run) program() (j executor.Job, err error) {
	s := r.site
	env := s.Env(s.Environ())
	if r.asks, err = listen(environ.Environ(env).Get("TMPDIR"), r); err != nil {
		return j, err
	}
	env = agent.WithEnv(env, []string{relay.Variable + "=" + r.asks.path})
	name := r.fill(s.Lineage.Path, []string{r.job.Command.Program})[0]
	path, err := paths.Program(name, s.Dir())
	if err != nil {
		return j, &programError{name, err}
	}
	argv := r.fill(s.Lineage.Path, r.job.Command.Argv)
	if r.job.Brief != "" {
		err := os.WriteFile(r.place.files.lease(r.f, ".brief"), []byte(r.job.Brief), 0o600)
		if err != nil {
			return j, err
		}
	}
	if r.job.Kind == remote.Agent {
		if argv, err = s.AgentArgv(path, argv, env); err != nil {
			return j, err
		}
	}
	j = executor.Job{
		Path: path, Argv: argv, Dir: s.Dir(), Env: env, Files: s.Files(),
		Unwrap: r.job.Command.Unwrap || s.Sandbox.On, Limit: milliseconds(r.job.Command.Limit),
		Apart: r.job.Command.Apart, Talks: r.job.Command.Talks,
		Marks: append(slices.Clone(r.job.Command.Marks), r.mark()), Leaves: executor.Nothing,
		Box: func(p command.Program) (*command.Box, error) {
			if r.job.Kind != remote.Agent {
				return s.Box(p)
			}
			return s.AgentBox(p, agent.HomesOf(path))
		},
	}
	if r.job.Command.Leaves == "services" {
		j.Leaves = executor.Services
	}
	return j, nil
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// watch follows the program until it and all that it has started are gone.
func (r *run) watch() {
	h := newHearing(r)
	var save <-chan time.Time
	if r.job.Save > 0 && r.job.Work {
		ticker := time.NewTicker(milliseconds(r.job.Save))
		defer ticker.Stop()
		save = ticker.C
	}
	k := &keeper{run: r, failed: make(chan error, 1)}
	output := r.exec.Output()
	for output != nil {
		select {
		case c, ok := <-output:
			if !ok {
				output = nil
				continue
			}
			h.take(c)
		case <-save:
			k.take()
		case err := <-k.failed:
			r.note("no snapshot: " + err.Error())
		}
	}
	res, err := r.exec.Wait()
	k.stop()
	h.end()
	result := resultOf(res, err)
	if len(res.Left) > 0 {
		r.note("the program left processes running, which gl has ended: " +
			strings.Join(res.Left, ", "))
	}
	result.Last, result.Tested = remote.Text(h.last.Text), r.tested
	r.closeSite()
	r.finish(result)
}

// resultOf returns a program's end as it is sent.
func resultOf(res command.Result, err error) remote.Result {
	r := remote.Result{
		How: remote.Exited, Program: remote.Text(res.Program), ExitCode: res.ExitCode,
		Signal: remote.Text(res.Signal), TimedOut: res.TimedOut, Memory: res.OutOfMemory,
		Took: max(res.Duration.Milliseconds(), 1),
	}
	const most = 64
	for _, left := range res.Left[:min(len(res.Left), most)] {
		r.Left = append(r.Left, remote.Text(left))
	}
	if res.Leftover != nil {
		r.Leftover = remote.Text(res.Leftover.Error())
	}
	switch {
	case res.NotStarted != "":
		r.How, r.Reason = remote.Failed, remote.Text(res.NotStarted)
	case res.Unseen:
		r.How, r.ExitCode = remote.Crashed, -1
	case err != nil:
		r.How, r.Reason = remote.Crashed, remote.Text(err.Error())
	}
	return r
}

// finish says that nothing of the job runs any more.
func (r *run) finish(res remote.Result) {
	r.logged()
	res.Log, _ = r.log.Size()
	r.place.tell(remote.Finished{Fence: r.f, Result: res})
}

// say writes a line to the program's input, or ends it.
func (r *run) say(line remote.Line) {
	r.mu.Lock()
	exec := r.exec
	r.mu.Unlock()
	told := remote.Told{Fence: r.f, Number: line.Number}
	switch {
	case exec == nil:
		told.Failed = "the program doesn't run"
	case line.Close:
		exec.CloseTalk()
	default:
		if err := exec.Talk(line.Text); err != nil {
			told.Failed = remote.Text(err.Error())
		}
	}
	r.place.tell(told)
}

// halt ends the job, wherever it is.
func (r *run) halt(how remote.Halting) {
	r.mu.Lock()
	r.halted = &how
	exec, waits := r.exec, r.step == prepared
	if waits {
		r.step = over
	}
	r.mu.Unlock()
	r.cancel()
	switch {
	case waits:
		go r.fail(errHalted)
	case exec == nil: // what it does is ended by the context, or notices
	case how.Kill:
		exec.Kill()
	default:
		exec.End()
	}
}

// closeSite lets go of the worktree.
func (r *run) closeSite() {
	r.mu.Lock()
	s, a := r.site, r.asks
	r.site, r.asks = nil, nil
	r.mu.Unlock()
	if a != nil {
		a.close()
	}
	if s != nil {
		if err := s.Close(); err != nil {
			r.place.print(r.f, err.Error())
		}
	}
}

// A hearing writes a program's output into the log.
type hearing struct {
	run  *run
	out  *lines.Splitter
	errs *lines.Splitter
	last command.LastWords
}

// stderrBytes is how much of a line of stderr becomes one note.
const stderrBytes = 256 << 10

func newHearing(r *run) *hearing {
	return &hearing{run: r, out: lines.NewSplitter(lines.Max), errs: lines.NewSplitter(stderrBytes)}
}

// take handles some output.
func (h *hearing) take(c executor.Chunk) {
	switch {
	case h.run.lines == nil: // one stream, as it comes
		// a full disk must not end the program
		_, _ = h.run.log.Write(c.Data)
		h.out.Write(c.Data, h.hear)
	case c.Stderr:
		h.errs.Write(c.Data, h.stderr)
	default:
		h.out.Write(c.Data, h.run.lines.Stdout)
	}
	h.run.logged()
}

// end handles the last lines if nothing ended them.
func (h *hearing) end() {
	if h.run.lines == nil {
		h.out.End(h.hear)
		return
	}
	h.out.End(h.run.lines.Stdout)
	h.errs.End(h.stderr)
}

func (h *hearing) stderr(p lines.Piece) {
	h.run.lines.Note(logfile.Stderr, strings.TrimRight(string(p.Text), "\r\n"))
	h.hear(p)
}

func (h *hearing) hear(p lines.Piece) {
	if !p.Rest {
		h.last.Hear(strings.TrimRight(string(p.Text), "\r\n"))
	}
}

// socketName is the name of the socket in the directory for temporary files, which the program
// can reach from its sandbox and whose path is short.
const socketName = "gl.sock"

// removeSocket removes what an earlier worker has left.
func removeSocket(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
