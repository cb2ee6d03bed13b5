package attempt

import (
	"fmt"
	"strings"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
)

// Journal is the project's journal.
func (s *Store) Journal() *journal.Journal { return s.diary.journal }

// Event is an event of the attempt, with the key by which it is written once.
func (id *Identity) Event(k journal.Kind) journal.Event {
	return journal.Event{Kind: k, System: id.System, Slice: id.Slice, Attempt: id.N,
		Key: fmt.Sprintf("%s.%s.%s", id.Name(), id.Token[max(0, len(id.Token)-6):], k)}
}

// A diary writes the events of attempts into the journal.
type diary struct{ journal *journal.Journal }

// tell writes the events of the phase that the record has just reached. The record is on the
// disk. What can't be written is the journal's to keep, and to tell: see journal.Trouble. Again
// says that the record may have reached it before.
func (d diary) tell(r *Record, again bool) {
	if again || r.Life.Phase != plan.Claimed && !r.Life.isOurs() ||
		r.Life.Phase == plan.Settled && r.Landing != nil {
		d.retell(r)
		return
	}
	_ = d.journal.Append(eventsOf(r, r.Life.Phase)...)
}

// Tell writes into the journal how far the attempt is by its record, which is on disk.
func (s *Store) Tell(r *Record) { s.diary.tell(r, false) }

// retell writes those events of the attempt up to now that the journal lacks. It is for the
// process that takes over what another process has left: that may have been killed between the
// record and the event. If the attempt was judged twice, the first verdict may be the one in
// ended; settled has the last.
func (d diary) retell(r *Record) {
	var all []journal.Event
	for _, p := range []plan.Phase{plan.Claimed, plan.Started, plan.Queued, plan.Ended,
		plan.Settled} {
		all = append(all, eventsOf(r, p)...)
	}
	_ = d.journal.AppendOnce(all...)
}

// isOurs reports whether this process has made the record what it is.
func (l *Life) isOurs() bool { return l.Wrapper != nil && *l.Wrapper == proc.Self() }

// eventsOf are those of one phase, with the times that the record has: nil if it hasn't come
// that far.
func eventsOf(r *Record, p plan.Phase) []journal.Event {
	event := func(k journal.Kind, at time.Time) journal.Event {
		e := r.ID.Event(k)
		e.Time, e.Worker = at, r.Life.Remote.Label()
		return e
	}
	switch {
	case p == plan.Claimed && r.Accepted(): // the attempt that built it was claimed
		return nil
	case p == plan.Claimed:
		e := event(journal.Claimed, r.Life.ClaimedAt)
		e.Agent, e.Runner, e.Branch = r.Job.Agent, r.Job.Runner,
			strings.TrimPrefix(r.Place.Branch, "refs/heads/")
		return []journal.Event{e}
	case p == plan.Started && r.Life.StartedAt != nil:
		e := event(journal.Launched, *r.Life.StartedAt)
		if e.Agent = r.Job.Agent; r.Life.Process != nil {
			e.PID = r.Life.Process.PID
		}
		return []journal.Event{e}
	case p == plan.Queued && r.Landing != nil:
		e := event(journal.Queued, r.Landing.Queued)
		e.Agent, e.Branch = r.Job.Agent, strings.TrimPrefix(r.Place.Branch, "refs/heads/")
		addSpent(r, &e)
		return []journal.Event{e}
	case p == plan.Ended && r.Judged.Outcome != "" && r.Landing != nil && r.Life.SettledAt != nil:
		return append(landEvents(r, event(journal.Landed, *r.Life.SettledAt)),
			endEvents(r, event(journal.Ended, *r.Life.SettledAt))...)
	case p == plan.Ended && r.Judged.Outcome != "" && r.Life.EndedAt != nil && r.Landing == nil:
		return endEvents(r, event(journal.Ended, *r.Life.EndedAt))
	case p == plan.Settled && r.Life.Phase == plan.Settled && r.Life.SettledAt != nil:
		e := event(journal.Settled, *r.Life.SettledAt)
		if e.Outcome = string(r.Judged.Outcome); r.Judged.After != nil {
			e.Status, e.Step = r.Judged.After.Status, r.Judged.After.Step
		}
		all := []journal.Event{e}
		if r.needsPerson() {
			e := event(journal.NeedsYou, *r.Life.SettledAt)
			if e.Reason = r.Judged.Detail; r.Judged.Outcome != outcome.Waiting {
				e.Reason = r.Judged.Outcome.Text(r.Judged.Detail)
			}
			all = append(all, e)
		}
		return all
	}
	return nil
}

