package hub

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"greenlight/internal/core/remote"
)

// A line has the two queues of one worker: it puts into the engine what comes from the worker, and
// gives the worker what the engine has for it, as long as there is a connection.
type line struct {
	engine *engine
	worker string
	from   jetstream.ConsumeContext
	subs   []*nats.Subscription
	sent   *delivery
}

func toQueue(worker string) string   { return "to-" + worker }
func fromQueue(worker string) string { return "from-" + worker }

// What is answered to a message: that it is on disk or handled, or that the worker has to wait.
const (
	answerKept = "+"
	answerFull = "full"
)

// newLine opens the queues of a worker. What it sends goes to in until ctx ends.
func newLine(ctx context.Context, e *engine, worker string, in chan<- Envelope) (*line, error) {
	l := &line{engine: e, worker: worker, sent: &delivery{}}
	for _, name := range []string{toQueue(worker), fromQueue(worker)} {
		if err := e.queue(ctx, name); err != nil {
			return nil, err
		}
	}
	for subject, f := range map[string]nats.MsgHandler{fromSubject(worker): l.keep,
		readySubject(worker): l.begin, ackSubject(worker, "*"): l.acknowledged} {
		sub, err := e.inside.Subscribe(subject, f)
		if err != nil {
			l.close()
			return nil, err
		}
		// beyond that, what the worker sends is dropped; it sends that again
		_ = sub.SetPendingLimits(4*mostFlying, mostQueued)
		l.subs = append(l.subs, sub)
	}
	var err error
	l.from, err = e.read(ctx, fromQueue(worker), func(m queued) {
		select {
		case in <- Envelope{Worker: worker, Data: m.data, Ack: m.remove}:
		case <-ctx.Done():
		}
	})
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// keep puts a message of the worker into its queue, and tells the worker once it is on disk.
func (l *line) keep(m *nats.Msg) {
	if len(m.Data) > remote.MaxMessage || !strings.HasPrefix(m.Reply, inbox(l.worker)+".") {
		return // no worker of gl's sends that
	}
	kept, err := l.engine.js.PublishAsync(l.engine.subject(fromQueue(l.worker)), m.Data)
	if err != nil {
		return // it sends it again
	}
	go func() {
		select {
		case <-kept.Ok():
			_ = m.Respond([]byte(answerKept))
		case err := <-kept.Err():
			if errors.Is(full(err), ErrFull) {
				_ = m.Respond([]byte(answerFull))
			}
		}
	}()
}

// begin begins to deliver: the worker listens now, to everything that it hasn't acknowledged.
func (l *line) begin(m *nats.Msg) {
	l.sent.end()
	if !strings.HasPrefix(m.Reply, inbox(l.worker)+".") {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	reading, err := l.engine.read(ctx, toQueue(l.worker), func(m queued) {
		_ = l.engine.inside.PublishMsg(&nats.Msg{Subject: toSubject(l.worker), Data: m.data,
			Reply: ackSubject(l.worker, l.sent.add(m))})
	})
	if err != nil {
		return // it asks again
	}
	l.sent.begin(reading)
	_ = m.Respond([]byte(answerKept))
}

// acknowledged removes what the worker has handled. Where a worker has just gone, NATS itself
// answers that there is no listener, with a message that has no text.
func (l *line) acknowledged(m *nats.Msg) {
	if string(m.Data) != answerKept {
		return
	}
	l.sent.done(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
}

// end ends the delivery: the worker is gone. What it hasn't acknowledged is for its next
// connection.
func (l *line) end() { l.sent.end() }

func (l *line) close() {
	if l.from != nil {
		l.from.Stop()
	}
	for _, sub := range l.subs {
		_ = sub.Unsubscribe()
	}
	if l.sent != nil {
		l.sent.end()
	}
}

// A delivery has the messages that are delivered and not acknowledged.
type delivery struct {
	mu      sync.Mutex
	waiting map[string]queued
	reading jetstream.ConsumeContext // nil while nothing is delivered
}

func (d *delivery) begin(c jetstream.ConsumeContext) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reading = c
}

func (d *delivery) add(m queued) (number string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[string]queued{}
	}
	number = strconv.FormatUint(m.number, 10)
	d.waiting[number] = m
	return number
}

func (d *delivery) done(number string) {
	d.mu.Lock()
	m, waits := d.waiting[number]
	delete(d.waiting, number)
	d.mu.Unlock()
	if waits {
		_ = m.remove() // if that fails, it comes again
	}
}

func (d *delivery) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reading != nil {
		d.reading.Stop()
	}
	d.reading, d.waiting = nil, nil
}
