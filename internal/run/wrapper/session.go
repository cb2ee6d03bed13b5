package wrapper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
)

// Limits are how long a wrapper waits for its agent.
type Limits struct {
	Silent time.Duration // without any event
	Tool   time.Duration // without any event while a tool runs
	Result time.Duration // between its result and its exit
}

// A session is an attempt's agent at work: it starts the agent, watches it, and tells how it
// ended. It does so a second time if the agent's conversation was gone.
type session struct {
	*claimed
	launch   *launch
	limits   Limits
	every    time.Duration    // between two snapshots of a worktree
	stop     <-chan os.Signal // each ends the agent; the second one at once
	print    func(agent.Event)
	window   *window
	follower *follower // nil for an agent that can write the journal

	agent  executor.Run
	unseen bool // how it ended
	hears  *listener
	talk   *talk // nil for an agent that can't be told anything while it works
}

// run runs the agent from its start to its end, and returns what it saw; nil for nothing.
func (s *session) run(ctx context.Context) (*attempt.Evidence, error) {
	attend := s.attend
	if goesOn(s.rec) {
		attend = s.adopt
	}
	ev, err := attend(ctx)
	for lost := new(executor.LostError); errors.As(err, &lost); {
		ev, err = s.attendElsewhere(ctx, lost)
	}
	if err == nil && s.forgotten(ctx, ev) {
		return s.attendAnew(ctx, ev)
	}
	return ev, err
}

// attend runs the agent once.
func (s *session) attend(ctx context.Context) (*attempt.Evidence, error) {
	s.hears = newListener(s.rec.Job.Stream, s.log, s.print, func() { s.checkCommand(ctx) })
	job, ev := s.launch.job()
	if ev == nil {
		var err error
		if ev, err = s.start(ctx, job); err != nil {
			return nil, err
		}
	}
	if ev != nil {
		return ev, s.begin(ctx, proc.ID{})
	}
	return s.follow(ctx)
}

// follow follows the agent that was started or found to its end.
func (s *session) follow(ctx context.Context) (*attempt.Evidence, error) {
	defer s.agent.CloseTalk()
	ev, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	s.window.heed(ctx, s.hears.dec.Summary().Window)
	s.complete(ev)
	if s.unseen && ev.Result == nil && ev.Limit == nil { // as a settler finds it
		return nil, nil
	}
	return ev, nil
}

// start records that the attempt has started, and lets the agent go. Evidence is for an agent
// that can't run.
func (s *session) start(ctx context.Context, job executor.Job) (*attempt.Evidence, error) {
	var recorded error
	run, err := s.settler.Executor.Start(context.WithoutCancel(ctx), job,
		func(h command.Handle) error {
			if recorded = s.begin(ctx, h.Process); recorded == nil && s.follower != nil {
				s.follower.follow(ctx, s.settler.Now()) // from here on the agent's changes are reported
			}
			return recorded
		})
	var unboxed *executor.BoxError
	switch {
	case recorded != nil:
		return nil, recorded
	case errors.As(err, &unboxed):
		return &attempt.Evidence{Worktree: err.Error()}, nil
	case err != nil:
		return nil, fmt.Errorf("start %s in %s: %w", s.rec.Job.Program, s.rec.Job.Dir, err)
	}
	s.agent, s.talk = run, nil
	if s.rec.Talk.Talks {
		s.talk = newTalk(s.claimed, run)
	}
	return nil, nil
}

// complete adds to the evidence what the agent has said.
func (s *session) complete(ev *attempt.Evidence) {
	sum, last := s.hears.dec.Summary(), s.hears.last.Text
	ev.Result, ev.Limit, ev.Denials, ev.Version, ev.Stderr = sum.Result, sum.Limit, sum.Denials,
		sum.Version, last
	ev.Tokens, ev.ReadOnly = sum.Tokens, sum.ReadOnly
	s.rec.Talk.Conversation = cmp.Or(sum.Conversation, s.rec.Talk.Conversation)
	code := -1
	if ev.ExitCode != nil {
		code = *ev.ExitCode
	}
	if ev.Result == nil && ev.Limit == nil && code != 0 {
		ev.Limit = agent.ExitLimit(s.rec.Job.Stream, code, last) // some clients say it nowhere else
	}
	if ev.Stderr == "" {
		ev.Stderr = cmp.Or(sum.Trouble, s.hears.said.Text)
	}
}

