package hub

import (
	"runtime"

	"github.com/nats-io/nats.go"
)

// NewCertificate is for tests that speak to the port by hand.
var NewCertificate = newCertificate

// SetMaxPush makes pushes smaller, for tests.
func (x *Exchange) SetMaxPush(n int64) { x.most = n }

// Begin asks for the delivery to a worker as the worker does, and returns once its first message is
// on the way.
func (h *Hub) Begin(worker string) {
	l := h.line(worker)
	l.begin(&nats.Msg{Reply: inbox(worker) + ".x", Sub: l.subs[0]})
	for sent := false; !sent; {
		l.sent.mu.Lock()
		sent = len(l.sent.waiting) > 0
		l.sent.mu.Unlock()
		runtime.Gosched()
	}
	_ = l.engine.inside.Flush()
}
