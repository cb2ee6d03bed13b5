package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/environ"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/site"
	"greenlight/internal/workspace/worktree"
)

const (
	endGrace    = 10 * time.Second // between TERM and KILL
	leftGrace   = time.Second      // the same for what an agent that has ended left running
	stderrBytes = 256 << 10        // of a line of stderr are one note
	giveUpNote  = "gl can't write its state, and tries again: "
)

// ErrLate says that the claim isn't the wrapper's any more: it was given back, or somebody else has it.
var ErrLate = errors.New("the claim was given back before the agent started")

// Limits are how long a wrapper waits for its agent.
type Limits struct {
	Silent time.Duration // without any event
	Tool   time.Duration // without any event while a tool runs
	Result time.Duration // between its result and its exit
}

// A Wrapper runs the agent of one claimed attempt to its end and settles it. It is the whole work of its process.
type Wrapper struct {
	Settler
	Root          string
	Self          string // path of gl
	Gate          *Gate  // that waits for the agent already; nil: it is started when the agent is
	Env           []string
	AgentEnv      []string // added to it for the agent alone
	Limits        Limits
	SetupLimit    time.Duration                                  // of a worktree
	Tests         Tests                                          // how those of Record.Test are run
	WindowPercent float64                                        // of a usage window: when so much is used, the account is held; 0 for never
	Confine       bool                                           // what works in a worktree, whatever its record says
	Every         time.Duration                                  // between two snapshots of a worktree while the agent runs
	Brief         func(*Record) (brief, slice string, err error) // for agent.FillIn; nil for neither
	Print         func(agent.Event)
	Stop          <-chan os.Signal // each ends the agent; the second one at once

	rec    *Record
	log    *logFile
	cmd    *exec.Cmd
	memory int // proc.OutOfMemory when the agent began
	dec    *agent.Decoder
	lines  chan chunk
	out    *lines.Splitter   // of stdout
	errs   *lines.Splitter   // of stderr
	last   command.LastWords // on stderr
	said   command.LastWords // on stdout
	lock   *os.File          // see takeLock; nil where locks don't work
	adopts bool              // what the agent leaves is below this process: see proc.Adopt

	// Of the worktree; nil without one.
	site    *site.Site
	before  worktree.Condition
	handoff handoff
	over    bool // somebody has settled the attempt

	follower   follower
	windowTold *agent.Window // the last one for which the account was held
	talk       *talk         // nil for an agent that can't be told anything while it works
	anew       bool          // the agent has been started a second time: its conversation was gone

	kill     chan struct{} // closed to end the agent without grace
	killOnce sync.Once
}

// Run takes the record of the attempt over from its launcher, runs the agent, and returns the settled record. The
// error is ErrLate where there is nothing to do.
func (w *Wrapper) Run(ctx context.Context, rec *Record) (*Record, error) {
	w.rec, w.kill = rec, make(chan struct{})
	w.listen()
	defer func() { w.Gate.Close() }()               // in case that no agent begins
	if err := w.Store.Files.Prepare(); err != nil { // git clean -x may have taken the directories
		return nil, err
	}
	var err error
	if w.log, err = openLog(w.Store.Files.Log(rec.ID.Slice, rec.ID.N)); err != nil {
		return nil, err
	}
	defer w.log.close()
	if w.lock, w.rec.Life.Lock = takeLock(w.log.path); w.lock != nil {
		defer w.lock.Close()
	}
	ev, err := w.prepare(ctx)
	if w.site != nil {
		defer w.site.Close()
	}
	if ev == nil && err == nil {
		stampWants(w.Store, w.rec)
		ev, err = w.attend(ctx)
		if err == nil && w.forgotten(ctx, ev) {
			ev, err = w.attendAnew(ctx, ev)
		}
	}
	if err != nil {
		return nil, err
	}
	w.lookAround(ctx) // before any git: it puts in order what the agent may have replaced
	w.keepAll(ctx, w.rec)
	now := w.Now().UTC()
	w.rec.Judged.Evidence, w.rec.Life.EndedAt = ev, &now
	w.noteTree(ctx)
	w.compare(ctx)
	w.verify(ctx)
	lookForWants(ctx, w.rec)
	return w.settleForSure(ctx)
}

// listen gets ready for an agent's output.
func (w *Wrapper) listen() {
	w.dec = agent.NewDecoder(w.rec.Job.Stream)
	w.out, w.errs = lines.NewSplitter(lines.Max), lines.NewSplitter(stderrBytes)
	w.last, w.said = command.LastWords{}, command.LastWords{}
}

