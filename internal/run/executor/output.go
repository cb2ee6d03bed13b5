package executor

import (
	"bytes"
	"os"
	"sync"
	"time"
)

const (
	// polling interval for output left in the pipes after the program is gone,
	pipeTick  = 50 * time.Millisecond
	pipeTicks = 10             // which ends after this many silent ticks in a row,
	pipeLimit = 200 * pipeTick // or at the latest after this, also counted in ticks
)

// output reads a program's pipes. Chunks are small, and so is unread data.
type output struct {
	raw   chan Chunk // from the pipes; closed at their ends
	out   chan Chunk // to the reader
	ended chan struct{}
	over  chan struct{} // closed when no more is passed on
}

// newOutput reads the program's stdout and stderr, which may be nil.
func newOutput(stdout, stderr *os.File) *output {
	o := &output{
		raw: make(chan Chunk), out: make(chan Chunk, 64),
		ended: make(chan struct{}), over: make(chan struct{}),
	}
	var wg sync.WaitGroup
	for i, in := range []*os.File{stdout, stderr} {
		if in != nil {
			wg.Add(1)
			go func() {
				defer wg.Done()
				o.read(in, i == 1)
			}()
		}
	}
	go func() {
		wg.Wait()
		close(o.raw)
	}()
	go o.pass()
	return o
}

// read passes on the data from in, and closes it. After the output's end it keeps reading and
// discards the data: a service outside the group, which setup may have started, would die from
// a closed pipe.
func (o *output) read(in *os.File, stderr bool) {
	defer in.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			select {
			case o.raw <- Chunk{Stderr: stderr, Data: bytes.Clone(buf[:n])}:
			case <-o.over:
			}
		}
		if err != nil {
			return
		}
	}
}

// pass passes on what the pipes have, and after the program's end what is left in them.
func (o *output) pass() {
	defer close(o.out)
	defer close(o.over)
	for {
		select {
		case c, ok := <-o.raw:
			if !ok {
				return
			}
			o.out <- c
		case <-o.ended:
			takeRest(o.raw, func(c Chunk) { o.out <- c })
			return
		}
	}
}

// end is called once the program and what it left are gone.
func (o *output) end() { close(o.ended) }

// takeRest reads what is left in the pipes, up to their end or until no more data comes,
// because a process outside the group may hold them open. Silence is counted in ticks rather
// than measured: on a busy machine the end of a long output can take longer than any fixed
// grace period, and ticks don't accumulate while this process waits for a CPU.
func takeRest[T any](rest <-chan T, take func(T)) {
	tick := time.NewTicker(pipeTick)
	defer tick.Stop()
	for silent, ticks := 0, 0; silent < pipeTicks && time.Duration(ticks)*pipeTick < pipeLimit; {
		select {
		case c, ok := <-rest:
			if !ok {
				return
			}
			take(c)
			silent = 0
		case <-tick.C:
			silent++
			ticks++
		}
	}
}
