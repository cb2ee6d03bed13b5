package attempt

import (
	"os"

	"greenlight/internal/base/command"
	"greenlight/internal/base/environ"
)

// A Gate is where an agent will be, and our ends of the pipes to it: a process that waits until the attempt is on disk. What it takes to
// start one is more than all else that a wrapper does before its agent, so it is started first.
type Gate struct {
	*command.Waiting

	out, err *os.File // what the agent writes
	in       *os.File // its stdin; whoever writes it closes it
}

// NewGate starts the gate of the attempt with that token, which marks it from its first instant as it does the agent.
func NewGate(self, token string) (*Gate, error) {
	g := &Gate{}
	var out, err, in *os.File // the agent's ends
	for _, e := range []struct{ r, w **os.File }{{&g.out, &out}, {&g.err, &err}, {&in, &g.in}} {
		r, w, failed := os.Pipe()
		if failed != nil {
			command.CloseAll(g.out, g.err, g.in, out, err, in)
			return nil, failed
		}
		*e.r, *e.w = r, w
	}
	var failed error
	if g.Waiting, failed = command.Wait(self, in, out, err, environ.Session+"="+token); failed != nil {
		command.CloseAll(g.out, g.err, g.in)
		return nil, failed
	}
	return g, nil
}

// Close ends a gate behind which no agent has begun; nil is none.
func (g *Gate) Close() {
	if g == nil {
		return
	}
	g.Waiting.Close()
	command.CloseAll(g.out, g.err, g.in)
	_ = g.Cmd.Wait()
}
