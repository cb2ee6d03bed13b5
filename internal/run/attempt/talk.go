package attempt

import (
	"context"
	"os"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/logfile"
	"greenlight/internal/core/agent"
	"greenlight/internal/state/tracker"
)

// A talk is the stdin of an agent that takes messages while it works. It gets its prompt there, then what a person says, and the end of
// the input once it has its result and nothing is left to say: only then it exits.
type talk struct {
	lines  chan []byte
	told   map[string]bool // messages that were written and that it hasn't said that it has
	closed bool
	size   int64 // of the file of messages when it was read last
	time   time.Time
}

const talkRoom = 200 // messages to one agent

// newTalk writes the prompt, and then what is said, into the pipe. A client that doesn't read holds up nobody.
func newTalk(in *os.File, prompt string) *talk {
	t := &talk{lines: make(chan []byte, talkRoom), told: map[string]bool{}}
	t.lines <- agent.UserMessage("", prompt)
	go func() {
		defer in.Close()
		for line := range t.lines {
			if _, err := in.Write(line); err != nil { // it has ended
				break
			}
		}
		for range t.lines {
		}
	}()
	return t
}

func (t *talk) close() {
	if t != nil && !t.closed {
		t.closed = true
		close(t.lines)
	}
}

// tellNews hands over what a person has said since. What can't be done now is tried again at the next tick.
func (w *Wrapper) tellNews(ctx context.Context) {
	t := w.talk
	if t == nil || t.closed || w.rec.Life.Ending != "" {
		return
	}
	info, err := durable.Stat(w.Store.Messages.sayPath(w.rec.ID.Work()))
	if err != nil || info.Size() == t.size && info.ModTime().Equal(t.time) {
		return
	}
	var news []Message
	err = w.Tracker.Do(ctx, func(tracker.Tx) (err error) {
		news, err = w.Store.Messages.handOver(w.rec, func(m Message) bool { return !t.told[m.ID] && len(t.told) < talkRoom/2 })
		return err
	})
	if err != nil {
		w.log.note(logfile.Gl, "what a person says can't be handed over: "+err.Error())
		return
	}
	for _, m := range news {
		t.told[m.ID] = true
		select {
		case t.lines <- agent.UserMessage(m.ID, m.words()):
		default: // the client has read nothing for a long time; the next attempt is told
		}
	}
	if info, err := durable.Stat(w.Store.Messages.sayPath(w.rec.ID.Work())); err == nil {
		t.size, t.time = info.Size(), info.ModTime()
	}
}

// takeHeard forgets the messages that the agent says it has.
func (w *Wrapper) takeHeard(ctx context.Context) {
	t := w.talk
	if t == nil || len(t.told) == 0 {
		return
	}
	var ids []string
	for _, id := range w.dec.Heard() {
		if t.told[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	err := w.Tracker.Do(ctx, func(tracker.Tx) error { return w.Store.Messages.heard(w.rec, ids) })
	if err != nil {
		w.log.note(logfile.Gl, giveUpNote+err.Error())
		return
	}
	for _, id := range ids {
		delete(t.told, id)
	}
}

// hangUp ends the input of an agent that has its result, unless something was said that it doesn't have yet.
func (w *Wrapper) hangUp(ctx context.Context) {
	if w.talk == nil || w.talk.closed || w.dec.Summary().Result == nil {
		return
	}
	w.tellNews(ctx)
	if len(w.talk.told) == 0 {
		w.talk.close()
	}
}
