package wrapper

import (
	"context"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/executor"
	"greenlight/internal/state/tracker"
)

// A talk is the stdin of an agent that takes messages while it works: its prompt, then
// what a person says. The input ends once it has its result and nothing is left to say; only then
// does it exit.
type talk struct {
	*claimed
	run    executor.Run
	told   map[string]bool // messages that were written and aren't acknowledged yet
	closed bool
	size   int64 // of the file of messages when last read
	time   time.Time
}

const mostTold = 100 // messages that may be on their way to one agent

// newTalk returns the talk with an agent that was started with its prompt.
func newTalk(c *claimed, run executor.Run) *talk {
	return &talk{claimed: c, run: run, told: map[string]bool{}}
}

// tellNews passes on what a person has said since. What fails now is tried again at the next tick.
func (t *talk) tellNews(ctx context.Context) {
	if t == nil || t.closed || t.rec.Life.Ending != "" {
		return
	}
	info, err := durable.Stat(t.settler.Store.Messages.Path(t.rec.ID.Work()))
	if err != nil || info.Size() == t.size && info.ModTime().Equal(t.time) {
		return
	}
	var news []attempt.Message
	err = t.settler.Tracker.Do(ctx, func(tracker.Tx) (err error) {
		news, err = t.settler.Store.Messages.HandOver(t.rec, func(m attempt.Message) bool {
			return !t.told[m.ID] && len(t.told) < mostTold
		})
		return err
	})
	if err != nil {
		t.note("can't pass on what you said: " + err.Error())
		return
	}
	for _, m := range news {
		t.told[m.ID] = true
		// without room for it, the next attempt gets it
		_ = t.run.Talk(agent.UserMessage(m.ID, m.Words()))
	}
	if info, err := durable.Stat(t.settler.Store.Messages.Path(t.rec.ID.Work())); err == nil {
		t.size, t.time = info.Size(), info.ModTime()
	}
}

// takeHeard removes the messages that the agent has acknowledged.
func (t *talk) takeHeard(ctx context.Context, dec *agent.Decoder) {
	if t == nil || len(t.told) == 0 {
		return
	}
	var ids []string
	for _, id := range dec.Heard() {
		if t.told[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	err := t.settler.Tracker.Do(ctx, func(tracker.Tx) error {
		return t.settler.Store.Messages.Heard(t.rec, ids)
	})
	if err != nil {
		t.note(giveUpNote + err.Error())
		return
	}
	for _, id := range ids {
		delete(t.told, id)
	}
}

// hangUp ends the input of an agent that has its result, unless it still has to acknowledge
// something.
func (t *talk) hangUp(ctx context.Context) {
	if t == nil || t.closed {
		return
	}
	t.tellNews(ctx)
	if len(t.told) == 0 {
		t.closed = true
		t.run.CloseTalk()
	}
}
