// Package attemptlog reads the logs of attempts: as they grow, and as text for people. Package
// attempt writes them.
package attemptlog

import (
	"io"

	"greenlight/internal/base/logfile"
	"greenlight/internal/base/text/lines"
)

// A Tail reads a growing log, each byte once. The log need not exist yet.
type Tail struct {
	log *logfile.Reader
	in  *lines.Splitter
}

// NewTail returns a Tail at the start of the log.
func NewTail(path string) *Tail {
	return &Tail{logfile.NewReader(path), lines.NewSplitter(lines.Max)}
}

// TailFrom returns a Tail that begins where a Part ended.
func TailFrom(path string, from int64) (*Tail, error) {
	t := NewTail(path)
	size, err := t.log.Size()
	if err == nil && from > 0 {
		// ToEnd drops the line in which it begins: begin in the newline before
		err = t.log.ToEnd(size - from + 1)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Close closes the log.
func (t *Tail) Close() { t.log.Close() }

// Copy writes to w what is new.
func (t *Tail) Copy(w io.Writer) error {
	_, err := io.Copy(w, t.log)
	return err
}

// A Line is a line of a log, or a piece of a long one.
type Line = lines.Piece

// Lines calls f with each new line, and each part of a line that is too long. It keeps an
// incomplete last line for the next call, unless last is set.
func (t *Tail) Lines(last bool, f func(lines.Piece)) error {
	err := t.in.Read(t.log, f)
	if err == nil && last {
		t.in.End(f)
	}
	return err
}
