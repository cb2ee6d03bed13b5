package logfile

import (
	"bytes"
	"errors"
	"io"
	"os"

	"greenlight/internal/base/durable"
)

// A Reader reads a log that may be growing or not exist yet. io.EOF means that there is nothing
// more for now. Where parts were removed it returns a Note and continues with the next whole
// line.
type Reader struct {
	path  string
	f     *os.File
	start int64 // offset of the part being read
	pos   int64 // offset in the whole log

	note  []byte // to be returned next
	skip  bool   // until the next line
	ended bool   // the last byte read was a newline
}

// NewReader returns a Reader that begins at the start of the log.
func NewReader(path string) *Reader { return &Reader{path: path, ended: true} }

// Close closes the log.
func (r *Reader) Close() {
	if r.f != nil {
		r.f.Close()
	}
}

func (r *Reader) Read(p []byte) (int, error) {
	if r.f == nil {
		f, err := durable.Open(r.path)
		if missing(err) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		r.f = f
	}
	for {
		if len(r.note) > 0 {
			n := copy(p, r.note)
			r.note = r.note[n:]
			return n, nil
		}
		n, err := r.f.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		r.pos += int64(n)
		n = r.skipped(p[:n])
		switch {
		case n > 0:
			r.ended = p[n-1] == '\n'
			return n, nil
		case err == nil: // all of it was skipped
			continue
		}
		if more, err := r.next(); err != nil {
			return 0, err
		} else if !more {
			return 0, io.EOF
		}
	}
}

// skipped drops the bytes to skip from p and returns how many remain, moved to the start.
func (r *Reader) skipped(p []byte) int {
	if !r.skip {
		return len(p)
	}
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		return 0
	}
	r.skip = false
	return copy(p, p[i+1:])
}

// next opens the part after the one that was read to its end. A part's end is final only once
// the next part exists.
func (r *Reader) next() (bool, error) {
	if r.pos-r.start < limit(r.start)/2 {
		return false, nil // a new part begins only when this one is at least half full
	}
	for {
		starts, err := listParts(r.path)
		if err != nil {
			return false, err
		}
		i := 0
		for i < len(starts) && starts[i] <= r.start {
			i++
		}
		if i == len(starts) {
			return false, nil
		}
		var more [1]byte
		if n, _ := r.f.ReadAt(more[:], r.pos-r.start); n > 0 {
			return true, nil // written meanwhile, before the new part began
		}
		f, err := durable.Open(partPath(r.path, starts[i]))
		if missing(err) {
			continue // it was the oldest and has been removed
		}
		if err != nil {
			return false, err
		}
		r.f.Close()
		r.f, r.start = f, starts[i]
		if gap := r.start - r.pos; gap > 0 {
			r.gap(gap)
		}
		r.pos = r.start
		return true, nil
	}
}

func (r *Reader) gap(bytes int64) {
	r.note = append(leftOut(bytes).Line(), '\n')
	if !r.ended {
		r.note = append([]byte("\n"), r.note...)
	}
	r.skip, r.ended = true, true
}

// Offset returns where in the log the next Read begins.
func (r *Reader) Offset() int64 { return r.pos }

// Size returns the length of the log, with the parts that were removed.
func (r *Reader) Size() (int64, error) {
	starts, err := listParts(r.path)
	if err != nil {
		return 0, err
	}
	last := int64(0)
	if len(starts) > 0 {
		last = starts[len(starts)-1]
	}
	info, err := durable.Stat(partPath(r.path, last))
	if missing(err) {
		return last, nil
	}
	if err != nil {
		return 0, err
	}
	return last + info.Size(), nil
}

// ToEnd moves to the last n bytes of the log, at the start of a line. Call it before the first
// Read.
func (r *Reader) ToEnd(n int64) error {
	starts, err := listParts(r.path)
	if err != nil {
		return err
	}
	for i := len(starts); i >= 0 && r.f == nil; i-- {
		r.start = 0
		if i > 0 {
			r.start = starts[i-1]
		}
		info, err := durable.Stat(partPath(r.path, r.start))
		switch {
		case missing(err):
			continue
		case err != nil:
			return err
		case info.Size() < n && i > 0:
			n -= info.Size()
			continue
		}
		if r.f, err = durable.Open(partPath(r.path, r.start)); err != nil {
			return err
		}
		from := max(0, info.Size()-n)
		r.pos, r.skip = r.start+from, r.start+from > 0
		_, err = r.f.Seek(from, io.SeekStart)
		return err
	}
	return nil
}
