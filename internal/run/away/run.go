package away

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/durable"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/workers"
)

// A run is one start of an agent on a worker. Its output is read from the part of the worker's log
// that is home.
type run struct {
	server *server
	name   string // of the errand
	talks  bool   // it hears lines
	apart  bool   // its log has stdout, and notes of stderr; otherwise it is one stream
	from   int64  // where in the errand's file the output begins that isn't known yet

	output chan executor.Chunk
	news   chan struct{} // receives a value when the log is longer
	exited chan struct{}

	mu     sync.Mutex
	over   bool
	hungUp bool
	lines  []remote.Speak // not yet passed to the machine
	told   int            // bytes of these
	onWay  int            // bytes of lines that the machine has, and the program may not have
	ctxErr error          // why it is being ended; nil unless a context is over
	res    command.Result
	err    error
	result *remote.Result // nil until it is settled
	fence  remote.Fence   // of result
}

// newRun returns a run of a program; nil if that isn't known any more.
func newRun(s *server, name string, c *remote.Command) *run {
	r := &run{server: s, name: name, output: make(chan executor.Chunk, 64),
		news: make(chan struct{}, 1), exited: make(chan struct{}), apart: true}
	if c != nil {
		r.talks, r.apart = c.Talks, c.Apart || c.Talks
	}
	return r
}

// begin begins to read the log from there on.
func (r *run) begin(from int64) {
	r.from = from
	go r.read()
}

// Handle returns no process: a worker's job is known by its name.
func (r *run) Handle() command.Handle        { return command.Handle{} }
func (r *run) Output() <-chan executor.Chunk { return r.output }
func (r *run) Exited() <-chan struct{}       { return r.exited }

func (r *run) Wait() (command.Result, error) {
	<-r.exited
	return r.res, r.err
}

// talkRoom is how many bytes may be on their way to one program.
const talkRoom = 1 << 20

// Talk has the worker tell the program a line. To one that is over it says nothing, as a local
// process does.
func (r *run) Talk(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.talks || r.hungUp:
		return executor.ErrHungUp
	case r.over:
		return nil
	case r.told+r.onWay+len(line) > talkRoom || len(line) > remote.MaxLine:
		return executor.ErrNoRoom
	}
	r.told += len(line)
	r.tell(remote.Speak{Attempt: r.name, Line: line})
	return nil
}

// CloseTalk has the worker end the program's input.
func (r *run) CloseTalk() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.talks && !r.hungUp && !r.over {
		r.tell(remote.Speak{Attempt: r.name, Close: true})
	}
	r.hungUp = true
}

// tell has the loop take a line. It is called with the run's lock, for the order of lines.
func (r *run) tell(e remote.Speak) {
	r.lines = append(r.lines, e)
	if len(r.lines) > 1 {
		return // it is being done
	}
	go func() {
		for more := true; more; {
			r.mu.Lock()
			e := r.lines[0]
			r.mu.Unlock()
			r.server.inLoop(func() error { return r.server.step(e) })
			r.mu.Lock()
			r.told -= len(e.Line)
			r.lines = r.lines[1:]
			more = len(r.lines) > 0 && r.server.life.Err() == nil
			r.mu.Unlock()
		}
	}()
}

// unread takes in what the machine has for the program.
func (r *run) unread(t *remote.Talk) {
	n := 0
	for i := range t.Lines {
		n += len(t.Lines[i].Text)
	}
	r.mu.Lock()
	r.onWay = n
	r.mu.Unlock()
}

func (r *run) End()  { r.halt(false) }
func (r *run) Kill() { r.halt(true) }

// halt has the worker end the agent. An attempt that no worker has ever had ends here.
func (r *run) halt(kill bool) {
	if r.isOver() {
		return
	}
	reason := remote.Text("gl stop")
	r.server.post(remote.Stop{Attempt: r.name, Halting: remote.Halting{Kill: kill, Reason: reason}})
	go r.server.call(func() {
		if a := r.server.known[r.name]; a == nil && !r.isOver() {
			r.finish(unseen(), nil)
		}
	})
}

