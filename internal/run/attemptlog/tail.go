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

// Close closes the log.
func (t *Tail) Close() { t.log.Close() }

// Copy writes to w what is new.
func (t *Tail) Copy(w io.Writer) error {
	_, err := io.Copy(w, t.log)
	return err
}

// Lines calls f with each new line, and each part of a line that is too long. It keeps an
// incomplete last line for the next call, unless last is set.
func (t *Tail) Lines(last bool, f func(lines.Piece)) error {
	err := t.in.Read(t.log, f)
	if err == nil && last {
		t.in.End(f)
	}
	return err
}
