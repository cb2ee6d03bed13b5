package hands

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// segmentBytes is the size at which the log goes on in a new file.
const segmentBytes = 8 << 20

// An output is the log of one lease until the coordinator has it: NAME.log.OFFSET for each
// segment, whose first byte is at that offset. A segment is removed once the coordinator has
// acknowledged all of it. After a kill, the files say how much there is.
type output struct {
	path string // without the offset

	mu     sync.Mutex
	starts []int64 // offsets of the segments, at least one
	size   int64   // of all that was written
	last   *os.File
}

// openOutput opens the log for appending.
func openOutput(path string) (*output, error) {
	o := &output{path: path}
	names, err := filepath.Glob(paths.EscapeGlob(path) + ".*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		start, err := strconv.ParseInt(strings.TrimPrefix(name, path+"."), 10, 64)
		if err == nil && start >= 0 {
			o.starts = append(o.starts, start)
		}
	}
	if slices.Sort(o.starts); len(o.starts) == 0 {
		o.starts = []int64{0}
	}
	if err := o.openLast(); err != nil {
		return nil, err
	}
	info, err := o.last.Stat()
	if err != nil {
		return nil, errors.Join(err, o.last.Close())
	}
	o.size = o.starts[len(o.starts)-1] + info.Size()
	return o, nil
}

func (o *output) segment(start int64) string { return o.path + "." + strconv.FormatInt(start, 10) }

func (o *output) openLast() (err error) {
	o.last, err = durable.OpenReadAppend(o.segment(o.starts[len(o.starts)-1]), 0o600)
	return err
}

// Write appends to the log.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size-o.starts[len(o.starts)-1] >= segmentBytes {
		old := o.last
		o.starts = append(o.starts, o.size)
		if err := o.openLast(); err != nil { // it goes on in the old one
			o.starts, o.last = o.starts[:len(o.starts)-1], old
		} else {
			old.Close()
		}
	}
	n, err := o.last.Write(p)
	o.size += int64(n)
	return n, err
}

// Size returns how many bytes were written so far, and the first one that is still there.
func (o *output) Size() (size, start int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size, o.starts[0]
}

// Read returns n bytes of the log from offset on.
func (o *output) Read(offset, n int64) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if offset < o.starts[0] || offset+n > o.size {
		return nil, fmt.Errorf("%s has the bytes from %d to %d, not from %d to %d", o.path,
			o.starts[0], o.size, offset, offset+n)
	}
	data := make([]byte, 0, n)
	for i, start := range o.starts {
		end := o.size
		if i+1 < len(o.starts) {
			end = o.starts[i+1]
		}
		from, to := max(offset, start), min(offset+n, end)
		if from >= to {
			continue
		}
		part := make([]byte, to-from)
		f, err := durable.Open(o.segment(start))
		if err != nil {
			return nil, err
		}
		_, err = f.ReadAt(part, from-start)
		f.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		data = append(data, part...)
	}
	return data, nil
}

// Trim removes segments that lie below offset. The last one stays, to tell the size.
func (o *output) Trim(offset int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.starts) > 1 && o.starts[1] <= offset {
		// one that can't be removed now goes with the others
		_ = durable.Unlink(o.segment(o.starts[0]))
		o.starts = o.starts[1:]
	}
}

// Remove removes the log.
func (o *output) Remove() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.last.Close()
	for _, start := range o.starts {
		if e := durable.Unlink(o.segment(start)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// Close closes the log.
func (o *output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last.Close()
}
