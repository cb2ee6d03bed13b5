package wrapper

import (
	"greenlight/internal/base/logfile"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/lines"
	"greenlight/internal/base/words"
)

// A logFile is the log of one attempt: stdout verbatim, line by line, so that it can be decoded
// again, and notes.
type logFile struct {
	w    *logfile.Writer
	path string
	open bool // the last line of stdout goes on
	held [][]byte
	size int // of held
	lost int // how many notes there was no room for
}

// heldBytes is how much of notes is held back while a line of stdout goes on: that may take for
// ever.
const heldBytes = 1 << 20

func openLog(path string) (*logFile, error) {
	w, err := logfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &logFile{w: w, path: path}, nil
}

// reopen goes on in a new file where the old one was removed: what comes from now on is kept.
func (l *logFile) reopen() error {
	if paths.Exists(l.path) {
		return nil
	}
	w, err := logfile.Create(l.path)
	if err != nil {
		return err
	}
	l.w.Close()
	l.w = w
	return nil
}

// stdout writes a line, or a part of one that is too long to be held, in one write, so that a
// reader that follows sees whole lines. A log that can't be written (a full disk) is no reason
// to end an agent's work.
func (l *logFile) stdout(p lines.Piece) {
	if l.open = p.More; l.open {
		l.w.Write(p.Text)
		return
	}
	l.line(p.Text)
	for _, line := range l.held {
		l.line(line)
	}
	if l.lost > 0 {
		l.line(note(logfile.Gl, "left out: "+words.Count(l.lost, "line")+" of stderr that came while a line of stdout went on"))
	}
	l.held, l.size, l.lost = nil, 0, 0
}

func (l *logFile) line(text []byte) {
	l.w.Write(append(text[:len(text):len(text)], '\n'))
}

// note writes a note, once the line of stdout is complete.
func (l *logFile) note(from, text string) {
	line := note(from, text)
	switch {
	case !l.open:
		l.line(line)
	case l.size+len(line) > heldBytes:
		l.lost++
	default:
		l.held, l.size = append(l.held, line), l.size+len(line)
	}
}

func note(from, text string) []byte { return logfile.Note{From: from, Text: text}.Line() }

func (l *logFile) close() { l.w.Close() }
