package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/tracker"
)

// A Saying is a person's message to an agent, kept until the agent has it.
type Saying struct {
	Message attempt.Message
	Running *attempt.Record // the attempt under way; nil for none

	pr   *project.Project
	work string
}

// Say keeps a message for the agent of a slice or of a running task.
func Say(ctx context.Context, pr *project.Project, id, text string,
	now time.Time) (*Saying, error) {
	live, err := Running(pr)
	if err != nil {
		return nil, err
	}
	s := &Saying{pr: pr, work: id}
	if attempt.IsTask(id) {
		of := slices.DeleteFunc(live, func(r *attempt.Record) bool {
			return r.ID.Name() != id && r.ID.Slice != id
		})
		switch len(of) {
		case 0:
			return nil, fmt.Errorf("%s isn't running: gl status lists the tasks that are", id)
		case 1:
			s.Running, s.work = of[0], of[0].ID.Work()
		default:
			return nil, fmt.Errorf("%d attempts at %s are running: name one, such as %s", len(of),
				id, of[0].ID.Name())
		}
	} else {
		p, err := pr.Plan(now, pr.Options())
		if err != nil {
			return nil, err
		}
		st := p.State(id)
		switch {
		case st == nil:
			return nil, fmt.Errorf("%s: %w", id, tracker.ErrNotFound)
		case unchanged(ctx, st) != nil:
			return nil, unchanged(ctx, st)
		case st.Class == plan.Done:
			return nil, fmt.Errorf("%s is complete, so no agent would read it: %s", id, more(pr, id))
		case st.Class == plan.Waiting && st.Asks():
			return nil, fmt.Errorf("%s waits for an answer: gl answer %s TEXT gives it", id, id)
		}
		if i := slices.IndexFunc(live, func(r *attempt.Record) bool {
			return r.ID.Slice == id && pr.Has(r) && r.Life.Phase != plan.Queued
		}); i >= 0 {
			s.Running = live[i]
		}
	}
	err = pr.Tracker.Do(ctx, func(tracker.Tx) (err error) {
		if err := pr.Runs.Files.Prepare(); err != nil {
			return err
		}
		s.Message, err = pr.Runs.Messages.Say(pr.Key(), s.work, text, now)
		return err
	})
	return s, err
}

// An Arrival is how far a message has come.
type Arrival int

const (
	Kept    Arrival = iota // not delivered: the next agent gets it
	Handed                 // on its way: the agent reads it when its tool call ends
	Heard                  // the agent has it
	Ended                  // the attempt ended first: the next one gets it
	Dropped                // the work was complete first: the message is dropped
)

const (
	handTime = 5 * time.Second // for a wrapper to see a message
	hearTime = time.Second     // for an agent that isn't in a tool call
	sayPause = 50 * time.Millisecond
)

// Arrive waits briefly for the message to arrive.
func (s *Saying) Arrive(ctx context.Context) (Arrival, error) {
	if s.Running == nil || !s.Running.Talk.Talks {
		return Kept, nil
	}
	begun, state := time.Now(), Kept
	for {
		list, err := s.pr.Runs.Messages.Unheard(s.work)
		if err != nil {
			return state, err
		}
		i := slices.IndexFunc(list, func(m attempt.Message) bool { return m.ID == s.Message.ID })
		if i < 0 {
			return s.gone(), nil
		}
		limit := handTime
		if list[i].Attempt != 0 {
			if state != Handed {
				begun = time.Now()
			}
			state, limit = Handed, hearTime
		}
		if rec, err := s.pr.Runs.Get(s.Running.ID.Slice, s.Running.ID.N); err != nil ||
			rec.Life.Phase == plan.Settled || rec.Life.Phase == plan.Queued {
			// settling the attempt may drop it
			if list, err := s.pr.Runs.Messages.Unheard(s.work); err == nil &&
				!slices.ContainsFunc(list, func(m attempt.Message) bool {
					return m.ID == s.Message.ID
				}) {
				return s.gone(), nil
			}
			return Ended, nil
		}
		if time.Since(begun) > limit {
			return state, nil
		}
		select {
		case <-ctx.Done():
			return state, errors.Join(ctx.Err())
		case <-time.After(sayPause):
		}
	}
}

// gone returns why a message is no longer kept.
func (s *Saying) gone() Arrival {
	if s.pr.Runs.Messages.Dropped(s.Message) {
		return Dropped
	}
	return Heard
}

// Told says in words how far the message has come.
func (s *Saying) Told(how Arrival) string {
	who := s.work
	if s.Running != nil {
		who = s.Running.ID.Name()
		if !s.Running.ID.IsTask() {
			who = s.Running.ID.Slice
		}
	}
	switch {
	case how == Heard:
		return who + " has it"
	case how == Dropped:
		return fmt.Sprintf("%s was complete before its agent could read it: %s", who, more(s.pr, who))
	case how == Handed:
		return fmt.Sprintf("said to %s: its agent reads it when its tool call ends", who)
	case how == Ended:
		return who + " ended before it could read this; it gets it when it starts again"
	case s.Running == nil:
		return who + " isn't running; its agent gets this when it starts"
	case !s.Running.Talk.Talks:
		return fmt.Sprintf("%s can't read messages while it works; %s gets this one when it starts again",
			s.Running.Job.Agent, who)
	}
	return who + " gets it as soon as its agent runs"
}

// more says how to have an agent do more about what is complete.
func more(pr *project.Project, id string) string {
	if pr.RequireGreenlight() != nil {
		return "gl quick TEXT has an agent do another task"
	}
	return fmt.Sprintf("gl undo %s takes it back, and gl add-slice adds another one", id)
}

// mostSaid limits a message in bytes.
const mostSaid = 64 << 10

// Sayable reports whether the text can be given to an agent.
func Sayable(text string) bool {
	return text != "" && len(text) <= mostSaid && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t'
	})
}
