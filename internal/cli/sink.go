package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// A sink is where print and json write: stdout, or the pager before it. It remembers the first write that failed, so
// that no command need look at each: a report that didn't arrive isn't a success. A reader that went away is none of its
// business: the Go runtime ends a program that writes into a closed stdout by SIGPIPE, as every Unix filter ends.
type sink struct {
	w     io.Writer
	pager *pager
	err   error
}

func (s *sink) Write(p []byte) (int, error) {
	w := s.w
	if s.pager != nil {
		w = s.pager
	}
	n, err := w.Write(p)
	if err == nil {
		return n, nil // also after a failure: a disk that was full needn't stay so all night
	}
	if s.err == nil {
		var path *fs.PathError
		if errors.As(err, &path) { // its name of the file would be /dev/stdout, whatever that is
			err = path.Err
		}
		s.err = fmt.Errorf("write to stdout: %w", err)
	}
	return n, s.err
}