// attend runs the agent from its start to its end and tells what it saw.
func (w *Wrapper) attend(ctx context.Context) (*Evidence, error) {
	path, err := w.lookPath()
	if err != nil {
		return w.unusable(err), w.begin(ctx, proc.ID{})
	}
	env := w.environ()
	if self, err := os.Executable(); err == nil {
		env = WithGL(env, self)
	}
	argv, prompt := w.rec.Job.Argv, ""
	if w.rec.Talk.Talks {
		argv, prompt = agent.Talking(argv)
	}
	if argv, err = w.briefed(argv); err == nil {
		argv, err = w.confined(path, argv, env)
	}
	if err != nil {
		return &Evidence{Worktree: err.Error()}, w.begin(ctx, proc.ID{})
	}
	p := command.Program{Path: path, Argv: argv, Dir: w.rec.Job.Dir, Env: env}
	var box *command.Box
	if w.site != nil {
		if box, err = w.site.AgentBox(p, agent.HomesOf(path)); err != nil {
			return &Evidence{Worktree: err.Error()}, w.begin(ctx, proc.ID{})
		}
	}
	exited, failed, err := w.start(ctx, p, box, prompt)
	if err != nil {
		return nil, err
	}
	defer func() { w.talk.close() }()
	ev := w.watch(ctx, exited, failed)
	w.heedWindow(ctx)
	sum := w.dec.Summary()
	ev.Result, ev.Limit, ev.Denials, ev.Version, ev.Stderr = sum.Result, sum.Limit, sum.Denials, sum.Version, w.last.Text
	ev.Tokens, ev.ReadOnly = sum.Tokens, sum.ReadOnly
	w.rec.Talk.Conversation = cmp.Or(sum.Conversation, w.rec.Talk.Conversation)
	code := -1
	if ev.ExitCode != nil {
		code = *ev.ExitCode
	}
	if ev.Result == nil && ev.Limit == nil && code != 0 {
		ev.Limit = agent.ExitLimit(w.rec.Job.Stream, code, w.last.Text) // some say it nowhere else
	}
	if ev.Stderr == "" {
		ev.Stderr = cmp.Or(sum.Trouble, w.said.Text)
	}
	return ev, nil
}

// forgotten says whether the client ended because it doesn't have the conversation any more that it was to go on with. Each says
// so in words of its own, and one exits with 0. What they have in common is that they end by themselves, before they tell of
// any conversation, and no model was asked.
func (w *Wrapper) forgotten(ctx context.Context, ev *Evidence) bool {
	asked := ev.Result != nil && ev.Result.Turns > 0
	if !w.rec.Talk.Resumes() || w.rec.Life.Ending != "" || ev.ExitCode == nil || ev.Exec != "" || ev.Limit != nil || asked || w.dec.Summary().Conversation != "" {
		return false
	}
	open := false
	err := w.Tracker.Do(ctx, func(tx tracker.Tx) error {
		it, err := w.rec.of(tx).Item(w.rec.ID.Slice)
		open = w.rec.Life.unfinished(it)
		return err
	})
	return err == nil && open
}

// errEnding says that somebody ends the attempt, so that its agent isn't started again.
var errEnding = errors.New("the attempt is being ended")

// attendAnew starts the agent of the same attempt a second time, with a new conversation, by the same steps as the first time. If
// this process is killed before the second one is recorded, the first one's end is what a settler finds. ev is that end.
func (w *Wrapper) attendAnew(ctx context.Context, ev *Evidence) (*Evidence, error) {
	w.log.note(logfile.Anew, "the agent doesn't have the conversation "+w.rec.Talk.Conversation+" any more: it begins a new one")
	first := *w.rec
	w.anew = true
	w.rec.Talk.beginAnew(&w.rec.Job)
	w.handoff.resumes = false
	w.rec.Talk.Handoff = w.handoff.text()
	w.listen()
	again, err := w.attend(ctx)
	if errors.Is(err, errEnding) {
		ending, detail := w.rec.Life.Ending, w.rec.Life.EndingDetail
		*w.rec = first
		w.rec.Life.Ending, w.rec.Life.EndingDetail, ev.Result = ending, detail, nil // the result says nothing about the work
		return ev, nil
	}
	return again, err
}

