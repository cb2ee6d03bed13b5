package attempt

import (
	"os"

	"greenlight/internal/command"
)

// pipes are the ends of those between a wrapper, its gate and its agent, which need closing in the right places.
type pipes struct {
	*command.Latch

	outRead, outWrite       *os.File
	stderrRead, stderrWrite *os.File
	inRead, inWrite         *os.File // stdin; whoever writes it closes it
}

func newPipes() (*pipes, error) {
	latch, err := command.NewLatch()
	if err != nil {
		return nil, err
	}
	p := &pipes{Latch: latch}
	for _, e := range []struct{ r, w **os.File }{{&p.outRead, &p.outWrite}, {&p.stderrRead, &p.stderrWrite}, {&p.inRead, &p.inWrite}} {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeChildEnds()
			p.closeOurEnds()
			command.CloseAll(p.inWrite)
			return nil, err
		}
		*e.r, *e.w = r, w
	}
	return p, nil
}

func (p *pipes) closeChildEnds() {
	p.CloseChild()
	command.CloseAll(p.outWrite, p.stderrWrite, p.inRead)
}

func (p *pipes) closeOurEnds() {
	p.Close()
	command.CloseAll(p.outRead, p.stderrRead)
}
