package journal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"greenlight/internal/base/durable"
)

const (
	poll = 200 * time.Millisecond // polling interval of Follow
	// between the time of an event and that of its file: the clock may be set back
	slack = time.Minute
	chunk = 64 << 10
)

// A Reader reads events in the order in which they were written, from one file to the next. It
// takes no lock.
type Reader struct {
	j     *Journal
	since time.Time
	end   bool // start at the end

	f       *os.File
	info    fs.FileInfo
	buf     []byte // read, but not consumed yet
	seen    int    // leading bytes of buf without a newline
	long    bool   // the current line is too long
	skipped int

	wants func(line []byte) bool // nil for all
}

// Reader returns a Reader of the events since a time, or of all for the zero time.
func (j *Journal) Reader(since time.Time) *Reader { return &Reader{j: j, since: since} }

// ReaderOf is Reader for events of certain kinds: it avoids decoding the others.
func (j *Journal) ReaderOf(since time.Time, kinds ...Kind) *Reader {
	var marks [][]byte
	for _, k := range kinds {
		marks = append(marks, []byte(`"kind":"`+string(k)+`"`))
	}
	r := j.Reader(since)
	r.wants = func(line []byte) bool {
		return slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(line, m) })
	}
	return r
}

// ReaderAtEnd returns a Reader of the events written from now on.
func (j *Journal) ReaderAtEnd() (*Reader, error) {
	r := &Reader{j: j, end: true}
	if err := r.begin(); err != nil {
		return nil, err
	}
	r.end = false // a file created later is read from its start
	return r, nil
}

// Close closes the current file.
func (r *Reader) Close() {
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
}

// Skipped returns how many lines so far weren't events: usually fragments left by killed
// writers.
func (r *Reader) Skipped() int { return r.skipped }

// Next returns the next event, or io.EOF if there is none at the moment.
func (r *Reader) Next() (Event, error) {
	for {
		line, ok := r.line()
		for ; ok; line, ok = r.line() {
			if r.wants != nil && !r.wants(line) {
				continue
			}
			e, err := parse(line)
			switch {
			case err != nil:
				r.skipped++
			case !e.Time.Before(r.since):
				return e, nil
			}
		}
		more, err := r.more()
		switch {
		case err != nil:
			return Event{}, err
		case !more:
			return Event{}, io.EOF
		}
	}
}

// line consumes a line from the buffer. It skips empty lines.
func (r *Reader) line() (line []byte, ok bool) {
	for {
		i := bytes.IndexByte(r.buf[r.seen:], '\n')
		if i < 0 {
			r.seen = len(r.buf)
			if r.seen > longestLine {
				r.buf, r.seen, r.long = nil, 0, true
			}
			return nil, false
		}
		line, r.buf = r.buf[:r.seen+i], r.buf[r.seen+i+1:]
		r.seen = 0
		switch {
		case r.long:
			r.long = false
			r.skipped++
		case len(bytes.TrimSpace(line)) > 0:
			return line, true
		}
	}
}

// more reads on, in the next file if the current one is finished; it returns false if there is
// nothing new.
func (r *Reader) more() (bool, error) {
	if r.f == nil {
		if err := r.begin(); err != nil || r.f == nil {
			return false, err
		}
	}
	if n, err := r.read(); n > 0 || err != nil {
		return n > 0, err
	}
	if there, err := durable.Stat(r.j.Path()); err == nil && os.SameFile(there, r.info) ||
		errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	files, err := r.j.files()
	if err != nil {
		return false, err
	}
	next := 0 // the oldest one, if ours is gone
	for i, f := range files {
		if os.SameFile(f.info, r.info) {
			next = i + 1
		}
	}
	if next >= len(files) {
		closeAll(files)
		return false, nil
	}
	// It was rotated after we read it. Whatever was written in between precedes the rotation.
	if n, err := r.read(); n > 0 || err != nil {
		closeAll(files)
		return n > 0, err
	}
	if len(r.buf) > 0 || r.long { // this line will never be completed
		r.skipped++
	}
	r.buf, r.seen, r.long = nil, 0, false
	r.use(files, next)
	return true, nil
}

// read appends the next part of the file to the buffer.
func (r *Reader) read() (int, error) {
	buf := make([]byte, len(r.buf)+chunk)
	n, err := r.f.Read(buf[copy(buf, r.buf):])
	if n > 0 {
		r.buf = buf[:len(r.buf)+n]
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// begin opens the first file to read; there may be none.
func (r *Reader) begin() error {
	files, err := r.j.files()
	if err != nil || len(files) == 0 {
		return err
	}
	first := 0
	for first < len(files)-1 && (r.end || files[first].info.ModTime().Add(slack).Before(r.since)) {
		first++
	}
	r.use(files, first)
	if r.end {
		_, err = r.f.Seek(0, io.SeekEnd)
	}
	return err
}

// use continues with one of the files and closes the others.
func (r *Reader) use(files []file, n int) {
	r.Close()
	r.f, r.info = files[n].File, files[n].info
	files[n].File = nil
	closeAll(files)
}

// A file is an open file of the journal.
type file struct {
	File *os.File
	info fs.FileInfo
}

func closeAll(files []file) {
	for _, f := range files {
		if f.File != nil {
			f.File.Close()
		}
	}
}

// files opens the files of the journal, the oldest first. A rotation moves a file to the next
// higher number, so opening from the newest to the oldest finds each at least once.
func (j *Journal) files() ([]file, error) {
	var files []file
	for n := range keep + 1 {
		path := j.Path()
		if n > 0 {
			path = j.old(n)
		}
		f, err := durable.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var info fs.FileInfo
		if err == nil {
			info, err = f.Stat()
		}
		if err != nil {
			if f != nil {
				f.Close()
			}
			closeAll(files)
			return nil, err
		}
		if len(files) > 0 && os.SameFile(files[0].info, info) {
			f.Close()
			continue
		}
		files = append([]file{{f, info}}, files...)
	}
	return files, nil
}

// Events returns the existing events since a time.
func (j *Journal) Events(since time.Time) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := j.Reader(since)
		defer r.Close()
		r.All()(yield)
	}
}

// All returns the events up to the current end of the journal.
func (r *Reader) All() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Follow returns the events, including future ones until ctx ends. It polls every 200 ms, at
// the cost of a stat and a read: file notifications don't work on every file system.
func (r *Reader) Follow(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		tick := time.NewTicker(poll)
		defer tick.Stop()
		for {
			for e, err := range r.All() {
				if !yield(e, err) || err != nil {
					return
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}