// forgotten reports whether the client ended because it no longer has the conversation that it
// was to resume. Each client says so in words of its own, and one exits with 0. What they have
// in common is that they end by themselves, before they tell of any conversation, and no model
// was asked.
func (s *session) forgotten(ctx context.Context, ev *attempt.Evidence) bool {
	asked := ev != nil && ev.Result != nil && ev.Result.Turns > 0
	if ev == nil || !s.rec.Talk.Resumes() || s.rec.Life.Ending != "" || ev.ExitCode == nil || ev.Exec != "" ||
		ev.Limit != nil ||
		asked || isRemote(s.rec) || s.hears.dec.Summary().Conversation != "" {
		return false
	}
	return s.unfinished(ctx)
}

// attendAnew starts the agent of the same attempt a second time, with a new conversation, by the
// same steps as the first time. If this process is killed before the second one is recorded, a
// settler finds the first one's end. ev is that end.
func (s *session) attendAnew(ctx context.Context, ev *attempt.Evidence) (*attempt.Evidence, error) {
	s.log.Note(logfile.Anew, "the agent no longer has the conversation "+s.rec.Talk.Conversation+
		", and starts a new one")
	first := *s.rec
	s.anew = true
	s.rec.Talk.BeginAnew(&s.rec.Job)
	s.rec.Talk.Handoff = s.handOffAnew()
	again, err := s.attend(ctx)
	if errors.Is(err, errEnding) {
		ending, detail := s.rec.Life.Ending, s.rec.Life.EndingDetail
		*s.rec = first
		s.rec.Life.Ending, s.rec.Life.EndingDetail = ending, detail
		ev.Result = nil // the result says nothing about the work
		return ev, nil
	}
	return again, err
}

// watch follows the agent until it and all that it has started are gone. How long the agent has
// been silent is counted in ticks: see lull.
func (s *session) watch(ctx context.Context) (*attempt.Evidence, error) {
	// Finer ticks only for the grace after a result: each costs as much as all else that an idle
	// wrapper does.
	spacing := max(min(s.limits.Silent/16, longestTick), time.Millisecond)
	finer := max(min(s.limits.Result/16, spacing), time.Millisecond)
	ticker := time.NewTicker(spacing)
	defer ticker.Stop()
	silence, grace := newLull(spacing), &grace{lull: newLull(finer)}
	keeper := newKeeper(s.settler, s.rec, s.every)
	defer keeper.stop()
	output := s.agent.Output()
	for {
		select {
		case c, ok := <-output:
			if !ok {
				output = nil
				continue
			}
			had := grace.on
			s.hear(ctx, c, grace)
			silence.begin()
			if grace.on && !had {
				ticker.Reset(finer)
			}
		case <-keeper.tick:
			keeper.take(ctx)
		case err := <-keeper.failed:
			s.log.Note(logfile.Worktree, "no snapshot: "+err.Error())
		case now := <-ticker.C:
			s.look(ctx, now)
			if len(output) > 0 { // it has said something that is still to be read
				silence.begin()
			}
			s.endIdle(ctx, silence.tick(now), grace, now)
		case <-s.stop:
			s.endAgent(ctx, attempt.EndStop, "")
		case <-s.agent.Exited():
			return s.exited(ctx)
		}
	}
}

// A grace is the time that an agent has for its exit after its result. It begins anew when what
// runs in the background ends, which wakes the agent, and there is none once it works again.
type grace struct {
	*lull
	on bool
}

// heed begins or ends the grace, after the agent has said something; background is how much ran
// there before.
func (g *grace) heed(sum agent.Summary, background int) {
	had := g.on
	g.on = sum.Result != nil
	if g.on && !had || background > 0 && sum.Background == 0 {
		g.begin()
	}
}

// hear takes some output, and does what follows from it.
func (s *session) hear(ctx context.Context, c executor.Chunk, g *grace) {
	background := s.hears.dec.Summary().Background
	s.hears.take(c)
	s.talk.takeHeard(ctx, s.hears.dec)
	if s.hears.dec.Summary().Result != nil {
		s.talk.hangUp(ctx)
	}
	g.heed(s.hears.dec.Summary(), background)
}

// look does what is done at each tick.
func (s *session) look(ctx context.Context, now time.Time) {
	s.keepRecord(ctx)
	s.window.heed(ctx, s.hears.dec.Summary().Window)
	s.talk.tellNews(ctx)
	if s.follower != nil {
		s.follower.follow(ctx, now)
	}
}

