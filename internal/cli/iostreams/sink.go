package iostreams

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// A sink is the destination of data: stdout, or the pager in front of it. It remembers the
// first write that failed, so that commands needn't check each write: a report that didn't
// arrive isn't a success. A closed reader needs no handling: the Go runtime ends a program that
// writes to a closed stdout with SIGPIPE, as every Unix filter ends.
type sink struct {
	w     io.Writer
	pager *pager
	held  io.Writer // receives text for people in place of w; nil for none
	err   error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.held != nil {
		return s.held.Write(p)
	}
	return s.send(p)
}

// send writes regardless of held.
func (s *sink) send(p []byte) (int, error) {
	w := s.w
	if s.pager != nil {
		w = s.pager
	}
	n, err := w.Write(p)
	if err == nil {
		return n, nil // also after a failure: a full disk may have room again later
	}
	if s.err == nil {
		var path *fs.PathError
		if errors.As(err, &path) { // it would name the file /dev/stdout, whatever that is
			err = path.Err
		}
		s.err = fmt.Errorf("write to stdout: %w", err)
	}
	return n, s.err
}
