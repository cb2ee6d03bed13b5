package logfile

import (
	"io"

	"greenlight/internal/base/text/lines"
	"greenlight/internal/base/words"
)

// A Log writes the output of a program whose streams are told apart: stdout verbatim, line by
// line, so that it can be decoded again, and notes between the lines.
type Log struct {
	w    io.Writer
	open bool // the last line of stdout goes on
	held [][]byte
	size int // of held
	lost int // how many notes there was no room for
}

// heldBytes is how much of notes is held back while a line of stdout goes on: that may take for
// ever.
const heldBytes = 1 << 20

// NewLog returns a Log that writes to w, each line in one piece.
func NewLog(w io.Writer) *Log { return &Log{w: w} }

// Stdout writes a line, or a part of one that is too long to be held, in one write, so that a
// reader that follows sees whole lines. A log that can't be written (a full disk) is no reason
// to end an agent's work.
func (l *Log) Stdout(p lines.Piece) {
	if l.open = p.More; l.open {
		_, _ = l.w.Write(p.Text)
		return
	}
	l.line(p.Text)
	for _, line := range l.held {
		l.line(line)
	}
	if l.lost > 0 {
		left := "left out: " + words.Count(l.lost, "line") +
			" of stderr that came while a line of stdout went on"
		l.line(Note{From: Gl, Text: left}.Line())
	}
	l.held, l.size, l.lost = nil, 0, 0
}

func (l *Log) line(text []byte) {
	_, _ = l.w.Write(append(text[:len(text):len(text)], '\n'))
}

// Note writes a note, once the line of stdout is complete.
func (l *Log) Note(from, text string) {
	line := Note{From: from, Text: text}.Line()
	switch {
	case !l.open:
		l.line(line)
	case l.size+len(line) > heldBytes:
		l.lost++
	default:
		l.held, l.size = append(l.held, line), l.size+len(line)
	}
}