// endIdle ends an agent that has been silent for too long, or doesn't exit after its result.
func (s *session) endIdle(ctx context.Context, silent time.Duration, g *grace, now time.Time) {
	rest := g.tick(now)
	switch {
	case s.rec.Life.Ending != "": // it is being ended already, and has its grace
	case silent >= s.silent():
		s.endAgent(ctx, attempt.EndSilence, "silent for "+s.silent().String())
	case g.on && rest >= s.limits.Result && s.waits(ctx): // its background work may wake it
		g.begin()
	case g.on && rest >= s.limits.Result:
		s.endAgent(ctx, attempt.EndGrace, "still running "+s.limits.Result.String()+" after its result")
	}
}

func (s *session) silent() time.Duration {
	if s.hears.dec.Summary().ToolRunning {
		return s.limits.Tool
	}
	return s.limits.Silent
}

// waits reports whether the agent has a reason to live on after its result: a command it left in
// the background, such as a long run of tests, whose end wakes it. There is none once its slice
// is finished or awaits a person.
func (s *session) waits(ctx context.Context) bool {
	if s.hears.dec.Summary().Background == 0 {
		return false
	}
	it, err := s.item(ctx)
	return err == nil && s.rec.Life.Unfinished(it) && it.WaitingFor == ""
}

// endAgent ends the agent. The second call doesn't wait for the grace to pass.
func (s *session) endAgent(ctx context.Context, why, detail string) {
	if s.rec.Life.Ending != "" {
		s.agent.Kill()
		return
	}
	s.end(ctx, why, detail)
	s.agent.End()
}

// checkCommand ends an agent that doesn't know the slash command it was given: the text would go
// to the model as it is, at the user's cost and to no purpose.
func (s *session) checkCommand(ctx context.Context) {
	sum := s.hears.dec.Summary()
	name, _, _ := strings.Cut(s.rec.Job.Prompt, " ")
	name, slash := strings.CutPrefix(name, "/")
	if !slash || !sum.SawInit || !slices.Contains(s.rec.Job.Argv, s.rec.Job.Prompt) ||
		lists(sum.Commands, name) {
		return
	}
	help := cmp.Or(s.settler.Tracker.Traits().Skills, "run gl install, then gl check")
	if strings.HasPrefix(name, "gl:") {
		help = "run gl install, then gl check"
	}
	s.endAgent(ctx, attempt.EndCommand, "the agent doesn't know the command /"+name+": "+help)
}

// lists reports whether the client knows the command. What a plugin brings is listed with the
// plugin's name, specwright:sw-build, and is typed without it.
// The client doesn't say whether it expands the short name. If it doesn't, the model gets text
// that names the skill, which is better than ending every such agent.
func lists(commands []string, command string) bool {
	return slices.ContainsFunc(commands, func(c string) bool {
		return c == command || !strings.Contains(command, ":") && strings.HasSuffix(c, ":"+command)
	})
}

// exited returns how the agent ended, once everything it has started is gone, wherever that went
// (a server, say): it would keep writing into its worktree, and what is judged wouldn't be what
// lands. Then it takes what is still in the pipes.
func (s *session) exited(ctx context.Context) (*attempt.Evidence, error) {
	res, err := s.agent.Wait()
	s.unseen = res.Unseen
	if len(res.Left) > 0 {
		s.note("the agent left processes running, which gl has ended: " +
			sanitize.Line(strings.Join(res.Left, ", ")))
	}
	if res.Leftover != nil {
		s.rec.Life.Outlived = sanitize.Line(res.Leftover.Error())
		s.note("what the agent left running can't be ended: " + s.rec.Life.Outlived)
	}
	for c := range s.agent.Output() {
		s.hears.take(c)
	}
	s.hears.takeUnended()
	s.talk.takeHeard(ctx, s.hears.dec)
	if s.follower != nil {
		s.follower.next = time.Time{}
		s.follower.follow(ctx, time.Now())
	}
	if errors.As(err, new(*executor.LostError)) {
		return nil, err
	}
	return exitOf(res, err), nil
}

// exitOf returns the evidence in the end of an agent's process.
func exitOf(res command.Result, err error) *attempt.Evidence {
	ev := &attempt.Evidence{Exec: res.NotStarted, Signal: res.Signal, OutOfMemory: res.OutOfMemory}
	var unready *executor.PlaceError
	switch {
	case errors.As(err, &unready):
		ev.Worktree = unready.Reason
	case res.Unseen:
	case err != nil:
		ev.Exec = cmp.Or(ev.Exec, err.Error())
	case res.Signal == "":
		ev.ExitCode = &res.ExitCode
	}
	return ev
}