func (w *Wrapper) lookPath() (string, error) {
	return paths.Program(w.rec.Job.Program, w.rec.Job.Dir)
}

// unusable is the evidence of a program that can't be run: it isn't there, or it is no program.
func (w *Wrapper) unusable(err error) *Evidence {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return &Evidence{Missing: w.rec.Job.Program}
	}
	return &Evidence{Exec: err.Error()}
}

// briefed is the command line with what there is to know of the slice by now, which the brief's file has, too.
func (w *Wrapper) briefed(argv []string) ([]string, error) {
	if !w.rec.Talk.Briefed || w.Brief == nil {
		return argv, nil
	}
	brief, slice, err := w.Brief(w.rec)
	if err != nil {
		return nil, fmt.Errorf("tell the agent of %s: %w", w.rec.ID.Slice, err)
	}
	file := w.Store.Files.Brief(w.rec.ID.Slice, w.rec.ID.N)
	if err := durable.WriteFile(file, []byte(brief), 0o600); err != nil {
		return nil, err
	}
	return agent.FillIn(argv, brief, slice, file), nil
}

// confined is the command line of an agent that confines itself, with what it has to write besides its worktree. Its sandbox
// stays as it is in a checkout.
func (w *Wrapper) confined(path string, argv, env []string) ([]string, error) {
	if w.site == nil || !agent.IsCodex(path) {
		return argv, nil
	}
	if w.site.Sandbox.On {
		return agent.CodexInSandbox(argv), nil
	}
	places, err := w.site.Places()
	if err != nil {
		return nil, err
	}
	e := environ.Environ(env)
	home := cmp.Or(e.Get("CODEX_HOME"), filepath.Join(e.Get("HOME"), ".codex"))
	config, _ := durable.ReadFile(filepath.Join(home, "config.toml")) // without one codex has its defaults
	return agent.CodexSandbox(argv, places, string(config)), nil
}

// start has a gate in place, records that the attempt has started, and lets the agent go.
func (w *Wrapper) start(ctx context.Context, prog command.Program, box *command.Box, prompt string) (exited <-chan error, failed <-chan string, err error) {
	var inherited []*os.File
	if w.lock != nil {
		inherited = append(inherited, w.lock) // and the agent keeps it
	}
	if w.site != nil {
		inherited = append(inherited, w.site.Files()...)
	}
	err = prog.CanBe()
	gate := w.Gate
	if w.Gate = nil; gate == nil && err == nil {
		gate, err = NewGate(w.Self, w.rec.ID.Token)
	}
	var id proc.ID
	if err == nil {
		id, err = proc.Of(gate.Cmd.Process.Pid)
	}
	if err != nil {
		gate.Close()
		return nil, nil, fmt.Errorf("start %s in %s: %w", w.rec.Job.Program, w.rec.Job.Dir, err)
	}
	if err := w.begin(ctx, id); err != nil {
		gate.Close()
		return nil, nil, err
	}
	if w.sandboxed() {
		w.follow(ctx, w.Now()) // what it changes is told from here on
	}
	w.adopts = proc.Adopt() // from here on: what git.setup has started isn't the agent's
	w.cmd, w.memory = gate.Cmd, proc.OutOfMemory()
	done := make(chan error, 1)
	go func() { done <- gate.Cmd.Wait() }()
	if prog.Listens = w.rec.Talk.Talks; w.rec.Talk.Talks {
		w.talk = newTalk(gate.in, prompt)
	} else {
		w.talk = nil
		gate.in.Close()
	}
	failed = gate.Release(prog, box, inherited...)
	w.lines = make(chan chunk, 64)
	go w.readBoth(gate.out, gate.err)
	return done, failed, nil
}

// begin writes phase started. Only after that may the agent run.
func (w *Wrapper) begin(ctx context.Context, id proc.ID) error {
	return w.advance(ctx, func(r *Record) {
		now := w.Now().UTC()
		r.Life.Phase, r.Life.StartedAt, r.Life.Process = plan.Started, &now, nil
		if id.PID != 0 {
			r.Life.Process = &id
		}
	})
}