// heed ends the job with a context, unless gl serve ends.
func (r *run) heed(ctx context.Context) {
	select {
	case <-r.exited:
		return
	case <-ctx.Done():
	}
	if r.server.life.Err() != nil {
		return
	}
	r.mu.Lock()
	r.ctxErr = ctx.Err()
	r.mu.Unlock()
	r.End()
}

func (r *run) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// more says that the log is longer.
func (r *run) more() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// settle ends the run with what its worker has offered.
func (r *run) settle(e remote.Settle) {
	res, err := workers.ResultOf(&e.Result)
	r.mu.Lock()
	r.result, r.fence = &e.Result, e.Fence
	r.mu.Unlock()
	r.finish(res, err)
}

// settledAs reports whether the run ended with what the lease's worker had offered.
func (r *run) settledAs(f remote.Fence) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result != nil && r.fence == f
}

// lose ends the run since its worker is lost or refuses it.
func (r *run) lose(v remote.Vacant) {
	r.loseAs(v, false)
}

// loseAs is lose, unbegun if the same worker gets the job again, and nothing of it had begun.
func (r *run) loseAs(v remote.Vacant, unbegun bool) {
	r.finish(unseen(), &executor.LostError{Where: "worker " + v.Worker, Why: string(v.Why), Unbegun: unbegun})
}

func (r *run) finish(res command.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	if r.ctxErr != nil {
		err = r.ctxErr
	}
	r.over, r.res, r.err = true, res, err
	close(r.exited)
}

// unseen is the result of a job that is over and whose end was not observed.
func unseen() command.Result { return command.Result{ExitCode: -1, Unseen: true} }

// read passes on what is home of the worker's log, line by line: the offset at which a later gl
// serve goes on is then in the attempt's own log.
func (r *run) read() {
	defer close(r.output)
	split := lines.NewSplitter(lines.Max)
	pos := r.from
	for {
		over := false
		select {
		case <-r.news:
		case <-r.exited:
			over = true
		case <-r.server.life.Done():
			return
		case <-time.After(time.Second): // a log that was long before this run began
		}
		var ok bool
		if pos, ok = r.pass(pos, split); !ok {
			return
		}
		if over {
			split.End(r.line) // of one stream, everything is passed on by now
			return
		}
	}
}

// pass passes on what the file has from pos on.
func (r *run) pass(pos int64, split *lines.Splitter) (end int64, ok bool) {
	file, err := durable.Open(r.server.files.log(r.name))
	if err != nil {
		return pos, true // nothing of it is home yet
	}
	defer file.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buf, pos)
		if r.apart {
			split.Write(buf[:n], r.line)
		} else if n > 0 {
			r.put(executor.Chunk{Data: bytes.Clone(buf[:n])})
		}
		pos += int64(n)
		if err != nil || n == 0 {
			return pos, errors.Is(err, io.EOF) || err == nil
		}
		if r.server.life.Err() != nil {
			return pos, false
		}
	}
}

// line passes on a line of the worker's log: a note of its stderr, one of its worker, or stdout.
func (r *run) line(p lines.Piece) {
	c := executor.Chunk{}
	if note, ok := logfile.ParseNote(p.Text); ok && !p.Rest {
		c.Stderr, c.Note = note.From == logfile.Stderr, note.From != logfile.Stderr
		c.Data = []byte(strings.TrimRight(note.Text, "\n") + "\n")
	} else {
		c.Data = append(c.Data, p.Text...)
		if !p.More {
			c.Data = append(c.Data, '\n')
		}
	}
	r.put(c)
}

func (r *run) put(c executor.Chunk) {
	select {
	case r.output <- c:
	case <-r.server.life.Done():
	}
}