// landEvents say that the work is in the lane, if it is.
func landEvents(r *Record, e journal.Event) []journal.Event {
	g := r.Landing
	if r.Judged.Outcome != outcome.Done || g.Commit == "" {
		return nil
	}
	if r.Judged.Verified == plan.Unverified {
		e.Outcome = journal.Untested
	}
	e.Commit, e.Target, e.Branch, e.Detail = g.Commit, strings.TrimPrefix(g.Target, "refs/heads/"),
		strings.TrimPrefix(r.Place.Branch, "refs/heads/"), r.Judged.Detail
	return []journal.Event{e}
}

func endEvents(r *Record, e journal.Event) []journal.Event {
	e.Agent, e.Outcome, e.Detail = r.Job.Agent, string(r.Judged.Outcome), r.Judged.Detail
	if r.Landing != nil {
		e.AgentEnded = r.Life.EndedAt
	}
	addSpent(r, &e)
	if res := r.Judged.evidence().Result; res != nil {
		e.Turns = res.Turns
	}
	if why := r.Judged.evidence().Worktree; why != "" {
		failed := r.ID.Event(journal.SetupFailed)
		failed.Time, failed.Reason = e.Time, why
		return []journal.Event{failed, e}
	}
	return []journal.Event{e}
}

// addSpent adds what the agent has cost, in money, tokens and time.
func addSpent(r *Record, e *journal.Event) {
	e.CostUSD = r.Judged.Cost()
	if r.Life.StartedAt != nil && r.Life.EndedAt != nil {
		ms := r.Life.EndedAt.Sub(*r.Life.StartedAt).Milliseconds()
		e.DurationMS = &ms
	}
	if u := r.Judged.evidence().Tokens; u != nil {
		e.Tokens = &journal.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead,
			CacheWrite: u.CacheWrite}
	}
}

// tellGivenBack writes that the claim was undone.
func (d diary) tellGivenBack(r *Record) {
	_ = d.journal.AppendOnce(append(eventsOf(r, plan.Claimed), r.ID.Event(journal.GivenBack))...)
}

// tellStop writes that gl has begun to end the attempt: gl stop first and then, at its signal,
// the wrapper.
func (d diary) tellStop(r *Record) {
	e := r.ID.Event(journal.Stopped)
	e.Reason, e.Detail = r.Life.Ending, r.Life.EndingDetail
	_ = d.journal.AppendOnce(e)
}

// Tell writes that everybody waits, or an agent does. A settler that was killed may put the
// same hold again.
func (s *HoldFile) Tell(h *plan.Hold) { _ = s.journal.AppendOnce(holdEvent(journal.Held, h)) }

// TellEnded writes that a hold is over: since it was lifted, or since its time came. Everybody
// who notices may call it.
func (s *HoldFile) TellEnded(h *plan.Hold, now time.Time) {
	if h == nil {
		return
	}
	e := holdEvent(journal.HoldEnded, h)
	if e.Time = now; h.Until.Before(now) {
		e.Time = h.Until
	}
	_ = s.journal.AppendOnce(e)
}

func holdEvent(k journal.Kind, h *plan.Hold) journal.Event {
	key := fmt.Sprintf("%s.%d.%d", k, h.Since.UnixMilli(), h.Until.UnixMilli())
	if h.Agent != "" {
		key += "." + h.Agent
	}
	return journal.Event{Kind: k, Agent: h.Agent, Until: &h.Until, Reason: h.Kind, Detail: h.Reason,
		By: h.By, Key: key}
}