// advance writes how far the attempt is, with this wrapper's identity, if the claim is still its own and no agent has begun.
func (w *Wrapper) advance(ctx context.Context, change func(*Record)) error {
	ctx = durable.Patiently(ctx, nil) // a stopped process may hold the lock; to give up would be to fail the slice
	return w.Tracker.Do(ctx, func(tx tracker.Tx) error {
		disk, err := w.Store.Get(w.rec.ID.Slice, w.rec.ID.N)
		if w.anew && errors.Is(err, fs.ErrNotExist) { // somebody removed it (git clean -x)
			disk, err = w.rec, w.Store.Files.Prepare()
		}
		if err != nil || disk.Life.Phase.Begun() != w.anew || disk.Life.Phase != w.rec.Life.Phase || disk.ID.Token != w.rec.ID.Token {
			return ErrLate
		}
		if w.anew && disk.Life.Ending != "" {
			w.rec.Life.Ending, w.rec.Life.EndingDetail = disk.Life.Ending, disk.Life.EndingDetail
			return errEnding
		}
		it, err := w.rec.of(tx).Item(w.rec.ID.Slice)
		if err != nil {
			return err
		}
		if it.Session != w.rec.ID.Token {
			return ErrLate
		}
		self := proc.Self()
		w.rec.Life.Wrapper, w.rec.Life.Ending = &self, disk.Life.Ending // somebody may be stopping it
		change(w.rec)
		err = w.Store.Within(tx.Held()).putLive(w.rec)
		if err == nil {
			w.Store.diary.tell(w.rec, false)
		}
		return err
	})
}

func (w *Wrapper) readBoth(out, stderr *os.File) {
	var wg sync.WaitGroup
	wg.Add(2)
	go func() { readChunks(out, false, w.lines); wg.Done() }()
	go func() { readChunks(stderr, true, w.lines); wg.Done() }()
	wg.Wait()
	close(w.lines)
}

// watch follows the agent until it and all that it has started are gone. How long the agent has been silent is counted
// in ticks: see lull.
func (w *Wrapper) watch(ctx context.Context, exited <-chan error, failed <-chan string) *Evidence {
	ev := &Evidence{}
	// Finer ticks only for the grace after a result: each costs as much as all else that an idle wrapper does.
	spacing := max(min(w.Limits.Silent/16, longestTick), time.Millisecond)
	finer := max(min(w.Limits.Result/16, spacing), time.Millisecond)
	ticker := time.NewTicker(spacing)
	defer ticker.Stop()
	silence, grace := newLull(spacing), &grace{lull: newLull(finer)}
	keeper := w.newKeeper()
	defer keeper.stop()
	lines := w.lines
	for {
		select {
		case c, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			had := grace.on
			w.hear(ctx, c, grace)
			silence.begin()
			if grace.on && !had {
				ticker.Reset(finer)
			}
		case <-keeper.tick:
			keeper.take(ctx)
		case err := <-keeper.failed:
			w.log.note(logfile.Worktree, "no snapshot: "+err.Error())
		case ev.Exec = <-failed:
			failed = nil
		case now := <-ticker.C:
			w.look(ctx, now)
			if len(lines) > 0 { // it has said something, and we haven't come to it yet
				silence.begin()
			}
			w.endIdle(ctx, silence.tick(now), grace, now)
		case <-w.Stop:
			w.end(ctx, EndStop, "")
		case err := <-exited:
			w.leftovers(ctx, lines)
			w.takeHeard(ctx)
			if w.sandboxed() {
				w.follower.next = time.Time{}
				w.follow(ctx, time.Now())
			}
			if ev.Exec == "" && failed != nil {
				ev.Exec = <-failed
			}
			ev.exit(w.cmd.ProcessState, err)
			ev.OutOfMemory = ev.Signal != "" && proc.OutOfMemory() > w.memory
			if w.sandboxed() {
				ev.unwrap()
			}
			return ev
		}
	}
}

// A grace is the time that an agent has for its exit after its result. It begins anew when what runs in the background ends, which
// wakes the agent, and there is none once it works again.
type grace struct {
	*lull
	on bool
}

// heed begins or ends the grace, after the agent has said something; background is how much ran there before.
func (g *grace) heed(sum agent.Summary, background int) {
	had := g.on
	g.on = sum.Result != nil
	if g.on && !had || background > 0 && sum.Background == 0 {
		g.begin()
	}
}

// hear takes some output, and does what follows from it.
func (w *Wrapper) hear(ctx context.Context, c chunk, g *grace) {
	background := w.dec.Summary().Background
	w.take(ctx, c)
	w.takeHeard(ctx)
	w.hangUp(ctx)
	g.heed(w.dec.Summary(), background)
}

