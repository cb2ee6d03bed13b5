package attempt

import (
	"bytes"
	"os"
)

// pipes are the ends of those between a wrapper, its gate and its agent, which need closing in the right places.
type pipes struct {
	outRead, outWrite       *os.File
	stderrRead, stderrWrite *os.File
	goRead, goWrite         *os.File
	errRead, errWrite       *os.File
}

func newPipes() (*pipes, error) {
	p := &pipes{}
	for _, e := range []struct{ r, w **os.File }{
		{&p.outRead, &p.outWrite}, {&p.stderrRead, &p.stderrWrite}, {&p.goRead, &p.goWrite}, {&p.errRead, &p.errWrite},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeChildEnds()
			p.closeOurEnds()
			return nil, err
		}
		*e.r, *e.w = r, w
	}
	return p, nil
}

func (p *pipes) closeChildEnds() { closeAll(p.outWrite, p.stderrWrite, p.goRead, p.errWrite) }
func (p *pipes) closeOurEnds()   { closeAll(p.outRead, p.stderrRead, p.goWrite, p.errRead) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// execError sends why the gate couldn't become the agent, "" once it has.
func (p *pipes) execError() <-chan string {
	c := make(chan string, 1)
	go func() {
		defer p.errRead.Close()
		var b bytes.Buffer
		b.ReadFrom(p.errRead)
		c <- b.String()
	}()
	return c
}
