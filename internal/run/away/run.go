package away

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"greenlight/internal/base/command"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/executor"
)

// A run is one start of an agent on a worker. Its output is read from the part of the worker's log
// that is home.
type run struct {
	server *server
	name   string // of the attempt
	from   int64  // where in the attempt's file the output begins that isn't known yet
	handle command.Handle

	output chan executor.Chunk
	news   chan struct{} // receives a value when the log is longer
	exited chan struct{}

	mu     sync.Mutex
	over   bool
	res    command.Result
	err    error
	result *remote.Result // nil until it is settled
	fence  remote.Fence   // of result
}

func newRun(s *server, name string) *run {
	return &run{server: s, name: name, output: make(chan executor.Chunk, 64),
		news: make(chan struct{}, 1), exited: make(chan struct{})}
}

// begin begins to read the log from there on.
func (r *run) begin(from int64) {
	r.from = from
	go r.read()
}

func (r *run) Handle() command.Handle        { return r.handle }
func (r *run) Output() <-chan executor.Chunk { return r.output }
func (r *run) Exited() <-chan struct{}       { return r.exited }

func (r *run) Wait() (command.Result, error) {
	<-r.exited
	return r.res, r.err
}

func (r *run) Talk(line []byte) error {
	if r.isOver() {
		return executor.ErrHungUp
	}
	r.server.post(remote.Speak{Attempt: r.name, Line: line})
	return nil
}

func (r *run) CloseTalk() {
	if !r.isOver() {
		r.server.post(remote.Speak{Attempt: r.name, Close: true})
	}
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
	res, err := ended(&e.Result)
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
	r.finish(unseen(), &executor.LostError{Where: "worker " + v.Worker, Why: string(v.Why)})
}

func (r *run) finish(res command.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over, r.res, r.err = true, res, err
	close(r.exited)
}

// unseen is the result of a job that is over without anybody having seen how.
func unseen() command.Result { return command.Result{ExitCode: -1, Unseen: true} }

// ended returns a worker's result as that of a job here.
func ended(r *remote.Result) (command.Result, error) {
	res := command.Result{
		Program: string(r.Program), ExitCode: r.ExitCode, Signal: string(r.Signal), TimedOut: r.TimedOut,
		OutOfMemory: r.Memory, Last: string(r.Last), Duration: time.Duration(r.Took) * time.Millisecond,
	}
	for _, left := range r.Left {
		res.Left = append(res.Left, string(left))
	}
	if r.Leftover != "" {
		res.Leftover = errors.New(string(r.Leftover))
	}
	switch r.How {
	case remote.Failed:
		return res, &executor.PlaceError{Reason: string(r.Reason)}
	case remote.Crashed:
		res.ExitCode, res.Unseen = -1, true
	}
	return res, nil
}

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
			split.End(r.line)
			return
		}
	}
}

// pass passes on what the file has from pos on.
func (r *run) pass(pos int64, split *lines.Splitter) (end int64, ok bool) {
	file, err := os.Open(r.server.files.log(r.name))
	if err != nil {
		return pos, true // nothing of it is home yet
	}
	defer file.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buf, pos)
		split.Write(buf[:n], r.line)
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
	select {
	case r.output <- c:
	case <-r.server.life.Done():
	}
}