// look does what is done at each tick.
func (w *Wrapper) look(ctx context.Context, now time.Time) {
	w.keepRecord(ctx)
	w.heedWindow(ctx)
	w.tellNews(ctx)
	w.tree().Reap()
	if w.sandboxed() {
		w.follow(ctx, now)
	}
}

// endIdle ends an agent that has been silent for too long, or doesn't exit after its result.
func (w *Wrapper) endIdle(ctx context.Context, silent time.Duration, g *grace, now time.Time) {
	rest := g.tick(now)
	switch {
	case w.rec.Life.Ending != "": // it is being ended already, and has its grace
	case silent >= w.silent():
		w.end(ctx, EndSilence, "silent for "+w.silent().String())
	case g.on && rest >= w.Limits.Result && w.waits(ctx): // what it left in the background may wake it
		g.begin()
	case g.on && rest >= w.Limits.Result:
		w.end(ctx, EndGrace, "still running "+w.Limits.Result.String()+" after its result")
	}
}

func (w *Wrapper) silent() time.Duration {
	if w.dec.Summary().ToolRunning {
		return w.Limits.Tool
	}
	return w.Limits.Silent
}

// keepRecord writes the record anew that somebody has removed (git clean -x): without it the slice looks as if somebody
// unknown had claimed it, to everybody but this process.
func (w *Wrapper) keepRecord(ctx context.Context) {
	if w.over || w.Store.IsOpen(w.rec.ID.Name()) {
		return
	}
	err := w.Tracker.Do(ctx, func(tx tracker.Tx) error {
		_, err := w.Store.Get(w.rec.ID.Slice, w.rec.ID.N)
		if !errors.Is(err, fs.ErrNotExist) { // settled by somebody, or the number is another attempt's now
			w.over = err == nil
			return err
		}
		if err := w.Store.Files.Prepare(); err != nil {
			return err
		}
		return w.Store.Within(tx.Held()).putLive(w.rec)
	})
	if err == nil {
		err = w.log.reopen()
	}
	if err != nil {
		w.log.note(logfile.Gl, giveUpNote+err.Error())
	}
}

// waits reports whether the agent has a reason to live on after its result: a command it left in the background, a long
// run of tests say, whose end wakes it. When its slice is through, or waits for a person, that is none.
func (w *Wrapper) waits(ctx context.Context) bool {
	if w.dec.Summary().Background == 0 {
		return false
	}
	open := false
	err := w.Tracker.Do(ctx, func(tx tracker.Tx) error {
		it, err := w.rec.of(tx).Item(w.rec.ID.Slice)
		open = w.rec.Life.unfinished(it) && it.WaitingFor == ""
		return err
	})
	return err == nil && open
}

// leftovers ends what the agent left running, wherever that has gone (a server, say): it would go on writing into its worktree, and what is
// judged wouldn't be what lands. Then it takes what is still in the pipes.
func (w *Wrapper) leftovers(ctx context.Context, lines <-chan chunk) {
	ended, err := w.tree().End(leftGrace)
	if len(ended) > 0 {
		w.log.note(logfile.Gl, "the agent left processes running, which gl has ended: "+sanitize.Line(strings.Join(ended, ", ")))
	}
	if err != nil {
		w.rec.Life.Outlived = sanitize.Line(err.Error())
		w.log.note(logfile.Gl, "what the agent left running can't be ended: "+w.rec.Life.Outlived)
	}
	command.TakeRest(lines, func(c chunk) { w.take(ctx, c) })
	w.takeUnended(ctx)
}

// tree is the agent and all that it has started.
func (w *Wrapper) tree() proc.Tree {
	t := treeOf(w.rec, w.Store.Files.root())
	t.Below, t.Helpers = w.adopts, true // git is a helper
	return t
}

// take handles some output: each line that ends in it, and of a line that is too long what there is of it.
func (w *Wrapper) take(ctx context.Context, c chunk) {
	if c.stderr {
		w.errs.Write(c.data, w.takeStderr)
		return
	}
	w.out.Write(c.data, func(p lines.Piece) { w.takeStdout(ctx, p) })
}

// takeUnended handles the last lines that nothing ended: the agent was killed while it wrote, or somebody who left its
// group holds the pipe.
func (w *Wrapper) takeUnended(ctx context.Context) {
	w.out.End(func(p lines.Piece) { w.takeStdout(ctx, p) })
	w.errs.End(w.takeStderr)
}

