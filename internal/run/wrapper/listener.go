package wrapper

import (
	"strings"

	"greenlight/internal/base/command"
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/core/agent"
	"greenlight/internal/run/executor"
)

// stderrBytes is how much of a line of stderr becomes one note.
const stderrBytes = 256 << 10

// A listener takes an agent's output: it logs, decodes and prints it.
type listener struct {
	stream string
	log    *logFile
	print  func(agent.Event)
	begun  func() // called when the client tells what it knows, before what follows

	dec  *agent.Decoder
	out  *lines.Splitter   // of stdout
	errs *lines.Splitter   // of stderr
	last command.LastWords // on stderr
	said command.LastWords // on stdout
}

// newListener returns a listener for one run of an agent.
func newListener(stream string, log *logFile, print func(agent.Event), begun func()) *listener {
	return &listener{
		stream: stream, log: log, print: print, begun: begun, dec: agent.NewDecoder(stream),
		out: lines.NewSplitter(lines.Max), errs: lines.NewSplitter(stderrBytes),
	}
}

// take handles some output: each line that ends in it and, of a line that is too long, what has
// come of it.
func (l *listener) take(c executor.Chunk) {
	switch {
	case c.Note:
		l.log.Note(logfile.Worktree, strings.TrimRight(string(c.Data), "\r\n"))
	case c.Stderr:
		l.errs.Write(c.Data, l.takeStderr)
	default:
		l.out.Write(c.Data, l.takeStdout)
	}
}

// takeUnended handles the last lines if nothing ended them: the agent was killed while it wrote,
// or a process that left its group holds the pipe.
func (l *listener) takeUnended() {
	l.out.End(l.takeStdout)
	l.errs.End(l.takeStderr)
}

func (l *listener) takeStderr(p lines.Piece) {
	text := strings.TrimRight(string(p.Text), "\r\n")
	l.log.Note(logfile.Stderr, text)
	l.print(agent.Event{Kind: agent.KindPlain, Text: sanitize.Text(text)})
	if !p.Rest {
		l.last.Hear(text)
	}
}

func (l *listener) takeStdout(p lines.Piece) {
	l.log.Stdout(p)
	for _, e := range l.dec.Piece(p) {
		l.print(e)
		if e.By == "" && (e.Kind == agent.KindSay || e.Kind == agent.KindPlain) {
			l.said.Hear(e.Text)
		}
		if e.Kind == agent.KindInit {
			l.begun()
		}
	}
}
