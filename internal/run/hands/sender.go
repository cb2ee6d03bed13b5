package hands

import (
	"context"
	"time"

	"greenlight/internal/core/remote"
	"greenlight/internal/run/hub"
)

const (
	// sendRoom is how many messages wait for the connection. More are dropped: the machine sends
	// again what isn't answered.
	sendRoom  = 256
	sendLimit = 15 * time.Second // for one message, with the time until there is a connection
)

// A sender sends messages in their order, without making the machine wait.
type sender struct {
	hub  hub.Worker
	out  chan []byte
	done chan struct{}
}

func newSender(ctx context.Context, h hub.Worker) *sender {
	s := &sender{hub: h, out: make(chan []byte, sendRoom), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for data := range s.out {
			ctx, cancel := context.WithTimeout(ctx, sendLimit)
			_ = h.Send(ctx, data) // a message may be lost
			cancel()
		}
	}()
	return s
}

// send queues a message. One that can't be encoded is a mistake of this program's, and dropped.
func (s *sender) send(m remote.ToCoordinator) {
	data, err := remote.Encode(m)
	if err != nil {
		return
	}
	select {
	case s.out <- data:
	default:
	}
}

// closeLimit is how long the last messages may take.
const closeLimit = 5 * time.Second

// close waits for the last messages, a goodbye among them.
func (s *sender) close() {
	close(s.out)
	select {
	case <-s.done:
	case <-time.After(closeLimit):
	}
}