func (w *Wrapper) takeStderr(p lines.Piece) {
	text := strings.TrimRight(string(p.Text), "\r\n")
	w.log.note(logfile.Stderr, text)
	w.Print(agent.Event{Kind: agent.KindPlain, Text: sanitize.Text(text)})
	if !p.Rest {
		w.last.Hear(text)
	}
}

func (w *Wrapper) takeStdout(ctx context.Context, p lines.Piece) {
	w.log.stdout(p)
	for _, e := range w.dec.Piece(p) {
		w.Print(e)
		if e.By == "" && (e.Kind == agent.KindSay || e.Kind == agent.KindPlain) {
			w.said.Hear(e.Text)
		}
		if e.Kind == agent.KindInit {
			w.checkCommand(ctx)
		}
	}
}

// checkCommand ends an agent that doesn't know the slash command it was given: the text would go to the model as it
// is, at the user's cost, and to no purpose.
func (w *Wrapper) checkCommand(ctx context.Context) {
	sum := w.dec.Summary()
	command, _, _ := strings.Cut(w.rec.Job.Prompt, " ")
	command, slash := strings.CutPrefix(command, "/")
	if !slash || !sum.SawInit || !slices.Contains(w.rec.Job.Argv, w.rec.Job.Prompt) || lists(sum.Commands, command) {
		return
	}
	help := cmp.Or(w.Tracker.Traits().Skills, "install what brings it")
	if strings.HasPrefix(command, "gl:") {
		help = "run gl install, then gl check"
	}
	w.end(ctx, EndCommand, "the agent doesn't know the command /"+command+": "+help)
}

// lists says whether the client knows the command. What a plugin brings is listed with the plugin's name,
// specwright:sw-build, and is typed without it.
// The client doesn't say whether it expands the short name. If it doesn't, the model gets text
// that names the skill, which is better than ending every such agent.
func lists(commands []string, command string) bool {
	return slices.ContainsFunc(commands, func(c string) bool {
		return c == command || !strings.Contains(command, ":") && strings.HasSuffix(c, ":"+command)
	})
}

// end ends the agent's process group, TERM then KILL. Why is written down before the first signal, so that the
// verdict is right even if this process doesn't live to give it. A second call doesn't wait for the grace to pass.
func (w *Wrapper) end(ctx context.Context, why, detail string) {
	if w.rec.Life.Ending != "" {
		w.killOnce.Do(func() { close(w.kill) })
		return
	}
	w.rec.Life.Ending, w.rec.Life.EndingDetail = why, detail
	if err := w.Store.MarkEnding(ctx, w.Tracker, w.rec, why, detail); err != nil {
		w.log.note(logfile.Gl, giveUpNote+err.Error())
	}
	id := *w.rec.Life.Process
	ended := make(chan struct{})
	go func() {
		proc.EndGroup(id, endGrace)
		close(ended)
	}()
	go func() {
		select {
		case <-ended:
		case <-w.kill:
			id.SignalGroup(syscall.SIGKILL)
		}
	}()
}

// settleForSure settles, and goes on trying where the disk is full or the lock is held by a stopped process: this
// process is the only one that knows how its agent ended.
func (w *Wrapper) settleForSure(ctx context.Context) (*Record, error) {
	wait := 100 * time.Millisecond
	for {
		final, err := w.Settle(ctx, w.rec)
		if err == nil {
			return final, nil
		}
		if _, gone := os.Stat(w.Root); errors.Is(gone, fs.ErrNotExist) {
			return nil, err // with the project everything is gone that could be settled
		}
		w.log.note(logfile.Gl, giveUpNote+err.Error())
		select {
		case <-time.After(wait):
			wait = min(2*wait, 5*time.Second)
		case <-w.Stop:
			return nil, err
		}
	}
}

func (e *Evidence) exit(st *os.ProcessState, err error) {
	if st == nil {
		e.Exec = bytesOr(e.Exec, err)
		return
	}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal().String()
		return
	}
	code := st.ExitCode()
	e.ExitCode = &code
}

// unwrap makes a signal again of the exit code that the sandbox has made of it, as a shell does.
func (e *Evidence) unwrap() {
	if e.ExitCode != nil && *e.ExitCode > 128 && *e.ExitCode <= 128+64 {
		e.Signal, e.ExitCode = syscall.Signal(*e.ExitCode-128).String(), nil
	}
}

func bytesOr(s string, err error) string {
	if s == "" && err != nil {
		return err.Error()
	}
	return s
}
