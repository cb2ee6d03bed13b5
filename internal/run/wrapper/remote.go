package wrapper

import (
	"context"
	"errors"
	"fmt"
	"os"

	"greenlight/internal/base/logfile"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/workspace/worktree"
)

// A place is where an attempt's agent works.
type place interface {
	// prepare makes it ready. Evidence is for an attempt that ends here.
	prepare(ctx context.Context) (*attempt.Evidence, error)
	// job returns the agent's start there: its path, environment, files and sandbox. Evidence is
	// for an agent that can't run.
	job(argv []string) (executor.Job, *attempt.Evidence)
	// sandboxed reports whether the agent may be unable to write what gl does.
	sandboxed() bool
	// lookAround finds out what the agent has changed elsewhere.
	lookAround(ctx context.Context)
	close()
}

// A faraway is the worktree of a remote attempt. The worker makes it, sets it up and removes it;
// here is only the branch.
type faraway struct {
	*claimed
	stop <-chan os.Signal
	// publish makes the lineage's branch and has the worker know its commit.
	publish func(context.Context, *attempt.Record) (branch string, err error)
}

func (p *faraway) prepare(ctx context.Context) (*attempt.Evidence, error) {
	return p.preparing(ctx, p.stop, func(ctx context.Context) error {
		branch, err := p.publish(ctx, p.rec)
		if err == nil {
			p.hand(handoff{
				Continuation: p.rec.Talk.Continues, resumes: p.rec.Talk.Resumes(),
				is: worktree.Condition{Branch: branch}, branch: branch, messages: p.rec.Talk.Said,
			})
		}
		return err
	})
}

// job has what gl itself tells the agent. All else is the worker's: the program's path, logins,
// ports and the sandbox.
func (p *faraway) job(argv []string) (executor.Job, *attempt.Evidence) {
	env := agent.StreamEnv(p.rec.Job.Stream, p.rec.Env(nil, p.rec.Job.Dir))
	return executor.Job{Path: p.rec.Job.Program, Argv: argv, Env: env}, nil
}

// sandboxed is false: gl's commands of the agent run here.
func (p *faraway) sandboxed() bool { return false }

func (p *faraway) lookAround(context.Context) {}
func (p *faraway) close()                     {}

// adopt goes on with a remote attempt whose gl serve is gone, to the agent's end.
func (s *session) adopt(ctx context.Context) (*attempt.Evidence, error) {
	if err := s.claimed.adopt(ctx); err != nil {
		return nil, err
	}
	s.hears = newListener(s.rec.Job.Stream, s.log, s.print, func() { s.checkCommand(ctx) })
	seen, err := s.hears.replay(s.rec.Life.Log)
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", s.rec.ID.Name(), err)
	}
	s.agent = s.settler.Executor.Find(executor.Lost{
		Marks: s.settler.Store.Files.Marks(s.rec), Leaves: executor.NothingBelow, Seen: seen,
	})
	if s.rec.Talk.Talks {
		s.talk = s.resumeTalk()
	}
	if s.rec.Life.Ending != "" {
		s.agent.End()
	}
	return s.follow(ctx)
}

// resumeTalk returns the talk with an agent that has its prompt. What it was told without having
// acknowledged it is still on its way.
func (s *session) resumeTalk() *talk {
	t := &talk{claimed: s.claimed, run: s.agent, told: map[string]bool{}}
	list, _ := s.settler.Store.Messages.Unheard(s.rec.ID.Work()) // tellNews reports what is wrong
	for _, m := range list {
		if m.Attempt == s.rec.ID.N {
			t.told[m.ID] = true
		}
	}
	return t
}

// replay takes in what the log has of the agent's newest start, without writing or printing it.
// seen is how much of the worker's log that is: all but gl's own notes, in whole lines.
func (l *listener) replay(path string) (seen int64, err error) {
	log := logfile.NewReader(path)
	defer log.Close()
	in, read, anew := lines.NewSplitter(lines.Max), int64(0), false
	err = in.Read(log, func(p lines.Piece) {
		size := int64(len(p.Text))
		if !p.More {
			size++ // the line's end
		}
		read += size
		note, isNote := logfile.ParseNote(p.Text)
		switch {
		case !isNote || p.Rest:
			l.dec.Piece(p)
		case note.From == logfile.Anew:
			l.dec, seen, anew = agent.NewDecoder(l.stream), 0, true
			return
		case note.From == logfile.Gl:
			return
		case note.From == logfile.Stderr:
			l.last.Hear(note.Text)
		}
		seen += size
	})
	if err != nil {
		return 0, err
	}
	torn := false
	in.End(func(p lines.Piece) { torn, read = true, read+int64(len(p.Text)) })
	if torn { // it comes again, whole
		l.log.Stdout(lines.Piece{})
	}
	size, err := log.Size()
	if err == nil && !anew && size > read { // the log's middle was removed
		seen += size - read
	}
	return seen, err
}

// attendElsewhere starts the agent of the same attempt on another worker, from the last snapshot
// of its work, or on the one that hasn't begun yet. The record names the new lease before anything
// of it is sent.
func (s *session) attendElsewhere(ctx context.Context, lost *executor.LostError) (
	*attempt.Evidence, error) {
	s.anew = true
	if lost.Unbegun {
		s.log.Note(logfile.Anew, lost.Error()+": the agent starts there as soon as it has the job")
		return s.attendThere(ctx)
	}
	s.log.Note(logfile.Anew, lost.Error()+": the agent starts on another worker, from the last snapshot")
	if s.rec.Talk.Resumes() {
		s.rec.Talk.BeginAnew(&s.rec.Job)
	}
	s.rec.Talk.Handoff = s.handOffAnew()
	return s.attendThere(ctx)
}

// attendThere starts the agent on the worker that has the attempt now.
func (s *session) attendThere(ctx context.Context) (*attempt.Evidence, error) {
	ev, err := s.attend(ctx)
	if errors.Is(err, errEnding) {
		return &attempt.Evidence{}, nil
	}
	return ev, err
}

// isRemote reports whether a worker has the attempt's agent.
func isRemote(r *attempt.Record) bool { return r.Life.Remote != nil }

// goesOn reports whether a gl serve before this one has started the agent.
func goesOn(r *attempt.Record) bool { return isRemote(r) && r.Life.Phase == plan.Started }
